// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Writing times in Go's layouts.

use super::layout::{OffsetForm, Part, next_part};
use super::{Civil, MONTHS, Time, WEEKDAYS};
use crate::template::print::name_of;
use crate::template::sink::{Sink, put};

/// Appends `time` in `layout`.
pub(in crate::template) fn append_formatted(time: &Time, mut layout: &[u8], out: &mut Sink<'_>) {
    let civil = time.civil();
    loop {
        let (text, part) = next_part(layout);
        out.push(text);
        let Some((part, rest)) = part else { return };
        append_part(time, &civil, part, out);
        layout = rest;
    }
}

fn append_part(time: &Time, civil: &Civil, part: Part, out: &mut Sink<'_>) {
    let month = name_of(&MONTHS, usize::from(civil.month).wrapping_sub(1));
    let weekday = name_of(&WEEKDAYS, usize::from(civil.weekday));
    let hour12 = match civil.hour % 12 {
        0 => 12,
        hour => hour,
    };
    match part {
        Part::LongMonth => out.push(month.as_bytes()),
        Part::Month => out.push(&month.as_bytes()[..3]),
        Part::NumberMonth => put!(out, "{}", civil.month),
        Part::ZeroMonth => put!(out, "{:02}", civil.month),
        Part::LongWeekday => out.push(weekday.as_bytes()),
        Part::Weekday => out.push(&weekday.as_bytes()[..3]),
        Part::Day => put!(out, "{}", civil.day),
        Part::UnderDay => put!(out, "{:2}", civil.day),
        Part::ZeroDay => put!(out, "{:02}", civil.day),
        Part::UnderDayOfYear => put!(out, "{:3}", civil.day_of_year),
        Part::ZeroDayOfYear => put!(out, "{:03}", civil.day_of_year),
        Part::Hour => put!(out, "{:02}", civil.hour),
        Part::Hour12 => put!(out, "{hour12}"),
        Part::ZeroHour12 => put!(out, "{hour12:02}"),
        Part::Minute => put!(out, "{}", civil.minute),
        Part::ZeroMinute => put!(out, "{:02}", civil.minute),
        Part::Second => put!(out, "{}", civil.second),
        Part::ZeroSecond => put!(out, "{:02}", civil.second),
        Part::LongYear if civil.year < 0 => put!(out, "-{:04}", civil.year.unsigned_abs()),
        Part::LongYear => put!(out, "{:04}", civil.year),
        Part::Year => put!(out, "{:02}", civil.year.unsigned_abs() % 100),
        Part::UpperHalf => out.push(if civil.hour >= 12 { b"PM" } else { b"AM" }),
        Part::LowerHalf => out.push(if civil.hour >= 12 { b"pm" } else { b"am" }),
        Part::ZoneName => append_zone_name(time, out),
        Part::Offset(form) => append_offset(time, form, out),
        Part::Fraction { separator, digits } => append_fraction(time, separator, digits, false, out),
        Part::ShortFraction { separator, digits } => append_fraction(time, separator, digits, true, out),
    }
}

/// A zone without a name shows its offset.
fn append_zone_name(time: &Time, out: &mut Sink<'_>) {
    if time.abbreviation().is_empty() {
        let minutes = time.offset() / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        let minutes = minutes.unsigned_abs();
        put!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60);
    } else {
        out.push(time.abbreviation());
    }
}

fn append_offset(time: &Time, form: OffsetForm, out: &mut Sink<'_>) {
    let offset = time.offset();
    if form.z && offset == 0 {
        return out.push_byte(b'Z');
    }
    let minutes = (offset / 60).unsigned_abs();
    let colon = if form.colon { ":" } else { "" };
    out.push_byte(if offset / 60 < 0 { b'-' } else { b'+' });
    put!(out, "{:02}", minutes / 60);
    if form.minutes {
        put!(out, "{colon}{:02}", minutes % 60);
    }
    if form.seconds {
        put!(out, "{colon}{:02}", offset.unsigned_abs() % 60);
    }
}

fn append_fraction(time: &Time, separator: u8, digits: usize, trims: bool, out: &mut Sink<'_>) {
    let start = out.position();
    out.push_byte(separator);
    let fraction = out.position();
    put!(out, "{:09}", time.nanoseconds);
    if digits <= 9 {
        out.truncate(fraction + digits);
    } else {
        out.push_repeated(b"0", digits - 9);
    }
    if trims {
        let zeros = out.since(fraction).iter().rev().take_while(|b| **b == b'0').count();
        let end = out.position() - zeros;
        out.truncate(if end == fraction { start } else { end });
    }
}
