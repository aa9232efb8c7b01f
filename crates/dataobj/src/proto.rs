//! The format's protobuf messages (specification chapters 2.1, 3.1 and 5.1). Field numbers and types are the format;
//! names are ours.

use crate::error::Damage;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct FileIndex {
    #[prost(message, repeated, tag = "1")]
    pub(crate) sections: Vec<SectionEntry>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) strings: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) kinds: Vec<KindEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct KindEntry {
    #[prost(message, optional, tag = "1")]
    pub(crate) name: Option<KindName>,
    #[prost(uint32, tag = "2")]
    pub(crate) version: u32,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct KindName {
    #[prost(uint32, tag = "1")]
    pub(crate) namespace: u32,
    #[prost(uint32, tag = "2")]
    pub(crate) kind: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SectionEntry {
    #[prost(message, optional, tag = "4")]
    pub(crate) placement: Option<Placement>,
    #[prost(uint32, tag = "5")]
    pub(crate) kind_ref: u32,
    #[prost(bytes = "vec", tag = "6")]
    pub(crate) extension: Vec<u8>,
    #[prost(uint32, tag = "7")]
    pub(crate) tenant_ref: u32,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Placement {
    #[prost(message, optional, tag = "1")]
    pub(crate) data: Option<Extent>,
    #[prost(message, optional, tag = "2")]
    pub(crate) metadata: Option<Extent>,
}

/// A stretch of the body, or (as a section's locator) of its metadata region.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Extent {
    #[prost(uint64, tag = "1")]
    pub(crate) offset: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) length: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SectionTable {
    #[prost(message, repeated, tag = "1")]
    pub(crate) columns: Vec<ColumnEntry>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) strings: Vec<String>,
    #[prost(message, optional, tag = "3")]
    pub(crate) ordering: Option<Ordering>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ColumnEntry {
    #[prost(message, optional, tag = "1")]
    pub(crate) kind: Option<ColumnKind>,
    #[prost(uint32, tag = "2")]
    pub(crate) tag: u32,
    #[prost(uint64, tag = "3")]
    pub(crate) pages: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) rows: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) values: u64,
    #[prost(int32, tag = "6")]
    pub(crate) compression: i32,
    #[prost(uint64, tag = "7")]
    pub(crate) raw_bytes: u64,
    #[prost(uint64, tag = "8")]
    pub(crate) stored_bytes: u64,
    #[prost(uint64, tag = "9")]
    pub(crate) pages_offset: u64,
    #[prost(uint64, tag = "10")]
    pub(crate) pages_length: u64,
    #[prost(message, optional, tag = "11")]
    pub(crate) stats: Option<StatsEntry>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct ColumnKind {
    #[prost(int32, tag = "1")]
    pub(crate) physical: i32,
    #[prost(uint32, tag = "3")]
    pub(crate) logical: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ColumnPages {
    #[prost(message, repeated, tag = "1")]
    pub(crate) pages: Vec<PageEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PageEntry {
    #[prost(uint64, tag = "1")]
    pub(crate) raw_bytes: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) stored_bytes: u64,
    #[prost(uint32, tag = "3")]
    pub(crate) crc: u32,
    #[prost(uint64, tag = "4")]
    pub(crate) rows: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) values: u64,
    #[prost(int32, tag = "6")]
    pub(crate) encoding: i32,
    #[prost(uint64, tag = "7")]
    pub(crate) offset: u64,
    #[prost(uint64, tag = "8")]
    pub(crate) length: u64,
    #[prost(message, optional, tag = "9")]
    pub(crate) stats: Option<StatsEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatsEntry {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) min: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) max: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub(crate) cardinality: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Ordering {
    #[prost(message, repeated, tag = "1")]
    pub(crate) columns: Vec<OrderBy>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) schema_keys: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct OrderBy {
    #[prost(uint32, tag = "1")]
    pub(crate) column: u32,
    #[prost(int32, tag = "2")]
    pub(crate) direction: i32,
}

/// Decodes `framed(M)` that fills `bytes` exactly.
pub(crate) fn decode_framed<M: Message + Default>(mut bytes: &[u8]) -> Result<M, Damage> {
    let message = M::decode_length_delimited(&mut bytes)?;
    if bytes.is_empty() {
        Ok(message)
    } else {
        Err(Damage::new("bytes behind a framed message"))
    }
}

/// Appends `framed(M)` and returns how many bytes that took.
pub(crate) fn append_framed<M: Message>(out: &mut Vec<u8>, message: &M) -> u64 {
    let before = out.len();
    let encoded = message.encode_length_delimited_to_vec();
    out.extend_from_slice(&encoded);
    (out.len() - before) as u64
}
