//! Reading segments back.

use super::file::sync_folder;
use super::frame::{SEGMENT_HEADER, frame_at};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The name of a segment file.
pub(super) fn segment_name(number: u64) -> String {
    format!("{number:020}.log")
}

/// The segments of a folder, ascending by number.
pub(crate) fn list_segments(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_suffix(".log"));
        if let Some(number) = stem.filter(|stem| stem.len() == 20).and_then(|stem| stem.parse().ok()) {
            segments.push((number, path));
        }
    }
    segments.sort_unstable();
    Ok(segments)
}

/// What is wrong with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentFault {
    /// Where the first frame that is not whole begins.
    pub(crate) offset: u64,
    /// How many bytes follow from there on.
    pub(crate) bytes: u64,
    /// Whether a whole frame lies among them: then no crash cut a write short.
    pub(crate) frames_follow: bool,
}

/// Why a segment can't be read at all, or not be replayed.
#[derive(Debug)]
pub(crate) enum SegmentError<E> {
    /// The file can't be read.
    Io(io::Error),
    /// The file was written by another version of the program.
    Version,
    /// `visit` failed at this offset.
    Visit(u64, E),
}

/// Reads a segment up to the first frame that is not whole, and hands sequence numbers and payloads to `visit`. With `past_faults` it
/// goes on behind damage where it finds whole frames again.
pub(crate) fn read_segment<E>(
    path: &Path,
    past_faults: bool,
    visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<Option<SegmentFault>, SegmentError<E>> {
    let bytes = fs::read(path).map_err(SegmentError::Io)?;
    read_frames(&bytes, past_faults, visit)
}

pub(super) fn read_frames<E>(
    bytes: &[u8],
    past_faults: bool,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<Option<SegmentFault>, SegmentError<E>> {
    let Some(at) = frames_begin(bytes).map_err(|Version| SegmentError::Version)? else {
        // A crash between making the file and writing its header.
        let fault = SegmentFault {
            offset: 0,
            bytes: bytes.len() as u64,
            frames_follow: next_frame(bytes, 0).is_some(),
        };
        return Ok(Some(fault));
    };
    let mut at = at;
    let mut fault = None;
    while at < bytes.len() {
        if let Some((sequence, payload)) = frame_at(bytes, at) {
            visit(sequence, &bytes[payload.clone()]).map_err(|error| SegmentError::Visit(at as u64, error))?;
            at = payload.end;
            continue;
        }
        let next = next_frame(bytes, at + 1);
        fault.get_or_insert(SegmentFault {
            offset: at as u64,
            bytes: (bytes.len() - at) as u64,
            frames_follow: next.is_some(),
        });
        match next {
            Some(next) if past_faults => at = next,
            _ => break,
        }
    }
    Ok(fault)
}

struct Version;

/// Where frames begin; nothing if the header is not whole.
fn frames_begin(bytes: &[u8]) -> Result<Option<usize>, Version> {
    if bytes.starts_with(&SEGMENT_HEADER) {
        return Ok(Some(SEGMENT_HEADER.len()));
    }
    let is_ours = bytes.len() >= SEGMENT_HEADER.len() && bytes.starts_with(&SEGMENT_HEADER[..8]);
    if is_ours { Err(Version) } else { Ok(None) }
}

/// The first whole frame at an offset or behind it.
fn next_frame(bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len()).find(|at| frame_at(bytes, *at).is_some())
}

/// Copies the end of a segment from an offset on into `<segment>.damaged`, durably, and cuts it off. Gives the name of the copy.
pub(crate) fn set_aside(path: &Path, offset: u64) -> io::Result<PathBuf> {
    let bytes = fs::read(path)?;
    let end = bytes
        .get(usize::try_from(offset).unwrap_or(usize::MAX)..)
        .unwrap_or_default();
    let mut aside = path.with_extension("log.damaged");
    // An earlier copy is not written over.
    for attempt in 1.. {
        if !aside.exists() {
            break;
        }
        aside = path.with_extension(format!("log.damaged.{attempt}"));
    }
    let mut copy = File::create(&aside)?;
    copy.write_all(end)?;
    copy.sync_all()?;
    if let Some(folder) = path.parent() {
        sync_folder(folder)?;
    }
    let segment = OpenOptions::new().write(true).open(path)?;
    segment.set_len(offset)?;
    segment.sync_all()?;
    Ok(aside)
}
