//! How many rows a scan works on at a time.

use super::column::ScanColumn;
use crate::read::PageMeta;

/// Most rows of a window, which bounds the lists of rows: 16 bytes each in the worst case, when every other row is wanted.
const MAX_WINDOW_ROWS: u64 = 1 << 20;

/// The end of the window that starts at row `start`: as many rows as have pages of at most `max_bytes` bytes in all columns, raw or
/// stored, whatever is more, and at least those up to the first end of a page. Pages held already and pages not needed don't count.
pub(super) fn window_end(columns: &[ScanColumn<'_>], start: u64, section_rows: u64, max_bytes: u64) -> u64 {
    let limit = section_rows.min(start.saturating_add(MAX_WINDOW_ROWS));
    let stretch = |column: &ScanColumn<'_>, row: u64| {
        let segment = column.segment(row);
        let page = segment
            .page
            .filter(|page| column.is_needed(*page) && !column.is_held(*page));
        let bytes = |page: &PageMeta| page.raw_bytes.max(page.range.end - page.range.start);
        let bytes = page.and_then(|page| column.page(page)).map_or(0, bytes);
        (segment.rows.end, bytes)
    };
    let mut total = 0u64;
    // The row up to which each column's pages are in the window.
    let mut ends = Vec::with_capacity(columns.len());
    for column in columns {
        let (end, bytes) = stretch(column, start);
        total = total.saturating_add(bytes);
        ends.push(end);
    }
    loop {
        let Some((shortest, &end)) = ends.iter().enumerate().min_by_key(|(_, end)| **end) else {
            return limit;
        };
        if end >= limit {
            return limit;
        }
        let (longer, bytes) = stretch(&columns[shortest], end);
        total = total.saturating_add(bytes);
        if total > max_bytes {
            return end;
        }
        ends[shortest] = longer;
    }
}
