//! The write-ahead log: what was acknowledged and is not yet in a published data object.
//!
//! It lies in `wal/` of the data directory as segments `<sequence>.log`, the sequence in 20 digits. A segment is never written
//! again after a restart; a cut of the head starts the next one, so that a data object holds whole segments.
//!
//! ```text
//! segment := "TMBRWAL\n" version:u32=1 reserved:u32=0 record*
//! record  := length:u32 checksum:u32 payload{length}       length >= 1
//! ```
//!
//! Numbers are little endian. The checksum is CRC-32C over the length and the payload; the payload is described in
//! `record.rs`. Beside the segments lie `writer-id`, the random name under which this log publishes, and copies
//! `<sequence>.log.damaged` of segments that could not be read to their end.

mod file;
mod identity;
mod log;
mod replay;

pub(crate) use file::{DiskStorage, LogFile, LogStorage, create_directory};
pub use identity::DirectoryLock;
pub(crate) use identity::{read_writer_id, writer_id};
pub(crate) use log::Log;
pub(crate) use replay::{delete_segments_up_to, list_segments, read_segment, repair};

/// Bytes in front of the first record.
const HEADER_BYTES: usize = 16;
const HEADER: [u8; HEADER_BYTES] = *b"TMBRWAL\n\x01\0\0\0\0\0\0\0";
/// Bytes in front of a record's payload.
pub(crate) const RECORD_HEADER_BYTES: usize = 8;

/// Fills in the header of a record whose payload starts after [`RECORD_HEADER_BYTES`].
pub(crate) fn seal_record(record: &mut [u8]) {
    let length = u32::try_from(record.len() - RECORD_HEADER_BYTES).expect("bug: a record of more than 4 GiB");
    record[..4].copy_from_slice(&length.to_le_bytes());
    let checksum = checksum(&record[..4], &record[RECORD_HEADER_BYTES..]);
    record[4..8].copy_from_slice(&checksum.to_le_bytes());
}

fn checksum(length: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(length), payload)
}

fn segment_name(sequence: u64) -> String {
    format!("{sequence:020}.log")
}
