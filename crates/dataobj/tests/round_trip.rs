//! What is written is read back, for any records, order and page settings.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;
#[path = "common/model.rs"]
mod model;

use common::*;
use model::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use timberline_dataobj::*;

fn check_logs(section: &DecodedSection, records: &[Record]) -> Result<(), TestCaseError> {
    prop_assert_eq!(section.meta.rows, records.len() as u64);
    let columns: Vec<(&str, &str)> = section
        .meta
        .columns
        .iter()
        .map(|column| (column.logical.as_str(), column.tag.as_str()))
        .collect();
    prop_assert_eq!(&columns[..2], &[("stream_id", ""), ("timestamp", "")]);
    prop_assert_eq!(columns.last(), Some(&("message", "")));
    prop_assert!(columns[2..columns.len() - 1].is_sorted());
    for (row, (stream_id, timestamp_ns, line, metadata)) in section.rows().iter().zip(records) {
        let mut read = BTreeMap::new();
        for ((logical, tag), cell) in columns.iter().zip(row) {
            match (*logical, cell) {
                ("stream_id", cell) => prop_assert_eq!(cell, &Cell::Int64(*stream_id)),
                ("timestamp", cell) => prop_assert_eq!(cell, &Cell::Int64(*timestamp_ns)),
                ("message", cell) => prop_assert_eq!(cell, &Cell::Binary(line.clone())),
                ("metadata", Cell::Binary(value)) => drop(read.insert((*tag).to_owned(), value.clone())),
                (_, cell) => prop_assert_eq!(cell, &Cell::Null),
            }
        }
        prop_assert_eq!(&read, metadata);
    }
    Ok(())
}

/// Page and column ranges enclose the values; a column with a value has a cardinality; row and value counts agree.
fn check_statistics(section: &DecodedSection) -> Result<(), TestCaseError> {
    for (column, cells) in section.meta.columns.iter().zip(&section.columns) {
        let mut start = 0;
        for page in &column.pages {
            let cells = &cells[start..start + page.rows as usize];
            start += page.rows as usize;
            let values: Vec<&Cell> = cells.iter().filter(|cell| **cell != Cell::Null).collect();
            prop_assert_eq!(values.len() as u64, page.values);
            let Some(stats) = &page.stats else {
                prop_assert_eq!(&column.logical, "message");
                continue;
            };
            let cell = |value: &Value| match value {
                Value::Int64(value) => Cell::Int64(*value),
                Value::Binary(value) => Cell::Binary(value.clone()),
                Value::Uint64(_) => Cell::Null,
            };
            prop_assert_eq!(stats.min.as_ref().map(cell), values.iter().min().copied().cloned());
            prop_assert_eq!(stats.max.as_ref().map(cell), values.iter().max().copied().cloned());
        }
        prop_assert_eq!(start, cells.len());
        if column.logical == "metadata"
            && cells
                .iter()
                .any(|cell| matches!(cell, Cell::Binary(v) if !v.is_empty()))
        {
            prop_assert!(column.stats.as_ref().unwrap().cardinality >= 1);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_records(labels in labels(), records in records(), by_time in any::<bool>(), options in options()) {
        let sort = if by_time { SortOrder::TimestampDescending } else { SortOrder::StreamAscending };
        let mut records = records;
        sort_records(&mut records, &sort);
        let object = write_object(&labels, &records, &sort, &options);
        let sections = decode_object(&object).unwrap();
        prop_assert_eq!(sections.len(), 2);
        for section in &sections {
            check_statistics(section)?;
        }
        check_logs(&sections[1], &records)?;
        if options.cut == PageCut::Aligned {
            prop_assert!(sections[1].meta.is_aligned());
            if options.page_rows > 0 {
                prop_assert!(sections[1].meta.columns[0].pages.iter().all(|page| page.rows <= options.page_rows as u64));
            }
        }
        for (row, labels) in sections[0].rows().iter().zip(&labels) {
            let columns = sections[0].meta.columns.iter().zip(row);
            let read: BTreeMap<String, String> = columns
                .filter(|(column, _)| column.logical == "label")
                .filter_map(|(column, cell)| match cell {
                    Cell::Binary(value) => Some((column.tag.clone(), String::from_utf8(value.clone()).unwrap())),
                    _ => None,
                })
                .collect();
            prop_assert_eq!(&read, labels);
        }
    }
}

/// Sizes at which something changes: nothing at all, one row, the cap, one more; a line larger than a page.
#[test]
fn page_boundaries() {
    let check = |rows: usize, line: usize, want: &[u64]| {
        for cut in [PageCut::Independent, PageCut::Aligned] {
            let options = WriterOptions {
                page_bytes: 1000,
                page_rows: 10,
                zstd_level: 1,
                cut,
            };
            let records: Vec<Record> = (0..rows)
                .map(|i| (1, -(i as i64), vec![b'x'; line], BTreeMap::new()))
                .collect();
            let object = write_object(&vec![BTreeMap::new()], &records, &SortOrder::StreamAscending, &options);
            let sections = decode_object(&object).unwrap();
            let message = sections[1].meta.column(column::MESSAGE, "");
            let pages: Vec<u64> = message
                .iter()
                .flat_map(|column| &column.pages)
                .map(|page| page.rows)
                .collect();
            assert_eq!(pages, want, "{rows} rows of {line} bytes, {cut:?}");
            if rows > 0 {
                check_logs(&sections[1], &records).unwrap();
            }
        }
    };
    check(0, 5, &[]);
    check(1, 0, &[1]);
    check(10, 5, &[10]);
    check(11, 5, &[10, 1]);
    check(3, 2000, &[1, 1, 1]);
    check(5, 400, &[2, 2, 1]);
}
