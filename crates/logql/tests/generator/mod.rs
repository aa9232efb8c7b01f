//! Random queries as trees: every construct of the language, each tree one that `parse` could have built.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use timberline_logql::ast::*;

/// A query of either kind.
pub(crate) fn expr() -> impl Strategy<Value = Expr> {
    prop_oneof![log().prop_map(Expr::Log), metric().prop_map(Expr::Metric)]
}

/// Names, among them words that are reserved before a parenthesis only.
fn name() -> impl Strategy<Value = String> {
    const NAMES: &[&str] = &[
        "a",
        "b",
        "app",
        "_x9",
        "größe",
        "rate",
        "sum",
        "ip",
        "bytes",
        "duration",
        "vector",
        "label_replace",
        "topk",
        "count_over_time",
        "strict",
        "e1",
        "m",
        "K",
        "__error__",
    ];
    select(NAMES).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z \"\\\\`'#{}\n\t/]{0,12}",
        "\\PC{0,8}",
        vec(any::<char>(), 0..4).prop_map(|chars| chars.into_iter().collect::<String>()),
        Just("{{.message}} a rather long template that makes the query too long for one line".to_owned()),
    ]
}

fn regex() -> impl Strategy<Value = String> {
    select(
        &[
            ".+",
            "a|b",
            "(?i)err\\d+",
            "[^\"]x",
            "(?P<n>\\w+) `(?P<m>.*)`",
            "é{2,3}",
        ][..],
    )
    .prop_map(str::to_owned)
}

fn ip_range() -> impl Strategy<Value = String> {
    select(&["10.0.0.0/8", "::1", "10.0.0.1-10.0.0.9"][..]).prop_map(str::to_owned)
}

/// A number without sign.
fn unsigned() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0_u32..2000).prop_map(f64::from),
        (0.0..1.0e6),
        (any::<u64>())
            .prop_map(f64::from_bits)
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(f64::abs),
    ]
}

fn number() -> impl Strategy<Value = f64> {
    (unsigned(), any::<bool>()).prop_map(|(number, negative)| if negative { -number } else { number })
}

/// Nanoseconds, round and odd.
fn duration_ns() -> impl Strategy<Value = i64> {
    prop_oneof![
        (
            -1000_i64..1000,
            select(&[1, 1000, 1_000_000, 1_000_000_000, 60_000_000_000, 3_600_000_000_000][..])
        )
            .prop_map(|(count, unit)| count * unit),
        -i64::MAX..i64::MAX,
    ]
}

fn range_ns() -> impl Strategy<Value = i64> {
    let units = [1_i64, 1000, 60_000, 3_600_000, 86_400_000, 604_800_000, 31_536_000_000];
    prop_oneof![
        (0..200_i64, select(units.to_vec())).prop_map(|(count, unit_ms)| count * unit_ms * 1_000_000),
        (0..i64::MAX / 1_000_000).prop_map(|ms| ms * 1_000_000),
    ]
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![
        (
            0..2000_u64,
            select(&[1, 100, 1000, 1_000_000, 1 << 30, 1_000_000_000_000_000][..])
        )
            .prop_map(|(n, unit)| n * unit),
        any::<u64>(),
    ]
}

fn matcher() -> impl Strategy<Value = Matcher> {
    let plain = select(&[MatchOp::Equal, MatchOp::NotEqual][..]);
    let regexes = select(&[MatchOp::Regex, MatchOp::NotRegex][..]);
    prop_oneof![
        (name(), plain, text()).prop_map(|(name, op, value)| Matcher { name, op, value }),
        (name(), regexes, regex()).prop_map(|(name, op, value)| Matcher { name, op, value }),
    ]
}

/// A log query. Its first matcher makes the selector a valid one.
fn log() -> impl Strategy<Value = LogExpr> {
    (vec(matcher(), 0..3), vec(stage(), 0..5)).prop_map(|(mut matchers, mut stages)| {
        matchers.insert(
            0,
            Matcher {
                name: "app".to_owned(),
                op: MatchOp::Equal,
                value: "shop".to_owned(),
            },
        );
        remove_unwritable(&mut stages);
        LogExpr { matchers, stages }
    })
}

/// `drop a != "x"` reads as one stage with a matcher: a bare name at the end of `drop` or `keep` cannot stand before
/// such a line filter, in no spelling.
fn remove_unwritable(stages: &mut Vec<Stage>) {
    let mut after_bare_name = false;
    stages.retain(|stage| {
        let is_swallowed = matches!(
            stage,
            Stage::LineFilter(LineFilter {
                op: LineFilterOp::NotContains | LineFilterOp::NotRegex,
                ..
            })
        );
        if after_bare_name && is_swallowed {
            return false;
        }
        after_bare_name = match stage {
            Stage::Drop(selects) | Stage::Keep(selects) => matches!(selects.last(), Some(LabelSelect::Name(_))),
            _ => false,
        };
        true
    });
}

fn stage() -> impl Strategy<Value = Stage> {
    let json_path = select(&["a", "a.b[0]", "[\"a b\"].c", "[3]"][..]).prop_map(str::to_owned);
    let extraction = |expression: BoxedStrategy<String>| {
        (name(), expression).prop_map(|(label, expression)| Extraction { label, expression })
    };
    let source = prop_oneof![
        name().prop_map(LabelSource::Label),
        text().prop_map(LabelSource::Template)
    ];
    let label_format = vec((name(), source), 1..4).prop_map(|mut pairs| {
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs.dedup_by(|a, b| a.0 == b.0);
        pairs.retain(|(label, _)| label != "__error__");
        if pairs.is_empty() {
            pairs.push(("a".to_owned(), LabelSource::Label("b".to_owned())));
        }
        Stage::LabelFormat(
            pairs
                .into_iter()
                .map(|(label, source)| LabelFormat { label, source })
                .collect(),
        )
    });
    let label_select = || {
        prop_oneof![
            name().prop_map(LabelSelect::Name),
            matcher().prop_map(LabelSelect::Matcher)
        ]
    };
    let logfmt = (any::<bool>(), any::<bool>(), vec(extraction(name().boxed()), 0..3));
    prop_oneof![
        4 => line_filter().prop_map(Stage::LineFilter),
        1 => vec(extraction(json_path.boxed()), 0..3).prop_map(Stage::Json),
        1 => logfmt.prop_map(|(strict, keep_empty, extractions)| Stage::Logfmt { strict, keep_empty, extractions }),
        1 => Just(Stage::Regexp("(?P<a>\\w+) \"(?P<b>.*)\"".to_owned())),
        1 => Just(Stage::Pattern("<ip> - \"<_> <path>\"".to_owned())),
        1 => Just(Stage::Unpack),
        4 => label_filter().prop_map(Stage::LabelFilter),
        1 => text().prop_map(Stage::LineFormat),
        1 => label_format,
        1 => Just(Stage::Decolorize),
        1 => vec(label_select(), 1..4).prop_map(Stage::Drop),
        1 => vec(label_select(), 1..4).prop_map(Stage::Keep),
    ]
}

fn line_filter() -> impl Strategy<Value = LineFilter> {
    let containing = prop_oneof![text().prop_map(LineOperand::Text), ip_range().prop_map(LineOperand::Ip)];
    let pattern = select(&["", "a <_> \"b\"", "<_>x<_>", "< a"][..]).prop_map(|p| LineOperand::Text(p.to_owned()));
    let filter = |ops: [LineFilterOp; 2], operand: BoxedStrategy<LineOperand>| {
        (select(ops.to_vec()), vec(operand, 1..4)).prop_map(|(op, alternatives)| LineFilter { op, alternatives })
    };
    prop_oneof![
        filter([LineFilterOp::Contains, LineFilterOp::NotContains], containing.boxed()),
        filter(
            [LineFilterOp::Regex, LineFilterOp::NotRegex],
            regex().prop_map(LineOperand::Text).boxed()
        ),
        filter([LineFilterOp::Pattern, LineFilterOp::NotPattern], pattern.boxed()),
    ]
}

fn label_filter() -> impl Strategy<Value = LabelFilter> {
    let op = || {
        select(
            &[
                CompareOp::Equal,
                CompareOp::NotEqual,
                CompareOp::Greater,
                CompareOp::GreaterOrEqual,
                CompareOp::Less,
                CompareOp::LessOrEqual,
            ][..],
        )
    };
    let leaf = prop_oneof![
        matcher().prop_map(LabelFilter::Match),
        (name(), op(), number()).prop_map(|(name, op, value)| LabelFilter::Number(Comparison { name, op, value })),
        (name(), op(), duration_ns()).prop_map(|(name, op, value)| LabelFilter::Duration(Comparison {
            name,
            op,
            value
        })),
        (name(), op(), bytes()).prop_map(|(name, op, value)| LabelFilter::Bytes(Comparison { name, op, value })),
        (name(), any::<bool>(), ip_range()).prop_map(|(name, negated, range)| LabelFilter::Ip { name, negated, range }),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let written = select(&[AndSyntax::Word, AndSyntax::Comma][..]);
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| LabelFilter::Or(Box::new(left), Box::new(right))),
            (inner.clone(), inner, written).prop_map(|(left, right, written)| LabelFilter::And {
                left: Box::new(left),
                right: Box::new(right),
                written
            }),
        ]
    })
}

fn grouping() -> impl Strategy<Value = Grouping> {
    (any::<bool>(), vec(name(), 0..3)).prop_map(|(without, labels)| Grouping { without, labels })
}

fn unwrap() -> impl Strategy<Value = Unwrap> {
    let conversions = [
        Conversion::Number,
        Conversion::Bytes,
        Conversion::Duration,
        Conversion::DurationSeconds,
    ];
    (name(), select(conversions.to_vec()), vec(label_filter(), 0..3)).prop_map(|(label, conversion, filters)| Unwrap {
        label,
        conversion,
        filters,
    })
}

fn range_aggregation() -> impl Strategy<Value = RangeAggregation> {
    let ops: Vec<RangeOp> = RangeOp::NAMES.iter().map(|(op, _)| *op).collect();
    let offset_ns = prop_oneof![Just(0), duration_ns()];
    let shape = (select(ops), any::<bool>(), option::of(grouping()), unsigned());
    (shape, log(), unwrap(), range_ns(), offset_ns).prop_map(
        |((op, wants_unwrap, grouping, quantile), log, unwrap, range_ns, offset_ns)| RangeAggregation {
            op,
            parameter: (op == RangeOp::QuantileOverTime).then_some(quantile),
            log,
            unwrap: (!op.counts_lines() || (op.takes_numbers() && wants_unwrap)).then_some(unwrap),
            range_ns,
            offset_ns,
            grouping: grouping.filter(|_| op.allows_grouping()),
        },
    )
}

/// A metric query.
fn metric() -> impl Strategy<Value = MetricExpr> {
    let leaf = prop_oneof![
        4 => range_aggregation().prop_map(MetricExpr::Range),
        1 => unsigned().prop_map(MetricExpr::VectorOf),
        1 => number().prop_map(MetricExpr::Literal),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            vector_aggregation(inner.clone().boxed()),
            binary(inner.clone().boxed()),
            (inner, text(), text(), name(), regex()).prop_map(|(inner, destination, replacement, source, regex)| {
                MetricExpr::LabelReplace(LabelReplace {
                    inner: series(inner),
                    destination,
                    replacement,
                    source,
                    regex,
                })
            }),
        ]
    })
}

/// The operand, or something that has series if it is a number.
fn series(operand: MetricExpr) -> Box<MetricExpr> {
    Box::new(if is_number(&operand) {
        MetricExpr::VectorOf(1.0)
    } else {
        operand
    })
}

fn is_number(metric: &MetricExpr) -> bool {
    match metric {
        MetricExpr::Literal(_) => true,
        MetricExpr::Binary(binary) => is_number(&binary.left) && is_number(&binary.right),
        _ => false,
    }
}

fn vector_aggregation(inner: BoxedStrategy<MetricExpr>) -> impl Strategy<Value = MetricExpr> {
    let ops: Vec<VectorOp> = VectorOp::NAMES.iter().map(|(op, _)| *op).collect();
    (select(ops), 1_u32..100, option::of(grouping()), inner).prop_map(|(op, count, grouping, inner)| {
        MetricExpr::Vector(VectorAggregation {
            op,
            parameter: op.needs_parameter().then_some(f64::from(count)),
            grouping: grouping.filter(|_| op.allows_grouping()),
            inner: series(inner),
        })
    })
}

fn binary(inner: BoxedStrategy<MetricExpr>) -> impl Strategy<Value = MetricExpr> {
    let ops: Vec<BinaryOp> = BinaryOp::NAMES.iter().map(|(op, _)| *op).collect();
    let group =
        (select(&[Side::Left, Side::Right][..]), vec(name(), 0..3)).prop_map(|(many, include)| Group { many, include });
    let matching = (any::<bool>(), vec(name(), 0..3), option::of(group)).prop_map(|(on, labels, group)| Matching {
        on,
        labels,
        group,
    });
    (select(ops), any::<bool>(), option::of(matching), inner.clone(), inner).prop_map(
        |(op, return_bool, matching, left, right)| {
            let leg = |operand| {
                if op.is_set_operation() {
                    series(operand)
                } else {
                    Box::new(operand)
                }
            };
            let (left, right) = (leg(left), leg(right));
            MetricExpr::Binary(Binary {
                op,
                return_bool,
                matching,
                left,
                right,
            })
        },
    )
}
