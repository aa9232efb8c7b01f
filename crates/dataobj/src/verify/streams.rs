//! Streams sections (specification chapters 8.1 and 16.2).

use super::cells::{Cell, Decoded};
use super::section::place;
use super::{Check, Place, Tally, Verifier};
use crate::read::Section;
use crate::schema::{SectionKind, column};
use crate::write::shard_bucket;
use std::collections::{HashMap, HashSet};

/// What is known about the streams of each tenant.
#[derive(Default)]
pub(super) struct Tenants<'a>(HashMap<&'a str, Tenant<'a>>);

/// The streams of a tenant.
pub(super) struct Tenant<'a> {
    decoded: Decoded<'a>,
    /// By number.
    streams: HashMap<i64, Stream>,
    /// The last row of the logs section before: its sort key.
    pub(super) last_logs: Option<super::logs::Key>,
}

/// A row of a streams section.
pub(super) struct Stream {
    row: usize,
    pub(super) min_timestamp_ns: i64,
    pub(super) max_timestamp_ns: i64,
    rows: i64,
    /// Rows of logs sections that belong to it.
    pub(super) seen_rows: i64,
}

impl<'a> Tenants<'a> {
    pub(super) fn get(&self, tenant: &str) -> Option<&Tenant<'a>> {
        self.0.get(tenant)
    }

    pub(super) fn get_mut(&mut self, tenant: &str) -> Option<&mut Tenant<'a>> {
        self.0.get_mut(tenant)
    }
}

impl Tenant<'_> {
    pub(super) fn stream(&self, number: i64) -> Option<&Stream> {
        self.streams.get(&number)
    }

    pub(super) fn stream_mut(&mut self, number: i64) -> Option<&mut Stream> {
        self.streams.get_mut(&number)
    }

    /// The values of labels, joined as rows are sorted by them.
    pub(super) fn label_values(&self, number: i64, labels: &[String]) -> Vec<u8> {
        let value = |label: &String| {
            let label = label.strip_prefix("label:").unwrap_or(label);
            let position = self.decoded.position(column::LABEL, label)?;
            let stream = self.streams.get(&number)?;
            Some(self.decoded.cell(position, stream.row).bytes())
        };
        let values: Vec<&[u8]> = labels.iter().map(|label| value(label).unwrap_or_default()).collect();
        values.join(&0)
    }
}

/// Checks the rows of a streams section.
pub(super) fn check<'a>(verifier: &mut Verifier<'_>, tenants: &mut Tenants<'a>, decoded: Decoded<'a>) {
    let section = decoded.section;
    if tenants.0.contains_key(section.tenant.as_str()) {
        let what = format!("a second streams section of tenant {:?}", section.tenant);
        verifier.find(Check::StreamsSection, place(section, section.metadata.start), what);
        return;
    }
    let streams = numbered(verifier, &decoded);
    check_labels(verifier, &decoded);
    let tenant = Tenant {
        decoded,
        streams,
        last_logs: None,
    };
    tenants.0.insert(&section.tenant, tenant);
}

fn numbered(verifier: &mut Verifier<'_>, decoded: &Decoded<'_>) -> HashMap<i64, Stream> {
    let names = [
        column::STREAM_ID,
        column::MIN_TIMESTAMP,
        column::MAX_TIMESTAMP,
        column::ROWS,
    ];
    let Some(mut columns) = names.iter().map(|name| decoded.cells(name)).collect::<Option<Vec<_>>>() else {
        return HashMap::new();
    };
    let mut streams = HashMap::new();
    let (mut twice, mut holes, mut times) = (Tally::default(), Tally::default(), Tally::default());
    for row in 0..decoded.meta.rows {
        let cells: Vec<Option<i64>> = columns.iter_mut().map(|cells| cells.next_cell().int64()).collect();
        // Nulls are found elsewhere.
        let [Some(number), Some(min_timestamp_ns), Some(max_timestamp_ns), Some(rows)] = cells[..] else {
            continue;
        };
        if min_timestamp_ns > max_timestamp_ns {
            times.add(row, || {
                format!("starts at {min_timestamp_ns}, ends at {max_timestamp_ns}")
            });
        }
        if number < 1 || number.cast_unsigned() > decoded.meta.rows {
            holes.add(row, || format!("stream {number} of {}", decoded.meta.rows));
        }
        let stream = Stream {
            row: row as usize,
            min_timestamp_ns,
            max_timestamp_ns,
            rows,
            seen_rows: 0,
        };
        if streams.insert(number, stream).is_some() {
            twice.add(row, || format!("another stream {number}"));
        }
    }
    let at = || place(decoded.section, decoded.section.data.start);
    holes.report(verifier, Check::StreamNumbers, at());
    twice.report(verifier, Check::StreamNumbers, at());
    times.report(verifier, Check::Value, at());
    streams
}

fn check_labels(verifier: &mut Verifier<'_>, decoded: &Decoded<'_>) {
    let mut labels: Vec<(&str, usize)> = decoded
        .meta
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.logical == column::LABEL)
        .map(|(position, column)| (column.tag.as_str(), position))
        .collect();
    labels.sort_unstable();
    let cells = labels
        .iter()
        .map(|(name, position)| Some((*name, decoded.cells_at(*position)?)));
    let Some(mut cells) = cells.collect::<Option<Vec<_>>>() else {
        return;
    };
    let mut buckets = decoded.cells(column::SHARD_BUCKET);
    let (mut twice, mut wrong, mut text) = (Tally::default(), Tally::default(), Tally::default());
    let mut seen: HashMap<Vec<(&str, &[u8])>, u64> = HashMap::new();
    for row in 0..decoded.meta.rows {
        let pairs: Vec<(&str, &[u8])> = cells
            .iter_mut()
            .map(|(name, cells)| (*name, cells.next_cell()))
            .filter(|(_, cell)| *cell != Cell::Null)
            .map(|(name, cell)| (name, cell.bytes()))
            .collect();
        let strings: Result<Vec<(&str, &str)>, _> = pairs
            .iter()
            .map(|(name, value)| Ok((*name, std::str::from_utf8(value)?)))
            .collect::<Result<_, std::str::Utf8Error>>();
        let bucket = buckets.as_mut().and_then(|cells| cells.next_cell().int64());
        match (strings, bucket) {
            (Err(_), _) => text.add(row, || "a label value is not UTF-8".to_owned()),
            (Ok(labels), Some(bucket)) if shard_bucket(&labels) != bucket => {
                wrong.add(row, || {
                    format!("shard bucket {bucket}, its labels give {}", shard_bucket(&labels))
                });
            }
            _ => {}
        }
        if let Some(before) = seen.insert(pairs, row) {
            twice.add(row, || format!("has the labels of row {before}"));
        }
    }
    let at = || place(decoded.section, decoded.section.data.start);
    text.report(verifier, Check::Value, at());
    wrong.report(verifier, Check::ShardBucket, at());
    twice.report(verifier, Check::StreamTwice, at());
}

/// Checks what can be said once all sections are known.
pub(super) fn check_tenants(verifier: &mut Verifier<'_>, tenants: &Tenants<'_>, sections: &[Section]) {
    // A fragment for tests, perhaps: its rows can be read, but belong to nobody.
    let streams = sections.iter().filter(|section| section.kind == SectionKind::Streams);
    let with_streams: HashSet<&str> = streams.map(|section| section.tenant.as_str()).collect();
    let check = match with_streams.is_empty() {
        false => Check::StreamsSection,
        true => Check::StreamsMissing,
    };
    for section in sections {
        let needs_streams = matches!(section.kind, SectionKind::Logs | SectionKind::Pointers);
        if needs_streams && !with_streams.contains(section.tenant.as_str()) {
            let what = format!("tenant {:?} has no streams section", section.tenant);
            verifier.find(check, place(section, section.metadata.start), what);
        }
    }
    let mut names: Vec<&&str> = tenants.0.keys().collect();
    names.sort_unstable();
    for tenant in names.iter().filter_map(|name| tenants.get(name)) {
        let mut numbers: Vec<_> = tenant.streams.iter().collect();
        numbers.sort_unstable_by_key(|(_, stream)| stream.row);
        let mut tally = Tally::default();
        for (number, stream) in numbers {
            if stream.seen_rows > stream.rows {
                tally.add(stream.row as u64, || {
                    format!(
                        "stream {number} says {} rows, there are {}",
                        stream.rows, stream.seen_rows
                    )
                });
            }
        }
        let section = tenant.decoded.section;
        let place = Place {
            column: Some(column::ROWS.to_owned()),
            ..place(section, section.data.start)
        };
        tally.report(verifier, Check::StreamRows, place);
    }
}
