//! The 12-hour windows by which the catalog is cut.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Length of a window. The catalog's format depends on it.
const WINDOW_NS: i64 = 12 * 3600 * 1_000_000_000;

/// A 12-hour window, starting at 00:00 or 12:00 UTC; windows are numbered from 1970 on. Printed as `2025-03-14T12Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Window(pub(crate) i64);

impl Window {
    /// The window that holds a time.
    pub(crate) fn of_ns(time_ns: i64) -> Self {
        Self(time_ns.div_euclid(WINDOW_NS))
    }

    fn parse(text: &str) -> Option<Self> {
        let (date, hour) = text.strip_suffix('Z')?.split_once('T')?;
        let half = match hour {
            "00" => 0,
            "12" => 1,
            _ => return None,
        };
        let mut parts = date.split('-');
        let mut next = || parts.next()?.parse::<i64>().ok();
        let (year, month, day) = (next()?, next()?, next()?);
        let window = Self(days_since_1970(year, month, day).checked_mul(2)? + half);
        // Refuses dates that do not exist and other spellings of one window.
        (window.to_string() == text).then_some(window)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.0.div_euclid(2));
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}Z", 12 * self.0.rem_euclid(2))
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, counting years from March so that the leap day is the last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_since_1970`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not a 12-hour window")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_have_readable_names() {
        let f = |time_ns: i64, want: &str| {
            assert_eq!(Window::of_ns(time_ns).to_string(), want);
            assert_eq!(Window::parse(want), Some(Window::of_ns(time_ns)));
        };
        f(0, "1970-01-01T00Z");
        f(-1, "1969-12-31T12Z");
        f(WINDOW_NS, "1970-01-01T12Z");
        f(1_741_953_600_000_000_000, "2025-03-14T12Z");
        f(1_709_164_800_000_000_000, "2024-02-29T00Z");
        f(i64::MIN, "1677-09-21T00Z");
        f(i64::MAX, "2262-04-11T12Z");
        for bad in [
            "",
            "2025-03-14T06Z",
            "2025-02-30T00Z",
            "2025-3-14T00Z",
            "2025-03-14-01T00Z",
            "x-y-zT00Z",
        ] {
            assert_eq!(Window::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn names_round_trip(time_ns: i64) {
            let window = Window::of_ns(time_ns);
            prop_assert_eq!(Window::parse(&window.to_string()), Some(window));
        }
    }
}
