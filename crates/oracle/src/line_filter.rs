//! Line filters (logql.md 5).

use crate::text::{Mode, regex};
use crate::{Error, ip, pattern};
use timberline_logql::ast::{LineFilter, LineFilterOp, LineOperand};

/// Whether the line stays: of positive operators any alternative, of negative ones none.
pub(crate) fn passes(filter: &LineFilter, line: &str) -> Result<bool, Error> {
    let mut any = false;
    for alternative in &filter.alternatives {
        any |= matches(filter.op, alternative, line)?;
    }
    Ok(any != negative(filter.op))
}

fn negative(op: LineFilterOp) -> bool {
    matches!(
        op,
        LineFilterOp::NotContains | LineFilterOp::NotRegex | LineFilterOp::NotPattern
    )
}

fn matches(op: LineFilterOp, operand: &LineOperand, line: &str) -> Result<bool, Error> {
    match (op, operand) {
        (LineFilterOp::Contains | LineFilterOp::NotContains, LineOperand::Text(text)) => Ok(line.contains(text)),
        (LineFilterOp::Contains | LineFilterOp::NotContains, LineOperand::Ip(set)) => {
            Ok(ip::found_in(line, ip::bounds(set)?))
        }
        (LineFilterOp::Regex | LineFilterOp::NotRegex, LineOperand::Text(text)) => {
            Ok(regex(text, Mode::Line)?.is_match(line))
        }
        (LineFilterOp::Pattern | LineFilterOp::NotPattern, LineOperand::Text(text)) => pattern::matches(text, line),
        (_, LineOperand::Ip(_)) => Err(Error::Parse),
    }
}
