//! Invented rows of index objects and tables of contents for property tests, and objects written from them.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;
use timberline_dataobj::*;

/// Path, section, and numbers of a pointer to a stream.
type StreamRowModel = (String, i64, [i64; 6]);

/// Path, section, key, position and filter of a pointer to a column.
type ColumnRowModel = (String, i64, String, i64, Vec<u8>);

/// Path, and times and sizes of an index object.
type IndexRowModel = (String, [i64; 4]);

/// Column name, label value (none for a bloom), times, path and section: what postings are sorted by.
type PostingKey = (String, Option<String>, i64, i64, String, i64);

/// Filter or bitmap, size, lowest and highest bucket.
type PostingRest = (Vec<u8>, Vec<u8>, [i64; 3]);

/// Bucket, label values, times, path, section; rows and size.
type StatsRowModel = ((i64, Vec<String>, i64, i64, String, i64), [i64; 2]);

#[derive(Clone, Debug)]
pub(crate) struct IndexModel {
    streams: Vec<StreamRowModel>,
    columns: Vec<ColumnRowModel>,
    indexes: Vec<IndexRowModel>,
    postings: BTreeMap<PostingKey, PostingRest>,
    labels: Vec<String>,
    stats: Vec<StatsRowModel>,
}

fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), 0i64..5, Just(i64::MIN), Just(i64::MAX)]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,2}", "\\PC{0,6}", "[a-z/]{50,90}"]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0u8), any::<u8>()], 0..40)
}

pub(crate) fn index_model() -> impl Strategy<Value = IndexModel> {
    let numbers = || [integer(), integer(), integer(), integer(), integer(), integer()];
    let streams = vec((text(), integer(), numbers()), 0..40);
    let columns = vec((text(), integer(), text(), integer(), bytes()), 0..40);
    let indexes = vec((text(), [integer(), integer(), integer(), integer()]), 0..40);
    let posting_key = (
        text(),
        proptest::option::of(text()),
        integer(),
        integer(),
        text(),
        integer(),
    );
    let postings = btree_map(
        posting_key,
        (bytes(), bytes(), [integer(), integer(), integer()]),
        0..40,
    );
    let stats_key = move |labels| (integer(), vec(text(), labels), integer(), integer(), text(), integer());
    let stats = (0usize..4).prop_flat_map(move |labels| {
        let names = Just((0..labels).map(|i| format!("label{i}")).collect::<Vec<_>>());
        (names, vec((stats_key(labels), [integer(), integer()]), 0..40))
    });
    (streams, columns, indexes, postings, stats).prop_map(
        |(mut streams, mut columns, indexes, postings, (labels, mut stats))| {
            streams.sort_by_key(|(_, _, numbers)| numbers[0]);
            columns.sort_by_key(|(_, _, _, index, _)| *index);
            stats.sort();
            IndexModel {
                streams,
                columns,
                indexes,
                postings,
                labels,
                stats,
            }
        },
    )
}

impl IndexModel {
    pub(crate) fn pointers(&self) -> Vec<PointerRow<'_>> {
        let streams = self.streams.iter().map(|(path, section, numbers)| {
            let [
                stream_id,
                stream_id_ref,
                min_timestamp_ns,
                max_timestamp_ns,
                rows,
                line_bytes,
            ] = *numbers;
            let target = PointerTarget::Stream(StreamPointer {
                stream_id,
                stream_id_ref,
                min_timestamp_ns,
                max_timestamp_ns,
                rows,
                line_bytes,
            });
            (path.as_str(), *section, target)
        });
        let columns = self.columns.iter().map(|(path, section, name, index, filter)| {
            let target = PointerTarget::Column(ColumnPointer {
                name,
                index: *index,
                values_bloom: filter,
            });
            (path.as_str(), *section, target)
        });
        let row = |(path, section, target)| PointerRow { path, section, target };
        streams.chain(columns).map(row).collect()
    }

    pub(crate) fn index_pointers(&self) -> Vec<IndexPointerRow<'_>> {
        let rows = self.indexes.iter().map(|(path, numbers)| {
            let [min_timestamp_ns, max_timestamp_ns, file_bytes, uncompressed_logs_bytes] = *numbers;
            IndexPointerRow {
                path,
                min_timestamp_ns,
                max_timestamp_ns,
                file_bytes,
                uncompressed_logs_bytes,
            }
        });
        rows.collect()
    }

    /// Bitmaps without zeros at their ends.
    pub(crate) fn postings(&self) -> Vec<PostingRow<'_>> {
        let rows = self.postings.iter().map(|(key, (filter, bitmap, [size, low, high]))| {
            let (column_name, value, min, max, object_path, section_index) = key;
            let entry = match value {
                None => PostingEntry::Bloom { filter },
                Some(value) => PostingEntry::Label {
                    value,
                    min_shard_bucket: *low,
                    max_shard_bucket: *high,
                },
            };
            let length = bitmap.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            PostingRow {
                object_path,
                shard_buckets: SHARD_BUCKETS,
                section_index: *section_index,
                column_name,
                entry,
                stream_id_bitmap: &bitmap[..length],
                uncompressed_bytes: *size,
                min_timestamp_ns: *min,
                max_timestamp_ns: *max,
            }
        });
        let (blooms, labels): (Vec<_>, Vec<_>) = rows.partition(|row| matches!(row.entry, PostingEntry::Bloom { .. }));
        [blooms, labels].concat()
    }

    pub(crate) fn label_names(&self) -> Vec<&str> {
        self.labels.iter().map(String::as_str).collect()
    }

    /// Every row as plain values.
    pub(crate) fn stats(&self) -> &[StatsRowModel] {
        &self.stats
    }

    /// One section of each kind.
    pub(crate) fn write(&self, options: &WriterOptions) -> Vec<u8> {
        let mut object = ObjectWriter::new();
        let mut writer = PointersWriter::new("tenant", options);
        self.pointers().iter().for_each(|row| writer.append(row).unwrap());
        object.push_section(writer.finish().unwrap());

        let mut writer = IndexPointersWriter::new("tenant", options);
        self.index_pointers().iter().for_each(|row| writer.append(row).unwrap());
        object.push_section(writer.finish().unwrap());

        let mut writer = PostingsWriter::new("", options);
        self.postings().iter().for_each(|row| writer.append(row).unwrap());
        object.push_section(writer.finish().unwrap());

        let mut writer = StatsWriter::new("other", &self.label_names(), options);
        for ((shard_bucket, labels, min, max, object_path, section_index), [rows, bytes]) in &self.stats {
            let row = StatsRow {
                object_path,
                section_index: *section_index,
                shard_bucket: *shard_bucket,
                min_timestamp_ns: *min,
                max_timestamp_ns: *max,
                rows: *rows,
                uncompressed_bytes: *bytes,
                labels: &labels.iter().map(String::as_str).collect::<Vec<_>>(),
            };
            writer.append(&row).unwrap();
        }
        object.push_section(writer.finish().unwrap());
        object.finish().unwrap()
    }
}
