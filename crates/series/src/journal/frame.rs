//! Frames of the journal as bytes.

use crate::wire::Reader;
use std::ops::Range;

/// Bytes in front of the payload.
pub(super) const FRAME_HEADER_BYTES: usize = 16;

/// First bytes of a segment.
pub(super) const SEGMENT_HEADER: [u8; 16] = *b"TMBRTSJ\n\x01\0\0\0\0\0\0\0";

/// Appends a frame. The checksum of the payload is given, since it can be computed before the sequence number is known.
pub(super) fn append_frame(payload: &[u8], payload_checksum: u32, sequence: u64, out: &mut Vec<u8>) {
    let length = u32::try_from(payload.len()).expect("bug: a frame of more than 4 GiB");
    let mut header = [0; FRAME_HEADER_BYTES];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..8].copy_from_slice(&frame_checksum(payload_checksum, sequence, length).to_le_bytes());
    header[8..].copy_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
}

fn frame_checksum(payload_checksum: u32, sequence: u64, length: u32) -> u32 {
    let mut rest = [0; 12];
    rest[..8].copy_from_slice(&sequence.to_le_bytes());
    rest[8..].copy_from_slice(&length.to_le_bytes());
    crc32c::crc32c_append(payload_checksum, &rest)
}

/// A whole frame that begins at an offset: its sequence number, and where its payload is.
pub(super) fn frame_at(bytes: &[u8], offset: usize) -> Option<(u64, Range<usize>)> {
    let mut reader = Reader::new(bytes.get(offset..)?);
    let (length, checksum, sequence) = (reader.u32()?, reader.u32()?, reader.u64()?);
    let payload = reader.take(length as usize).filter(|payload| !payload.is_empty())?;
    let begin = offset + FRAME_HEADER_BYTES;
    (frame_checksum(crc32c::crc32c(payload), sequence, length) == checksum)
        .then_some((sequence, begin..begin + payload.len()))
}
