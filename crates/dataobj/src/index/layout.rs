//! The sections of an index object, from what is known about logs sections (specification chapters 8 and 10.1).

use super::builder::{IndexBuilder, TenantIndex};
use super::summary::{ColumnSummary, Totals};
use crate::error::Error;
use crate::write::{
    ColumnPointer, FinishedSection, PointerRow, PointerTarget, PointersWriter, PostingEntry, PostingRow,
    PostingsWriter, SHARD_BUCKETS, StatsRow, StatsWriter, StreamPointer, StreamRow, StreamsWriter, shard_bucket,
};
use std::collections::{BTreeMap, BTreeSet};

type Sections = Result<Vec<FinishedSection>, Error>;

/// The kinds of sections in their order; of each kind those of all tenants.
pub(super) const KINDS: [fn(&IndexBuilder, &TenantIndex) -> Sections; 5] =
    [streams, pointers, stats, bloom_postings, label_postings];

/// Raw bytes of an integer as sections are measured; what it stands for is not exact anyway.
const INTEGER_BYTES: usize = 8;

fn streams(index: &IndexBuilder, tenant: &TenantIndex) -> Sections {
    if tenant.streams.is_empty() {
        return Ok(Vec::new());
    }
    let mut writer = StreamsWriter::new(&tenant.tenant, &index.options().writer);
    for (position, stream) in tenant.streams.iter().enumerate() {
        writer.append(&StreamRow {
            id: position as i64 + 1,
            min_timestamp_ns: stream.min_timestamp_ns,
            max_timestamp_ns: stream.max_timestamp_ns,
            // Not records: each log object counts twice, for its first and its last time.
            rows: 2 * stream.log_objects,
            uncompressed_bytes: stream.uncompressed_bytes,
            labels: &borrowed(&stream.labels),
        })?;
    }
    Ok(vec![writer.finish()?])
}

fn pointers(index: &IndexBuilder, tenant: &TenantIndex) -> Sections {
    let mut streams = Vec::new();
    let mut columns = Vec::new();
    for section in &tenant.sections {
        let (path, ordinal) = (index.path(section), section.summary.ordinal);
        for (&id_ref, totals) in &section.summary.streams {
            let pointer = StreamPointer {
                stream_id: tenant.stream(section, id_ref).0,
                stream_id_ref: id_ref,
                min_timestamp_ns: totals.min_timestamp_ns,
                max_timestamp_ns: totals.max_timestamp_ns,
                rows: totals.rows,
                line_bytes: totals.line_bytes,
            };
            streams.push((path, ordinal, pointer));
        }
        columns.extend(section.summary.columns.iter().map(|column| (path, ordinal, column)));
    }
    streams.sort_by_key(|(_, _, pointer)| pointer.stream_id);
    columns.sort_by_key(|(_, _, column)| column.index);

    let mut sections = Cuts::new(
        index,
        |writer: PointersWriter| writer.finish(),
        || PointersWriter::new(&tenant.tenant, &index.options().writer),
    );
    for (path, section, pointer) in streams {
        let target = PointerTarget::Stream(pointer);
        let row = PointerRow { path, section, target };
        sections.append(path.len() + 8 * INTEGER_BYTES, |writer| writer.append(&row))?;
    }
    for (path, section, column) in columns {
        let filter = column.filter.to_bytes();
        let target = PointerTarget::Column(ColumnPointer {
            name: &column.name,
            index: column.index,
            values_bloom: &filter,
        });
        let row = PointerRow { path, section, target };
        let bytes = path.len() + column.name.len() + filter.len() + 3 * INTEGER_BYTES;
        sections.append(bytes, |writer| writer.append(&row))?;
    }
    sections.finish()
}

fn stats(index: &IndexBuilder, tenant: &TenantIndex) -> Sections {
    // A section holds rows of one schema only.
    let mut by_schema: BTreeMap<&[String], Vec<_>> = BTreeMap::new();
    for section in &tenant.sections {
        let schema = section.summary.schema.as_slice();
        let mut groups: BTreeMap<(i64, Vec<&str>), Totals> = BTreeMap::new();
        for (&id_ref, totals) in &section.summary.streams {
            let (_, labels) = tenant.stream(section, id_ref);
            let value = |name: &String| {
                let label = labels.iter().find(|(known, _)| known == name);
                label.map_or("", |(_, value)| value.as_str())
            };
            let key = (shard_bucket(&borrowed(labels)), schema.iter().map(value).collect());
            groups.entry(key).or_default().add(totals);
        }
        let rows = groups.into_iter().map(|((shard_bucket, labels), totals)| {
            let (min, max) = (totals.min_timestamp_ns, totals.max_timestamp_ns);
            let key = (
                shard_bucket,
                labels,
                min,
                max,
                index.path(section),
                section.summary.ordinal,
            );
            (key, totals)
        });
        by_schema.entry(schema).or_default().extend(rows);
    }
    let mut finished = Vec::new();
    for (schema, mut rows) in by_schema {
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        let schema: Vec<&str> = schema.iter().map(String::as_str).collect();
        let mut sections = Cuts::new(
            index,
            |writer: StatsWriter| writer.finish(),
            || StatsWriter::new(&tenant.tenant, &schema, &index.options().writer),
        );
        for ((shard_bucket, labels, _, _, object_path, section_index), totals) in &rows {
            let row = StatsRow {
                object_path,
                section_index: *section_index,
                shard_bucket: *shard_bucket,
                min_timestamp_ns: totals.min_timestamp_ns,
                max_timestamp_ns: totals.max_timestamp_ns,
                rows: totals.rows,
                uncompressed_bytes: totals.line_bytes + totals.metadata_bytes,
                labels,
            };
            let texts = schema.iter().chain(labels).map(|text| text.len()).sum::<usize>();
            let bytes = object_path.len() + texts + 6 * INTEGER_BYTES;
            sections.append(bytes, |writer| writer.append(&row))?;
        }
        finished.extend(sections.finish()?);
    }
    Ok(finished)
}

fn bloom_postings(index: &IndexBuilder, tenant: &TenantIndex) -> Sections {
    let mut rows: Vec<(&str, i64, &ColumnSummary)> = Vec::new();
    for section in &tenant.sections {
        let (path, ordinal) = (index.path(section), section.summary.ordinal);
        rows.extend(section.summary.columns.iter().map(|column| (path, ordinal, column)));
    }
    let key = |(path, ordinal, column): &(_, i64, &ColumnSummary)| {
        let (min, max) = (column.totals.min_timestamp_ns, column.totals.max_timestamp_ns);
        (min, max, *path, *ordinal)
    };
    rows.sort_by(|a: &(&str, _, _), b| a.2.name.cmp(&b.2.name).then_with(|| key(a).cmp(&key(b))));

    let mut sections = posting_sections(index, tenant);
    for (object_path, section_index, column) in rows {
        let filter = column.filter.to_bytes();
        let entry = PostingEntry::Bloom { filter: &filter };
        let bytes = column.totals.line_bytes;
        let row = Posting {
            object_path,
            section_index,
            column_name: &column.name,
            entry,
            streams: &column.streams,
        };
        row.append(&mut sections, filter.len(), bytes, &column.totals)?;
    }
    sections.finish()
}

fn label_postings(index: &IndexBuilder, tenant: &TenantIndex) -> Sections {
    let mut rows = Vec::new();
    for section in &tenant.sections {
        let mut values: BTreeMap<(&str, &str), (BTreeSet<i64>, Totals)> = BTreeMap::new();
        for (&id_ref, totals) in &section.summary.streams {
            for (name, value) in tenant.stream(section, id_ref).1 {
                let (streams, sum) = values.entry((name, value)).or_default();
                streams.insert(id_ref);
                sum.add(totals);
            }
        }
        rows.extend(values.into_iter().map(|((name, value), (streams, totals))| {
            let (min, max) = (totals.min_timestamp_ns, totals.max_timestamp_ns);
            let key = (name, value, min, max, index.path(section), section.summary.ordinal);
            (key, streams, totals)
        }));
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));

    let mut sections = posting_sections(index, tenant);
    for ((name, value, _, _, object_path, section_index), streams, totals) in &rows {
        let entry = PostingEntry::Label {
            value,
            // Not filled in by Loki either, and not to be relied on.
            min_shard_bucket: 0,
            max_shard_bucket: 0,
        };
        let bytes = totals.line_bytes + totals.metadata_bytes;
        let row = Posting {
            object_path,
            section_index: *section_index,
            column_name: name,
            entry,
            streams,
        };
        row.append(&mut sections, value.len(), bytes, totals)?;
    }
    sections.finish()
}

/// A posting whose bitmap isn't made yet.
struct Posting<'a> {
    object_path: &'a str,
    section_index: i64,
    column_name: &'a str,
    entry: PostingEntry<'a>,
    /// Numbers of the log object.
    streams: &'a BTreeSet<i64>,
}

impl Posting<'_> {
    fn append(
        &self,
        sections: &mut Cuts<'_, PostingsWriter>,
        entry_bytes: usize,
        uncompressed_bytes: i64,
        totals: &Totals,
    ) -> Result<(), Error> {
        let bitmap = bitmap(self.streams);
        let row = PostingRow {
            object_path: self.object_path,
            shard_buckets: SHARD_BUCKETS,
            section_index: self.section_index,
            column_name: self.column_name,
            entry: self.entry,
            stream_id_bitmap: &bitmap,
            uncompressed_bytes,
            min_timestamp_ns: totals.min_timestamp_ns,
            max_timestamp_ns: totals.max_timestamp_ns,
        };
        let texts = self.object_path.len() + self.column_name.len();
        sections.append(texts + entry_bytes + bitmap.len() + 8 * INTEGER_BYTES, |writer| {
            writer.append(&row)
        })
    }
}

fn posting_sections<'a>(index: &'a IndexBuilder, tenant: &'a TenantIndex) -> Cuts<'a, PostingsWriter> {
    Cuts::new(index, PostingsWriter::finish, || {
        PostingsWriter::new(&tenant.tenant, &index.options().writer)
    })
}

/// Rows of one kind, cut into sections.
struct Cuts<'a, W> {
    max_bytes: usize,
    begin: Box<dyn Fn() -> W + 'a>,
    end: fn(W) -> Result<FinishedSection, Error>,
    /// The section being written, with its raw bytes.
    open: Option<(W, usize)>,
    finished: Vec<FinishedSection>,
}

impl<'a, W> Cuts<'a, W> {
    fn new(
        index: &IndexBuilder,
        end: fn(W) -> Result<FinishedSection, Error>,
        begin: impl Fn() -> W + 'a,
    ) -> Cuts<'a, W> {
        Cuts {
            max_bytes: index.options().section_bytes,
            begin: Box::new(begin),
            end,
            open: None,
            finished: Vec::new(),
        }
    }

    /// Appends a row of that many raw bytes, and closes the section if it became too large.
    fn append(&mut self, row_bytes: usize, append: impl FnOnce(&mut W) -> Result<(), Error>) -> Result<(), Error> {
        let (writer, bytes) = self.open.get_or_insert_with(|| ((self.begin)(), 0));
        append(writer)?;
        *bytes += row_bytes;
        if *bytes > self.max_bytes {
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        if let Some((writer, _)) = self.open.take() {
            self.finished.push((self.end)(writer)?);
        }
        Ok(())
    }

    fn finish(mut self) -> Sections {
        self.close()?;
        Ok(self.finished)
    }
}

fn borrowed(labels: &[(String, String)]) -> Vec<(&str, &str)> {
    labels
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// Bit i, from the least significant one of the first byte, for each number i; positive numbers only.
fn bitmap(numbers: &BTreeSet<i64>) -> Vec<u8> {
    let mut bitmap = Vec::new();
    for &number in numbers {
        let byte = (number / 8) as usize;
        bitmap.resize(bitmap.len().max(byte + 1), 0);
        bitmap[byte] |= 1 << (number % 8);
    }
    bitmap
}
