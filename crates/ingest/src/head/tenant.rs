// hot path: no locks shared between cores, no logging above debug, no allocation per row.
//! The rows of one tenant in one segment of the head.

use super::block::{Block, OpenBlock};
use super::source::HeadSource;
use crate::record::{RecordError, RecordSink, decode_labels, read_streams};
use hashbrown::HashMap;
use std::sync::Arc;
use timberline_logql::labels::LabelSet;
use timberline_store::source::{StreamInfo, TimeSpan};

/// Bytes that a row takes beside its line and metadata: stream, timestamp, offsets.
const ROW_BYTES: usize = 24;
/// Bytes that a metadata pair takes beside its value: number of the name, offset.
const PAIR_BYTES: usize = 8;
/// Bytes that a stream takes beside its labels: its place in the table and the index.
const STREAM_BYTES: usize = 160;
/// Bytes that a label of a stream takes beside its name and value.
const LABEL_BYTES: usize = 48;
/// Bytes that a metadata name takes: little here, but a column of its own when the object is built.
const NAME_BYTES: usize = 1024;

/// Streams, names and rows. What readers share is copied when it changes while they hold it.
#[derive(Debug, Default)]
pub(crate) struct TenantHead {
    streams: Arc<Vec<StreamInfo>>,
    by_labels: HashMap<Box<[u8]>, usize>,
    names: Arc<Vec<Arc<str>>>,
    by_name: HashMap<Arc<str>, u32>,
    sealed: Vec<Arc<Block>>,
    open: OpenBlock,
    /// The tenant's number of each name of the record being added; kept for its allocation.
    record_names: Vec<u32>,
    rows: u64,
    bytes: usize,
}

impl TenantHead {
    /// Adds the entries of a record, `start` being where its streams begin.
    pub(crate) fn add(&mut self, payload: &[u8], start: usize) -> Result<(), RecordError> {
        self.record_names.clear();
        let mut adding = Adding {
            head: self,
            stream: None,
        };
        let added = read_streams(payload, start, &mut adding);
        adding.end_stream();
        added
    }

    /// Rows, exact duplicates included.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Memory that rows, streams and names take, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// Labels of all streams, decoded and encoded.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&LabelSet, &[u8])> {
        let labels = |index: usize| &self.streams[index].labels;
        self.by_labels
            .iter()
            .map(move |(encoded, &index)| (labels(index), encoded.as_ref()))
    }

    /// Metadata names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// The rows as of now; `None` if there are none.
    pub(crate) fn snapshot(&self) -> Option<HeadSource> {
        let open = self.open.clone().seal().map(Arc::new);
        let blocks = self.sealed.iter().cloned().chain(open).collect();
        HeadSource::new(self.streams.clone(), self.names.clone(), blocks)
    }

    /// The rows, without copying any; `None` if there are none.
    pub(crate) fn freeze(self) -> Option<HeadSource> {
        let mut blocks = self.sealed;
        blocks.extend(self.open.seal().map(Arc::new));
        HeadSource::new(self.streams, self.names, blocks)
    }

    fn number_of_name(&mut self, name: &str) -> u32 {
        if let Some(number) = self.by_name.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        let name: Arc<str> = name.into();
        Arc::make_mut(&mut self.names).push(name.clone());
        self.bytes += NAME_BYTES + name.len();
        self.by_name.insert(name, number);
        number
    }

    /// Index of the stream with these labels; `None` if it is new.
    fn stream(&mut self, encoded_labels: &[u8]) -> Option<usize> {
        self.by_labels.get(encoded_labels).copied()
    }
}

/// A record on its way into the head.
struct Adding<'h> {
    head: &'h mut TenantHead,
    stream: Option<AddedStream>,
}

/// What the record changes about its current stream; written back once per stream, not per row.
struct AddedStream {
    index: usize,
    info: StreamInfo,
    /// Encoded labels of a stream that is not yet in the table.
    new: Option<Box<[u8]>>,
}

impl Adding<'_> {
    fn end_stream(&mut self) {
        let Some(AddedStream { index, info, new }) = self.stream.take() else {
            return;
        };
        if info.rows == 0 {
            return;
        }
        let streams = Arc::make_mut(&mut self.head.streams);
        match new {
            Some(encoded_labels) => {
                // The text of the labels is there twice, encoded and decoded.
                self.head.bytes += STREAM_BYTES + info.labels.len() * LABEL_BYTES + 2 * encoded_labels.len();
                streams.push(info);
                self.head.by_labels.insert(encoded_labels, index);
            }
            None => streams[index] = info,
        }
    }
}

impl RecordSink for Adding<'_> {
    fn stream(&mut self, encoded_labels: &[u8]) -> Result<(), RecordError> {
        self.end_stream();
        let added = match self.head.stream(encoded_labels) {
            Some(index) => AddedStream {
                index,
                info: self.head.streams[index].clone(),
                new: None,
            },
            None => {
                let index = self.head.streams.len();
                let info = StreamInfo {
                    id: index as i64 + 1,
                    labels: decode_labels(encoded_labels)?,
                    span: TimeSpan {
                        min_ns: i64::MAX,
                        max_ns: i64::MIN,
                    },
                    rows: 0,
                    bytes: 0,
                    duplicates: None,
                };
                AddedStream {
                    index,
                    info,
                    new: Some(encoded_labels.into()),
                }
            }
        };
        self.stream = Some(added);
        Ok(())
    }

    fn metadata_name(&mut self, name: &str) {
        let number = self.head.number_of_name(name);
        self.head.record_names.push(number);
    }

    fn entry(&mut self, timestamp_ns: i64, line: &[u8]) {
        let info = &mut self.stream.as_mut().expect("bug: an entry before its stream").info;
        if info.rows > 0 && timestamp_ns <= info.span.max_ns {
            let late = info.duplicates.get_or_insert(TimeSpan {
                min_ns: timestamp_ns,
                max_ns: timestamp_ns,
            });
            late.min_ns = late.min_ns.min(timestamp_ns);
            late.max_ns = late.max_ns.max(timestamp_ns);
        }
        info.span.min_ns = info.span.min_ns.min(timestamp_ns);
        info.span.max_ns = info.span.max_ns.max(timestamp_ns);
        info.rows += 1;
        info.bytes += line.len() as u64;
        self.head.open.begin_row(info.id, timestamp_ns, line);
        self.head.rows += 1;
        self.head.bytes += ROW_BYTES + line.len();
    }

    fn pair(&mut self, name: usize, value: &[u8]) {
        self.head.open.pair(self.head.record_names[name], value);
        self.head.bytes += PAIR_BYTES + value.len();
        self.stream.as_mut().expect("bug: a pair before its stream").info.bytes += value.len() as u64;
    }

    fn end_entry(&mut self) {
        let open = &mut self.head.open;
        open.end_row();
        if open.is_full()
            && let Some(block) = std::mem::take(open).seal()
        {
            self.head.sealed.push(Arc::new(block));
        }
    }
}
