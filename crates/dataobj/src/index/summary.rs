//! What an index object says about one log object (specification chapter 10).

use super::bloom::BloomFilter;
use crate::error::{Damage, Error};
use crate::read::{ColumnMeta, Scratch, Section, SectionMeta};
use crate::schema::{SectionKind, column};
use crate::sections::{LogsReader, StreamsReader, WholeObject, known_columns};
use std::collections::{BTreeMap, BTreeSet};

/// The label by which sections without an order by labels are summed up.
const DEFAULT_SCHEMA: &str = "service_name";

/// Names and values, ascending by name.
pub(super) type Labels = Vec<(String, String)>;

/// A tenant's part of a log object.
#[derive(Debug)]
pub(super) struct TenantSummary {
    pub(super) tenant: String,
    /// Numbers 1, 2, 3...
    pub(super) streams: Vec<StreamSummary>,
    pub(super) sections: Vec<LogsSummary>,
}

#[derive(Debug)]
pub(super) struct StreamSummary {
    pub(super) min_timestamp_ns: i64,
    pub(super) max_timestamp_ns: i64,
    pub(super) uncompressed_bytes: i64,
    pub(super) labels: Labels,
}

#[derive(Debug)]
pub(super) struct LogsSummary {
    /// Position among the logs sections of the object, counting all tenants.
    pub(super) ordinal: i64,
    /// Names of the labels by which it is summed up.
    pub(super) schema: Vec<String>,
    /// By stream number.
    pub(super) streams: BTreeMap<i64, Totals>,
    pub(super) columns: Vec<ColumnSummary>,
}

/// A metadata column.
#[derive(Debug)]
pub(super) struct ColumnSummary {
    pub(super) name: String,
    /// Position among the columns that the format defines.
    pub(super) index: i64,
    pub(super) filter: BloomFilter,
    /// Numbers of the streams that have a value.
    pub(super) streams: BTreeSet<i64>,
    /// Of the records that have a value.
    pub(super) totals: Totals,
}

/// Some records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Totals {
    pub(super) min_timestamp_ns: i64,
    pub(super) max_timestamp_ns: i64,
    pub(super) rows: i64,
    pub(super) line_bytes: i64,
    pub(super) metadata_bytes: i64,
}

impl Default for Totals {
    /// No records.
    fn default() -> Totals {
        Totals {
            min_timestamp_ns: i64::MAX,
            max_timestamp_ns: i64::MIN,
            rows: 0,
            line_bytes: 0,
            metadata_bytes: 0,
        }
    }
}

impl Totals {
    pub(super) fn add(&mut self, other: &Totals) {
        self.min_timestamp_ns = self.min_timestamp_ns.min(other.min_timestamp_ns);
        self.max_timestamp_ns = self.max_timestamp_ns.max(other.max_timestamp_ns);
        self.rows += other.rows;
        self.line_bytes += other.line_bytes;
        self.metadata_bytes += other.metadata_bytes;
    }
}

/// Reads a log object.
pub(super) fn summarise(object: &[u8]) -> Result<Vec<TenantSummary>, Error> {
    let object = WholeObject::parse(object)?;
    let mut scratch = Scratch::new();
    let mut tenants: Vec<TenantSummary> = Vec::new();
    for section in object.sections().iter().filter(|s| s.kind == SectionKind::Streams) {
        if tenants.iter().any(|known| known.tenant == section.tenant) {
            return Err(damage(
                section,
                format!("tenant {:?} has two streams sections", section.tenant),
            ));
        }
        let meta = object.meta(section)?;
        let streams = StreamsReader::open(section, &meta, object.data(section)?, &mut scratch)?;
        tenants.push(TenantSummary {
            tenant: section.tenant.clone(),
            streams: read_streams(section, &streams)?,
            sections: Vec::new(),
        });
    }
    let logs = object
        .sections()
        .iter()
        .filter(|section| section.kind == SectionKind::Logs);
    for (ordinal, section) in logs.enumerate() {
        let Some(tenant) = tenants.iter_mut().find(|known| known.tenant == section.tenant) else {
            return Err(damage(
                section,
                format!("tenant {:?} has no streams section", section.tenant),
            ));
        };
        let meta = object.meta(section)?;
        let records = LogsReader::open(section, &meta, object.data(section)?, &mut scratch)?;
        let summary = read_logs(ordinal as i64, section, &meta, &records, tenant.streams.len() as i64)?;
        tenant.sections.push(summary);
    }
    Ok(tenants)
}

fn damage(section: &Section, reason: String) -> Error {
    Damage::new(reason).at(Some(section.index), section.data.start)
}

/// Numbers must be 1, 2, 3..., though in any order: postings have a bit for each number up to the largest.
fn read_streams(section: &Section, reader: &StreamsReader<'_>) -> Result<Vec<StreamSummary>, Error> {
    let mut streams: Vec<Option<StreamSummary>> = Vec::new();
    streams.resize_with(reader.rows().len(), || None);
    for stream in reader.rows() {
        let position = stream.id.checked_sub(1).and_then(|id| usize::try_from(id).ok());
        let slot = position.and_then(|position| streams.get_mut(position));
        let Some(slot @ None) = slot else {
            let reason = format!("stream {} is there twice or beyond the number of streams", stream.id);
            return Err(damage(section, reason));
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        *slot = Some(StreamSummary {
            min_timestamp_ns: stream.min_timestamp_ns,
            max_timestamp_ns: stream.max_timestamp_ns,
            uncompressed_bytes: stream.uncompressed_bytes,
            labels: stream.labels().map(owned).collect(),
        });
    }
    Ok(streams.into_iter().flatten().collect())
}

fn read_logs(
    ordinal: i64,
    section: &Section,
    meta: &SectionMeta,
    records: &LogsReader<'_>,
    known_streams: i64,
) -> Result<LogsSummary, Error> {
    let known = known_columns(meta).enumerate();
    let mut columns: Vec<ColumnSummary> = known
        .filter(|(_, column)| column.logical == column::METADATA)
        .map(|(index, column)| ColumnSummary {
            name: column.tag.clone(),
            index: index as i64,
            filter: BloomFilter::for_values(expected_values(column)),
            streams: BTreeSet::new(),
            totals: Totals::default(),
        })
        .collect();
    // Records lend their metadata ascending by key, so one walk over sorted columns finds them.
    columns.sort_by(|a, b| a.name.cmp(&b.name));
    let mut streams: BTreeMap<i64, Totals> = BTreeMap::new();
    for record in records.rows() {
        if !(1..=known_streams).contains(&record.stream_id) {
            let reason = format!("stream {} is not in the streams section", record.stream_id);
            return Err(damage(section, reason));
        }
        let mut totals = Totals {
            min_timestamp_ns: record.timestamp_ns,
            max_timestamp_ns: record.timestamp_ns,
            rows: 1,
            line_bytes: record.line.len() as i64,
            metadata_bytes: 0,
        };
        let mut rest = columns.iter_mut();
        for (key, value) in record.metadata().filter(|(_, value)| !value.is_empty()) {
            totals.metadata_bytes += value.len() as i64;
            if let Some(column) = rest.find(|column| column.name == key) {
                column.filter.insert(value);
                column.streams.insert(record.stream_id);
                column.totals.add(&totals);
            }
        }
        streams.entry(record.stream_id).or_default().add(&totals);
    }
    columns.sort_by_key(|column| column.index);
    Ok(LogsSummary {
        ordinal,
        schema: schema(meta),
        streams,
        columns,
    })
}

/// The column's cardinality, where it is known and not absurd.
fn expected_values(column: &ColumnMeta) -> u64 {
    let cardinality = column.stats.as_ref().map_or(0, |stats| stats.cardinality);
    match cardinality {
        0 => column.values,
        // It is an estimate, so it may come out above the number of values.
        cardinality => cardinality.min(2 * column.values),
    }
}

/// The labels that a section is sorted by, or the default.
fn schema(meta: &SectionMeta) -> Vec<String> {
    let keys = meta.sort.iter().flat_map(|sort| &sort.schema_keys);
    let labels: Vec<String> = keys
        .filter_map(|key| key.strip_prefix("label:"))
        .map(str::to_owned)
        .collect();
    if labels.is_empty() {
        vec![DEFAULT_SCHEMA.to_owned()]
    } else {
        labels
    }
}
