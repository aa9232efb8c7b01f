// hot path: no locks, no logging, nothing allocated per line.

//! Searching a buffer of lines as a whole: most of it is passed over without looking at where lines begin and end.

use super::literals::Searcher;

/// What is looked for.
#[derive(Clone, Debug)]
pub(super) struct Hits {
    searcher: Searcher,
    /// True if a line with a hit matches for that alone.
    is_enough: bool,
}

impl Hits {
    /// Lines match that hold one of the texts.
    pub(super) fn of_texts(searcher: Searcher) -> Self {
        Self {
            searcher,
            is_enough: true,
        }
    }

    /// Lines that match hold one of the texts; not every line that holds one matches.
    pub(super) fn of_literals(searcher: Searcher) -> Self {
        Self {
            searcher,
            is_enough: false,
        }
    }

    /// Leaves the rows in `keep` that are to be kept: those that match, if `keeps_matches`, else the others. Row `i` is `bounds(i)` of
    /// the data. Where a hit does not tell, `keeps_line` does.
    ///
    /// ```text
    ///   rows   | started | timeout here | all well | tim | eout |
    ///   hits               ^ row 1: matches               ^ reaches into the next row, so that the row is looked at
    /// ```
    pub(super) fn filter(
        &self,
        bounds: impl Fn(u32) -> (usize, usize),
        data: &[u8],
        keeps_matches: bool,
        keeps_line: impl Fn(&[u8]) -> bool,
        keep: &mut Vec<u32>,
    ) {
        let Some(&last) = keep.last() else {
            return;
        };
        let limit = bounds(last).1;
        let mut kept = 0;
        let mut at = 0;
        let mut from = 0;
        while at < keep.len() {
            from = from.max(bounds(keep[at]).0);
            let found = self.searcher.find(&data[from..limit]);
            let (hit, hit_end) = found.map_or((limit, limit), |(start, end)| (from + start, from + end));
            // The rows that end before the hit do not match.
            while at < keep.len() && (found.is_none() || bounds(keep[at]).1 <= hit) {
                if !keeps_matches {
                    keep[kept] = keep[at];
                    kept += 1;
                }
                at += 1;
            }
            let Some(&row) = keep.get(at) else {
                break;
            };
            let (start, end) = bounds(row);
            if hit < start {
                // The hit lies in a row that was dropped before.
                continue;
            }
            let is_whole = hit_end <= end;
            let is_kept = if is_whole && self.is_enough {
                keeps_matches
            } else if !is_whole && self.is_enough && self.searcher.is_for_one() {
                // Nor is there a later one in this row.
                !keeps_matches
            } else {
                keeps_line(&data[start..end])
            };
            if is_kept {
                keep[kept] = row;
                kept += 1;
            }
            at += 1;
            from = end;
        }
        keep.truncate(kept);
    }
}
