//! What is written is read back, for any records, order and page settings.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;
#[path = "common/index_model.rs"]
mod index_model;
#[path = "common/model.rs"]
mod model;

use common::*;
use index_model::*;
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

/// Columns that keep no ranges (specification chapter 8).
fn without_range(kind: &SectionKind) -> &'static [&'static str] {
    match kind {
        SectionKind::Logs => &["message"],
        SectionKind::Pointers => &["values_bloom_filter"],
        SectionKind::IndexPointers => &["file_size", "uncompressed_logs_size"],
        SectionKind::Postings => &[
            "object_path",
            "shard_buckets",
            "section_index",
            "bloom_filter",
            "stream_id_bitmap",
            "uncompressed_size",
            "min_timestamp",
            "max_timestamp",
            "min_shard_bucket",
            "max_shard_bucket",
        ],
        SectionKind::Stats => &[
            "object_path",
            "section_index",
            "sort_schema",
            "__shard_bucket__",
            "min_timestamp",
            "max_timestamp",
            "row_count",
            "uncompressed_size",
            "label",
        ],
        _ => &[],
    }
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
            let keeps_range = !without_range(&section.section.kind).contains(&column.logical.as_str());
            prop_assert_eq!(page.stats.is_some(), keeps_range, "{}", column.logical);
            let Some(stats) = &page.stats else { continue };
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
        check_rows(&object, &labels, &records)?;
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

/// Streams and records as their readers lend them are those that were written.
fn check_rows(object: &[u8], labels: &Labels, records: &[Record]) -> Result<(), TestCaseError> {
    let object = WholeObject::parse(object).unwrap();
    let mut scratch = Scratch::new();
    let [streams, logs] = object.sections() else {
        return Err(TestCaseError::fail("two sections"));
    };
    let meta = object.meta(streams).unwrap();
    let reader = StreamsReader::open(streams, &meta, object.data(streams).unwrap(), &mut scratch).unwrap();
    prop_assert_eq!(reader.rows().len(), labels.len());
    for (stream, labels) in reader.rows().zip(labels) {
        let want: Vec<(&str, &str)> = labels.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        prop_assert_eq!(stream.labels().collect::<Vec<_>>(), want);
        let of_stream = || records.iter().filter(|record| record.0 == stream.id);
        let times = (
            of_stream().map(|record| record.1).min(),
            of_stream().map(|record| record.1).max(),
        );
        let want = (times.0.unwrap_or(0), times.1.unwrap_or(0));
        prop_assert_eq!((stream.min_timestamp_ns, stream.max_timestamp_ns), want);
        let line_bytes: usize = of_stream().map(|record| record.2.len()).sum();
        let want = (of_stream().count() as i64, line_bytes as i64);
        prop_assert_eq!((stream.rows, stream.uncompressed_bytes), want);
    }
    let meta = object.meta(logs).unwrap();
    let reader = LogsReader::open(logs, &meta, object.data(logs).unwrap(), &mut scratch).unwrap();
    prop_assert_eq!(reader.rows().len(), records.len());
    for (row, (stream_id, timestamp_ns, line, metadata)) in reader.rows().zip(records) {
        prop_assert_eq!(
            (row.stream_id, row.timestamp_ns, row.line),
            (*stream_id, *timestamp_ns, line.as_slice())
        );
        let want: Vec<(&str, &[u8])> = metadata.iter().map(|(k, v)| (k.as_str(), v.as_slice())).collect();
        prop_assert_eq!(row.metadata().collect::<Vec<_>>(), want);
    }
    Ok(())
}

/// The rows as the typed readers lend them are those that were written.
fn check_index(object: &[u8], model: &IndexModel) -> Result<(), TestCaseError> {
    let object = WholeObject::parse(object).unwrap();
    let mut scratch = Scratch::new();
    for section in object.sections() {
        let (meta, data) = (object.meta(section).unwrap(), object.data(section).unwrap());
        match section.kind {
            SectionKind::Pointers => {
                let reader = PointersReader::open(section, &meta, data, &mut scratch).unwrap();
                prop_assert_eq!(reader.rows().collect::<Vec<_>>(), model.pointers());
            }
            SectionKind::IndexPointers => {
                let reader = IndexPointersReader::open(section, &meta, data, &mut scratch).unwrap();
                prop_assert_eq!(reader.rows().collect::<Vec<_>>(), model.index_pointers());
            }
            SectionKind::Postings => {
                let reader = PostingsReader::open(section, &meta, data, &mut scratch).unwrap();
                prop_assert_eq!(reader.rows().collect::<Vec<_>>(), model.postings());
            }
            _ => {
                let reader = StatsReader::open(section, &meta, data, &mut scratch).unwrap();
                prop_assert_eq!(reader.rows().len(), model.stats().len());
                let schema: Vec<String> = model.label_names().iter().map(|name| format!("label:{name}")).collect();
                if !model.stats().is_empty() {
                    prop_assert_eq!(reader.label_names().collect::<Vec<_>>(), model.label_names());
                }
                for (row, want) in reader.rows().zip(model.stats()) {
                    let labels = row.labels().map(str::to_owned).collect();
                    let times = (row.min_timestamp_ns, row.max_timestamp_ns);
                    let key = (
                        row.shard_bucket,
                        labels,
                        times.0,
                        times.1,
                        row.object_path.to_owned(),
                        row.section_index,
                    );
                    prop_assert_eq!(&(key, [row.rows, row.uncompressed_bytes]), want);
                    prop_assert_eq!(row.sort_schema, schema.join(","));
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_index(model in index_model(), options in options()) {
        let object = model.write(&options);
        check_index(&object, &model)?;
        for section in &decode_object(&object).unwrap() {
            check_statistics(section)?;
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
