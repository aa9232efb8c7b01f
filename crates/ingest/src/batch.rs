//! A decoded push request, in columns.

use timberline_logql::labels::{Label, LabelSet};

/// The labels of one stream as a request gave them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamLabels {
    /// Labels in the order given, perhaps with repeated names.
    Labels(Vec<Label>),
    /// A text that is no label set: the entries of the stream are refused, those of the others are not.
    Unreadable {
        /// The text as sent.
        text: String,
        /// Why it can't be read.
        error: String,
    },
}

impl From<LabelSet> for StreamLabels {
    fn from(set: LabelSet) -> Self {
        Self::Labels(set.as_slice().to_vec())
    }
}

impl From<Vec<Label>> for StreamLabels {
    fn from(labels: Vec<Label>) -> Self {
        Self::Labels(labels)
    }
}

/// A push request after decoding and before validation: whatever the wire format was, the same columns.
///
/// All lines lie in one buffer and all metadata in another, so that an entry costs no allocation of its own.
///
/// ```
/// use timberline_ingest::PushBatch;
/// use timberline_logql::labels::LabelSet;
///
/// let mut batch = PushBatch::new();
/// batch.begin_stream(LabelSet::from_pairs([("app", "shop")]));
/// batch.push_entry(1_700_000_000_000_000_001, b"first line", []);
/// batch.push_entry(1_700_000_000_000_000_002, b"second line", [("trace_id", "0af7")]);
/// assert_eq!((batch.stream_count(), batch.len()), (1, 2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct PushBatch {
    streams: Vec<BatchStream>,
    timestamps_ns: Vec<i64>,
    lines: Vec<u8>,
    /// Where each line ends in `lines`.
    line_ends: Vec<usize>,
    /// Names and values of metadata, one after another.
    metadata_text: String,
    /// Where each name and each value ends in `metadata_text`.
    metadata_ends: Vec<(usize, usize)>,
    /// Where each entry's pairs end in `metadata_ends`.
    pair_ends: Vec<usize>,
}

#[derive(Clone, Debug)]
struct BatchStream {
    labels: StreamLabels,
    first_entry: usize,
    unreadable: Unreadable,
}

/// Entries of a stream that came in a form that can't be stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unreadable {
    pub(crate) entries: u64,
    /// Why the last of them is refused.
    pub(crate) error: String,
}

/// One entry of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchEntry<'a> {
    pub(crate) timestamp_ns: i64,
    pub(crate) line: &'a [u8],
    batch: &'a PushBatch,
    first_pair: usize,
    end_pair: usize,
}

impl PushBatch {
    /// A batch without streams.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a stream; entries pushed from here on belong to it. A stream may come several times.
    pub fn begin_stream(&mut self, labels: impl Into<StreamLabels>) {
        self.streams.push(BatchStream {
            labels: labels.into(),
            first_entry: self.len(),
            unreadable: Unreadable::default(),
        });
    }

    /// Notes an entry of the stream begun last that can't be read, and why. It will be refused, the others will not.
    pub fn refuse_entry(&mut self, error: String) {
        if let Some(stream) = self.streams.last_mut() {
            stream.unreadable.entries += 1;
            stream.unreadable.error = error;
        }
    }

    /// Adds an entry to the stream begun last.
    ///
    /// # Panics
    /// If no stream was begun.
    pub fn push_entry<'m>(
        &mut self,
        timestamp_ns: i64,
        line: &[u8],
        metadata: impl IntoIterator<Item = (&'m str, &'m str)>,
    ) {
        assert!(
            !self.streams.is_empty(),
            "bug: an entry was pushed before any stream was begun"
        );
        self.timestamps_ns.push(timestamp_ns);
        self.lines.extend_from_slice(line);
        self.line_ends.push(self.lines.len());
        for (name, value) in metadata {
            self.metadata_text.push_str(name);
            let name_end = self.metadata_text.len();
            self.metadata_text.push_str(value);
            self.metadata_ends.push((name_end, self.metadata_text.len()));
        }
        self.pair_ends.push(self.metadata_ends.len());
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.timestamps_ns.len()
    }

    /// True if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.timestamps_ns.is_empty()
    }

    /// Number of streams, those without entries included.
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// Bytes of lines and of metadata names and values.
    pub fn bytes(&self) -> usize {
        self.lines.len() + self.metadata_text.len()
    }

    /// The streams with the range of their entries, and what of them can't be read.
    pub(crate) fn streams(&self) -> impl Iterator<Item = (&StreamLabels, std::ops::Range<usize>, &Unreadable)> {
        let ends = self.streams.iter().skip(1).map(|s| s.first_entry).chain([self.len()]);
        self.streams
            .iter()
            .zip(ends)
            .map(|(stream, end)| (&stream.labels, stream.first_entry..end, &stream.unreadable))
    }

    pub(crate) fn entry(&self, entry: usize) -> BatchEntry<'_> {
        let start = |ends: &[usize]| if entry == 0 { 0 } else { ends[entry - 1] };
        BatchEntry {
            timestamp_ns: self.timestamps_ns[entry],
            line: &self.lines[start(&self.line_ends)..self.line_ends[entry]],
            batch: self,
            first_pair: start(&self.pair_ends),
            end_pair: self.pair_ends[entry],
        }
    }
}

impl<'a> BatchEntry<'a> {
    /// Metadata pairs in the order given.
    pub(crate) fn metadata(self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone {
        let batch = self.batch;
        (self.first_pair..self.end_pair).map(move |pair| {
            let start = if pair == 0 { 0 } else { batch.metadata_ends[pair - 1].1 };
            let (name_end, value_end) = batch.metadata_ends[pair];
            (
                &batch.metadata_text[start..name_end],
                &batch.metadata_text[name_end..value_end],
            )
        })
    }

    pub(crate) fn metadata_len(self) -> usize {
        self.end_pair - self.first_pair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_under_their_stream() {
        let mut batch = PushBatch::new();
        batch.begin_stream(LabelSet::from_pairs([("a", "1")]));
        batch.push_entry(1, b"", []);
        batch.push_entry(2, b"two", [("x", "y"), ("", "")]);
        batch.begin_stream(LabelSet::default());
        batch.begin_stream(LabelSet::from_pairs([("b", "2")]));
        batch.push_entry(3, b"\xff", [("z", "")]);
        let ranges: Vec<_> = batch.streams().map(|(_, range, _)| range).collect();
        assert_eq!(ranges, [0..2, 2..2, 2..3]);
        let entries: Vec<_> = (0..batch.len())
            .map(|i| {
                (
                    batch.entry(i).timestamp_ns,
                    batch.entry(i).line,
                    batch.entry(i).metadata().collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_eq!(entries[0], (1, &b""[..], vec![]));
        assert_eq!(entries[1], (2, &b"two"[..], vec![("x", "y"), ("", "")]));
        assert_eq!(entries[2], (3, &b"\xff"[..], vec![("z", "")]));
        assert_eq!(batch.bytes(), 3 + 2 + 1 + 1);
    }
}
