// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Functions that make, read and write times, and the methods of times.

use super::{Function, Kind, fixed, text_of};
use crate::pipeline::convert::append_escaped;
use crate::template::context::{Context, Outcome};
use crate::template::print::name_of;
use crate::template::sink::put;
use crate::template::time::{MONTHS, Time, WEEKDAYS, append_formatted, parse_time};
use crate::template::value::Value;
use jiff::tz::TimeZone;

const DAY_SECONDS: i64 = 86_400;

/// The methods of Go's `time.Time`.
pub(super) static METHODS: [Function; 22] = [
    fixed("Unix", &[Kind::Time], |_, arguments| {
        Ok(Value::Int64(time_of(arguments, 0).seconds))
    }),
    fixed("UnixMilli", &[Kind::Time], |_, arguments| {
        Ok(Value::Int64(time_of(arguments, 0).units(1000)))
    }),
    fixed("UnixMicro", &[Kind::Time], |_, arguments| {
        Ok(Value::Int64(time_of(arguments, 0).units(1_000_000)))
    }),
    fixed("UnixNano", &[Kind::Time], |_, arguments| {
        Ok(Value::Int64(time_of(arguments, 0).units(1_000_000_000)))
    }),
    fixed("Year", &[Kind::Time], |_, arguments| {
        Ok(Value::Int(time_of(arguments, 0).civil().year))
    }),
    fixed("Month", &[Kind::Time], |_, arguments| {
        Ok(Value::Month(time_of(arguments, 0).civil().month))
    }),
    fixed("Day", &[Kind::Time], |_, arguments| {
        Ok(Value::Int(time_of(arguments, 0).civil().day.into()))
    }),
    fixed("YearDay", &[Kind::Time], |_, arguments| {
        Ok(Value::Int(time_of(arguments, 0).civil().day_of_year.into()))
    }),
    fixed("Weekday", &[Kind::Time], |_, arguments| {
        Ok(Value::Weekday(time_of(arguments, 0).civil().weekday))
    }),
    fixed("Hour", &[Kind::Time], |_, arguments| {
        Ok(Value::Int(time_of(arguments, 0).civil().hour.into()))
    }),
    fixed("Minute", &[Kind::Time], |_, arguments| {
        Ok(Value::Int(time_of(arguments, 0).civil().minute.into()))
    }),
    fixed("Second", &[Kind::Time], |_, arguments| {
        Ok(Value::Int(time_of(arguments, 0).civil().second.into()))
    }),
    fixed("Nanosecond", &[Kind::Time], |_, arguments| {
        Ok(Value::Int(time_of(arguments, 0).nanoseconds.into()))
    }),
    fixed("Format", &[Kind::Time, Kind::Text], format),
    fixed("String", &[Kind::Time], string),
    fixed("UTC", &[Kind::Time], |_, arguments| {
        Ok(Value::Time(time_of(arguments, 0).within(&TimeZone::UTC)))
    }),
    fixed("Local", &[Kind::Time], local),
    fixed("IsZero", &[Kind::Time], |_, arguments| {
        let time = time_of(arguments, 0);
        Ok(Value::Bool((time.seconds, time.nanoseconds) == (Time::ZERO.seconds, 0)))
    }),
    fixed("Before", &[Kind::Time, Kind::Time], |_, arguments| {
        Ok(Value::Bool(moment(arguments, 0) < moment(arguments, 1)))
    }),
    fixed("After", &[Kind::Time, Kind::Time], |_, arguments| {
        Ok(Value::Bool(moment(arguments, 0) > moment(arguments, 1)))
    }),
    fixed("Equal", &[Kind::Time, Kind::Time], |_, arguments| {
        Ok(Value::Bool(moment(arguments, 0) == moment(arguments, 1)))
    }),
    fixed("Compare", &[Kind::Time, Kind::Time], |_, arguments| {
        Ok(Value::Int(moment(arguments, 0).cmp(&moment(arguments, 1)) as i64))
    }),
];

/// The methods of months and weekdays.
pub(super) static NAME_METHODS: [Function; 1] = [fixed("String", &[Kind::Value], name)];

fn time_of(arguments: &[Value<'_>], at: usize) -> Time {
    match arguments.get(at) {
        Some(Value::Time(time)) => *time,
        _ => Time::ZERO,
    }
}

fn moment(arguments: &[Value<'_>], at: usize) -> (i64, u32) {
    let time = time_of(arguments, at);
    (time.seconds, time.nanoseconds)
}

fn format<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (time, layout) = (time_of(arguments, 0), text_of(arguments, 1));
    context.text(|out| append_formatted(&time, layout, out))
}

fn string<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let time = time_of(arguments, 0);
    context.text(|out| time.print(out))
}

fn local<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let zone = &context.environment.zone;
    Ok(Value::Time(time_of(arguments, 0).within(zone)))
}

fn name<'a>(_: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Text(match arguments.first() {
        Some(Value::Month(n)) => name_of(&MONTHS, usize::from(*n).wrapping_sub(1)).as_bytes(),
        Some(Value::Weekday(n)) => name_of(&WEEKDAYS, usize::from(*n)).as_bytes(),
        _ => b"",
    }))
}

/// A time in a layout, in the server's zone. Numbers are seconds; anything else stands for now.
pub(super) fn date<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let environment = context.environment;
    let time = match arguments.get(1) {
        Some(Value::Time(time)) => time.within(&environment.zone),
        Some(Value::Int(seconds) | Value::Int64(seconds)) => Time::new(*seconds, 0, &environment.zone),
        _ => Time::from_nanoseconds(environment.now_ns, &environment.zone),
    };
    let layout = text_of(arguments, 0);
    context.text(|out| append_formatted(&time, layout, out))
}

/// A text in a layout; the zero time where it is none.
pub(super) fn to_date<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let zone = &context.environment.zone;
    let time = parse_time(text_of(arguments, 0), text_of(arguments, 1), zone);
    Ok(Value::Time(time.unwrap_or(Time::ZERO)))
}

pub(super) fn to_date_in_zone<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (layout, zone, text) = (text_of(arguments, 0), text_of(arguments, 1), text_of(arguments, 2));
    let time = context.parse_time_in(layout, zone, text);
    Ok(Value::Time(time.unwrap_or(Time::ZERO)))
}

pub(super) fn unix_seconds<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let seconds = time_of(arguments, 0).seconds;
    context.text(|out| put!(out, "{seconds}"))
}

pub(super) fn unix_milliseconds<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let milliseconds = time_of(arguments, 0).units(1000);
    context.text(|out| put!(out, "{milliseconds}"))
}

pub(super) fn unix_nanoseconds<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let nanoseconds = time_of(arguments, 0).units(1_000_000_000);
    context.text(|out| put!(out, "{nanoseconds}"))
}

/// A number of days, seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by how many digits it has.
pub(super) fn unix_to_time<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let text = text_of(arguments, 0);
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
    let Some(number) = number else {
        let failure = context.fail(format_args!("unable to parse time '"));
        let cause = &mut context.buffers.cause;
        cause.extend_from_slice(text);
        cause.extend_from_slice(b"': strconv.ParseInt: parsing \"");
        append_escaped(text, cause);
        cause.extend_from_slice(b"\": invalid syntax");
        return Err(failure);
    };
    let zone = &context.environment.zone;
    let per_second = match text.len() {
        5 => return Ok(Value::Time(Time::new(number * DAY_SECONDS, 0, zone))),
        10 => 1,
        13 => 1000,
        16 => 1_000_000,
        19 => 1_000_000_000,
        length => {
            let message = format_args!("unable to parse time '{number}': {length} digits, want 5, 10, 13, 16 or 19");
            return Err(context.fail(message));
        }
    };
    let fraction = number.rem_euclid(per_second) * (1_000_000_000 / per_second);
    let seconds = number.div_euclid(per_second);
    Ok(Value::Time(Time::new(
        seconds,
        u32::try_from(fraction).unwrap_or(0),
        zone,
    )))
}
