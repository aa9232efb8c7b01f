//! The grid of a range aggregation.
//!
//! Evaluation times are `t(k) = first + k*step`, windows are `(t(k)-range, t(k)]`. The time axis is cut at the ends of all windows, so
//! that each sample falls into one cell and each window is a whole number of cells. With `range = q*step + r`:
//!
//! ```text
//!   r = 0                               r > 0 (here q = 1)
//!   |--cell 0--|--cell 1--|--cell 2--|  |-0-|---1--|-2-|---3--|-4-|
//!   `------ window 0 -----'             `---- window 0 ----'
//!              `------ window 1 -----'             `---- window 1 ----'
//! ```
//!
//! A step holds one cell if `r = 0`, else two: of lengths `r` and `step-r`. Cells are open at the left and closed at the right, as
//! windows are. With `range < step` every second cell lies in no window. The cells that all windows hold are one cell: their number would
//! grow with the range, and at a single evaluation time every nanosecond would be one.

use crate::request::Steps;
use std::ops::Range;
use timberline_store::source::TimeSpan;

/// Cells and windows of one range aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    steps: Steps,
    offset_ns: i64,
    /// Left end of the first window, not included. Ranges and offsets may lead out of 64 bits.
    base_ns: i128,
    whole_steps: i64,
    rest_ns: i64,
    /// First and last of the cells that all windows hold; they are counted as the first. Empty if the last is before the first.
    shared: (i64, i64),
}

impl Grid {
    /// The grid for windows of `range_ns` (not negative; windows of no width hold nothing) that lie `offset_ns` before the evaluation times.
    pub(crate) fn new(steps: Steps, range_ns: i64, offset_ns: i64) -> Self {
        let (whole_steps, rest_ns) = (range_ns / steps.step_ns, range_ns % steps.step_ns);
        let last_window = steps.count as i64 - 1;
        Self {
            steps,
            offset_ns,
            base_ns: i128::from(steps.first_ns) - i128::from(offset_ns) - i128::from(range_ns),
            whole_steps,
            rest_ns,
            shared: if rest_ns == 0 {
                (last_window, whole_steps - 1)
            } else {
                (2 * last_window, 2 * whole_steps)
            },
        }
    }

    /// The times of all samples that fall into a window or between two.
    pub(crate) fn span(&self) -> TimeSpan {
        let clamp = |time_ns: i128| time_ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        TimeSpan {
            min_ns: clamp(self.base_ns + 1),
            max_ns: clamp(self.until_ns(self.steps.count - 1)),
        }
    }

    /// Width of a window, nanoseconds.
    pub(crate) fn range_ns(&self) -> i128 {
        self.until_ns(0) - self.base_ns
    }

    /// True if times between two windows lie in none.
    pub(crate) fn has_gaps(&self) -> bool {
        self.whole_steps == 0
    }

    /// Number of windows.
    pub(crate) fn windows(&self) -> usize {
        self.steps.count
    }

    /// Evaluation time of a window.
    pub(crate) fn time_ns(&self, window: usize) -> i64 {
        self.steps.time_ns(window)
    }

    /// Left end of a window, not included.
    pub(crate) fn after_ns(&self, window: usize) -> i128 {
        self.base_ns + i128::from(self.steps.step_ns) * window as i128
    }

    /// Right end of a window, included.
    pub(crate) fn until_ns(&self, window: usize) -> i128 {
        i128::from(self.steps.time_ns(window)) - i128::from(self.offset_ns)
    }

    /// The cell of a sample within [`Grid::span`]; `None` if no window holds it.
    #[inline]
    pub(crate) fn cell(&self, timestamp_ns: i64) -> Option<i64> {
        let distance = i128::from(timestamp_ns) - self.base_ns - 1;
        let step = self.steps.step_ns as u64;
        let (period, within) = match u64::try_from(distance) {
            Ok(distance) => ((distance / step) as i64, distance % step),
            Err(_) if distance < 0 => return None,
            Err(_) => {
                let step = i128::from(step);
                ((distance / step) as i64, (distance % step) as u64)
            }
        };
        let cell = if self.rest_ns == 0 {
            if self.whole_steps == 0 {
                return None;
            }
            period
        } else {
            let second = within >= self.rest_ns as u64;
            if second && self.whole_steps == 0 {
                return None;
            }
            2 * period + i64::from(second)
        };
        let (first, last) = self.shared;
        Some(if first <= cell && cell <= last { first } else { cell })
    }

    /// The cells of a window.
    pub(crate) fn cells(&self, window: usize) -> Range<i64> {
        let window = window as i64;
        if self.rest_ns == 0 {
            return window..self.whole_steps.saturating_add(window);
        }
        2 * window..2 * (window + self.whole_steps) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Windows that reach beyond what timestamps can be.
    #[test]
    fn far_ends() {
        let (min, max) = (i64::MIN, i64::MAX);
        let f = |first_ns: i64, step_ns: i64, count: usize, range: i64, offset: i64| {
            let grid = Grid::new(
                Steps {
                    first_ns,
                    step_ns,
                    count,
                },
                range,
                offset,
            );
            for ts in [
                min,
                min + 1,
                -5_000_000_000_000_000_000,
                -1,
                0,
                1,
                5_000_000_000_000_000_000,
                max - 1,
                max,
            ] {
                let span = grid.span();
                let inside = span.min_ns <= ts && ts <= span.max_ns;
                for window in 0..count {
                    let end = i128::from(first_ns) + i128::from(step_ns) * window as i128 - i128::from(offset);
                    let wanted = end - i128::from(range) < i128::from(ts) && i128::from(ts) <= end;
                    let found = inside && grid.cell(ts).is_some_and(|cell| grid.cells(window).contains(&cell));
                    assert_eq!(wanted, found, "{ts} in window {window} of {grid:?}");
                }
            }
        };
        for range in [0, 1, 1000, max / 3, max - 1, max] {
            for offset in [0, 1, max, -max, max / 2, -max / 2] {
                for first in [0, -max / 2, max / 2] {
                    f(first, 1, 1, range, offset);
                    f(first, 7, 2, range, offset);
                }
                f(-max, max, 3, range, offset);
            }
        }
    }

    proptest! {
        /// A sample is in the cells of a window exactly when its time is in the window.
        #[test]
        fn windows_are_whole_cells(
            first in -50i64..50, step in 1i64..20, count in 1usize..8, range in 0i64..60, offset in -30i64..30, ts in -200i64..200,
        ) {
            let grid = Grid::new(Steps { first_ns: first, step_ns: step, count }, range, offset);
            let span = grid.span();
            let inside = span.min_ns <= ts && ts <= span.max_ns;
            for window in 0..count {
                let end = grid.time_ns(window) - offset;
                let wanted = end - range < ts && ts <= end;
                let found = inside && grid.cell(ts).is_some_and(|cell| grid.cells(window).contains(&cell));
                prop_assert_eq!(wanted, found, "window {} of {:?}", window, grid);
            }
        }

        /// The number of cells depends on the number of windows, not on the range.
        #[test]
        fn long_ranges_have_few_cells(step in 1i64..20, count in 1usize..5, range in 0i64..1000) {
            let grid = Grid::new(Steps { first_ns: 0, step_ns: step, count }, range, 0);
            let span = grid.span();
            let cells: std::collections::HashSet<i64> =
                (span.min_ns..=span.max_ns).filter_map(|ts| grid.cell(ts)).collect();
            prop_assert!(cells.len() <= 4 * count, "{} cells of {:?}", cells.len(), grid);
        }
    }
}
