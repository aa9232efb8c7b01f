//! Doors into crate-private code for the fuzz targets: plain types in, plain types out, `None` for any error. Behind the
//! feature `fuzzing`; not part of the interface.

use crate::compression::{Compression, Compressor, Decompressor, check_ratio};
use crate::varint::{append_uvarint, read_uvarint};

/// The varint at the start of `bytes` and its length.
pub fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    read_uvarint(bytes)
}

/// A varint's bytes.
pub fn encode_varint(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    append_uvarint(&mut out, value);
    out
}

/// The raw form of `stored`, of exactly `raw_bytes` bytes.
pub fn decompress(compression: Compression, stored: &[u8], raw_bytes: usize) -> Option<Vec<u8>> {
    check_ratio(compression, stored.len(), raw_bytes).ok()?;
    let mut raw = vec![0; raw_bytes];
    let mut last = Vec::new();
    let read = |so_far: &[u8]| {
        assert!(so_far.starts_with(&last), "what was there stays as it is");
        last = so_far.to_vec();
    };
    Decompressor::default()
        .decompress(compression, stored, &mut raw, read)
        .ok()?;
    assert_eq!(last, raw, "at the end there is all");
    Some(raw)
}

/// The stored form of `raw`.
pub fn compress(compression: Compression, raw: &[u8]) -> Option<Vec<u8>> {
    Some(Compressor::new(3).compress(compression, raw).ok()?.to_vec())
}
