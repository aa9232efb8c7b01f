//! Points in time as people give them to `query`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Now, in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    to_ns(Timestamp::now())
}

/// Nanoseconds since 1970; the ends of what 64 bits can say where the time lies outside (before 1677, after 2262).
pub(crate) fn to_ns(time: Timestamp) -> i64 {
    let ns = time.as_nanosecond();
    i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
}

/// Writes a time for people, with the zone's offset and as many decimals as it has.
pub(crate) fn display(ns: i64, zone: &TimeZone) -> String {
    let Ok(time) = Timestamp::from_nanosecond(i128::from(ns)) else {
        return ns.to_string();
    };
    let offset = zone.to_offset(time);
    if offset.is_zero() {
        time.to_string()
    } else {
        time.display_with_offset(offset).to_string()
    }
}

/// Reads `now`, a duration ago (`2h`), RFC 3339, a date with or without a time in the local zone, or Unix time in seconds
/// (up to 10 digits, decimals allowed) or nanoseconds.
pub(crate) fn parse(text: &str, now_ns: i64, zone: &TimeZone) -> Result<i64, String> {
    if text == "now" {
        return Ok(now_ns);
    }
    if let Ok(ago) = crate::units::parse_duration(text) {
        let ago_ns = i64::try_from(ago.as_nanos()).unwrap_or(i64::MAX);
        return Ok(now_ns.saturating_sub(ago_ns));
    }
    if let Ok(number) = text.parse::<i64>() {
        let seconds = text.len() <= 10;
        return Ok(if seconds {
            number.saturating_mul(1_000_000_000)
        } else {
            number
        });
    }
    if let Ok(seconds) = text.parse::<f64>() {
        return Ok((seconds * 1e3).round() as i64 * 1_000_000);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(to_ns(time));
    }
    let local = text.parse::<DateTime>().ok().and_then(|time| zone.to_zoned(time).ok());
    match local {
        Some(time) => Ok(to_ns(time.timestamp())),
        None => Err(format!(
            "{text:?} is not a time; write it like now, 2h (ago), 2026-06-01, 2026-06-01T12:00:00Z or as Unix seconds or nanoseconds"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let now = 1_780_315_200_000_000_000;
        let f = |text: &str, want: Option<i64>| assert_eq!(parse(text, now, &TimeZone::UTC).ok(), want, "{text}");
        f("now", Some(now));
        f("1h", Some(now - 3_600_000_000_000));
        f("2026-06-01T12:00:00Z", Some(now));
        f("2026-06-01T14:00:00+02:00", Some(now));
        f("2026-06-01T12:00:00", Some(now));
        f("2026-06-01 12:00:00", Some(now));
        f("2026-06-01", Some(now - 12 * 3_600_000_000_000));
        f("1780315200", Some(now));
        f("1780315200.5", Some(now + 500_000_000));
        f("1780315200000000001", Some(now + 1));
        f("yesterday", None);
        f("", None);
    }

    #[test]
    fn written_with_the_offset_of_the_zone() {
        let ns = 1_780_315_200_250_000_000;
        assert_eq!(display(ns, &TimeZone::UTC), "2026-06-01T12:00:00.25Z");
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(display(ns, &zone), "2026-06-01T14:00:00.25+02:00");
    }
}
