//! What holds of pipelines over any line: nothing panics, and what is left out because nobody needs it is not missed.

use std::sync::Arc;

use proptest::prelude::*;
use timberline_logql::ast::{Expr, Stage};
use timberline_logql::labels::LabelSet;
use timberline_logql::parse;
use timberline_logql::pipeline::{GroupLabels, Pipeline, Runner, Wants, decode_labels_key};

const STAGES: [&str; 12] = [
    r#"|= "a" or "b" |~ "a.b" !> "a<_>""#,
    r#"|= ip("10.0.0.0/8") != "a""#,
    "| json",
    "| json | a > 1 | a <= 2s or b < 1KB",
    r#"| json a="a.b", b="a[0]", c="b""#,
    "| logfmt",
    "| logfmt --strict --keep-empty",
    "| logfmt a, x=\"b\"",
    r#"| regexp "(?P<a>.)(?P<b>a*)" | b=~"a+""#,
    r#"| pattern "<a> <_>a<b>" | a=ip("::/0")"#,
    r#"| unpack | json | line_format "{{.a}} {{.b}}" |= "a" | logfmt"#,
    r#"| decolorize | logfmt | label_format a=b, b="{{.a}}{{.c}}" | drop c, d="" | keep a, b=~"a.*""#,
];

fn stages_of(text: &str) -> Vec<Stage> {
    match parse(&format!("{{app=\"x\"}} {text}")) {
        Ok(Expr::Log(log)) => log.stages,
        other => panic!("not a log query: {text}: {other:?}"),
    }
}

/// Bytes, and text that is nearly JSON, logfmt or coloured.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let scrap = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\\u00",
        "\\ud83d",
        "a",
        "b",
        "\"a\":",
        "\"b\":",
        "\"_entry\":",
        "1",
        "null",
        "true",
        "=",
        " ",
        "a=",
        "b=\"",
        "\u{1b}[",
        "m",
        "10.1.2.3",
        "::1",
        "é",
        "\u{fffd}",
        "1.5s",
        "2KB",
        "\n",
    ]);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        prop::collection::vec(scrap, 0..30).prop_map(|scraps| scraps.concat().into_bytes()),
        json_object().prop_map(String::into_bytes),
    ]
}

fn json_object() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "1",
        "\"a\"",
        "null",
        "true",
        "\"x\\ny\"",
        "[1,{\"a\":2}]",
        "2.5e3",
        "\"\"",
    ]);
    let leaf = scalar.prop_map(str::to_owned);
    let value = leaf.prop_recursive(3, 24, 5, |inner| {
        let member = (prop::sample::select(vec!["a", "b", "c", "a_b", "app", "é"]), inner);
        prop::collection::vec(member, 0..5).prop_map(|members| {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("\"{key}\":{value}"))
                .collect();
            format!("{{{}}}", members.join(","))
        })
    });
    value.prop_map(|value| {
        if value.starts_with('{') {
            value
        } else {
            format!("{{\"a\":{value}}}")
        }
    })
}

type Seen = Option<(Vec<u8>, Vec<Option<Vec<u8>>>, bool)>;

/// The line, the labels of these names, and whether there is an error.
fn see(stages: &[Stage], wants: &Wants, line: &[u8], names: &[&str], prefiltered: bool) -> Seen {
    let pipeline = Arc::new(Pipeline::compile(stages, wants).expect("compiles"));
    let metadata: Vec<(&str, &[u8])> = [("b", &b"metadata"[..]), ("app", b"clash")]
        .into_iter()
        .filter(|(name, _)| {
            pipeline
                .metadata_names()
                .is_none_or(|names| names.iter().any(|n| n == name))
        })
        .collect();
    let passes = pipeline.line_filters().iter().all(|filter| filter.matches(line));
    let mut runner = Runner::new(pipeline);
    runner.start_stream(&LabelSet::from_pairs([("app", "shop")]));
    if prefiltered && !passes {
        return None;
    }
    let entry = runner.process(0, line, &metadata, prefiltered)?;
    let mut key = Vec::new();
    entry.labels_key(&mut key);
    decode_labels_key(&key);
    let values = names.iter().map(|name| entry.get(name).map(<[u8]>::to_vec)).collect();
    Some((entry.line.to_vec(), values, entry.has_error()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_nobody_needs_is_not_missed(line in any_line(), at in 0..STAGES.len(), wanted in prop::sample::subsequence(vec!["a", "b", "a_b", "app_extracted", "b_extracted", "app"], 1..4)) {
        let stages = stages_of(STAGES[at]);
        let all = see(&stages, &Wants::All, &line, &wanted, false);
        prop_assert_eq!(&all, &see(&stages, &Wants::All, &line, &wanted, true));
        let only = Wants::Only(wanted.iter().map(|name| (*name).to_owned()).collect());
        let some = see(&stages, &only, &line, &wanted, false);
        match (all, some) {
            // A parser that stops early may miss an error, never cause one.
            (Some((line, values, true)), Some((some_line, some_values, _))) => {
                prop_assert_eq!((line, values), (some_line, some_values));
            }
            (all, some) => prop_assert_eq!(all, some),
        }
    }

    #[test]
    fn a_runner_that_has_seen_other_lines_is_as_a_new_one(
        lines in prop::collection::vec((any_line(), 0..3usize, 0..3usize), 1..12),
        repeated in 0..12usize,
        at in 0..STAGES.len(),
        narrow in any::<bool>(),
    ) {
        let wants = if narrow {
            Wants::Only(vec!["a".to_owned(), "b_c".to_owned(), "app_extracted".to_owned()])
        } else {
            Wants::All
        };
        let pipeline = Arc::new(Pipeline::compile(&stages_of(STAGES[at]), &wants).expect("compiles"));
        let mut used = Runner::new(Arc::clone(&pipeline));
        let again = lines.get(repeated).cloned();
        for (line, stream, metadata) in lines.into_iter().chain(again.clone()).chain(again) {
            let stream = &streams()[stream];
            let metadata = &METADATA[metadata];
            used.start_stream(stream);
            let mut fresh = Runner::new(Arc::clone(&pipeline));
            fresh.start_stream(stream);
            // Twice, since a runner guesses that a line looks like the one before.
            for _ in 0..2 {
                prop_assert_eq!(keys_of(&mut used, &line, metadata), keys_of(&mut fresh, &line, metadata));
            }
        }
    }
}

const METADATA: [&[(&str, &[u8])]; 3] = [
    &[],
    &[("b", b"metadata"), ("app", b"clash")],
    &[("a", b"1"), ("app_extracted", b"2"), ("app", b"clash")],
];

fn streams() -> [LabelSet; 3] {
    [
        LabelSet::from_pairs([("app", "shop")]),
        LabelSet::from_pairs([("a", "of the stream"), ("b_c", "x")]),
        LabelSet::default(),
    ]
}

/// The line, the keys of all labels and of groups, and whether there is an error.
fn keys_of(runner: &mut Runner, line: &[u8], metadata: &[(&str, &[u8])]) -> Option<(Vec<u8>, Vec<Vec<u8>>, bool)> {
    let entry = runner.process(0, line, metadata, false)?;
    let mut keys = vec![Vec::new()];
    entry.labels_key(&mut keys[0]);
    for group in [
        GroupLabels::all(),
        GroupLabels::by(["a", "__error__"]),
        GroupLabels::without(["a", "app"]),
    ] {
        let mut key = Vec::new();
        entry.group_key(&group, &mut key);
        keys.push(key);
    }
    Some((entry.line.to_vec(), keys, entry.has_error()))
}
