//! What a scan has done and what it has saved.

/// Pages and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCount {
    /// How many.
    pub pages: u64,
    /// Their sizes together.
    pub bytes: u64,
}

impl PageCount {
    pub(super) fn add(&mut self, bytes: u64) {
        self.pages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Counts of a scan so far. At its end `considered` is `pruned`, `skipped` and `fetched` together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanCounters {
    /// Pages of all columns that the predicate or the projection name; stored bytes.
    pub considered: PageCount,
    /// Pages that need not be read because of statistics, or because they hold nothing but nulls; stored bytes.
    pub pruned: PageCount,
    /// Pages that need not be read because none of their rows was left by other columns; stored bytes.
    pub skipped: PageCount,
    /// Pages that were fetched; stored bytes.
    pub fetched: PageCount,
    /// Times that a page was decompressed and decoded, wholly or in part; raw bytes. A page of which first few rows are wanted, then
    /// others, is decoded twice.
    pub decoded: PageCount,
    /// Requests, after near ranges were joined and large ones cut.
    pub requests: u64,
    /// Bytes requested, gaps between near pages included.
    pub requested_bytes: u64,
    /// Rows of the section.
    pub rows: u64,
    /// Rows that statistics ruled out.
    pub rows_pruned: u64,
    /// Rows that came out in batches.
    pub rows_kept: u64,
}
