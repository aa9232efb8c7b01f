//! Opening an object: its header, the metadata of the tenant's sections, and the tenant's streams.

use super::filters::FilterSections;
use super::pages::PagedColumn;
use super::reader::Reader;
use crate::source::{Selection, StreamInfo, TimeSpan};
use crate::{Error, TenantId};
use arrow_array::{Array, BinaryArray, Int64Array};
use std::ops::Range;
use std::sync::Arc;
use timberline_dataobj::{ObjectLayout, Parsed, Section, SectionKind, SectionMeta, column};
use timberline_logql::labels::LabelSet;

/// First read of an object; the header and often all metadata are in it (dataobj-format.md 12.1).
const PREFIX_BYTES: u64 = 16 << 10;
/// Objects up to this size are read whole at once and held: a second request costs more than their bytes.
const WHOLE_BYTES: u64 = 256 << 10;
/// Metadata in memory takes about this many times its size in the object.
const METADATA_EXPANSION: usize = 3;

/// What is kept of an opened object.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) streams: Arc<[StreamInfo]>,
    pub(super) sections: Vec<LogsSection>,
    pub(super) runs: Vec<Run>,
    pub(super) filters: FilterSections,
    /// About the memory that all this takes.
    pub(super) weight_bytes: usize,
}

/// A logs section of the tenant.
#[derive(Debug)]
pub(super) struct LogsSection {
    /// Position in the object.
    pub(super) index: usize,
    pub(super) stream_id: PagedColumn,
    pub(super) timestamp: PagedColumn,
    /// Absent if all lines are null, which Loki never writes.
    pub(super) message: Option<PagedColumn>,
    /// Columns of structured metadata with their names.
    pub(super) metadata: Vec<(Arc<str>, PagedColumn)>,
}

/// A page-sized stretch of rows of a section.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) section: usize,
    pub(super) rows: Range<u64>,
}

/// Reads what is needed of an object to plan any further read: one request for the beginning, one batch for metadata and streams.
pub(super) async fn open(reader: &Reader, tenant: &TenantId) -> Result<Opened, Error> {
    let layout = read_layout(reader).await?;
    let own = |kind: SectionKind| move |s: &&Section| s.tenant == tenant.as_str() && s.kind == kind;
    let streams: Vec<&Section> = layout.sections().iter().filter(own(SectionKind::Streams)).collect();
    let logs: Vec<&Section> = layout.sections().iter().filter(own(SectionKind::Logs)).collect();
    let [streams] = streams.as_slice() else {
        return Err(reader.corrupt(
            "header",
            0,
            format!("{} streams sections of tenant {tenant}", streams.len()),
        ));
    };
    if logs.is_empty() {
        return Err(reader.corrupt("header", 0, format!("no logs section of tenant {tenant}")));
    }

    // Every query needs the streams, so their data come in the same batch.
    let mut ranges = vec![streams.data.clone(), streams.metadata.clone()];
    ranges.extend(logs.iter().map(|section| section.metadata.clone()));
    let mut parts = reader.fetch(&ranges).await?.into_iter();
    let mut next = || parts.next().expect("bug: one part for each range");
    let streams_data = next();
    let parse = |section: &Section, region: &[u8]| {
        SectionMeta::parse(section, region).map_err(|e| Error::in_object(reader.key(), e))
    };
    let streams_meta = parse(streams, &next())?;
    let streams = decode_streams(reader, streams, streams_meta, &streams_data)?;

    let mut sections = Vec::with_capacity(logs.len());
    let mut runs = Vec::new();
    let mut weight_bytes = weight_of_streams(&streams) + reader.held_bytes();
    for section in logs {
        let region = next();
        weight_bytes += region.len() * METADATA_EXPANSION;
        let meta = parse(section, &region)?;
        let rows = meta.rows;
        let parsed = LogsSection::new(reader, section, meta)?;
        append_runs(&mut runs, sections.len(), &parsed, rows);
        sections.push(parsed);
    }
    Ok(Opened {
        streams: streams.into(),
        sections,
        runs,
        filters: FilterSections::find(&layout, tenant),
        weight_bytes,
    })
}

async fn read_layout(reader: &Reader) -> Result<ObjectLayout, Error> {
    let wanted = if reader.size_bytes() <= WHOLE_BYTES {
        reader.size_bytes()
    } else {
        PREFIX_BYTES
    };
    let mut prefix = reader.read_prefix(wanted).await?;
    loop {
        match ObjectLayout::parse(&prefix).map_err(|e| Error::in_object(reader.key(), e))? {
            Parsed::Complete(layout) => return Ok(layout),
            Parsed::NeedBytes(bytes) if bytes as u64 > reader.size_bytes() || bytes <= prefix.len() => {
                let size = reader.size_bytes();
                return Err(reader.corrupt(
                    "header",
                    4,
                    format!("header needs {bytes} bytes of an object of {size}"),
                ));
            }
            Parsed::NeedBytes(bytes) => prefix = reader.read_prefix(bytes as u64).await?,
        }
    }
}

impl LogsSection {
    fn new(reader: &Reader, section: &Section, meta: SectionMeta) -> Result<Self, Error> {
        let (mut stream_id, mut timestamp, mut message) = (None, None, None);
        let mut metadata: Vec<(Arc<str>, PagedColumn)> = Vec::new();
        for column in meta.columns {
            let place = match column.logical.as_str() {
                column::STREAM_ID => &mut stream_id,
                column::TIMESTAMP => &mut timestamp,
                column::MESSAGE => &mut message,
                column::METADATA => {
                    metadata.push((column.tag.as_str().into(), PagedColumn::new(column)));
                    continue;
                }
                _ => continue,
            };
            if place.is_none() {
                *place = Some(PagedColumn::new(column));
            }
        }
        let missing = |name: &str| {
            let section_name = format!("section {}", section.index);
            reader.corrupt(
                &section_name,
                section.metadata.start,
                format!("logs section without column {name}"),
            )
        };
        Ok(Self {
            index: section.index,
            stream_id: stream_id.ok_or_else(|| missing(column::STREAM_ID))?,
            timestamp: timestamp.ok_or_else(|| missing(column::TIMESTAMP))?,
            message,
            metadata,
        })
    }
}

/// Cuts a section where the pages of its largest column, the lines, are cut: a run is then one page of it, whoever wrote it.
fn append_runs(runs: &mut Vec<Run>, section: usize, logs: &LogsSection, rows: u64) {
    let cut_by = logs.message.as_ref().unwrap_or(&logs.timestamp);
    let mut end_of_last = 0;
    for (start, page) in cut_by.pages_in(0..rows) {
        end_of_last = start + page.rows;
        runs.push(Run {
            section,
            rows: start..end_of_last,
        });
    }
    if end_of_last < rows {
        runs.push(Run {
            section,
            rows: end_of_last..rows,
        });
    }
}

/// The columns of a streams section that are read, other than labels.
struct StreamColumns {
    id: Int64Array,
    min_ns: Int64Array,
    max_ns: Int64Array,
    rows: Int64Array,
    bytes: Int64Array,
}

fn decode_streams(
    reader: &Reader,
    section: &Section,
    meta: SectionMeta,
    data: &bytes::Bytes,
) -> Result<Vec<StreamInfo>, Error> {
    let section_name = format!("section {}", section.index);
    let corrupt = |message: String| reader.corrupt(&section_name, section.data.start, message);
    let all = 0..meta.rows;
    let mut labels: Vec<(String, BinaryArray)> = Vec::new();
    let mut integers: Vec<(String, Int64Array)> = Vec::new();
    for column in meta.columns {
        let is_label = column.logical == column::LABEL;
        let is_integer = [
            column::STREAM_ID,
            column::MIN_TIMESTAMP,
            column::MAX_TIMESTAMP,
            column::ROWS,
            column::UNCOMPRESSED_SIZE,
        ]
        .contains(&column.logical.as_str());
        if !is_label && !is_integer {
            continue;
        }
        let column = PagedColumn::new(column);
        let plan = column.plan(&all, &Selection::All);
        let pages: Vec<_> = plan.pages().collect();
        let mut bytes = reader.cut(&section.data, data, &pages).into_iter();
        let failed = |e| Error::in_object(reader.key(), e);
        if is_label {
            let too_large = || corrupt(format!("values of label {:?} take more than 2 GiB", column.meta.tag));
            let values = plan.decode_binary(&mut bytes).map_err(failed)?.ok_or_else(too_large)?;
            labels.push((column.meta.tag.clone(), values));
        } else {
            let values = plan.decode_int64(&mut bytes).map_err(failed)?;
            integers.push((column.meta.logical.clone(), values));
        }
    }
    let mut take = |name: &str| {
        let at = integers.iter().position(|(logical, _)| logical == name);
        let values = at.map(|at| integers.swap_remove(at).1);
        values
            .filter(|v| v.null_count() == 0)
            .ok_or_else(|| corrupt(format!("column {name} is absent or has nulls")))
    };
    let columns = StreamColumns {
        id: take(column::STREAM_ID)?,
        min_ns: take(column::MIN_TIMESTAMP)?,
        max_ns: take(column::MAX_TIMESTAMP)?,
        rows: take(column::ROWS)?,
        bytes: take(column::UNCOMPRESSED_SIZE)?,
    };
    let mut streams: Vec<StreamInfo> = (0..columns.id.len()).map(|row| columns.stream(row, &labels)).collect();
    streams.sort_by_key(|stream| stream.id);
    if let Some(pair) = streams.windows(2).find(|pair| pair[0].id == pair[1].id) {
        return Err(corrupt(format!("two streams have number {}", pair[0].id)));
    }
    if let Some(stream) = streams.iter().find(|stream| stream.span.min_ns > stream.span.max_ns) {
        return Err(corrupt(format!("stream {} ends before it begins", stream.id)));
    }
    Ok(streams)
}

impl StreamColumns {
    fn stream(&self, row: usize, labels: &[(String, BinaryArray)]) -> StreamInfo {
        // An absent label and one with an empty value are the same (dataobj-format.md 13).
        let present = labels
            .iter()
            .filter(|(_, values)| values.is_valid(row) && !values.value(row).is_empty());
        let pairs =
            present.map(|(name, values)| (name.as_str(), String::from_utf8_lossy(values.value(row)).into_owned()));
        StreamInfo {
            id: self.id.value(row),
            labels: LabelSet::from_pairs(pairs),
            span: TimeSpan {
                min_ns: self.min_ns.value(row),
                max_ns: self.max_ns.value(row),
            },
            rows: u64::try_from(self.rows.value(row)).unwrap_or(0),
            bytes: u64::try_from(self.bytes.value(row)).unwrap_or(0),
            duplicates: None,
        }
    }
}

fn weight_of_streams(streams: &[StreamInfo]) -> usize {
    let labels = |s: &StreamInfo| {
        s.labels
            .iter()
            .map(|(name, value)| name.len() + value.len() + 48)
            .sum::<usize>()
    };
    streams
        .iter()
        .map(|stream| labels(stream) + std::mem::size_of::<StreamInfo>())
        .sum()
}
