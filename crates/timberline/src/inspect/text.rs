//! The readable form.

use super::object::{Object, Part};
use super::rows::Rows;
use super::share;
use super::value::readable;
use crate::plain_table::PlainTable;
use crate::units::about_bytes;
use std::collections::BTreeSet;
use std::io::{self, Write};
use timberline_dataobj::{ColumnMeta, Direction, PageMeta, Report, SectionKind, SectionMeta, Stats, Value};

/// Longest text of a value in the readable form.
const VALUE_CHARS: usize = 40;
/// Longest text of a value in a row.
const ROW_VALUE_CHARS: usize = 200;

/// Writes the readable form.
pub(super) fn write(out: &mut impl Write, name: &str, object: &Object, rows: &[Rows], pages: bool) -> io::Result<()> {
    let size = about_bytes(object.size_bytes);
    writeln!(
        out,
        "{name}: {size}, header {} bytes, {} sections",
        object.header_bytes,
        object.sections.len()
    )?;
    writeln!(out, "{}", share::table(object))?;
    for (part, rows) in object.sections.iter().zip(rows) {
        writeln!(out)?;
        section(out, part, pages)?;
        if let (Some(meta), false) = (&part.meta, rows.is_empty()) {
            some_rows(out, meta, rows)?;
        }
    }
    Ok(())
}

fn section(out: &mut impl Write, part: &Part, pages: bool) -> io::Result<()> {
    let section = &part.section;
    let bytes = |range: &std::ops::Range<u64>| about_bytes(range.end - range.start);
    write!(
        out,
        "section {}: {} v{}, tenant {:?}",
        section.index, section.kind, section.version, section.tenant
    )?;
    writeln!(
        out,
        ", data {}, metadata {}",
        bytes(&section.data),
        bytes(&section.metadata)
    )?;
    if matches!(section.kind, SectionKind::Unknown { .. }) {
        writeln!(out, "  of a kind that this version does not know")?;
    }
    let Some(meta) = &part.meta else {
        return Ok(());
    };
    let raw: u64 = meta.columns.iter().map(|c| c.raw_bytes).sum();
    let stored: u64 = meta.columns.iter().map(|c| c.stored_bytes).sum();
    writeln!(
        out,
        "  {} rows, {} columns, {} raw, ratio {}",
        meta.rows,
        meta.columns.len(),
        about_bytes(raw),
        ratio(raw, stored)
    )?;
    if let Some(order) = order(meta) {
        writeln!(out, "  sorted by {order}")?;
    }
    writeln!(out, "{}", columns_table(meta))?;
    if pages {
        writeln!(out, "{}", pages_table(meta))?;
    }
    Ok(())
}

pub(super) fn order(meta: &SectionMeta) -> Option<String> {
    let sort = meta.sort.as_ref()?;
    let mut keys: Vec<String> = sort.schema_keys.clone();
    for by in &sort.columns {
        let name = meta
            .columns
            .get(by.column as usize)
            .map_or_else(|| format!("column {}", by.column), title);
        keys.push(format!("{name} {}", direction(by.direction)));
    }
    (!keys.is_empty()).then(|| keys.join(", "))
}

fn direction(direction: Direction) -> String {
    match direction {
        Direction::Ascending => "ascending".to_owned(),
        Direction::Descending => "descending".to_owned(),
        Direction::Other(number) => format!("direction {number}"),
    }
}

fn columns_table(meta: &SectionMeta) -> PlainTable {
    let mut table = PlainTable::new([
        "column",
        "type",
        "values",
        "pages",
        "encoding",
        "compression",
        "stored",
        "raw",
        "ratio",
        "distinct",
        "min",
        "max",
    ]);
    for column in &meta.columns {
        table.row(vec![
            title(column),
            lower(column.physical),
            column.values.to_string(),
            column.pages.len().to_string(),
            encodings(column),
            lower(column.compression),
            about_bytes(column.stored_bytes),
            about_bytes(column.raw_bytes),
            ratio(column.raw_bytes, column.stored_bytes),
            column
                .stats
                .as_ref()
                .filter(|s| s.cardinality > 0)
                .map(|s| s.cardinality.to_string())
                .unwrap_or_default(),
            bound(column, column.stats.as_ref(), |s| s.min.as_ref()),
            bound(column, column.stats.as_ref(), |s| s.max.as_ref()),
        ]);
    }
    table.align_right(2..4);
    table.align_right(6..10);
    table
}

fn pages_table(meta: &SectionMeta) -> PlainTable {
    let mut table = PlainTable::new([
        "column", "page", "offset", "rows", "values", "encoding", "stored", "raw", "ratio", "crc32c", "min", "max",
    ]);
    for column in &meta.columns {
        for (number, page) in column.pages.iter().enumerate() {
            table.row(vec![
                title(column),
                number.to_string(),
                page.range.start.to_string(),
                page.rows.to_string(),
                page.values.to_string(),
                lower(page.encoding),
                about_bytes(stored(page)),
                about_bytes(page.raw_bytes),
                ratio(page.raw_bytes, stored(page)),
                format!("{:08x}", page.crc),
                bound(column, page.stats.as_ref(), |s| s.min.as_ref()),
                bound(column, page.stats.as_ref(), |s| s.max.as_ref()),
            ]);
        }
    }
    table.align_right(1..5);
    table.align_right(6..9);
    table
}

fn some_rows(out: &mut impl Write, meta: &SectionMeta, rows: &Rows) -> io::Result<()> {
    for (number, row) in rows.iter().enumerate() {
        write!(out, "  row {number}:")?;
        for (column, value) in meta.columns.iter().zip(row) {
            if let Some(value) = value {
                write!(
                    out,
                    " {}={}",
                    title(column),
                    readable(&column.logical, value, ROW_VALUE_CHARS)
                )?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// `timestamp`, or `label/app` for a column with a tag.
pub(super) fn title(column: &ColumnMeta) -> String {
    if column.tag.is_empty() {
        column.logical.clone()
    } else {
        format!("{}/{}", column.logical, column.tag)
    }
}

pub(super) fn lower(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

fn encodings(column: &ColumnMeta) -> String {
    let all: BTreeSet<String> = column.pages.iter().map(|page| lower(page.encoding)).collect();
    all.into_iter().collect::<Vec<_>>().join(",")
}

fn stored(page: &PageMeta) -> u64 {
    page.range.end - page.range.start
}

fn ratio(raw: u64, stored: u64) -> String {
    if stored == 0 {
        String::new()
    } else {
        format!("{:.1}", raw as f64 / stored as f64)
    }
}

fn bound(column: &ColumnMeta, stats: Option<&Stats>, end: impl Fn(&Stats) -> Option<&Value>) -> String {
    stats
        .and_then(end)
        .map(|value| readable(&column.logical, value, VALUE_CHARS))
        .unwrap_or_default()
}

/// Writes what was found in an object.
pub(super) fn verified(out: &mut impl Write, name: &str, report: &Report) -> io::Result<()> {
    for finding in &report.findings {
        writeln!(out, "{name}: {finding}")?;
    }
    let listed = report.findings.len() as u64;
    let more = report.errors + report.notes - listed;
    if more > 0 {
        writeln!(out, "{name}: {more} more that are not listed")?;
    }
    let checked = &report.checked;
    let verdict = if report.is_sound() { "sound" } else { "NOT SOUND" };
    writeln!(
        out,
        "{name}: {verdict}, {}, {}; {} sections, {} columns, {} pages of {} checked",
        counted(report.errors, "error"),
        counted(report.notes, "note"),
        checked.sections + checked.opaque_sections,
        checked.columns,
        checked.pages,
        about_bytes(checked.page_bytes)
    )
}

/// `1 error`, `2 errors`.
fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
