//! Parameters that several endpoints share: the time range, limit, direction, step (http-api.md 1.2, 1.3, 5).

use super::duration::parse_duration;
use super::params::Params;
use super::time::parse_time;
use crate::error::HttpError;
use timberline_query::{Direction, RangeRequest};
use timberline_store::source::TimeSpan;

const HOUR_NS: i64 = 3_600_000_000_000;
/// An index period of the peer.
const DAY_NS: i64 = 24 * HOUR_NS;
const DEFAULT_LIMIT: usize = 100;

/// `start` and `end` in nanoseconds, from `start`, `end`, `since` and their defaults.
fn bounds(params: &Params, now_ns: i64) -> Result<(i64, i64), HttpError> {
    let unreadable =
        |name: &str, why: String| HttpError::bad_request(format!("could not parse '{name}' parameter: {why}"));
    let time = |name: &str| {
        params
            .get(name)
            .map(|text| parse_time(text).map_err(|why| unreadable(name, why)))
            .transpose()
    };
    let since = params
        .get("since")
        .map(|text| parse_duration(text).map_err(|why| unreadable("since", why)));
    let since_ns = since.transpose()?.unwrap_or(HOUR_NS);
    let end_ns = time("end")?.unwrap_or(now_ns);
    let start_ns = time("start")?.unwrap_or_else(|| end_ns.min(now_ns).saturating_sub(since_ns));
    if end_ns < start_ns {
        return Err(HttpError::bad_request(
            "end timestamp must not be before or equal to start time",
        ));
    }
    Ok((start_ns, end_ns))
}

/// The time span of a request for labels or streams.
pub(crate) fn span(params: &Params, now_ns: i64) -> Result<TimeSpan, HttpError> {
    let (min_ns, max_ns) = bounds(params, now_ns)?;
    Ok(TimeSpan { min_ns, max_ns })
}

/// The time span of a request for label names or values, at the granularity of an index (http-api.md 7): whole days, and the
/// days next to them, of which the recorded server offers labels too. Who looks at a quiet hour wants the names of yesterday.
pub(crate) fn whole_days(TimeSpan { min_ns, max_ns }: TimeSpan) -> TimeSpan {
    let until_next_day = DAY_NS - 1 - max_ns.rem_euclid(DAY_NS);
    TimeSpan {
        min_ns: min_ns.saturating_sub(min_ns.rem_euclid(DAY_NS)).saturating_sub(DAY_NS),
        max_ns: max_ns.saturating_add(until_next_day).saturating_add(DAY_NS),
    }
}

/// `limit`: a positive number, 100 where there is none.
pub(crate) fn limit(params: &Params) -> Result<usize, HttpError> {
    positive(params, "limit", DEFAULT_LIMIT)
}

/// A parameter that is a positive number, `default` where there is none.
pub(crate) fn positive(params: &Params, name: &str, default: usize) -> Result<usize, HttpError> {
    let Some(text) = params.get(name) else {
        return Ok(default);
    };
    let number = text.parse::<i64>().map_err(|error| {
        let why = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        HttpError::bad_request(format!("strconv.Atoi: parsing {text:?}: {why}"))
    })?;
    usize::try_from(number)
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| HttpError::bad_request(format!("{name} must be a positive value")))
}

/// `direction`: backward where there is none.
pub(crate) fn direction(params: &Params) -> Result<Direction, HttpError> {
    match params.get("direction") {
        None => Ok(Direction::Backward),
        Some(text) if text.eq_ignore_ascii_case("backward") => Ok(Direction::Backward),
        Some(text) if text.eq_ignore_ascii_case("forward") => Ok(Direction::Forward),
        Some(text) => Err(HttpError::bad_request(format!("invalid direction '{text}'"))),
    }
}

/// All parameters of a range query.
pub(crate) fn range_request(params: &Params, now_ns: i64) -> Result<RangeRequest, HttpError> {
    let limit = limit(params)?;
    let direction = direction(params)?;
    let (start_ns, end_ns) = bounds(params, now_ns)?;
    let duration = |name| {
        params
            .get(name)
            .map(|text| parse_duration(text).map_err(HttpError::bad_request))
            .transpose()
    };
    let step_ns = duration("step")?;
    if step_ns.is_some_and(|step| step <= 0) {
        let text = "zero or negative query resolution step widths are not accepted. Try a positive integer";
        return Err(HttpError::bad_request(text));
    }
    let interval_ns = duration("interval")?.unwrap_or(0);
    if interval_ns < 0 {
        return Err(HttpError::bad_request("interval must be >= 0"));
    }
    let query = params.get("query").unwrap_or_default().to_owned();
    Ok(RangeRequest {
        query,
        start_ns,
        end_ns,
        step_ns,
        interval_ns,
        limit,
        direction,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;
    const NOW: i64 = 10_000 * S;

    fn text_of(error: &HttpError) -> String {
        format!("{error:?}")
    }

    #[test]
    fn ranges_and_their_defaults() {
        let f = |params: &str, want: (i64, i64)| {
            let span = span(&Params::of(params), NOW).unwrap();
            assert_eq!((span.min_ns / S, span.max_ns / S), want, "{params}");
        };
        f("", (6_400, 10_000));
        f("since=10m", (9_400, 10_000));
        f("end=9000", (5_400, 9_000));
        f("end=9000&since=100", (8_900, 9_000));
        f("end=20000", (6_400, 20_000));
        f("start=1&end=2&since=10m", (1, 2));
        f("start=5&end=5", (5, 5));
        let bad = |params: &str, want: &str| {
            let text = text_of(&span(&Params::of(params), NOW).unwrap_err());
            assert!(text.contains(want), "{params}: {text}");
        };
        bad("start=x", "could not parse 'start' parameter: ");
        bad("end=x", "could not parse 'end' parameter: ");
        bad("since=x", "could not parse 'since' parameter: ");
        bad(
            "start=6&end=5",
            "end timestamp must not be before or equal to start time",
        );
    }

    #[test]
    fn listings_cover_whole_days_and_their_neighbours() {
        let f = |params: &str, want: (i64, i64)| {
            let span = whole_days(span(&Params::of(params), NOW).unwrap());
            assert_eq!((span.min_ns, span.max_ns), want, "{params}");
        };
        f("start=0&end=0", (-DAY_NS, 2 * DAY_NS - 1));
        f("start=86399&end=86400", (-DAY_NS, 3 * DAY_NS - 1));
        f(
            "start=-9223372036854775808&end=9223372036854775807",
            (i64::MIN, i64::MAX),
        );
    }

    #[test]
    fn range_queries() {
        let request = range_request(
            &Params::of("query=x&start=0&end=10&step=2&interval=500ms&limit=7&direction=FORWARD"),
            NOW,
        )
        .unwrap();
        assert_eq!(request.query, "x");
        assert_eq!((request.start_ns, request.end_ns), (0, 10 * S));
        assert_eq!(
            (request.step_ns, request.interval_ns, request.limit),
            (Some(2 * S), S / 2, 7)
        );
        assert!(matches!(request.direction, Direction::Forward));

        let request = range_request(&Params::default(), NOW).unwrap();
        assert_eq!(
            (
                request.query.as_str(),
                request.step_ns,
                request.interval_ns,
                request.limit
            ),
            ("", None, 0, 100)
        );
        assert!(matches!(request.direction, Direction::Backward));

        let bad = |params: &str, want: &str| {
            let text = text_of(&range_request(&Params::of(params), NOW).unwrap_err());
            assert!(text.contains(want), "{params}: {text}");
        };
        bad("limit=0", "limit must be a positive value");
        bad("limit=-1", "limit must be a positive value");
        bad("limit=abc", "invalid syntax");
        bad("limit=99999999999999999999", "value out of range");
        bad("direction=sideways", "invalid direction 'sideways'");
        bad(
            "step=0",
            "zero or negative query resolution step widths are not accepted. Try a positive integer",
        );
        bad("step=-5", "zero or negative query resolution step widths");
        bad("step=abc", "cannot parse \\\"abc\\\" to a valid duration");
        bad("interval=-1", "interval must be >= 0");
    }
}
