//! Ranges of one object: checked against its size, served from memory where the object is held whole.

use crate::{Error, Store};
use bytes::Bytes;
use std::ops::Range;
use std::sync::OnceLock;
use timberline_dataobj::PageMeta;

/// Reads an object of known size.
#[derive(Debug)]
pub(super) struct Reader {
    store: Store,
    key: String,
    size_bytes: u64,
    /// The object, if its first read brought all of it.
    whole: OnceLock<Bytes>,
}

impl Reader {
    pub(super) fn new(store: Store, key: String, size_bytes: u64) -> Self {
        Self {
            store,
            key,
            size_bytes,
            whole: OnceLock::new(),
        }
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Memory that the held object takes.
    pub(super) fn held_bytes(&self) -> usize {
        self.whole.get().map_or(0, Bytes::len)
    }

    /// The first bytes of the object.
    pub(super) async fn read_prefix(&self, bytes: u64) -> Result<Bytes, Error> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole.clone());
        }
        let prefix = self.store.get_range(&self.key, 0..bytes).await?;
        if (prefix.len() as u64) < bytes {
            let message = format!("ends here, but the catalog says {} bytes", self.size_bytes);
            return Err(self.corrupt("file", prefix.len() as u64, message));
        }
        if bytes == self.size_bytes {
            // Another opening of the same object may have been faster; both read the same bytes.
            let _ = self.whole.set(prefix.clone());
        }
        Ok(prefix)
    }

    /// Reads ranges in one batch.
    pub(super) async fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Error> {
        if let Some(outside) = ranges.iter().find(|r| r.end > self.size_bytes || r.start > r.end) {
            let message = format!("range {outside:?} is outside of an object of {} bytes", self.size_bytes);
            return Err(self.corrupt("file", outside.start, message));
        }
        match self.whole.get() {
            Some(whole) => Ok(ranges
                .iter()
                .map(|r| whole.slice(r.start as usize..r.end as usize))
                .collect()),
            None if ranges.is_empty() => Ok(Vec::new()),
            None => self.store.get_ranges(&self.key, ranges).await,
        }
    }

    /// Pages out of a data region that was fetched whole. The format's reader has checked that pages lie in their section's region.
    pub(super) fn cut(&self, region: &Range<u64>, data: &Bytes, pages: &[&PageMeta]) -> Vec<Bytes> {
        let cut = |page: &&PageMeta| {
            let (start, end) = (page.range.start - region.start, page.range.end - region.start);
            data.slice(start as usize..end as usize)
        };
        pages.iter().map(cut).collect()
    }

    pub(super) fn corrupt(&self, section: &str, offset: u64, message: String) -> Error {
        Error::Corrupt {
            object: self.key.clone(),
            section: section.to_owned(),
            offset,
            message,
        }
    }
}
