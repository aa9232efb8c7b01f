//! The head as a source of rows.

use super::block::Block;
use arrow_array::BinaryArray;
use async_trait::async_trait;
use std::sync::{Arc, OnceLock};
use timberline_store::Error;
use timberline_store::source::{Keys, MetadataColumn, RowSource, RunInfo, Selection, StreamInfo, TimeSpan};

/// The rows of one tenant in one segment of the head, as of one moment.
#[derive(Debug)]
pub(crate) struct HeadSource {
    streams: Arc<Vec<StreamInfo>>,
    names: Arc<Vec<Arc<str>>>,
    blocks: Vec<Arc<Block>>,
    span: TimeSpan,
    /// `streams` in the form that readers want, made when the first one asks.
    stream_slice: OnceLock<Arc<[StreamInfo]>>,
}

impl HeadSource {
    /// `None` if there are no blocks.
    pub(super) fn new(
        streams: Arc<Vec<StreamInfo>>,
        names: Arc<Vec<Arc<str>>>,
        blocks: Vec<Arc<Block>>,
    ) -> Option<Self> {
        let min_ns = blocks.iter().map(|block| block.info().span.min_ns).min()?;
        let max_ns = blocks.iter().map(|block| block.info().span.max_ns).max()?;
        let span = TimeSpan { min_ns, max_ns };
        Some(Self {
            streams,
            names,
            blocks,
            span,
            stream_slice: OnceLock::new(),
        })
    }

    /// The streams, numbered 1, 2, 3...
    pub(crate) fn stream_table(&self) -> &[StreamInfo] {
        &self.streams
    }

    /// Metadata names by number.
    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    pub(crate) fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }
}

#[async_trait]
impl RowSource for HeadSource {
    fn name(&self) -> &str {
        "head"
    }

    fn span(&self) -> TimeSpan {
        self.span
    }

    fn newest_first(&self) -> bool {
        false
    }

    async fn streams(&self) -> Result<Arc<[StreamInfo]>, Error> {
        Ok(self
            .stream_slice
            .get_or_init(|| self.streams.iter().cloned().collect())
            .clone())
    }

    async fn runs(&self) -> Result<Arc<[RunInfo]>, Error> {
        Ok(self.blocks.iter().map(|block| block.info()).collect())
    }

    async fn keys(&self, run: usize) -> Result<Keys, Error> {
        Ok(self.blocks[run].keys().clone())
    }

    async fn lines(&self, run: usize, rows: &Selection) -> Result<BinaryArray, Error> {
        Ok(self.blocks[run].lines(rows))
    }

    async fn metadata(
        &self,
        run: usize,
        rows: &Selection,
        names: Option<&[String]>,
    ) -> Result<Vec<MetadataColumn>, Error> {
        Ok(self.blocks[run].metadata(rows, &self.names, names))
    }
}
