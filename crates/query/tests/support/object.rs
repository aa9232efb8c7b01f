//! Rows as a data object in a store in memory.

use super::{Memory, Row};
use bytes::Bytes;
use futures::executor::block_on;
use timberline_dataobj::{LogRow, LogsWriter, ObjectWriter, SortOrder, StreamRow, StreamsWriter, WriterOptions};
use timberline_store::{ObjectMeta, ObjectSource, Store, TenantId};

/// The sorted rows as one object, a page for each run.
pub(super) fn source(memory: &Memory, with_filters: bool) -> ObjectSource {
    assert!(memory.layout.sorted, "objects are sorted");
    let (tenant, key) = (TenantId::single(), "objects/x");
    let bytes = Bytes::from(write(memory, tenant.as_str(), with_filters));
    let meta = ObjectMeta {
        key: key.into(),
        min_ns: memory.span.min_ns,
        max_ns: memory.span.max_ns,
        rows: memory.rows.len() as u64,
        size_bytes: bytes.len() as u64,
        uncompressed_bytes: 0,
    };
    let store = Store::in_memory();
    block_on(store.put(key, &bytes)).unwrap();
    ObjectSource::open(store, meta, tenant)
}

fn write(memory: &Memory, tenant: &str, with_filters: bool) -> Vec<u8> {
    let options = WriterOptions {
        page_rows: memory.layout.run_rows,
        ..WriterOptions::default()
    };
    let mut streams = StreamsWriter::new(tenant, &options);
    for stream in &memory.streams {
        let labels: Vec<(&str, &str)> = stream.labels.iter().collect();
        let row = StreamRow {
            id: stream.id,
            min_timestamp_ns: stream.span.min_ns,
            max_timestamp_ns: stream.span.max_ns,
            rows: stream.rows as i64,
            uncompressed_bytes: 0,
            labels: &labels,
        };
        streams.append(&row).unwrap();
    }
    let mut logs = LogsWriter::new(tenant, SortOrder::StreamAscending, &options);
    if with_filters {
        logs = logs.with_extensions();
    }
    for (stream_id, row) in &memory.rows {
        append(&mut logs, *stream_id, row);
    }
    let mut object = ObjectWriter::new();
    object.push_section(streams.finish().unwrap());
    object.push_section(logs.finish().unwrap());
    object.finish().unwrap()
}

fn append(logs: &mut LogsWriter, stream_id: i64, row: &Row) {
    let mut metadata: Vec<(&str, &[u8])> = row.metadata.iter().map(|(k, v)| (k.as_str(), v.as_bytes())).collect();
    metadata.sort_unstable();
    let row = LogRow {
        stream_id,
        timestamp_ns: row.timestamp_ns,
        line: row.line.as_bytes(),
        metadata: &metadata,
    };
    logs.append(&row).unwrap();
}
