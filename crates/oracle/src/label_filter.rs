//! Label filters (logql.md 6).

use crate::entry::Entry;
use crate::text::{Mode, holds};
use crate::{Error, convert, ip};
use timberline_logql::ast::{CompareOp, Comparison, LabelFilter};

/// Whether the entry stays; a value that doesn't convert keeps it, and marks it as failed.
pub(crate) fn passes(filter: &LabelFilter, entry: &mut Entry) -> Result<bool, Error> {
    match filter {
        LabelFilter::Match(matcher) => {
            let value = entry.get(&matcher.name).map(String::from);
            holds(matcher, value.as_deref(), Mode::Label)
        }
        LabelFilter::Number(c) => Ok(compares(c, c.value, convert::number, entry)),
        LabelFilter::Duration(c) => Ok(compares(c, c.value as f64, convert::duration_ns, entry)),
        LabelFilter::Bytes(c) => Ok(compares(c, c.value as f64, convert::bytes, entry)),
        LabelFilter::Ip { name, negated, range } => {
            let bounds = ip::bounds(range)?;
            Ok(match entry.get(name) {
                None | Some("") => false,
                Some(value) => ip::found_in(value, bounds) != *negated,
            })
        }
        LabelFilter::And { left, right, .. } => Ok(passes(left, entry)? && passes(right, entry)?),
        LabelFilter::Or(left, right) => Ok(passes(left, entry)? || passes(right, entry)?),
    }
}

fn compares<T>(comparison: &Comparison<T>, right: f64, convert: fn(&str) -> Option<f64>, entry: &mut Entry) -> bool {
    let Some(text) = entry.get(&comparison.name) else {
        return false;
    };
    let Some(left) = convert(text) else {
        entry.fail("LabelFilterErr", true);
        return true;
    };
    match comparison.op {
        CompareOp::Equal => left == right,
        CompareOp::NotEqual => left != right,
        CompareOp::Greater => left > right,
        CompareOp::GreaterOrEqual => left >= right,
        CompareOp::Less => left < right,
        CompareOp::LessOrEqual => left <= right,
    }
}
