//! Matchers and label filters.

use super::Dice;
use super::stage::any_label;
use timberline_logql::ast::{AndSyntax, CompareOp, Comparison, LabelFilter, MatchOp, Matcher};

const COMPARE: [CompareOp; 6] = [
    CompareOp::Equal,
    CompareOp::NotEqual,
    CompareOp::Greater,
    CompareOp::GreaterOrEqual,
    CompareOp::Less,
    CompareOp::LessOrEqual,
];

pub(super) fn selector(dice: &mut Dice) -> Vec<Matcher> {
    let matcher = |name: &str, op, value: &str| Matcher {
        name: name.into(),
        op,
        value: value.into(),
    };
    let mut matchers = vec![match dice.between(0, 5) {
        0 => matcher("app", MatchOp::Equal, "a"),
        1 => matcher("app", MatchOp::Regex, "a|b"),
        2 => matcher("app", MatchOp::Regex, "a.*"),
        _ => matcher("app", MatchOp::Regex, ".+"),
    }];
    if dice.percent(15) {
        let (op, value) = dice.pick(&[
            (MatchOp::Equal, "x"),
            (MatchOp::NotEqual, "x"),
            (MatchOp::Equal, ""),
            (MatchOp::Regex, "x|y"),
            (MatchOp::NotRegex, "y.*"),
        ]);
        matchers.push(matcher(dice.pick(&["env", "pod"]), op, value));
    }
    matchers
}

/// A test of the text of a label.
pub(super) fn matcher(dice: &mut Dice) -> Matcher {
    let name = any_label(dice);
    let op = dice.pick(&[
        MatchOp::Equal,
        MatchOp::NotEqual,
        MatchOp::NotEqual,
        MatchOp::Regex,
        MatchOp::NotRegex,
    ]);
    if matches!(op, MatchOp::Equal | MatchOp::NotEqual) && dice.percent(60) {
        let value = super::data::value(dice, &name);
        return Matcher { name, op, value };
    }
    let value = match op {
        MatchOp::Equal | MatchOp::NotEqual => dice.pick(&["", "a", "x", "1", "z"]),
        _ => dice.pick(&[
            "",
            ".*",
            ".+",
            "a|b",
            "a|ab",
            "err.*",
            ".*r",
            "(?i)error",
            "[0-9.]+",
            "t.",
            "(info|warn).*",
        ]),
    };
    Matcher {
        name,
        op,
        value: value.into(),
    }
}

/// `| __error__=""`
pub(super) fn no_error() -> LabelFilter {
    LabelFilter::Match(Matcher {
        name: "__error__".into(),
        op: MatchOp::Equal,
        value: String::new(),
    })
}

pub(super) fn label_filter(dice: &mut Dice, depth: usize) -> LabelFilter {
    let compare = |dice: &mut Dice, names: &[&str]| {
        let name = if dice.percent(85) {
            dice.text(names)
        } else {
            any_label(dice)
        };
        (name, dice.pick(&COMPARE))
    };
    match dice.between(0, if depth == 0 { 13 } else { 9 }) {
        0 => {
            let (op, value) = dice.pick(&[
                (MatchOp::Equal, ""),
                (MatchOp::NotEqual, ""),
                (MatchOp::Regex, "JSON.*"),
                (MatchOp::Equal, "LabelFilterErr"),
            ]);
            LabelFilter::Match(Matcher {
                name: "__error__".into(),
                op,
                value: value.into(),
            })
        }
        1..=4 => LabelFilter::Match(matcher(dice)),
        5 | 6 => {
            let (name, op) = compare(dice, &["n", "n", "status", "user_id", "pod"]);
            let value = dice.pick(&[0.0, 1.0, 2.5, 5.0, 1000.0, -4.0]);
            LabelFilter::Number(Comparison { name, op, value })
        }
        7 => {
            let (name, op) = compare(dice, &["dur"]);
            let value = dice.pick(&[1_000_000_000, 250_000_000, 120_000_000_000, -1_000_000_000]);
            LabelFilter::Duration(Comparison { name, op, value })
        }
        8 => {
            let (name, op) = compare(dice, &["size"]);
            let value = dice.pick(&[1000, 1500, 2_097_152, 3_000_000]);
            LabelFilter::Bytes(Comparison { name, op, value })
        }
        9 => LabelFilter::Ip {
            name: dice.text(&["ip", "ip", "pod", "msg"]),
            negated: dice.percent(50),
            range: super::stage::address(dice),
        },
        10 | 11 => LabelFilter::Or(
            Box::new(label_filter(dice, depth + 1)),
            Box::new(label_filter(dice, depth + 1)),
        ),
        _ => LabelFilter::And {
            left: Box::new(label_filter(dice, depth + 1)),
            right: Box::new(label_filter(dice, depth + 1)),
            written: dice.pick(&[AndSyntax::Word, AndSyntax::Comma]),
        },
    }
}
