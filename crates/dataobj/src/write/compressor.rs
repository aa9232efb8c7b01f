//! Who compresses the pages of a section: the codecs of this crate, or others that the caller brings.

use crate::compression::{Compression, Compressor};
use crate::error::Error;
use std::fmt;

/// Compresses the values of pages in place of this crate's codecs: another implementation of the same format, or stored
/// values that are at hand already when an object is written again.
pub trait PageCompressor: fmt::Debug + Send + Sync {
    /// Appends to `stored` (empty at first) the stored form of `raw`, which readers must be able to undo as `compression`
    /// says. Isn't called for columns without compression.
    fn compress(&mut self, compression: Compression, raw: &[u8], stored: &mut Vec<u8>) -> Result<(), Error>;
}

/// Compresses the pages of a section.
#[derive(Debug)]
pub(crate) struct PageSink {
    own: Compressor,
    replaced: Option<Box<dyn PageCompressor>>,
    buffer: Vec<u8>,
}

impl PageSink {
    pub(crate) fn new(zstd_level: i32) -> PageSink {
        PageSink {
            own: Compressor::new(zstd_level),
            replaced: None,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn replace(&mut self, compressor: Box<dyn PageCompressor>) {
        self.replaced = Some(compressor);
    }

    /// The stored form of `raw`.
    pub(crate) fn compress<'a>(&'a mut self, compression: Compression, raw: &'a [u8]) -> Result<&'a [u8], Error> {
        match &mut self.replaced {
            Some(replaced) if compression != Compression::None => {
                self.buffer.clear();
                replaced.compress(compression, raw, &mut self.buffer)?;
                Ok(&self.buffer)
            }
            _ => self.own.compress(compression, raw),
        }
    }
}
