//! Finds the time in a line of a log file.
//!
//! Forms, tried in this order; only the beginning of a line is looked at:
//! - JSON and logfmt fields `ts`, `time`, `timestamp`, `@timestamp`: a date or Unix time
//! - a date and time, year first, at the start or after a short prefix: RFC 3339, RFC 5424, ISO with blanks or slashes
//! - `[01/Jun/2026:12:59:45 +0000]` of web servers
//! - `Jun 24 14:36:25` of syslog (the year is guessed)
//! - Unix time in s, ms, us or ns at the start

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// How far into a line a date with the year first may begin: behind `<34>1 `, `[INFO] `, `Start-Date: ` and the like.
const DATE_WITHIN_BYTES: usize = 40;
/// How far into a line the time of a web server's log may begin: behind address, ident and user.
const WEB_WITHIN_BYTES: usize = 256;
/// How far into a line a named field may begin.
const FIELD_WITHIN_BYTES: usize = 512;
/// Unix times from 2001-09-09 (ten digits) up to the year 2100 are taken for times; other numbers for numbers.
const UNIX_SECONDS: std::ops::Range<i64> = 1_000_000_000..4_102_444_800;

const NS: i64 = 1_000_000_000;
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Finds times in lines; knows what a line leaves out.
pub(crate) struct Finder {
    zone: TimeZone,
    /// Local time for which a missing year is guessed: the time of the file's last change.
    newest: DateTime,
    /// The last local hour that was resolved, and its beginning in seconds since 1970: most lines share it.
    hour: Option<((Date, i8), i64)>,
}

impl Finder {
    /// `zone` is used for times that name none, `newest_ns` is when the last line was written, at the latest.
    pub(crate) fn new(zone: TimeZone, newest_ns: i64) -> Self {
        let newest = jiff::Timestamp::from_nanosecond(i128::from(newest_ns)).unwrap_or_default();
        let newest = zone.to_datetime(newest);
        Self {
            zone,
            newest,
            hour: None,
        }
    }

    /// The time of a line in nanoseconds since 1970, if it has one.
    pub(crate) fn find(&mut self, line: &[u8]) -> Option<i64> {
        self.in_field(line)
            .or_else(|| self.year_first(line))
            .or_else(|| self.in_brackets(line))
            .or_else(|| self.syslog(line))
            .or_else(|| unix_time(line).map(|(ns, _)| ns))
    }

    fn in_field(&mut self, line: &[u8]) -> Option<i64> {
        let start = &line[..line.len().min(FIELD_WITHIN_BYTES)];
        let json = start.trim_ascii_start().first() == Some(&b'{');
        let mut from = 0;
        while let Some(found) = start[from..].iter().position(|b| matches!(b, b't' | b'@')) {
            let at = from + found;
            from = at + 1;
            let opened = match at.checked_sub(1).map(|i| start[i]) {
                Some(b'"') => json,
                Some(b' ') | None => !json,
                _ => false,
            };
            if !opened {
                continue;
            }
            let names: [&[u8]; 4] = [b"timestamp", b"@timestamp", b"time", b"ts"];
            let Some(name) = names.iter().find(|n| start[at..].starts_with(n)) else {
                continue;
            };
            let mut rest = &line[at + name.len()..];
            if json {
                let Some(after) = rest.strip_prefix(b"\"") else {
                    continue;
                };
                let Some(after) = after.trim_ascii_start().strip_prefix(b":") else {
                    continue;
                };
                rest = after.trim_ascii_start();
            } else {
                let Some(after) = rest.strip_prefix(b"=") else { continue };
                rest = after;
            }
            let value = rest.strip_prefix(b"\"").unwrap_or(rest);
            let time = self.date_time(value).or_else(|| unix_time(value).map(|(ns, _)| ns));
            if time.is_some() {
                return time;
            }
        }
        None
    }

    fn year_first(&mut self, line: &[u8]) -> Option<i64> {
        for at in 0..line.len().min(DATE_WITHIN_BYTES) {
            let fresh = at == 0 || matches!(line[at - 1], b' ' | b'[' | b'\t' | b'(' | b'>' | b'"');
            if fresh && line[at].is_ascii_digit() {
                let time = self.date_time(&line[at..]);
                if time.is_some() {
                    return time;
                }
            }
        }
        None
    }

    fn in_brackets(&mut self, line: &[u8]) -> Option<i64> {
        let start = &line[..line.len().min(WEB_WITHIN_BYTES)];
        let mut from = 0;
        while let Some(found) = start[from..].iter().position(|b| *b == b'[') {
            from += found + 1;
            if let Some(time) = self.web(&line[from..]) {
                return Some(time);
            }
        }
        None
    }

    /// `2026-06-01T12:59:45.123Z`, with ` `, two blanks or `_` for the `T`, `/` for `-`, `,` for `.`, and with `Z`, an
    /// offset or nothing at the end.
    fn date_time(&mut self, text: &[u8]) -> Option<i64> {
        let mut cursor = Cursor(text);
        let year = cursor.number(4)?;
        let separator = cursor.one_of(b"-/")?;
        let month = cursor.number(2)?;
        cursor.one_of(&[separator])?;
        let day = cursor.number(2)?;
        cursor.one_of(b"T t_")?;
        while cursor.one_of(b" ").is_some() {}
        let (hour, minute, second) = cursor.clock()?;
        let nanosecond = cursor.fraction();
        let mut zone = Cursor(cursor.0);
        let _ = zone.one_of(b" ");
        let offset = cursor.offset().or_else(|| zone.offset());
        self.resolve((year, month, day), (hour, minute, second, nanosecond), offset)
    }

    /// `01/Jun/2026:12:59:45 +0000`
    fn web(&mut self, text: &[u8]) -> Option<i64> {
        let mut cursor = Cursor(text);
        let day = cursor.number(2)?;
        cursor.one_of(b"/")?;
        let month = cursor.month()?;
        cursor.one_of(b"/")?;
        let year = cursor.number(4)?;
        cursor.one_of(b":")?;
        let (hour, minute, second) = cursor.clock()?;
        let nanosecond = cursor.fraction();
        cursor.one_of(b" ")?;
        let offset = cursor.offset()?;
        self.resolve((year, month, day), (hour, minute, second, nanosecond), Some(offset))
    }

    /// `Jun 24 14:36:25`, `Jun  4 14:36:25.123`, behind `<13>` or not.
    fn syslog(&mut self, line: &[u8]) -> Option<i64> {
        let mut cursor = Cursor(line);
        if cursor.one_of(b"<").is_some() {
            let close = cursor.0.iter().take(4).position(|b| *b == b'>')?;
            cursor.0 = &cursor.0[close + 1..];
        }
        let month = cursor.month()?;
        cursor.one_of(b" ")?;
        let day = if cursor.one_of(b" ").is_some() {
            cursor.number(1)?
        } else {
            cursor.number(2)?
        };
        cursor.one_of(b" ")?;
        let (hour, minute, second) = cursor.clock()?;
        let nanosecond = cursor.fraction();
        let month_day = (self.newest.month() as i64, self.newest.day() as i64);
        // A day of grace: clocks and zones differ.
        let last_year = (month, day - 1) > month_day;
        let year = i64::from(self.newest.year()) - i64::from(last_year);
        self.resolve((year, month, day), (hour, minute, second, nanosecond), None)
    }

    fn resolve(
        &mut self,
        (year, month, day): (i64, i64, i64),
        (hour, minute, second, nanosecond): (i64, i64, i64, i64),
        offset_seconds: Option<i64>,
    ) -> Option<i64> {
        let date = Date::new(year as i16, month as i8, day as i8).ok()?;
        let clock = Time::new(hour as i8, minute as i8, second.min(59) as i8, 0).ok()?;
        let in_hour = minute * 60 + second;
        let hour_start = match (offset_seconds, self.hour) {
            (None, Some((key, seconds))) if key == (date, clock.hour()) => seconds,
            (None, _) => {
                let start = date.at(clock.hour(), 0, 0, 0);
                let seconds = self.zone.to_ambiguous_timestamp(start).compatible().ok()?.as_second();
                self.hour = Some(((date, clock.hour()), seconds));
                seconds
            }
            (Some(offset), _) => {
                let start = date.at(clock.hour(), 0, 0, 0);
                TimeZone::UTC.to_timestamp(start).ok()?.as_second() - offset
            }
        };
        (hour_start + in_hour).checked_mul(NS)?.checked_add(nanosecond)
    }
}

/// Unix time at the start of `text`: 10 digits are seconds (decimals allowed), 13 ms, 16 us, 19 ns. Gives nanoseconds and
/// the number of bytes read.
fn unix_time(text: &[u8]) -> Option<(i64, usize)> {
    let digits = text.iter().take(20).take_while(|b| b.is_ascii_digit()).count();
    let factor = match digits {
        10 => NS,
        13 => NS / 1_000,
        16 => NS / 1_000_000,
        19 => 1,
        _ => return None,
    };
    let mut cursor = Cursor(text);
    let number = cursor.number(digits)?;
    if !UNIX_SECONDS.contains(&(number / (NS / factor))) {
        return None;
    }
    let fraction = if digits == 10 { cursor.fraction() } else { 0 };
    let ended = cursor
        .0
        .first()
        .is_none_or(|b| !b.is_ascii_alphanumeric() && !matches!(b, b'.' | b'-' | b'_'));
    if !ended {
        return None;
    }
    Some((
        number.checked_mul(factor)?.checked_add(fraction)?,
        text.len() - cursor.0.len(),
    ))
}

/// The rest of a text that is read from the left.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn one_of(&mut self, wanted: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !wanted.contains(first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }

    /// A number of exactly so many digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (text, rest) = self.0.split_at_checked(digits)?;
        let mut number: i64 = 0;
        for byte in text {
            if !byte.is_ascii_digit() {
                return None;
            }
            number = number.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
        }
        self.0 = rest;
        Some(number)
    }

    fn month(&mut self) -> Option<i64> {
        let (text, rest) = self.0.split_at_checked(3)?;
        let index = MONTHS.iter().position(|m| m.as_slice() == text)?;
        self.0 = rest;
        Some(index as i64 + 1)
    }

    /// `12:59:45`; the 60th second of a leap minute is allowed.
    fn clock(&mut self) -> Option<(i64, i64, i64)> {
        let hour = self.number(2)?;
        self.one_of(b":")?;
        let minute = self.number(2)?;
        self.one_of(b":")?;
        let second = self.number(2)?;
        (hour < 24 && minute < 60 && second <= 60).then_some((hour, minute, second))
    }

    /// Decimals of a second behind `.` or `,`, in nanoseconds; 0 if there are none. Digits past the ninth are dropped.
    fn fraction(&mut self) -> i64 {
        let digits = self.0.iter().skip(1).take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 || self.one_of(b".,").is_none() {
            return 0;
        }
        let mut nanoseconds = 0;
        for place in 0..9 {
            let digit = if place < digits { self.0[place] - b'0' } else { 0 };
            nanoseconds = nanoseconds * 10 + i64::from(digit);
        }
        self.0 = &self.0[digits..];
        nanoseconds
    }

    /// `Z`, `+01:00`, `+0100`; in seconds east of UTC.
    fn offset(&mut self) -> Option<i64> {
        let mut ahead = Cursor(self.0);
        let seconds = match ahead.one_of(b"Zz+-")? {
            sign @ (b'+' | b'-') => {
                let hours = ahead.number(2)?;
                let _ = ahead.one_of(b":");
                let minutes = ahead.number(2)?;
                let seconds = hours * 3600 + minutes * 60;
                if sign == b'-' { -seconds } else { seconds }
            }
            _ if ahead.0.first().is_some_and(u8::is_ascii_alphanumeric) => return None,
            _ => 0,
        };
        self.0 = ahead.0;
        Some(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOON: i64 = 1_780_315_200 * NS; // 2026-06-01T12:00:00Z

    fn finder() -> Finder {
        Finder::new(TimeZone::UTC, NOON)
    }

    #[test]
    fn forms() {
        let f = |line: &str, want: Option<i64>| assert_eq!(finder().find(line.as_bytes()), want, "{line}");
        let noon = Some(NOON);
        f("2026-06-01T12:00:00Z x", noon);
        f("2026-06-01T12:00:00.5Z", Some(NOON + NS / 2));
        f("2026-06-01T14:00:00+02:00 x", noon);
        f("2026-06-01T10:00:00.000000001-0200", Some(NOON + 1));
        f("2026-06-01 12:00:00,250 INFO x", Some(NOON + NS / 4));
        f("2026-06-01 12:00:00.250 +0000 UTC x", Some(NOON + NS / 4));
        f("2026-06-01 12:00:00 install a", noon);
        f("2026/06/01 12:00:00 [error] x", noon);
        f("Start-Date: 2026-06-01  12:00:00", noon);
        f("Log started: 2026-06-01  12:00:00", noon);
        f("update-alternatives 2026-06-01 12:00:00: run", noon);
        f("<34>1 2026-06-01T12:00:00.000Z host app - - x", noon);
        f("[2026-06-01 12:00:00] x", noon);
        f("INFO [2026-06-01 12:00:00] x", noon);
        f("9.9.9.9 - - [01/Jun/2026:12:00:00 +0000] \"GET /", noon);
        f("9.9.9.9 - a [b] [01/Jun/2026:14:00:00 +0200] \"GET /", noon);
        f("Jun  1 12:00:00 host app[1]: x", noon);
        f("<13>Jun 01 12:00:00 host x", noon);
        f("Dec 24 12:00:00 host x", Some(1_766_577_600 * NS));
        f("1780315200 x", noon);
        f("1780315200.25 x", Some(NOON + NS / 4));
        f("1780315200000 x", noon);
        f("1780315200000000 x", noon);
        f("1780315200000000007", Some(NOON + 7));
        f("level=info ts=2026-06-01T12:00:00Z m=x", noon);
        f("time=\"2026-06-01T12:00:00Z\" level=info", noon);
        f("ts=1780315200.5 m=x", Some(NOON + NS / 2));
        f(r#"{"level":"info","ts":1780315200.5,"m":1}"#, Some(NOON + NS / 2));
        f(r#"{"time" : "2026-06-01T12:00:00Z"}"#, noon);
        f(r#"{"@timestamp":"2026-06-01T12:00:00Z"}"#, noon);
        f(r#"{"took":1,"timestamp":1780315200000}"#, noon);
    }

    #[test]
    fn lines_without_a_time() {
        let f = |line: &str| assert_eq!(finder().find(line.as_bytes()), None, "{line}");
        f("");
        f("    at java.lang.Thread");
        f("Commandline: apt-get install x");
        f("2026-13-01 12:00:00 x");
        f("2026-06-01 25:00:00 x");
        f("2026-02-30 12:00:00 x");
        f("2026-06-01");
        f("Jun 99 12:00:00 x");
        f("Jux 01 12:00:00 x");
        f("<34");
        f("0000000001 x");
        f("1780315200abc");
        f("12345678901 x");
        f("its=2026 bits=1");
        f(r#"{"ts":"soon"}"#);
        f("[01/Jun/2026:12:00:00");
        f("ts=");
        f("{\"ts\"");
    }

    #[test]
    fn times_without_a_zone_are_local() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let mut finder = Finder::new(zone, NOON);
        assert_eq!(finder.find(b"2026-06-01 14:00:00 x"), Some(NOON));
        assert_eq!(finder.find(b"2026-06-01 14:00:01 x"), Some(NOON + NS));
        assert_eq!(finder.find(b"2026-06-01 15:00:01 x"), Some(NOON + 3601 * NS));
        assert_eq!(finder.find(b"2026-06-01T12:00:00Z x"), Some(NOON));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(line in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = finder().find(&line);
        }

        #[test]
        fn nearly_times_are_read_without_panic(line in "[\\[<]?[0-9]{0,5}[-/]?[0-9A-Z]{0,3}[-/ ]?[0-9]{0,4}[T :][0-9:.,]{0,14}[Z+-]?[0-9:]{0,5}") {
            let _ = finder().find(line.as_bytes());
        }

        #[test]
        fn written_times_are_found(seconds in 0i64..4_000_000_000, ns in 0i64..NS) {
            let time = jiff::Timestamp::new(seconds, ns as i32).unwrap();
            prop_assert_eq!(finder().find(format!("{time} x").as_bytes()), Some(seconds * NS + ns));
        }
    }
}
