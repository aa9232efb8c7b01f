//! The protobuf body of a push (http-api.md 3.3). Lines travel as bytes, so that those which are not UTF-8 survive.

use prost::Message;
use timberline_logql::labels::LabelSet;

/// Entries of one stream that travel in one request.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PushRequest {
    #[prost(message, repeated, tag = "1")]
    streams: Vec<Stream>,
}

#[derive(Clone, PartialEq, Message)]
struct Stream {
    #[prost(string, tag = "1")]
    labels: String,
    #[prost(message, repeated, tag = "2")]
    entries: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(message, optional, tag = "1")]
    timestamp: Option<Timestamp>,
    #[prost(bytes = "vec", tag = "2")]
    line: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Timestamp {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// Collects entries of one stream.
pub(crate) struct Batch {
    stream: Stream,
    bytes: usize,
}

impl Batch {
    /// An empty batch for the stream with these labels.
    pub(crate) fn new(labels: &LabelSet) -> Self {
        Self {
            stream: Stream {
                labels: labels.to_string(),
                entries: Vec::new(),
            },
            bytes: 0,
        }
    }

    /// Adds an entry.
    pub(crate) fn push(&mut self, timestamp_ns: i64, line: &[u8]) {
        const NS: i64 = 1_000_000_000;
        let timestamp = Timestamp {
            seconds: timestamp_ns.div_euclid(NS),
            nanos: timestamp_ns.rem_euclid(NS) as i32,
        };
        self.bytes += line.len();
        self.stream.entries.push(Entry {
            timestamp: Some(timestamp),
            line: line.to_vec(),
        });
    }

    /// Number of entries.
    pub(crate) fn entries(&self) -> usize {
        self.stream.entries.len()
    }

    /// Bytes of the lines.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The request body, packed.
    pub(crate) fn into_body(self) -> Result<Vec<u8>, snap::Error> {
        let request = PushRequest {
            streams: vec![self.stream],
        };
        snap::raw::Encoder::new().compress_vec(&request.encode_to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_comes_back_from_its_body() {
        let mut batch = Batch::new(&LabelSet::from_pairs([("job", "a\"b")]));
        batch.push(-1, b"\xff");
        batch.push(1_500_000_000, b"line");
        assert_eq!((batch.entries(), batch.bytes()), (2, 5));
        let body = batch.into_body().unwrap();
        let plain = snap::raw::Decoder::new().decompress_vec(&body).unwrap();
        let request = PushRequest::decode(plain.as_slice()).unwrap();
        let stream = &request.streams[0];
        assert_eq!(stream.labels, r#"{job="a\"b"}"#);
        let times: Vec<_> = stream
            .entries
            .iter()
            .map(|e| e.timestamp.clone().unwrap())
            .map(|t| (t.seconds, t.nanos))
            .collect();
        assert_eq!(times, [(-1, 999_999_999), (1, 500_000_000)]);
        assert_eq!(stream.entries[0].line, b"\xff");
    }
}
