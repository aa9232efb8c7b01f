//! Appending to the log. Either a group of records is durable as a whole, or the segment is as it was before.

use super::{HEADER, HEADER_BYTES, LogFile, LogStorage};
use std::io;

/// The log as its one writer sees it.
#[derive(Debug)]
pub(crate) struct Log {
    storage: Box<dyn LogStorage>,
    current: Option<OpenSegment>,
    next_sequence: u64,
}

#[derive(Debug)]
struct OpenSegment {
    file: Box<dyn LogFile>,
    /// Bytes that are durable and acknowledged.
    good_bytes: u64,
    /// True while there may be bytes behind the good ones.
    dirty: bool,
}

impl Log {
    /// A log whose next segment has this number. No file is made before the first record, so that cutting the head needs
    /// no space.
    pub(crate) fn new(storage: Box<dyn LogStorage>, next_sequence: u64) -> Self {
        Self {
            storage,
            current: None,
            next_sequence,
        }
    }

    /// Writes whole records and makes them durable with one sync. On an error nothing of them stays in the log.
    pub(crate) fn append(&mut self, records: &[u8]) -> io::Result<()> {
        let segment = match &mut self.current {
            Some(segment) => segment,
            None => {
                let file = self.storage.create(self.next_sequence)?;
                self.next_sequence += 1;
                self.current.insert(OpenSegment {
                    file,
                    good_bytes: 0,
                    dirty: false,
                })
            }
        };
        segment.clean()?;
        segment.dirty = true;
        let written = segment.write(records);
        match written {
            Ok(bytes) => {
                segment.good_bytes += bytes;
                segment.dirty = false;
                Ok(())
            }
            Err(error) => {
                // If this fails too, it is tried again before the next record.
                if let Err(failure) = segment.clean() {
                    tracing::warn!(error = %failure, "the log could not be cut back to its last good record yet");
                }
                Err(error)
            }
        }
    }

    /// Ends the segment; the next record goes into a new one. Returns the number of the last segment that exists.
    pub(crate) fn rotate(&mut self) -> u64 {
        // What may lie behind the good bytes was never acknowledged; a replay cuts it off or, at worst, keeps it.
        self.current = None;
        self.next_sequence - 1
    }
}

impl OpenSegment {
    fn clean(&mut self) -> io::Result<()> {
        if self.dirty {
            self.file.truncate(self.good_bytes)?;
            self.dirty = false;
        }
        Ok(())
    }

    /// Bytes written and made durable.
    fn write(&mut self, records: &[u8]) -> io::Result<u64> {
        let mut bytes = records.len() as u64;
        if self.good_bytes == 0 {
            self.file.append(&HEADER)?;
            bytes += HEADER_BYTES as u64;
        }
        self.file.append(records)?;
        self.file.sync()?;
        Ok(bytes)
    }
}
