//! Reading segments back, and dealing with those that can't be read to their end.

use super::file::sync_directory;
use super::{HEADER, HEADER_BYTES, RECORD_HEADER_BYTES, checksum};
use crate::Error;
use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A segment file.
#[derive(Clone, Debug)]
pub(crate) struct SegmentFile {
    pub(crate) sequence: u64,
    pub(crate) path: PathBuf,
}

/// What a segment holds.
#[derive(Debug)]
pub(crate) struct Segment {
    bytes: Vec<u8>,
    payloads: Vec<Range<usize>>,
    /// Where reading stopped, if before the end of the file.
    pub(crate) fault: Option<Fault>,
}

/// A segment that does not end with a whole record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Offset behind the last good record.
    pub(crate) good_bytes: u64,
    /// Bytes behind that offset.
    pub(crate) bad_bytes: u64,
    /// True if a whole record lies among the bad bytes: then it is no write that a crash cut short.
    pub(crate) records_follow: bool,
}

impl Segment {
    /// Payloads with the offset of their record.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let offset = |payload: &Range<usize>| (payload.start - RECORD_HEADER_BYTES) as u64;
        self.payloads
            .iter()
            .map(move |payload| (offset(payload), &self.bytes[payload.clone()]))
    }
}

/// The segments of the log in order.
pub(crate) fn list_segments(wal_dir: &Path) -> Result<Vec<SegmentFile>, Error> {
    let failed = |e| Error::io("list", wal_dir, e);
    let mut segments = Vec::new();
    let entries = match fs::read_dir(wal_dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(segments),
        Err(e) => return Err(failed(e)),
    };
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let stem = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_suffix(".log"));
        if let Some(sequence) = stem.filter(|stem| stem.len() == 20).and_then(|stem| stem.parse().ok()) {
            segments.push(SegmentFile { sequence, path });
        }
    }
    segments.sort_by_key(|segment| segment.sequence);
    Ok(segments)
}

/// Reads a segment up to the first record that is not whole.
pub(crate) fn read_segment(file: &SegmentFile) -> Result<Segment, Error> {
    let bytes = match fs::read(&file.path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(Error::MissingSegment(file.path.display().to_string()));
        }
        Err(e) => return Err(Error::io("read", &file.path, e)),
    };
    let mut payloads = Vec::new();
    let mut at = 0;
    if bytes.starts_with(&HEADER) {
        at = HEADER_BYTES;
        while let Some(payload) = record_at(&bytes, at) {
            at = payload.end;
            payloads.push(payload);
        }
    } else if bytes.starts_with(&HEADER[..8]) && bytes.len() >= HEADER_BYTES {
        let message = "the segment was written by another version of this program".to_owned();
        return Err(Error::Corrupt {
            segment: file.path.display().to_string(),
            offset: 8,
            message,
        });
    }
    let fault = (at < bytes.len()).then(|| Fault {
        good_bytes: at as u64,
        bad_bytes: (bytes.len() - at) as u64,
        records_follow: (at + 1..bytes.len())
            .any(|at| looks_like_payload(&bytes, at) && record_at(&bytes, at).is_some()),
    });
    Ok(Segment { bytes, payloads, fault })
}

/// Brings a faulty segment into a state that can be read to its end. A write cut short by a crash is cut off; before other
/// damage is, the file is copied aside.
pub(crate) fn repair(file: &SegmentFile, fault: Fault, torn: bool) -> Result<(), Error> {
    let path = &file.path;
    let Fault {
        good_bytes, bad_bytes, ..
    } = fault;
    if torn {
        let segment = path.display().to_string();
        tracing::warn!(
            segment,
            good_bytes,
            bad_bytes,
            "cut off a write that a crash left unfinished"
        );
    } else {
        let aside = path.with_extension("log.damaged");
        let copy = || {
            fs::copy(path, &aside)?;
            OpenOptions::new().write(true).open(&aside)?.sync_all()?;
            path.parent().map_or(Ok(()), sync_directory)
        };
        copy().map_err(|e| Error::io("copy aside", path, e))?;
        let (segment, copy) = (path.display().to_string(), aside.display().to_string());
        tracing::error!(
            segment,
            good_bytes,
            bad_bytes,
            copy,
            "corrupt: segment is damaged, kept what lies before the damage"
        );
    }
    let cut = || {
        let open = OpenOptions::new().write(true).open(path)?;
        open.set_len(good_bytes)?;
        open.sync_all()
    };
    cut().map_err(|e| Error::io("cut", path, e))
}

/// Deletes the segments that are published. What can't be deleted is skipped by the next replay and deleted then.
pub(crate) fn delete_segments_up_to(wal_dir: &Path, sequence: u64) -> Result<(), Error> {
    for segment in list_segments(wal_dir)?
        .iter()
        .take_while(|segment| segment.sequence <= sequence)
    {
        fs::remove_file(&segment.path).map_err(|e| Error::io("delete", &segment.path, e))?;
    }
    Ok(())
}

/// The payload of the whole record that starts at `at`.
fn record_at(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let header = bytes.get(at..at + RECORD_HEADER_BYTES)?;
    let (length, stored) = header.split_at(4);
    let start = at + RECORD_HEADER_BYTES;
    let end = start.checked_add(u32::from_le_bytes(length.try_into().ok()?) as usize)?;
    let payload = bytes.get(start..end).filter(|payload| !payload.is_empty())?;
    (checksum(length, payload).to_le_bytes() == stored).then_some(start..end)
}

/// A cheap look before a checksum is computed: version 1 and the length of a tenant's name.
fn looks_like_payload(bytes: &[u8], at: usize) -> bool {
    let payload = bytes.get(at + RECORD_HEADER_BYTES..).unwrap_or_default();
    payload.first() == Some(&1)
        && payload.get(1).is_some_and(|&length| length > 0)
        && payload.get(2).is_some_and(u8::is_ascii_graphic)
}
