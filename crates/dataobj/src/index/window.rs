//! The stretches of time that tables of contents cover (specification chapter 11.1).

use std::fmt;

/// Length of a window, 12 hours in nanoseconds. Windows start at 00:00 and 12:00 UTC.
pub const TOC_WINDOW_NS: i64 = 12 * 3600 * 1_000_000_000;

const SECONDS_PER_DAY: i64 = 24 * 3600;

/// One window; displayed as its name, such as `2025-03-14T12_00_00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TocWindow {
    /// Windows since 1970.
    number: i64,
}

impl TocWindow {
    /// The window in which that moment (nanoseconds since 1970) lies.
    pub fn containing(timestamp_ns: i64) -> TocWindow {
        TocWindow {
            number: timestamp_ns.div_euclid(TOC_WINDOW_NS),
        }
    }

    /// All windows that a span of time touches, both ends included: the tables of contents that a query has to read.
    pub fn covering(min_ns: i64, max_ns: i64) -> impl DoubleEndedIterator<Item = TocWindow> {
        let (first, last) = (TocWindow::containing(min_ns), TocWindow::containing(max_ns));
        (first.number..=last.number).map(|number| TocWindow { number })
    }

    /// First moment of the window, nanoseconds since 1970; the earliest there is if the window starts before that.
    pub fn start_ns(self) -> i64 {
        self.number.saturating_mul(TOC_WINDOW_NS)
    }

    /// True if a span of time, both ends included, touches the window.
    pub fn touches(self, min_ns: i64, max_ns: i64) -> bool {
        let window = self.number;
        TocWindow::containing(min_ns).number <= window && window <= TocWindow::containing(max_ns).number
    }

    /// Key of the window's table of contents, below [`crate::INDEX_ROOT`]: `tocs/2025-03-14T12_00_00Z.toc`.
    pub fn path(self) -> String {
        format!("tocs/{self}.toc")
    }
}

impl fmt::Display for TocWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.number * (TOC_WINDOW_NS / 1_000_000_000);
        let (year, month, day) = date(seconds.div_euclid(SECONDS_PER_DAY));
        let hour = seconds.rem_euclid(SECONDS_PER_DAY) / 3600;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}_00_00Z")
    }
}

/// Year, month and day of the Gregorian calendar, by days since 1970. Counted from 1 March of the year 0, so that the leap
/// day is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_BEFORE_1970: i64 = 719_468;
    const DAYS_PER_ERA: i64 = 146_097;
    let days = days + DAYS_BEFORE_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // March is 0; five months take 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year_of_era + year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let check = |timestamp_ns: i64, want: &str| assert_eq!(TocWindow::containing(timestamp_ns).to_string(), want);
        check(0, "1970-01-01T00_00_00Z");
        check(TOC_WINDOW_NS - 1, "1970-01-01T00_00_00Z");
        check(TOC_WINDOW_NS, "1970-01-01T12_00_00Z");
        check(-1, "1969-12-31T12_00_00Z");
        check(1_741_944_413_589_793_238, "2025-03-14T00_00_00Z");
        check(1_709_208_000_000_000_000, "2024-02-29T12_00_00Z");
        check(1_709_251_200_000_000_000, "2024-03-01T00_00_00Z");
        check(951_782_400_000_000_000, "2000-02-29T00_00_00Z");
        check(i64::MIN, "1677-09-21T00_00_00Z");
        check(i64::MAX, "2262-04-11T12_00_00Z");
    }

    #[test]
    fn spans() {
        let check = |min: i64, max: i64, want: &[&str]| {
            let windows: Vec<String> = TocWindow::covering(min, max).map(|window| window.to_string()).collect();
            assert_eq!(windows, want);
            assert!(TocWindow::covering(min, max).all(|window| window.touches(min, max)));
        };
        check(5, 4, &["1970-01-01T00_00_00Z"]);
        check(0, TOC_WINDOW_NS - 1, &["1970-01-01T00_00_00Z"]);
        check(0, TOC_WINDOW_NS, &["1970-01-01T00_00_00Z", "1970-01-01T12_00_00Z"]);
        check(TOC_WINDOW_NS, 0, &[]);
        assert_eq!(TocWindow::containing(-1).path(), "tocs/1969-12-31T12_00_00Z.toc");
        assert_eq!(TocWindow::containing(i64::MIN).start_ns(), i64::MIN);
        assert_eq!(TocWindow::containing(-1).start_ns(), -TOC_WINDOW_NS);
    }
}
