//! What is asked with a query.

use super::{Dice, FIRST_NS, LAST_NS, SECOND, metric, stage};
use crate::Ask;
use timberline_logql::ast::Expr;

/// A query and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The query; its text is `to_string()`.
    pub expr: Expr,
    /// The parameters.
    pub ask: Ask,
}

/// Something to ask.
pub fn question(dice: &mut Dice) -> Question {
    if dice.percent(30) {
        return Question {
            expr: Expr::Log(stage::log(dice, false)),
            ask: lines(dice),
        };
    }
    Question {
        expr: Expr::Metric(metric::metric(dice, 0)),
        ask: if dice.percent(50) { instant(dice) } else { range(dice) },
    }
}

fn instant(dice: &mut Dice) -> Ask {
    let time_ns = match dice.percent(85) {
        true => FIRST_NS + 10 * SECOND * dice.between(8, 13) as i64 + dice.pick(&[0, 0, 0, 1, -1]),
        false => dice.time_ns(),
    };
    Ask::Instant { time_ns }
}

fn range(dice: &mut Dice) -> Ask {
    let step_ns = dice.pick(&[5, 10, 10, 15, 30, 60, 7, 100]) * SECOND + dice.pick(&[0, 0, 0, 1]);
    let start_ns = dice.time_ns() - dice.pick(&[0, 0, 10, 25]) * SECOND;
    let end_ns = start_ns + step_ns * dice.between(3, 14) as i64 + dice.pick(&[0, 0, SECOND]);
    Ask::Range {
        start_ns,
        end_ns,
        step_ns,
        align: dice.percent(50),
    }
}

fn lines(dice: &mut Dice) -> Ask {
    let (start_ns, end_ns) = match dice.percent(70) {
        true => (FIRST_NS - SECOND, LAST_NS + SECOND),
        false => {
            let (a, b) = (dice.time_ns(), dice.time_ns());
            (a.min(b), a.max(b) + dice.pick(&[0, 1, SECOND]))
        }
    };
    Ask::Lines {
        start_ns,
        end_ns,
        limit: dice.pick(&[1, 2, 5, 10, 100, 100, 100]),
        forward: dice.percent(50),
        interval_ns: dice.pick(&[0, 0, 0, 0, 1, 10 * SECOND, 25 * SECOND]),
    }
}
