//! The form for programs.

use super::object::{Object, Part};
use super::rows::Rows;
use super::text::{lower, order};
use serde_json::json;
use timberline_dataobj::{ColumnMeta, Finding, PageMeta, Report, Value};

/// What an object holds.
pub(super) fn document(object: &Object, rows: &[Rows]) -> serde_json::Value {
    let sections: Vec<_> = object
        .sections
        .iter()
        .zip(rows)
        .map(|(part, rows)| section_json(part, rows))
        .collect();
    json!({"size_bytes": object.size_bytes, "header_bytes": object.header_bytes, "sections": sections})
}

fn section_json(part: &Part, rows: &Rows) -> serde_json::Value {
    let section = &part.section;
    let mut document = json!({
        "index": section.index,
        "namespace": section.kind.namespace(),
        "kind": section.kind.name(),
        "version": section.version,
        "tenant": section.tenant,
        "data": [section.data.start, section.data.end],
        "metadata": [section.metadata.start, section.metadata.end],
    });
    if let Some(meta) = &part.meta {
        document["row_count"] = meta.rows.into();
        document["sorted_by"] = order(meta).into();
        document["columns"] = meta.columns.iter().map(column_json).collect::<Vec<_>>().into();
        if !rows.is_empty() {
            let row = |row: &Vec<Option<Value>>| row.iter().map(|v| v.as_ref().map(value_json)).collect::<Vec<_>>();
            document["rows"] = json!(rows.iter().map(row).collect::<Vec<_>>());
        }
    }
    document
}

fn column_json(column: &ColumnMeta) -> serde_json::Value {
    let page = |page: &PageMeta| {
        json!({
            "range": [page.range.start, page.range.end],
            "rows": page.rows,
            "values": page.values,
            "encoding": lower(page.encoding),
            "raw_bytes": page.raw_bytes,
            "crc32c": page.crc,
            "min": page.stats.as_ref().and_then(|s| s.min.as_ref()).map(value_json),
            "max": page.stats.as_ref().and_then(|s| s.max.as_ref()).map(value_json),
        })
    };
    json!({
        "logical": column.logical,
        "tag": column.tag,
        "physical": lower(column.physical),
        "rows": column.rows,
        "values": column.values,
        "compression": lower(column.compression),
        "stored_bytes": column.stored_bytes,
        "raw_bytes": column.raw_bytes,
        "cardinality": column.stats.as_ref().map(|s| s.cardinality),
        "min": column.stats.as_ref().and_then(|s| s.min.as_ref()).map(value_json),
        "max": column.stats.as_ref().and_then(|s| s.max.as_ref()).map(value_json),
        "pages": column.pages.iter().map(page).collect::<Vec<_>>(),
    })
}

fn value_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Int64(number) => json!(number),
        Value::Uint64(number) => json!(number),
        Value::Binary(bytes) => json!(String::from_utf8_lossy(bytes)),
    }
}

/// What was found in an object.
pub(super) fn verified(name: &str, report: &Report) -> serde_json::Value {
    let finding = |finding: &Finding| {
        json!({
            "severity": finding.check.severity().name(),
            "check": finding.check.name(),
            "section": finding.section,
            "column": finding.column,
            "page": finding.page,
            "offset": finding.offset,
            "what": finding.what,
        })
    };
    let checked = &report.checked;
    json!({
        "object": name,
        "sound": report.is_sound(),
        "errors": report.errors,
        "notes": report.notes,
        "checked": {
            "sections": checked.sections,
            "opaque_sections": checked.opaque_sections,
            "columns": checked.columns,
            "pages": checked.pages,
            "page_bytes": checked.page_bytes,
            "rows": checked.rows,
            "values": checked.values,
        },
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}
