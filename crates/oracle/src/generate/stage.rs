//! Stages of pipelines.

use super::Dice;
use super::data::Kind;
use super::filter::{label_filter, matcher, selector};
use timberline_logql::ast::{
    Extraction, LabelFormat, LabelSelect, LabelSource, LineFilter, LineFilterOp, LineOperand, LogExpr, Stage,
};

/// A label that the data or a parser is likely to give.
pub(super) fn any_label(dice: &mut Dice) -> String {
    dice.text(&[
        "app",
        "app",
        "env",
        "pod",
        "level",
        "level",
        "n",
        "dur",
        "size",
        "msg",
        "ip",
        "trace",
        "status",
        "user_id",
        "a_b",
        "app_extracted",
        "n_extracted",
        "level_extracted",
        "ok",
        "esc",
        "nothing",
    ])
}

/// A log query; inside of a metric query a shorter one, so that something is left to count.
pub(super) fn log(dice: &mut Dice, short: bool) -> LogExpr {
    let matchers = selector(dice);
    let mut stages = Vec::new();
    if dice.percent(70) {
        if dice.percent(12) {
            stages.push(line_filter(dice));
        }
        stages.push(parser(dice));
    }
    let more = if short {
        dice.pick(&[0, 0, 0, 0, 1, 2])
    } else {
        dice.pick(&[0, 0, 1, 1, 2, 3])
    };
    for _ in 0..more {
        stages.push(stage(dice));
    }
    for at in 1..stages.len() {
        // `drop a != "x"` drops by a matcher, however it was meant: a negative line filter can't be written there.
        let ends_with_name = matches!(&stages[at - 1],
            Stage::Drop(list) | Stage::Keep(list) if matches!(list.last(), Some(LabelSelect::Name(_))));
        if let Stage::LineFilter(filter) = &mut stages[at]
            && ends_with_name
        {
            filter.op = match filter.op {
                LineFilterOp::NotContains => LineFilterOp::Contains,
                LineFilterOp::NotRegex => LineFilterOp::Regex,
                other => other,
            };
        }
    }
    LogExpr { matchers, stages }
}

fn stage(dice: &mut Dice) -> Stage {
    match dice.between(0, 19) {
        0..=3 => line_filter(dice),
        4..=9 => Stage::LabelFilter(label_filter(dice, 0)),
        10..=12 => parser(dice),
        13 => Stage::LineFormat(template(dice)),
        14 | 15 => Stage::LabelFormat(label_formats(dice)),
        16 => Stage::Decolorize,
        17 | 18 => Stage::Drop(selects(dice)),
        _ => Stage::Keep(selects(dice)),
    }
}

fn line_filter(dice: &mut Dice) -> Stage {
    let op = dice.pick(&[
        LineFilterOp::Contains,
        LineFilterOp::Contains,
        LineFilterOp::NotContains,
        LineFilterOp::Regex,
        LineFilterOp::NotRegex,
        LineFilterOp::Pattern,
        LineFilterOp::NotPattern,
    ]);
    let operand = |dice: &mut Dice| match op {
        LineFilterOp::Contains | LineFilterOp::NotContains if dice.percent(15) => LineOperand::Ip(address(dice)),
        LineFilterOp::Contains | LineFilterOp::NotContains => {
            LineOperand::Text(dice.text(&["level", "n=", "error", "\"n\"", "", "é", "1", "failed", "zzz", "{"]))
        }
        LineFilterOp::Regex | LineFilterOp::NotRegex => LineOperand::Text(dice.text(&[
            "err",
            "(?i)ERROR",
            "n.*1",
            "\\d+ms",
            "^$",
            "^\\{",
            "a|b",
            "level=\\w+$",
            "o.l",
            "",
            "info|warn",
        ])),
        LineFilterOp::Pattern | LineFilterOp::NotPattern => LineOperand::Text(dice.text(&[
            "<_>level<_>",
            "level<_>",
            "<_>=<_>",
            "n",
            "",
            "<_>}",
            "{<_>}",
            "<_> took <_>",
        ])),
    };
    let alternatives = (0..dice.pick(&[1, 1, 1, 2, 3])).map(|_| operand(dice)).collect();
    Stage::LineFilter(LineFilter { op, alternatives })
}

pub(super) fn address(dice: &mut Dice) -> String {
    dice.text(&[
        "10.0.0.1",
        "10.0.0.0/29",
        "10.0.0.1-10.0.0.7",
        "2001:db8::/32",
        "192.168.0.0/16",
        "0.0.0.0/0",
    ])
}

/// A parser, mostly one that fits the data.
pub(super) fn parser(dice: &mut Dice) -> Stage {
    let kinds = dice.kinds.clone();
    if dice.percent(20) {
        return of_lines(dice, Kind::Broken);
    }
    let kind = dice.pick(&kinds);
    of_lines(dice, kind)
}

/// A parser that finds something in lines of this kind.
fn of_lines(dice: &mut Dice, kind: Kind) -> Stage {
    let one_of = match kind {
        Kind::Json => dice.pick(&[
            Parser::Json,
            Parser::Json,
            Parser::Json,
            Parser::JsonSome,
            Parser::Regexp,
        ]),
        Kind::Logfmt | Kind::Coloured => dice.pick(&[
            Parser::Logfmt,
            Parser::Logfmt,
            Parser::Logfmt,
            Parser::LogfmtSome,
            Parser::Pattern,
        ]),
        Kind::Packed => dice.pick(&[Parser::Unpack, Parser::Unpack, Parser::Json]),
        Kind::Text => dice.pick(&[Parser::Pattern, Parser::Regexp, Parser::Regexp]),
        Kind::Broken => dice.pick(&[
            Parser::Json,
            Parser::JsonSome,
            Parser::Logfmt,
            Parser::LogfmtSome,
            Parser::Regexp,
            Parser::Pattern,
            Parser::Unpack,
        ]),
    };
    match one_of {
        Parser::Json => Stage::Json(vec![]),
        Parser::JsonSome => Stage::Json(extractions(
            dice,
            &[
                "n",
                "n",
                "level",
                "user.id",
                "list[0]",
                "user",
                "[\"a.b\"]",
                "list[2].n",
                "nothing",
                "msg",
                "list",
            ],
        )),
        Parser::Logfmt => Stage::Logfmt {
            strict: dice.percent(25),
            keep_empty: dice.percent(25),
            extractions: vec![],
        },
        Parser::LogfmtSome => Stage::Logfmt {
            strict: dice.percent(25),
            keep_empty: dice.percent(25),
            extractions: extractions(dice, &["n", "n", "level", "a_b", "dur", "nothing", "msg"]),
        },
        Parser::Regexp => Stage::Regexp(dice.text(&[
            "(?P<level>\\w+)=(?P<rest>.*)",
            "(?P<first>\\S+) - (?P<level>\\w+)",
            "\"?n\"?[:=](?P<n>[0-9]+)",
            "took (?P<dur>\\S+)$",
            "(?P<n>[0-9]+)",
            "(?P<opt>zzz)?(?P<app>.)",
        ])),
        Parser::Pattern => Stage::Pattern(dice.text(&[
            "<ip> - <level> [<msg>] took <dur>",
            "<_>level=<level> <_>",
            "<app>=<n> <rest>",
            "{<inner>}",
            "<first> <_>",
        ])),
        Parser::Unpack => Stage::Unpack,
    }
}

#[derive(Clone, Copy)]
enum Parser {
    Json,
    JsonSome,
    Logfmt,
    LogfmtSome,
    Regexp,
    Pattern,
    Unpack,
}

fn extractions(dice: &mut Dice, expressions: &[&str]) -> Vec<Extraction> {
    let mut extractions: Vec<Extraction> = Vec::new();
    for _ in 0..dice.between(1, 3) {
        let label = dice.text(&["n", "level", "app", "q", "w"]);
        let expression = dice.text(expressions);
        // A source asked for under two names is a matter of taste in the peer.
        if extractions
            .iter()
            .all(|e| e.label != label && e.expression != expression)
        {
            extractions.push(Extraction { label, expression });
        }
    }
    extractions
}

fn template(dice: &mut Dice) -> String {
    dice.text(&[
        "{{.level}} {{.n}}",
        "n={{.n}} app={{.app}} level=\"{{.level}}\"",
        "{{__line__}}!",
        "fixed",
        "",
        "{{.nothing}}",
        "{\"n\":\"{{.n}}\",\"z\":1}",
        "{{.__error__}}",
        "{{.msg}}",
    ])
}

fn label_formats(dice: &mut Dice) -> Vec<LabelFormat> {
    let mut formats: Vec<LabelFormat> = Vec::new();
    for _ in 0..dice.pick(&[1, 1, 2, 3]) {
        let label = if dice.percent(40) {
            dice.text(&["new", "z"])
        } else {
            any_label(dice)
        };
        let source = match dice.percent(50) {
            true => LabelSource::Label(any_label(dice)),
            false => LabelSource::Template(dice.text(&[
                "{{.level}}",
                "x",
                "{{.app}}-{{.n}}",
                "",
                "{{.nothing}}",
                "5",
                "{{.z}}y",
            ])),
        };
        if formats.iter().all(|f| f.label != label) {
            formats.push(LabelFormat { label, source });
        }
    }
    formats
}

fn selects(dice: &mut Dice) -> Vec<LabelSelect> {
    let select = |dice: &mut Dice| match dice.between(0, 9) {
        0 => LabelSelect::Name("__error__".into()),
        1 => LabelSelect::Name("__error_details__".into()),
        2..=4 => LabelSelect::Matcher(matcher(dice)),
        _ => LabelSelect::Name(any_label(dice)),
    };
    (0..dice.between(1, 3)).map(|_| select(dice)).collect()
}
