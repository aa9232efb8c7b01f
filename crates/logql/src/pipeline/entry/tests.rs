//! How labels of the three categories meet (logql.md 10 and 11).

use std::sync::Arc;

use crate::ast::Stage;
use crate::labels::LabelSet;
use crate::pipeline::testing::{TestEntry, entry, json, label_format, labels_after, logfmt, names, run};
use crate::pipeline::{Pipeline, Runner, Wants, decode_labels_key};

#[test]
fn categories_are_told_apart() {
    let entry = TestEntry {
        stream: &[("app", "api"), ("env", "e")],
        metadata: &[("trace_id", "t1")],
        line: br#"{"app":"in","a":1}"#,
    };
    let labels = run(&[json(), label_format(&[("env", "x")])], &Wants::All, &entry)
        .unwrap()
        .labels;
    assert_eq!(labels.stream, LabelSet::from_pairs([("app", "api")]));
    assert_eq!(labels.metadata, LabelSet::from_pairs([("trace_id", "t1")]));
    assert_eq!(
        labels.parsed,
        LabelSet::from_pairs([("a", "1"), ("app_extracted", "in"), ("env", "x")])
    );
    let failed = run(&[json()], &Wants::All, &TestEntry { line: b"x", ..entry })
        .unwrap()
        .labels;
    assert_eq!(failed.parsed.get("__error__"), Some("JSONParserErr"));
}

#[test]
fn one_name_in_all_categories() {
    let f = |stages: &[Stage], want: &str| {
        let entry = TestEntry {
            stream: &[("app", "a")],
            metadata: &[("app", "b")],
            line: br#"{"app":"c"}"#,
        };
        assert_eq!(labels_after(stages, &entry), want);
    };
    f(&[], r#"app="a", app_extracted="b""#);
    f(&[Stage::Unpack], r#"app="a", app_extracted="b""#);
    f(&[json()], r#"app="a", app_extracted="c""#);
}

#[test]
fn the_first_parser_wins() {
    let line = r#"{"a":"json","msg":"a=logfmt b=2"}"#;
    let stages = [json(), Stage::LineFormat("{{.msg}}".to_owned()), logfmt(&[], &[])];
    assert_eq!(
        labels_after(&stages, &entry(line)),
        r#"a="json", b="2", msg="a=logfmt b=2""#
    );
}

#[test]
fn wide_entries_behave_as_narrow_ones() {
    let members = |from: usize, to: usize| {
        (from..to)
            .map(|n| format!("\"k{n}\":{n}"))
            .collect::<Vec<_>>()
            .join(",")
    };
    for count in [1, 23, 24, 25, 26, 3000] {
        // Each member twice: the first value stays. The object that does not end takes its members with it.
        let line = format!(
            "{{{},{},\"o\":{{{}",
            members(0, count),
            members(0, count),
            members(count, 2 * count)
        );
        let mut stages = vec![
            json(),
            label_format(&[("k0", "new"), ("x", "@k1")]),
            label_format(&[("k1", "@k2")]),
        ];
        stages.push(Stage::Drop(names(&["__error__"])));
        stages.push(json());
        stages.push(Stage::Drop(names(&["__error__"])));
        let labels = run(&stages, &Wants::All, &entry(&line)).unwrap().labels.parsed;
        let mut want: Vec<(String, String)> = (0..count).map(|n| (format!("k{n}"), n.to_string())).collect();
        want[0].1 = "new".to_owned();
        if count > 2 {
            want[1].1 = "2".to_owned();
            want.push(("x".to_owned(), "1".to_owned()));
        }
        assert_eq!(labels, LabelSet::from_pairs(want), "{count}");
    }
}

#[test]
fn names_that_never_come_again_are_forgotten() {
    let mut runner = Runner::new(Arc::new(Pipeline::compile(&[json()], &Wants::All).unwrap()));
    runner.start_stream(&LabelSet::from_pairs([("app", "api")]));
    let mut most = 0;
    for round in 0..3000 {
        let members: Vec<String> = (0..20).map(|n| format!("\"k{round}_{n}\":{n}")).collect();
        let line = format!("{{\"app\":1,{}}}", members.join(","));
        let entry = runner.process(0, line.as_bytes(), &[("m", b"1")], false).unwrap();
        assert_eq!(entry.get(&format!("k{round}_19")), Some(&b"19"[..]));
        let mut key = Vec::new();
        entry.labels_key(&mut key);
        let labels = decode_labels_key(&key);
        assert_eq!(
            (labels.parsed.len(), labels.parsed.get("app_extracted")),
            (21, Some("1"))
        );
        assert_eq!(
            (labels.stream.get("app"), labels.metadata.get("m")),
            (Some("api"), Some("1"))
        );
        most = most.max(entry.labels.names.count());
    }
    assert!(most < 20_000, "{most} names are kept");
}

#[test]
fn the_first_error_stays() {
    let stages = [json(), logfmt(&["strict"], &[])];
    assert!(labels_after(&stages, &entry("=x")).starts_with(r#"__error__="JSONParserErr""#));
}
