// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Times with a zone, and Go's ways to write and read them.

mod format;
mod layout;
mod parse;

use std::fmt;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

pub(super) use self::format::append_formatted;
pub(super) use self::parse::parse_time;
use super::sink::Sink;
use crate::pipeline::Environment;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// In what layout Go prints times.
const STRING_LAYOUT: &[u8] = b"2006-01-02 15:04:05.999999999 -0700 MST";
const DAY_SECONDS: i64 = 86_400;
/// Longest name of a zone that is kept.
const MAX_ABBREVIATION: usize = 7;

/// A moment, seen from a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    /// since 1970
    pub(super) seconds: i64,
    pub(super) nanoseconds: u32,
    /// Seconds by which the place is ahead of UTC.
    offset: i32,
    /// Name of the zone at that moment; empty if it has none.
    abbreviation: [u8; MAX_ABBREVIATION],
    abbreviation_length: u8,
}

/// Date and time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    /// 1 to 12
    pub(super) month: u8,
    /// 1 to 31
    pub(super) day: u8,
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    /// 0 is Sunday
    pub(super) weekday: u8,
    /// 1 to 366
    pub(super) day_of_year: u16,
}

impl Time {
    /// Go's zero time: the first moment of year 1.
    pub(super) const ZERO: Self = Self {
        seconds: -62_135_596_800,
        nanoseconds: 0,
        offset: 0,
        abbreviation: *b"UTC\0\0\0\0",
        abbreviation_length: 3,
    };

    /// A moment in a zone.
    pub(super) fn new(seconds: i64, nanoseconds: u32, zone: &TimeZone) -> Self {
        let mut time = Self {
            seconds,
            nanoseconds,
            ..Self::ZERO
        };
        if let Ok(timestamp) = Timestamp::from_second(seconds) {
            let info = zone.to_offset_info(timestamp);
            time.offset = info.offset().seconds();
            time.set_abbreviation(info.abbreviation().as_bytes());
        }
        time
    }

    /// Nanoseconds since 1970 in a zone.
    pub(super) fn from_nanoseconds(nanoseconds: i64, zone: &TimeZone) -> Self {
        let fraction = u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or(0);
        Self::new(nanoseconds.div_euclid(1_000_000_000), fraction, zone)
    }

    /// A moment at a place of which only the offset is known, and perhaps the name.
    pub(super) fn with_offset(seconds: i64, nanoseconds: u32, offset: i32, abbreviation: &[u8]) -> Self {
        let mut time = Self {
            seconds,
            nanoseconds,
            offset,
            ..Self::ZERO
        };
        time.set_abbreviation(abbreviation);
        time
    }

    /// The same moment in a zone.
    pub(super) fn within(self, zone: &TimeZone) -> Self {
        Self::new(self.seconds, self.nanoseconds, zone)
    }

    fn set_abbreviation(&mut self, name: &[u8]) {
        let length = name.len().min(MAX_ABBREVIATION);
        self.abbreviation = [0; MAX_ABBREVIATION];
        self.abbreviation[..length].copy_from_slice(&name[..length]);
        self.abbreviation_length = length as u8;
    }

    pub(super) fn offset(&self) -> i32 {
        self.offset
    }

    pub(super) fn abbreviation(&self) -> &[u8] {
        &self.abbreviation[..usize::from(self.abbreviation_length)]
    }

    /// Milliseconds, microseconds or nanoseconds since 1970, by how many there are in a second. Wraps like Go's.
    pub(super) fn units(&self, per_second: i64) -> i64 {
        let fraction = i64::from(self.nanoseconds) / (1_000_000_000 / per_second);
        self.seconds.wrapping_mul(per_second).wrapping_add(fraction)
    }

    /// Date and time of day at the place.
    pub(super) fn civil(&self) -> Civil {
        let local = self.seconds.saturating_add(i64::from(self.offset));
        let days = local.div_euclid(DAY_SECONDS);
        let second = local.rem_euclid(DAY_SECONDS);
        let (year, month, day) = date_of_days(days);
        Civil {
            year,
            month,
            day,
            hour: (second / 3600) as u8,
            minute: (second / 60 % 60) as u8,
            second: (second % 60) as u8,
            weekday: (days + 4).rem_euclid(7) as u8,
            day_of_year: (days - days_of_date(year, 1, 1) + 1) as u16,
        }
    }

    /// Appends the time as Go prints it.
    pub(super) fn print(&self, out: &mut Sink<'_>) {
        append_formatted(self, STRING_LAYOUT, out);
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = Vec::new();
        append_formatted(self, STRING_LAYOUT, &mut Sink::new(&mut buffer));
        f.write_str(std::str::from_utf8(&buffer).unwrap_or_default())
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, counted in eras of 400 years that begin in March.
pub(super) fn days_of_date(year: i64, month: u8, day: u8) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn date_of_days(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month + 2) / 5 + 1) as u8;
    let month = if month < 10 { month + 3 } else { month - 9 } as u8;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The zone of a name from the table that is compiled in; `Local` is the server's.
pub(super) fn find_zone(name: &[u8], environment: &Environment) -> Option<TimeZone> {
    static TABLE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
    match name {
        b"" | b"UTC" => Some(TimeZone::UTC),
        b"Local" => Some(environment.zone.clone()),
        _ => TABLE.get(std::str::from_utf8(name).ok()?).ok(),
    }
}
