//! What a condition says of the column of times, so that the rest is not read.

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Between, BinaryExpr};
use datafusion::logical_expr::{Expr, Operator};

/// Times from `first` to `last`, both included, in the unit of the column; none if `first` is the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeRange {
    pub(super) first: i64,
    pub(super) last: i64,
}

impl TimeRange {
    /// All times.
    pub(super) const ALL: TimeRange = TimeRange {
        first: i64::MIN,
        last: i64::MAX,
    };

    const NONE: TimeRange = TimeRange { first: 1, last: 0 };

    /// The times of both.
    pub(super) fn and(self, other: TimeRange) -> TimeRange {
        TimeRange {
            first: self.first.max(other.first),
            last: self.last.min(other.last),
        }
    }

    /// The times for which a condition holds; `None` if it is not about the column `timestamp` of this unit alone. Exact: the condition
    /// need not be looked at again.
    pub(super) fn of(condition: &Expr, unit: TimeUnit) -> Option<TimeRange> {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
                Operator::And => Some(Self::of(left, unit)?.and(Self::of(right, unit)?)),
                op => compare(left, *op, right, unit).or_else(|| compare(right, op.swap()?, left, unit)),
            },
            Expr::Between(Between {
                expr,
                negated: false,
                low,
                high,
            }) => {
                let from = compare(expr, Operator::GtEq, low, unit)?;
                Some(from.and(compare(expr, Operator::LtEq, high, unit)?))
            }
            _ => None,
        }
    }
}

/// Column, perhaps cast to a finer unit, against a literal of that unit.
fn compare(column: &Expr, op: Operator, literal: &Expr, unit: TimeUnit) -> Option<TimeRange> {
    let Expr::Literal(literal, _) = literal else {
        return None;
    };
    let (literal_unit, zone, value) = match literal {
        ScalarValue::TimestampSecond(value, zone) => (TimeUnit::Second, zone, value),
        ScalarValue::TimestampMillisecond(value, zone) => (TimeUnit::Millisecond, zone, value),
        ScalarValue::TimestampMicrosecond(value, zone) => (TimeUnit::Microsecond, zone, value),
        ScalarValue::TimestampNanosecond(value, zone) => (TimeUnit::Nanosecond, zone, value),
        _ => return None,
    };
    // The times of the column are UTC.
    if !zone
        .as_deref()
        .is_none_or(|zone| matches!(zone, "+00:00" | "UTC" | "Z"))
    {
        return None;
    }
    let compared_unit = match column {
        Expr::Column(column) if column.name == "timestamp" => unit,
        Expr::Cast(cast) => match (cast.expr.as_ref(), cast.field.data_type()) {
            (Expr::Column(column), DataType::Timestamp(to, _)) if column.name == "timestamp" => *to,
            _ => return None,
        },
        _ => return None,
    };
    if compared_unit != literal_unit {
        return None;
    }
    let (fine, coarse) = (per_second(literal_unit), per_second(unit));
    if fine < coarse {
        return None;
    }
    // A comparison with NULL never holds.
    let Some(value) = *value else {
        return Some(TimeRange::NONE);
    };
    let step = fine / coarse;
    let below = value.div_euclid(step);
    let exact = value.rem_euclid(step) == 0;
    let range = |first: Option<i64>, last: Option<i64>| match (first, last) {
        (Some(first), Some(last)) => TimeRange { first, last },
        _ => TimeRange::NONE,
    };
    let above = if exact { Some(below) } else { below.checked_add(1) };
    let (min, max) = (Some(i64::MIN), Some(i64::MAX));
    Some(match op {
        Operator::Eq if exact => range(Some(below), Some(below)),
        Operator::Eq => TimeRange::NONE,
        Operator::GtEq => range(above, max),
        Operator::Gt => range(below.checked_add(1), max),
        Operator::LtEq => range(min, Some(below)),
        Operator::Lt if exact => range(min, below.checked_sub(1)),
        Operator::Lt => range(min, Some(below)),
        _ => return None,
    })
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{cast, col, lit};
    use datafusion::prelude::ident;

    fn ms(value: i64) -> Expr {
        lit(ScalarValue::TimestampMillisecond(Some(value), None))
    }

    fn ns(value: i64) -> Expr {
        lit(ScalarValue::TimestampNanosecond(Some(value), Some("+00:00".into())))
    }

    fn as_ns() -> Expr {
        cast(
            col("timestamp"),
            DataType::Timestamp(TimeUnit::Nanosecond, Some("+00:00".into())),
        )
    }

    #[test]
    fn bounds_are_exact() {
        let check = |condition: Expr, want: Option<(i64, i64)>| {
            let found = TimeRange::of(&condition, TimeUnit::Millisecond);
            assert_eq!(found.map(|range| (range.first, range.last)), want, "{condition}");
        };
        let (min, max) = (i64::MIN, i64::MAX);
        let time = || ident("timestamp");
        check(time().gt_eq(ms(5)), Some((5, max)));
        check(time().gt(ms(5)), Some((6, max)));
        check(time().lt_eq(ms(5)), Some((min, 5)));
        check(time().lt(ms(5)), Some((min, 4)));
        check(time().eq(ms(5)), Some((5, 5)));
        check(ms(5).lt(time()), Some((6, max)));
        check(time().between(ms(3), ms(9)), Some((3, 9)));
        check(time().gt_eq(ms(3)).and(time().lt(ms(9))), Some((3, 8)));
        check(time().gt(ms(max)), Some((1, 0)));
        check(time().lt(ms(min)), Some((1, 0)));
        check(
            time().eq(lit(ScalarValue::TimestampMillisecond(None, None))),
            Some((1, 0)),
        );
        // 5 ms and a bit.
        check(as_ns().gt_eq(ns(5_000_001)), Some((6, max)));
        check(as_ns().gt(ns(5_000_001)), Some((6, max)));
        check(as_ns().gt(ns(5_000_000)), Some((6, max)));
        check(as_ns().gt_eq(ns(5_000_000)), Some((5, max)));
        check(as_ns().lt(ns(5_000_001)), Some((min, 5)));
        check(as_ns().lt(ns(5_000_000)), Some((min, 4)));
        check(as_ns().lt_eq(ns(5_000_001)), Some((min, 5)));
        check(as_ns().eq(ns(5_000_001)), Some((1, 0)));
        check(as_ns().eq(ns(-1)), Some((1, 0)));
        check(as_ns().gt_eq(ns(-1)), Some((0, max)));
        // Not about the time alone, or not a range.
        check(time().not_eq(ms(5)), None);
        check(ident("value").gt(ms(5)), None);
        check(time().gt_eq(ms(3)).or(time().lt(ms(9))), None);
        check(time().gt(ident("value")), None);
        let elsewhere = lit(ScalarValue::TimestampNanosecond(Some(1), Some("+02:00".into())));
        check(as_ns().gt(elsewhere), None);
    }
}
