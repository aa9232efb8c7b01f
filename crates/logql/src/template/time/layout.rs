// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Go's layouts: the reference time `Mon Jan 2 15:04:05 MST 2006`, written as the time is to be written.

/// A part of a layout that stands for a part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    LongMonth,
    Month,
    NumberMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderDayOfYear,
    ZeroDayOfYear,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperHalf,
    LowerHalf,
    ZoneName,
    Offset(OffsetForm),
    /// `.000`: so many digits
    Fraction {
        separator: u8,
        digits: usize,
    },
    /// `.999`: so many digits without the zeros at the end
    ShortFraction {
        separator: u8,
        digits: usize,
    },
}

/// How an offset from UTC is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffsetForm {
    /// UTC is `Z`
    pub(super) z: bool,
    pub(super) colon: bool,
    pub(super) minutes: bool,
    pub(super) seconds: bool,
}

/// Longest first. A name that goes on in lower case is none.
const FIXED: [(&[u8], Part); 29] = [
    (b"January", Part::LongMonth),
    (b"Monday", Part::LongWeekday),
    (b"MST", Part::ZoneName),
    (b"002", Part::ZeroDayOfYear),
    (b"01", Part::ZeroMonth),
    (b"02", Part::ZeroDay),
    (b"03", Part::ZeroHour12),
    (b"04", Part::ZeroMinute),
    (b"05", Part::ZeroSecond),
    (b"06", Part::Year),
    (b"15", Part::Hour),
    (b"1", Part::NumberMonth),
    (b"2006", Part::LongYear),
    (b"2", Part::Day),
    (b"__2", Part::UnderDayOfYear),
    (b"3", Part::Hour12),
    (b"4", Part::Minute),
    (b"5", Part::Second),
    (b"PM", Part::UpperHalf),
    (b"pm", Part::LowerHalf),
    (b"-070000", Part::Offset(offset(false, false, true, true))),
    (b"-07:00:00", Part::Offset(offset(false, true, true, true))),
    (b"-0700", Part::Offset(offset(false, false, true, false))),
    (b"-07:00", Part::Offset(offset(false, true, true, false))),
    (b"-07", Part::Offset(offset(false, false, false, false))),
    (b"Z070000", Part::Offset(offset(true, false, true, true))),
    (b"Z07:00:00", Part::Offset(offset(true, true, true, true))),
    (b"Z0700", Part::Offset(offset(true, false, true, false))),
    (b"Z07:00", Part::Offset(offset(true, true, true, false))),
];
const Z07: (&[u8], Part) = (b"Z07", Part::Offset(offset(true, false, false, false)));

const fn offset(z: bool, colon: bool, minutes: bool, seconds: bool) -> OffsetForm {
    OffsetForm {
        z,
        colon,
        minutes,
        seconds,
    }
}

/// Splits a layout into the text before its first part, the part, and the rest.
pub(super) fn next_part(layout: &[u8]) -> (&[u8], Option<(Part, &[u8])>) {
    for at in 0..layout.len() {
        if let Some((start, part, length)) = part_at(&layout[at..]) {
            return (&layout[..at + start], Some((part, &layout[at + length..])));
        }
    }
    (layout, None)
}

/// Where the part begins, the part, and where it ends.
fn part_at(layout: &[u8]) -> Option<(usize, Part, usize)> {
    let is_name = |name: &[u8]| layout.starts_with(name) && !layout.get(3).is_some_and(u8::is_ascii_lowercase);
    match layout {
        [b'_', b'2', rest @ ..] => {
            return Some(if rest.starts_with(b"006") {
                (1, Part::LongYear, 5)
            } else {
                (0, Part::UnderDay, 2)
            });
        }
        [separator @ (b'.' | b','), digit @ (b'0' | b'9'), ..] => {
            let digits = layout[1..].iter().take_while(|b| *b == digit).count();
            if layout.get(digits + 1).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            let separator = *separator;
            let part = if *digit == b'0' {
                Part::Fraction { separator, digits }
            } else {
                Part::ShortFraction { separator, digits }
            };
            return Some((0, part, digits + 1));
        }
        [first, ..] if !FIXED.iter().any(|(text, _)| text.first() == Some(first)) => return None,
        _ => {}
    }
    let fixed = FIXED
        .iter()
        .chain(std::iter::once(&Z07))
        .find(|(text, _)| layout.starts_with(text));
    match fixed {
        Some((text, part)) => Some((0, *part, text.len())),
        None if is_name(b"Jan") => Some((0, Part::Month, 3)),
        None if is_name(b"Mon") => Some((0, Part::Weekday, 3)),
        None => None,
    }
}
