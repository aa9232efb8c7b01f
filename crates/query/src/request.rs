//! What is asked: parameters of range and instant queries, and the limits they are held to.

use crate::QueryError;
use timberline_store::MAX_TIMESTAMP_NS;

/// Order of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Newest first.
    Backward,
    /// Oldest first.
    Forward,
}

/// A query over a time range (http-api.md 5.2).
#[derive(Clone, Debug)]
pub struct RangeRequest {
    /// LogQL text.
    pub query: String,
    /// First nanosecond (log queries) or first evaluation time (metric queries).
    pub start_ns: i64,
    /// Log queries: first nanosecond that is no longer included. Metric queries: last evaluation time.
    pub end_ns: i64,
    /// Distance of evaluation times, nanoseconds; `None`: a 250th of the range, at least a second.
    pub step_ns: Option<i64>,
    /// Log queries: least distance of returned lines, nanoseconds; 0: all.
    pub interval_ns: i64,
    /// Log queries: most lines returned.
    pub limit: usize,
    /// Log queries: order.
    pub direction: Direction,
}

/// A query at one time (http-api.md 5.1).
#[derive(Clone, Debug)]
pub struct InstantRequest {
    /// LogQL text.
    pub query: String,
    /// Evaluation time, nanoseconds.
    pub time_ns: i64,
}

/// Bounds that protect the server; each names itself when passed.
#[derive(Clone, Debug)]
pub struct QueryLimits {
    /// Most series in the result of an expression or of one of its operands.
    pub max_series: usize,
    /// The first `max_series` series and a warning instead of an error where there are more.
    pub cut_series: bool,
    /// Most lines a log query may ask for.
    pub max_entries: usize,
    /// Most evaluation times of a range query.
    pub max_points: i64,
    /// Most points (series times evaluation times) of an expression or of one of its operands.
    pub max_result_points: usize,
    /// Most bytes that a query may hold at one time: labels, states, points, lines, pages.
    pub max_query_memory_bytes: usize,
    /// Evaluation times of metric range queries are multiples of the step since 1970, as the peer's are (logql.md 17).
    pub align_to_step: bool,
    /// Threads that execute queries; 0: one per core.
    pub threads: usize,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            max_series: 10_000,
            cut_series: false,
            max_entries: 50_000,
            max_points: 11_000,
            max_result_points: 10_000_000,
            max_query_memory_bytes: 1 << 30,
            align_to_step: true,
            threads: 0,
        }
    }
}

/// Evaluation times of a metric query: `first_ns`, `first_ns + step_ns`, .., `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) first_ns: i64,
    pub(crate) step_ns: i64,
    pub(crate) count: usize,
}

impl Steps {
    /// One evaluation time.
    pub(crate) fn instant(time_ns: i64) -> Self {
        Self {
            first_ns: time_ns,
            step_ns: 1,
            count: 1,
        }
    }

    /// The `index`th evaluation time.
    pub(crate) fn time_ns(&self, index: usize) -> i64 {
        // The product may leave 64 bits where the sum does not.
        self.first_ns.wrapping_add(self.step_ns.wrapping_mul(index as i64))
    }

    /// The evaluation times of a range request: checked, and aligned if the limits say so (logql.md 17, 18).
    pub(crate) fn of(request: &RangeRequest, limits: &QueryLimits) -> Result<Self, QueryError> {
        let step_ns = match request.step_ns {
            Some(step_ns) => step_ns,
            None => ((request.end_ns - request.start_ns) / 250 / 1_000_000_000).max(1) * 1_000_000_000,
        };
        if step_ns <= 0 {
            let text = "zero or negative query resolution step widths are not accepted. Try a positive integer";
            return Err(QueryError::BadRequest(text.into()));
        }
        if (request.end_ns - request.start_ns) / step_ns > limits.max_points {
            let text = format!(
                "exceeded maximum resolution of {} points per time series. Try increasing the value of the step parameter",
                with_thousands(limits.max_points.unsigned_abs())
            );
            return Err(QueryError::Limit(text));
        }
        let (mut first_ns, mut last_ns) = (request.start_ns, request.end_ns);
        if limits.align_to_step {
            first_ns -= first_ns.rem_euclid(step_ns);
            last_ns += (step_ns - last_ns.rem_euclid(step_ns)) % step_ns;
        }
        Ok(Self {
            first_ns,
            step_ns,
            // Both ends may lie far out after alignment to a huge step.
            count: (last_ns.abs_diff(first_ns) / step_ns.unsigned_abs()) as usize + 1,
        })
    }
}

/// `11000` as `11,000`.
pub(crate) fn with_thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Refuses ranges that no query may have, so that later arithmetic on times can't overflow.
pub(crate) fn check_range(start_ns: i64, end_ns: i64) -> Result<(), QueryError> {
    if end_ns < start_ns {
        return Err(QueryError::BadRequest(
            "end timestamp must not be before or equal to start time".into(),
        ));
    }
    check_time("start time", start_ns)?;
    check_time("end time", end_ns)
}

/// Refuses a time that no query may have.
pub(crate) fn check_time(name: &str, time_ns: i64) -> Result<(), QueryError> {
    const MOST: i64 = MAX_TIMESTAMP_NS;
    if (-MOST..=MOST).contains(&time_ns) {
        return Ok(());
    }
    Err(QueryError::BadRequest(format!(
        "{name} {time_ns} ns is outside of [-{MOST}, {MOST}]"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_checked_and_aligned() {
        let s = 1_000_000_000;
        let request = |start: i64, end: i64, step: i64| RangeRequest {
            query: String::new(),
            start_ns: start * s,
            end_ns: end * s,
            step_ns: Some(step * s),
            interval_ns: 0,
            limit: 1,
            direction: Direction::Backward,
        };
        let of = |r: &RangeRequest, align| {
            let limits = QueryLimits {
                align_to_step: align,
                ..QueryLimits::default()
            };
            Steps::of(r, &limits).map(|x| (x.first_ns / s, x.count))
        };
        assert_eq!(of(&request(7, 127, 60), true), Ok((0, 4)));
        assert_eq!(of(&request(7, 127, 60), false), Ok((7, 3)));
        assert_eq!(of(&request(-7, -7, 60), true), Ok((-60, 2)));
        assert_eq!(of(&request(60, 60, 60), true), Ok((60, 1)));
        // The whole range of 64 bits and more lies between the two.
        let most = i64::MAX / s;
        assert_eq!(of(&request(-1, 1, most), true), Ok((-most, 3)));
        let steps = Steps::of(&request(-1, 1, most), &QueryLimits::default()).unwrap();
        assert_eq!([0, 1, 2].map(|i| steps.time_ns(i) / s), [-most, 0, most]);
        assert!(of(&request(0, 11_000, 1), true).is_ok());
        let Err(QueryError::Limit(text)) = of(&request(0, 11_001, 1), true) else {
            panic!("accepted")
        };
        assert!(text.contains("11,000 points"), "{text}");
        assert!(of(&request(0, 1, 0), true).is_err());
    }
}
