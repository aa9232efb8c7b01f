// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Reading times in Go's layouts.

use jiff::tz::TimeZone;

use super::layout::{OffsetForm, Part, next_part};
use super::{DAY_SECONDS, MONTHS, Time, WEEKDAYS, days_of_date};

/// What was read of a time.
struct Fields<'v> {
    year: i64,
    month: Option<u8>,
    day: Option<u8>,
    day_of_year: Option<u16>,
    hour: u8,
    minute: u8,
    second: u8,
    nanoseconds: u32,
    is_afternoon: Option<bool>,
    is_utc: bool,
    offset: Option<i32>,
    zone_name: &'v [u8],
}

/// Reads a time in `layout`; without a zone in the text it is one of `zone`. `None` where the text is none.
pub(in crate::template) fn parse_time(mut layout: &[u8], mut text: &[u8], zone: &TimeZone) -> Option<Time> {
    let mut fields = Fields {
        year: 0,
        month: None,
        day: None,
        day_of_year: None,
        hour: 0,
        minute: 0,
        second: 0,
        nanoseconds: 0,
        is_afternoon: None,
        is_utc: false,
        offset: None,
        zone_name: b"",
    };
    loop {
        let (prefix, part) = next_part(layout);
        text = skip(text, prefix)?;
        let Some((part, rest)) = part else {
            return if text.is_empty() { fields.time(zone) } else { None };
        };
        text = fields.read(part, rest, text)?;
        layout = rest;
    }
}

/// Passes the text of the layout; any number of spaces stands for any other.
fn skip<'v>(mut text: &'v [u8], mut prefix: &[u8]) -> Option<&'v [u8]> {
    while let Some((first, rest)) = prefix.split_first() {
        if *first == b' ' {
            if text.first().is_some_and(|b| *b != b' ') {
                return None;
            }
            prefix = without_spaces(prefix);
            text = without_spaces(text);
        } else {
            text = text.strip_prefix(&[*first])?;
            prefix = rest;
        }
    }
    Some(text)
}

fn without_spaces(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|b| **b == b' ').count()..]
}

fn digits(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0, |number, b| {
        b.is_ascii_digit().then(|| number * 10 + u32::from(b - b'0'))
    })
}

/// One or two digits; exactly two if `fixed`.
fn short_number(text: &[u8], fixed: bool) -> Option<(u8, &[u8])> {
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let length = match (is_digit(0), is_digit(1)) {
        (false, _) => return None,
        (true, false) if fixed => return None,
        (true, false) => 1,
        (true, true) => 2,
    };
    let number = digits(&text[..length])?;
    Some((u8::try_from(number).ok()?, &text[length..]))
}

fn number_within(text: &[u8], fixed: bool, bounds: std::ops::RangeInclusive<u8>) -> Option<(u8, &[u8])> {
    short_number(text, fixed).filter(|(number, _)| bounds.contains(number))
}

/// The index of the name that the text begins with, in any case. Short names are the first three letters.
fn name<'v>(text: &'v [u8], names: &[&str], short: bool) -> Option<(u8, &'v [u8])> {
    (0u8..).zip(names).find_map(|(index, name)| {
        let name = if short { &name.as_bytes()[..3] } else { name.as_bytes() };
        let (head, rest) = text.split_at_checked(name.len())?;
        head.eq_ignore_ascii_case(name).then_some((index, rest))
    })
}

/// Nanoseconds of a separator with digits.
fn nanoseconds(text: &[u8]) -> Option<u32> {
    let (separator, digits_text) = text.split_first()?;
    if !matches!(separator, b'.' | b',') {
        return None;
    }
    let digits_text = &digits_text[..digits_text.len().min(9)];
    let number = digits(digits_text)?;
    Some(number * 10_u32.pow(9 - digits_text.len() as u32))
}

fn begins_with_fraction(text: &[u8]) -> bool {
    matches!(text, [b'.' | b',', digit, ..] if digit.is_ascii_digit())
}

fn fraction_length(text: &[u8]) -> usize {
    1 + text[1..].iter().take_while(|b| b.is_ascii_digit()).count()
}

impl<'v> Fields<'v> {
    /// Reads a part from the start of `text`; answers what is behind it. `layout` is what follows the part.
    fn read(&mut self, part: Part, layout: &[u8], text: &'v [u8]) -> Option<&'v [u8]> {
        let rest;
        match part {
            Part::Year => {
                let (head, after) = text.split_at_checked(2)?;
                let year = i64::from(digits(head)?);
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
                rest = after;
            }
            Part::LongYear => {
                let (head, after) = text.split_at_checked(4)?;
                self.year = i64::from(digits(head)?);
                rest = after;
            }
            Part::Month | Part::LongMonth => {
                let (index, after) = name(text, &MONTHS, part == Part::Month)?;
                self.month = Some(index + 1);
                rest = after;
            }
            Part::NumberMonth | Part::ZeroMonth => {
                let (month, after) = number_within(text, part == Part::ZeroMonth, 1..=12)?;
                self.month = Some(month);
                rest = after;
            }
            Part::Weekday | Part::LongWeekday => rest = name(text, &WEEKDAYS, part == Part::Weekday)?.1,
            Part::Day | Part::UnderDay | Part::ZeroDay => {
                let text = match text {
                    [b' ', rest @ ..] if part == Part::UnderDay => rest,
                    _ => text,
                };
                let (day, after) = short_number(text, part == Part::ZeroDay)?;
                self.day = Some(day);
                rest = after;
            }
            Part::UnderDayOfYear | Part::ZeroDayOfYear => rest = self.read_day_of_year(part, text)?,
            Part::Hour => (self.hour, rest) = number_within(text, false, 0..=23)?,
            Part::Hour12 | Part::ZeroHour12 => {
                (self.hour, rest) = number_within(text, part == Part::ZeroHour12, 0..=12)?;
            }
            Part::Minute | Part::ZeroMinute => {
                (self.minute, rest) = number_within(text, part == Part::ZeroMinute, 0..=59)?;
            }
            Part::Second | Part::ZeroSecond => {
                let (second, after) = number_within(text, part == Part::ZeroSecond, 0..=59)?;
                self.second = second;
                // A fraction is taken even if the layout has none.
                let next = next_part(layout).1.map(|(part, _)| part);
                let is_fraction_next = matches!(next, Some(Part::Fraction { .. } | Part::ShortFraction { .. }));
                if begins_with_fraction(after) && !is_fraction_next {
                    let length = fraction_length(after);
                    self.nanoseconds = nanoseconds(&after[..length])?;
                    return Some(&after[length..]);
                }
                rest = after;
            }
            Part::UpperHalf | Part::LowerHalf => {
                let (head, after) = text.split_at_checked(2)?;
                self.is_afternoon = Some(match (part, head) {
                    (Part::UpperHalf, b"PM") | (Part::LowerHalf, b"pm") => true,
                    (Part::UpperHalf, b"AM") | (Part::LowerHalf, b"am") => false,
                    _ => return None,
                });
                rest = after;
            }
            Part::ZoneName => {
                if let Some(after) = text.strip_prefix(b"UTC") {
                    self.is_utc = true;
                    return Some(after);
                }
                let length = zone_name_length(text)?;
                self.zone_name = &text[..length];
                rest = &text[length..];
            }
            Part::Offset(form) => rest = self.read_offset(form, text)?,
            Part::Fraction { digits, .. } => {
                let (head, after) = text.split_at_checked(digits + 1)?;
                self.nanoseconds = nanoseconds(head)?;
                rest = after;
            }
            Part::ShortFraction { .. } => {
                if !begins_with_fraction(text) {
                    return Some(text);
                }
                let length = fraction_length(text);
                self.nanoseconds = nanoseconds(&text[..length])?;
                rest = &text[length..];
            }
        }
        Some(rest)
    }

    fn read_day_of_year(&mut self, part: Part, mut text: &'v [u8]) -> Option<&'v [u8]> {
        if part == Part::UnderDayOfYear {
            for _ in 0..2 {
                text = text.strip_prefix(b" ").unwrap_or(text);
            }
        }
        let length = text.iter().take(3).take_while(|b| b.is_ascii_digit()).count();
        if length == 0 || (part == Part::ZeroDayOfYear && length < 3) {
            return None;
        }
        self.day_of_year = Some(u16::try_from(digits(&text[..length])?).ok()?);
        Some(&text[length..])
    }

    fn read_offset(&mut self, form: OffsetForm, text: &'v [u8]) -> Option<&'v [u8]> {
        if form.z
            && let Some(rest) = text.strip_prefix(b"Z")
        {
            self.is_utc = true;
            return Some(rest);
        }
        let (sign, mut rest) = text.split_first()?;
        let mut seconds = 0;
        let parts = [(true, 3600, 24), (form.minutes, 60, 60), (form.seconds, 1, 60)];
        for (at, (is_written, unit, bound)) in parts.into_iter().enumerate() {
            if !is_written {
                break;
            }
            if at > 0 && form.colon {
                rest = rest.strip_prefix(b":")?;
            }
            let (number, after) = short_number(rest, true)?;
            if number > bound {
                return None;
            }
            seconds += i32::from(number) * unit;
            rest = after;
        }
        self.offset = Some(match sign {
            b'+' => seconds,
            b'-' => -seconds,
            _ => return None,
        });
        Some(rest)
    }

    fn time(&self, zone: &TimeZone) -> Option<Time> {
        let hour = match (self.is_afternoon, self.hour) {
            (Some(true), hour) if hour < 12 => hour + 12,
            (Some(false), 12) => 0,
            (_, hour) => hour,
        };
        let days = self.days()?;
        let time_of_day = i64::from(hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        let local = days * DAY_SECONDS + time_of_day;
        let nanoseconds = self.nanoseconds;
        if self.is_utc {
            return Some(Time::new(local, nanoseconds, &TimeZone::UTC));
        }
        if let Some(offset) = self.offset {
            let seconds = local - i64::from(offset);
            // The zone's own name is shown if it has that offset.
            let there = Time::new(seconds, nanoseconds, zone);
            let is_there =
                there.offset() == offset && (self.zone_name.is_empty() || there.abbreviation() == self.zone_name);
            return Some(if is_there {
                there
            } else {
                Time::with_offset(seconds, nanoseconds, offset, self.zone_name)
            });
        }
        let first = Time::new(local, nanoseconds, zone).offset();
        let there = Time::new(local - i64::from(first), nanoseconds, zone);
        let there = Time::new(local - i64::from(there.offset()), nanoseconds, zone);
        if self.zone_name.is_empty() || there.abbreviation() == self.zone_name {
            return Some(there);
        }
        // A name says nothing of the offset, except behind GMT; even there the clock is taken for UTC's.
        let hours = self.zone_name.strip_prefix(b"GMT").and_then(signed_hours).unwrap_or(0);
        Some(Time::with_offset(local, nanoseconds, hours * 3600, self.zone_name))
    }

    /// Days since 1970.
    fn days(&self) -> Option<i64> {
        let year = self.year;
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let first_day = |month: u8| match month {
            13 => days_of_date(year + 1, 1, 1),
            month => days_of_date(year, month, 1),
        };
        if let Some(day_of_year) = self.day_of_year {
            if day_of_year < 1 || day_of_year > 365 + u16::from(is_leap) {
                return None;
            }
            let days = first_day(1) + i64::from(day_of_year) - 1;
            let fits = |month: u8| (first_day(month)..first_day(month + 1)).contains(&days);
            let month_fits = self.month.is_none_or(fits);
            let is_day = |day: u8| (1..=12).any(|month| fits(month) && first_day(month) + i64::from(day) - 1 == days);
            return (month_fits && self.day.is_none_or(is_day)).then_some(days);
        }
        let month = self.month.unwrap_or(1);
        let day = self.day.unwrap_or(1);
        let days = first_day(month) + i64::from(day) - 1;
        (day >= 1 && days < first_day(month + 1)).then_some(days)
    }
}

fn signed_hours(text: &[u8]) -> Option<i32> {
    let (sign, number) = text.split_first()?;
    let hours = i32::try_from(digits(number)?).ok().filter(|hours| *hours <= 23)?;
    match sign {
        b'+' => Some(hours),
        b'-' => Some(-hours),
        _ => None,
    }
}

/// Length of a zone's name: three or four capitals, `GMT+3`, `+03` and a few more.
fn zone_name_length(text: &[u8]) -> Option<usize> {
    let signed_length = |text: &[u8]| {
        let length = 1 + text[1..].iter().take_while(|b| b.is_ascii_digit()).count();
        signed_hours(&text[..length]).map(|_| length)
    };
    if text.len() < 3 {
        return None;
    }
    if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = text.strip_prefix(b"GMT") {
        let has_sign = matches!(rest.first(), Some(b'+' | b'-'));
        return Some(3 + if has_sign { signed_length(rest).unwrap_or(0) } else { 0 });
    }
    if matches!(text[0], b'+' | b'-') {
        return signed_length(text);
    }
    match text.iter().take(6).take_while(|b| b.is_ascii_uppercase()).count() {
        5 if text[4] == b'T' => Some(5),
        4 if text[3] == b'T' || text.starts_with(b"WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}
