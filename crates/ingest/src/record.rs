// hot path: no locks shared between cores, no logging above debug, no allocation per row.
//! The payload of one write-ahead log record: the validated entries of one push. What is written to the log is what the head
//! is filled from, so that a replay takes the same path as a push.
//!
//! All numbers are varints (LEB128), signed ones zigzag coded; `text` is a length followed by that many bytes.
//!
//! ```text
//! payload  := version=1 tenant:text streams
//! streams  := stream* (until the payload ends)
//! stream   := labels:text entries:count first_timestamp:signed entry{entries}
//! labels   := count (name:text value:text){count}        sorted by name, each name once
//! entry    := timestamp - the one before (first: 0):signed  line:text  pairs:count pair{pairs}
//! pair     := name value:text                            sorted by name, each name once in an entry
//! name     := 0 text      a name not met before in this payload; it gets the next number, starting at 1
//!           | number      a name met before
//! ```

use hashbrown::HashMap;
use timberline_logql::labels::{Label, LabelSet};

const VERSION: u64 = 1;

/// Why a payload can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset} of the record")]
pub(crate) struct RecordError {
    what: &'static str,
    offset: usize,
}

/// Writes a payload stream by stream.
#[derive(Debug)]
pub(crate) struct RecordWriter {
    bytes: Vec<u8>,
    names: HashMap<String, u64>,
    /// Entries of the stream being written; its header can only be written once their number is known.
    entries: Vec<u8>,
    entry_count: u64,
    first_timestamp_ns: i64,
    last_timestamp_ns: i64,
}

impl RecordWriter {
    /// A payload of this tenant without entries, behind `reserved` bytes for the caller's own header.
    pub(crate) fn new(tenant: &str, reserved: usize) -> Self {
        let mut bytes = vec![0; reserved];
        put_varint(&mut bytes, VERSION);
        put_text(&mut bytes, tenant.as_bytes());
        Self {
            bytes,
            names: HashMap::new(),
            entries: Vec::new(),
            entry_count: 0,
            first_timestamp_ns: 0,
            last_timestamp_ns: 0,
        }
    }

    /// Adds an entry to the stream that [`RecordWriter::end_stream`] will name. `pairs` are sorted and unique by name.
    pub(crate) fn entry<'a>(
        &mut self,
        timestamp_ns: i64,
        line: &[u8],
        pairs: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
    ) {
        if self.entry_count == 0 {
            self.first_timestamp_ns = timestamp_ns;
            self.last_timestamp_ns = timestamp_ns;
        }
        self.entry_count += 1;
        put_signed(&mut self.entries, timestamp_ns.wrapping_sub(self.last_timestamp_ns));
        self.last_timestamp_ns = timestamp_ns;
        put_text(&mut self.entries, line);
        put_varint(&mut self.entries, pairs.len() as u64);
        for (name, value) in pairs {
            match self.names.get(name) {
                Some(number) => put_varint(&mut self.entries, *number),
                None => {
                    self.names.insert(name.to_owned(), self.names.len() as u64 + 1);
                    put_varint(&mut self.entries, 0);
                    put_text(&mut self.entries, name.as_bytes());
                }
            }
            put_text(&mut self.entries, value.as_bytes());
        }
    }

    /// True if an entry so far has metadata of this name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Ends a stream with these labels; nothing is written if it got no entries.
    pub(crate) fn end_stream(&mut self, encoded_labels: &[u8]) {
        if self.entry_count == 0 {
            return;
        }
        put_text(&mut self.bytes, encoded_labels);
        put_varint(&mut self.bytes, self.entry_count);
        put_signed(&mut self.bytes, self.first_timestamp_ns);
        self.bytes.append(&mut self.entries);
        self.entry_count = 0;
    }

    /// The reserved bytes followed by the payload.
    pub(crate) fn finish(self) -> Vec<u8> {
        debug_assert_eq!(self.entry_count, 0, "a stream was not ended");
        self.bytes
    }
}

/// The labels in the form that names a stream in records.
pub(crate) fn encode_labels(labels: &LabelSet) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    put_varint(&mut bytes, labels.len() as u64);
    for (name, value) in labels.iter() {
        put_text(&mut bytes, name.as_bytes());
        put_text(&mut bytes, value.as_bytes());
    }
    bytes
}

/// The labels that [`encode_labels`] wrote.
pub(crate) fn decode_labels(bytes: &[u8]) -> Result<LabelSet, RecordError> {
    let mut input = Input { bytes, at: 0 };
    let count = input.varint()?;
    let mut labels = Vec::new();
    for _ in 0..count {
        let name = input.str()?.into();
        let value = input.str()?.into();
        labels.push(Label { name, value });
    }
    Ok(LabelSet::from_labels(labels))
}

/// What a payload is decoded into.
pub(crate) trait RecordSink {
    /// The entries that follow belong to the stream with these encoded labels.
    fn stream(&mut self, encoded_labels: &[u8]) -> Result<(), RecordError>;
    /// A metadata name got the next number, starting at 0.
    fn metadata_name(&mut self, name: &str);
    /// An entry begins.
    fn entry(&mut self, timestamp_ns: i64, line: &[u8]);
    /// A metadata pair of the entry begun last.
    fn pair(&mut self, name: usize, value: &[u8]);
    /// The entry begun last has no more pairs.
    fn end_entry(&mut self);
}

/// The tenant of a payload, and the part that [`read_streams`] reads.
pub(crate) fn read_tenant(payload: &[u8]) -> Result<(&str, usize), RecordError> {
    let mut input = Input { bytes: payload, at: 0 };
    if input.varint()? != VERSION {
        return Err(RecordError {
            what: "unknown record version",
            offset: 0,
        });
    }
    let tenant = input.str()?;
    Ok((tenant, input.at))
}

/// Decodes the streams of a payload, `start` being where [`read_tenant`] ended.
pub(crate) fn read_streams(payload: &[u8], start: usize, sink: &mut impl RecordSink) -> Result<(), RecordError> {
    let mut input = Input {
        bytes: payload,
        at: start,
    };
    let mut names = 0;
    while input.at < payload.len() {
        sink.stream(input.text()?)?;
        let entries = input.varint()?;
        let mut timestamp_ns = input.signed()?;
        for _ in 0..entries {
            timestamp_ns = timestamp_ns.wrapping_add(input.signed()?);
            sink.entry(timestamp_ns, input.text()?);
            for _ in 0..input.varint()? {
                let number = match input.varint()? {
                    0 => {
                        sink.metadata_name(input.str()?);
                        names += 1;
                        names
                    }
                    number => number,
                };
                if number > names {
                    return Err(input.error("unknown metadata name"));
                }
                sink.pair((number - 1) as usize, input.text()?);
            }
            sink.end_entry();
        }
    }
    Ok(())
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn error(&self, what: &'static str) -> RecordError {
        RecordError { what, offset: self.at }
    }

    fn varint(&mut self) -> Result<u64, RecordError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self
                .bytes
                .get(self.at)
                .ok_or(self.error("record ends within a number"))?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("number of more than 64 bits"))
    }

    fn signed(&mut self) -> Result<i64, RecordError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn text(&mut self) -> Result<&'a [u8], RecordError> {
        let length = usize::try_from(self.varint()?).map_err(|_| self.error("impossible length"))?;
        let end = self.at.checked_add(length).ok_or(self.error("impossible length"))?;
        let text = self
            .bytes
            .get(self.at..end)
            .ok_or(self.error("record ends within a text"))?;
        self.at = end;
        Ok(text)
    }

    fn str(&mut self) -> Result<&'a str, RecordError> {
        std::str::from_utf8(self.text()?).map_err(|_| self.error("name or value is not UTF-8"))
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, (value << 1 ^ value >> 63) as u64);
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Default, PartialEq)]
    struct Collected {
        streams: Vec<(Vec<u8>, Vec<Entry>)>,
        names: Vec<String>,
    }
    type Entry = (i64, Vec<u8>, Vec<(String, String)>);

    impl RecordSink for Collected {
        fn stream(&mut self, labels: &[u8]) -> Result<(), RecordError> {
            self.streams.push((labels.to_vec(), Vec::new()));
            Ok(())
        }
        fn metadata_name(&mut self, name: &str) {
            self.names.push(name.into());
        }
        fn entry(&mut self, timestamp_ns: i64, line: &[u8]) {
            self.streams
                .last_mut()
                .unwrap()
                .1
                .push((timestamp_ns, line.into(), Vec::new()));
        }
        fn pair(&mut self, name: usize, value: &[u8]) {
            let name = self.names[name].clone();
            let entry = self.streams.last_mut().unwrap().1.last_mut().unwrap();
            entry.2.push((name, String::from_utf8(value.into()).unwrap()));
        }
        fn end_entry(&mut self) {}
    }

    fn read(payload: &[u8]) -> Result<(String, Collected), RecordError> {
        let mut collected = Collected::default();
        let (tenant, start) = read_tenant(payload)?;
        read_streams(payload, start, &mut collected)?;
        Ok((tenant.to_owned(), collected))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            tenant in "[a-z]{0,9}",
            streams in prop::collection::vec(
                (any::<Vec<u8>>(), prop::collection::vec(
                    (any::<i64>(), any::<Vec<u8>>(), prop::collection::vec(("[a-c]{1,2}", ".{0,9}"), 0..4)), 1..5)), 0..4),
        ) {
            let mut writer = RecordWriter::new(&tenant, 3);
            for (labels, entries) in &streams {
                for (timestamp_ns, line, pairs) in entries {
                    writer.entry(*timestamp_ns, line, pairs.iter().map(|(n, v)| (n.as_str(), v.as_str())));
                }
                writer.end_stream(labels);
            }
            let bytes = writer.finish();
            let (read_tenant, collected) = read(&bytes[3..]).unwrap();
            prop_assert_eq!(read_tenant, tenant);
            prop_assert_eq!(&collected.streams, &streams);
            for cut in 3..bytes.len() {
                let _ = read(&bytes[3..cut]);
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
            let _ = decode_labels(&bytes);
        }

        #[test]
        fn labels_survive(pairs in prop::collection::btree_map("[a-z_]{1,5}", ".{0,9}", 0..6)) {
            let set = LabelSet::from_pairs(pairs.iter().map(|(n, v)| (n.as_str(), v.as_str())));
            prop_assert_eq!(decode_labels(&encode_labels(&set)).unwrap(), set);
        }
    }
}
