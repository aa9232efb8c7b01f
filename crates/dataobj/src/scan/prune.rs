//! What page statistics decide before anything is read.

use super::column::ScanColumn;
use super::matcher::{Matcher, Verdict};
use super::rows::RowRanges;

/// Rows by what is known about a condition. The statistics of a page may be missing, wholly or in part; then they decide less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decision {
    /// Rows that may meet it. All others certainly don't.
    pub(super) possible: RowRanges,
    /// Rows that certainly meet it; all of them are possible.
    pub(super) certain: RowRanges,
}

impl Decision {
    /// Rows that only their values can tell.
    pub(super) fn open(&self) -> RowRanges {
        self.possible.subtract(&self.certain)
    }

    pub(super) fn negate(&self, all: &RowRanges) -> Decision {
        Decision {
            possible: all.subtract(&self.certain),
            certain: all.subtract(&self.possible),
        }
    }

    pub(super) fn and(&self, other: &Decision) -> Decision {
        Decision {
            possible: self.possible.intersect(&other.possible),
            certain: self.certain.intersect(&other.certain),
        }
    }

    pub(super) fn or(&self, other: &Decision) -> Decision {
        Decision {
            possible: self.possible.union(&other.possible),
            certain: self.certain.union(&other.certain),
        }
    }
}

/// What is known about a test of a column, page by page.
pub(super) fn decide(matcher: &Matcher, column: &ScanColumn<'_>, section_rows: u64) -> Decision {
    let mut decision = Decision::default();
    let mut add = |rows: std::ops::Range<u64>, verdict| {
        if verdict != Verdict::None {
            decision.possible.push(rows.clone());
        }
        if verdict == Verdict::All {
            decision.certain.push(rows);
        }
    };
    let mut end = 0;
    for (rows, page) in column.pages() {
        end = rows.end;
        add(rows, matcher.judge(page.rows, page.values, page.stats.as_ref()));
    }
    // Behind a column that ends early, and of one that is absent, everything is null.
    add(end..section_rows, matcher.judge(1, 0, None));
    decision
}
