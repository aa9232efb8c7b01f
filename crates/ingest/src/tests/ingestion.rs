//! What is refused, what is kept, and in which form.

use super::harness::{ALL, Read, batch, open, plain, read, read_lines, read_sources, tenant};
use crate::{Discarded, EngineOptions, PushBatch, PushError};
use timberline_logql::labels::{Label, LabelSet};
use timberline_store::{MAX_TIMESTAMP_NS, Selection, SourceProvider, TenantId, TimeSpan};

fn label(name: &str, value: &str) -> Label {
    Label {
        name: name.into(),
        value: value.into(),
    }
}

#[tokio::test]
async fn each_limit_refuses_what_is_one_beyond_it() {
    let data = tempfile::tempdir().unwrap();
    let mut options = EngineOptions::new(data.path());
    options.limits.max_line_bytes = 10;
    options.limits.max_label_names = 2;
    options.limits.max_label_name_bytes = 12;
    options.limits.max_label_value_bytes = 5;
    options.limits.max_metadata_entries = 2;
    options.limits.max_metadata_bytes = 12;
    options.limits.max_streams = 6;
    let engine = open(options).await.unwrap();
    type Case<'a> = (
        &'a [(&'a str, &'a str)],
        &'a str,
        &'a [(&'a str, &'a str)],
        Result<(), (&'a str, u16, &'a str)>,
    );
    let cases: &[Case<'_>] = &[
        (&[("a", "1")], "0123456789", &[], Ok(())),
        (
            &[("a", "1")],
            "0123456789x",
            &[],
            Err((
                "line_too_long",
                400,
                "max entry size '10' bytes exceeded for stream '{a=\"1\", service_name=\"unknown_service\"}' while adding an entry with length '11' bytes (max_line_size)",
            )),
        ),
        (&[("a", "1"), ("b", "2")], "", &[], Ok(())),
        (&[("a", "1"), ("b", "2"), ("service_name", "x")], "", &[], Ok(())),
        (&[("a", "1"), ("b", "2"), ("c", "")], "", &[], Ok(())),
        (
            &[("a", "1"), ("b", "2"), ("c", "3")],
            "",
            &[],
            Err((
                "max_label_names_per_series",
                400,
                "entry for stream '{a=\"1\", b=\"2\", c=\"3\"}' has 3 label names; limit 2 (max_label_names_per_series)",
            )),
        ),
        (&[("aaaa", "11111")], "", &[], Ok(())),
        (
            &[("aaaaaaaaaaaaa", "1")],
            "",
            &[],
            Err((
                "label_name_too_long",
                400,
                "stream '{aaaaaaaaaaaaa=\"1\"}' has label name too long: 'aaaaaaaaaaaaa' (13 bytes, limit 12, max_label_name_length)",
            )),
        ),
        (
            &[("a", "111111")],
            "",
            &[],
            Err((
                "label_value_too_long",
                400,
                "stream '{a=\"111111\"}' has label value too long: '111111' (6 bytes, limit 5, max_label_value_length)",
            )),
        ),
        (
            &[("a", "1"), ("a", "2")],
            "",
            &[],
            Err((
                "duplicate_label_names",
                400,
                "stream '{a=\"1\"}' has duplicate label name: 'a'",
            )),
        ),
        (
            &[("a-b", "1")],
            "",
            &[],
            Err((
                "invalid_labels",
                400,
                "error parsing labels '{a-b=\"1\"}' with error: label name 'a-b' is not of the form [a-zA-Z_][a-zA-Z0-9_]*",
            )),
        ),
        (&[], "", &[], Ok(())),
        (&[("a", "1")], "", &[("k", "12345"), ("l", "12345")], Ok(())),
        (
            &[("a", "1")],
            "",
            &[("k", "12345"), ("l", "123456")],
            Err((
                "structured_metadata_too_large",
                400,
                "stream '{a=\"1\", service_name=\"unknown_service\"}' has structured metadata too large: '13' bytes, limit: '12' bytes (max_structured_metadata_size)",
            )),
        ),
        (
            &[("a", "1")],
            "",
            &[("k", ""), ("l", ""), ("m", "")],
            Err((
                "structured_metadata_too_many",
                400,
                "stream '{a=\"1\", service_name=\"unknown_service\"}' has too many structured metadata labels: '3', limit: '2' (max_structured_metadata_entries_count)",
            )),
        ),
        (
            &[("a", "1")],
            "",
            &[("__", "1")],
            Err((
                "invalid_labels",
                400,
                "stream '{a=\"1\", service_name=\"unknown_service\"}' has structured metadata with the unusable name '__'",
            )),
        ),
        (&[("a", "9")], "", &[], Ok(())),
        (
            &[("a", "10")],
            "",
            &[],
            Err((
                "stream_limit",
                429,
                "maximum active stream limit exceeded when trying to create stream {a=\"10\", service_name=\"unknown_service\"}, limit 6 (max_global_streams_per_user)",
            )),
        ),
        (&[("a", "9")], "", &[], Ok(())),
    ];
    for (number, (labels, line, metadata, want)) in cases.iter().enumerate() {
        let mut batch = PushBatch::new();
        batch.begin_stream(
            labels
                .iter()
                .map(|(name, value)| label(name, value))
                .collect::<Vec<_>>(),
        );
        batch.push_entry(number as i64, line.as_bytes(), metadata.iter().copied());
        let outcome = engine.push(&TenantId::single(), batch).await.unwrap();
        let got = match outcome.rejected.as_slice() {
            [] => Ok(()),
            [one] => Err((one.reason, one.status, one.message.as_str())),
            more => panic!("{more:?}"),
        };
        assert_eq!(got, *want);
        assert_eq!(outcome.accepted, u64::from(want.is_ok()));
    }
    engine.flush().await.unwrap();
    assert_eq!(
        engine
            .push(&TenantId::single(), batch([("10", 1, "")]))
            .await
            .unwrap()
            .accepted,
        1,
        "the limit starts anew"
    );
    engine.shutdown().await;
}

#[tokio::test]
async fn times_that_no_query_can_ask_for_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    const MOST: i64 = MAX_TIMESTAMP_NS;
    let cases = [
        (0, None),
        (-MOST, None),
        (MOST - 1, None),
        (
            -MOST - 1,
            Some(("greater_than_max_sample_age", "has timestamp too old: ")),
        ),
        (
            i64::MIN,
            Some(("greater_than_max_sample_age", "has timestamp too old: ")),
        ),
        (MOST, Some(("too_far_in_future", "has timestamp too new: "))),
        (i64::MAX, Some(("too_far_in_future", "has timestamp too new: "))),
    ];
    for (timestamp_ns, want) in cases {
        let outcome = engine
            .push(&TenantId::single(), batch([("a", timestamp_ns, "x")]))
            .await
            .unwrap();
        match (outcome.rejected.as_slice(), want) {
            ([], None) => {}
            ([one], Some((reason, text))) => {
                assert_eq!((one.reason, one.status), (reason, 400), "{timestamp_ns}");
                assert!(
                    one.message.contains(&format!("{text}{timestamp_ns}")),
                    "{}",
                    one.message
                );
            }
            other => panic!("{timestamp_ns}: {other:?}"),
        }
    }
    engine.shutdown().await;
}

#[tokio::test]
async fn a_refusal_quotes_only_the_beginning_of_what_is_long() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(EngineOptions::new(data.path())).await.unwrap();
    let long = "x".repeat(5_000);
    let huge = long.repeat(20);
    type Case<'a> = (crate::StreamLabels, &'a str, &'a [(&'a str, &'a str)], &'a str);
    let full = || {
        (0..60)
            .map(|i| label(&format!("l{i}"), &long[..4_000]))
            .collect::<Vec<_>>()
    };
    let unreadable = crate::StreamLabels::Unreadable {
        text: huge.clone(),
        error: huge.clone(),
    };
    let underscores = "_".repeat(50_000);
    let cases: [Case<'_>; 7] = [
        (unreadable, "", &[], "with error: xxx"),
        (vec![label("a", &huge)].into(), "", &[], "has label value too long"),
        (vec![label(&huge, "a")].into(), "", &[], "has label name too long"),
        (
            vec![label(&huge, "a"), label(&huge, "b")].into(),
            "",
            &[],
            "has duplicate label name",
        ),
        (full().into(), "", &[("", "v")], "with the unusable name ''"),
        (
            vec![label("a", "1")].into(),
            "",
            &[(&underscores, "v")],
            "with the unusable name '___",
        ),
        (full().into(), "", &[("k", &huge)], "has structured metadata too large"),
    ];
    for (labels, line, metadata, want) in cases {
        let mut batch = PushBatch::new();
        batch.begin_stream(labels);
        batch.push_entry(1, line.as_bytes(), metadata.iter().copied());
        let outcome = engine.push(&TenantId::single(), batch).await.unwrap();
        let message = &outcome.rejected[0].message;
        assert!(message.contains(want), "{message} should contain {want}");
        assert!(message.len() < 3_000, "{want}: {} bytes", message.len());
    }
    engine.shutdown().await;
}

#[tokio::test]
async fn good_entries_of_a_bad_request_are_kept_and_the_bad_ones_counted() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.limits.max_line_bytes = 4;
    let engine = open(options).await.unwrap();
    let mut batch = PushBatch::new();
    batch.begin_stream(crate::StreamLabels::Unreadable {
        text: "{a=".into(),
        error: "parse error".into(),
    });
    batch.push_entry(1, b"lost", []);
    batch.push_entry(2, b"too", []);
    batch.begin_stream(LabelSet::from_pairs([("a", "1")]));
    batch.push_entry(3, b"too long", []);
    batch.push_entry(4, b"good", []);
    batch.begin_stream(vec![]);
    batch.push_entry(5, b"none", []);
    let outcome = engine.push(&tenant("t"), batch).await.unwrap();
    assert_eq!((outcome.accepted, outcome.accepted_bytes), (1, 4));
    let rejected: Vec<_> = outcome
        .rejected
        .iter()
        .map(|r| (r.reason, r.entries, r.bytes))
        .collect();
    assert_eq!(
        rejected,
        [
            ("invalid_labels", 2, 7),
            ("line_too_long", 1, 8),
            ("missing_labels", 1, 4)
        ]
    );
    assert_eq!(
        outcome.rejected[0].message,
        "error parsing labels '{a=' with error: parse error"
    );
    assert_eq!(
        outcome.rejected[2].message,
        "error at least one label pair is required per stream"
    );
    let rows = read_sources(&engine, &tenant("t"), ALL).await.remove(0).1;
    assert_eq!(rows.iter().map(|row| row.line.as_str()).collect::<Vec<_>>(), ["good"]);
    let discarded = |reason, entries, bytes| Discarded {
        tenant: tenant("t"),
        reason,
        entries,
        bytes,
    };
    let want = [
        discarded("invalid_labels", 2, 7),
        discarded("line_too_long", 1, 8),
        discarded("missing_labels", 1, 4),
    ];
    assert_eq!(engine.stats().discarded, want);
    engine.shutdown().await;
}

#[tokio::test]
async fn requests_without_streams_or_entries() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.max_request_bytes = 40;
    let engine = open(options).await.unwrap();
    let refused = engine.push(&tenant("t"), PushBatch::new()).await.unwrap_err();
    assert_eq!((refused.clone(), refused.status()), (PushError::NoStreams, 422));
    let mut empty = PushBatch::new();
    empty.begin_stream(LabelSet::from_pairs([("a", "1")]));
    assert_eq!(
        engine.push(&tenant("t"), empty).await.unwrap(),
        crate::PushOutcome::default()
    );
    assert_eq!(
        engine
            .push(&tenant("t"), batch([("a", 1, "24 bytes of text, not 25")]))
            .await
            .unwrap()
            .accepted,
        1
    );
    let refused = engine
        .push(&tenant("t"), batch([("a", 1, "25 bytes of text, too many")]))
        .await
        .unwrap_err();
    assert_eq!(
        (refused.status(), refused.to_string().as_str()),
        (413, "request body too large: 42 bytes, limit: 40 bytes")
    );
    assert_eq!(engine.stats().requests, 1);
    engine.shutdown().await;
}

#[tokio::test]
async fn entries_are_stored_in_normal_form() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(EngineOptions::new(data.path())).await.unwrap();
    let mut batch = PushBatch::new();
    batch.begin_stream(vec![label("job", "j"), label("empty", ""), label("app", "a")]);
    let metadata = [
        ("z.z", "bad\u{FFFD}char"),
        ("a", "1"),
        ("gone", ""),
        ("z__z", "second"),
        ("9", "9"),
    ];
    batch.push_entry(-MAX_TIMESTAMP_NS, b"an error", metadata);
    batch.push_entry(MAX_TIMESTAMP_NS - 1, b"an error", [("detected_level", "mine")]);
    engine.push(&TenantId::single(), batch).await.unwrap();
    let entry = |timestamp_ns, metadata: &[(&str, &str)]| Read {
        labels: r#"{app="a", job="j", service_name="a"}"#.into(),
        timestamp_ns,
        line: "an error".into(),
        metadata: metadata
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
    };
    let want = [
        entry(
            -MAX_TIMESTAMP_NS,
            &[
                ("a", "1"),
                ("detected_level", "error"),
                ("key_9", "9"),
                ("z_z", "bad char"),
            ],
        ),
        entry(MAX_TIMESTAMP_NS - 1, &[("detected_level", "mine")]),
    ];
    assert_eq!(read(&engine).await, want);
    engine.flush().await.unwrap();
    assert_eq!(read(&engine).await, want, "from the data object");
    engine.shutdown().await;
}

#[tokio::test]
async fn late_entries_and_duplicates() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    let entries = [
        ("a", 5, "x"),
        ("a", 9, "y"),
        ("b", 1, "once"),
        ("a", 3, "late"),
        ("a", 5, "x"),
        ("a", 5, "z"),
        ("a", 5, "x"),
    ];
    engine.push(&TenantId::single(), batch(entries)).await.unwrap();

    let source = engine.sources(&TenantId::single(), ALL).await.unwrap().remove(0);
    let streams = source.streams().await.unwrap();
    assert_eq!(source.span(), TimeSpan { min_ns: 1, max_ns: 9 });
    assert_eq!(
        (streams[0].rows, streams[0].bytes, streams[0].span),
        (6, 9, TimeSpan { min_ns: 3, max_ns: 9 })
    );
    assert_eq!(streams[0].duplicates, Some(TimeSpan { min_ns: 3, max_ns: 5 }));
    assert_eq!((streams[1].rows, streams[1].duplicates), (1, None));
    assert!(!source.newest_first());
    let lines = source.lines(0, &Selection::Rows(vec![1, 3])).await.unwrap();
    assert_eq!(lines.iter().collect::<Vec<_>>(), [Some(&b"y"[..]), Some(b"late")]);

    assert_eq!(engine.flush().await.unwrap().rows, 5);
    let object = read_sources(&engine, &TenantId::single(), ALL).await.remove(0).1;
    let rows: Vec<_> = object
        .iter()
        .map(|row| (row.labels.as_str(), row.timestamp_ns, row.line.as_str()))
        .collect();
    let a = r#"{s="a"}"#;
    assert_eq!(
        rows,
        [
            (a, 9, "y"),
            (a, 5, "z"),
            (a, 5, "x"),
            (a, 3, "late"),
            (r#"{s="b"}"#, 1, "once")
        ]
    );
    assert_eq!(engine.stats().duplicate_rows, 2);
    engine.shutdown().await;
}

#[tokio::test]
async fn many_equal_timestamps_are_deduplicated_too() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    let lines: Vec<String> = (0..1000).map(|i| format!("{}", i % 300)).collect();
    engine
        .push(
            &TenantId::single(),
            batch(lines.iter().map(|line| ("a", 7, line.as_str()))),
        )
        .await
        .unwrap();
    assert_eq!(engine.flush().await.unwrap().rows, 300);
    let object = read_sources(&engine, &TenantId::single(), ALL).await.remove(0).1;
    let want: Vec<String> = (0..300).rev().map(|i| i.to_string()).collect();
    assert_eq!(
        object.into_iter().map(|row| row.line).collect::<Vec<_>>(),
        want,
        "newest arrival first"
    );
    engine.shutdown().await;
}

#[tokio::test]
async fn metadata_columns_under_selections() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    let mut batch = PushBatch::new();
    batch.begin_stream(LabelSet::from_pairs([("s", "a")]));
    batch.push_entry(1, b"", [("x", "1")]);
    batch.push_entry(2, b"", []);
    batch.push_entry(3, b"", [("y", "2"), ("x", "3")]);
    batch.push_entry(4, b"", []);
    engine.push(&TenantId::single(), batch).await.unwrap();
    let source = engine.sources(&TenantId::single(), ALL).await.unwrap().remove(0);
    let columns = async |rows: Selection, names: Option<&[String]>| {
        let columns = source.metadata(0, &rows, names).await.unwrap();
        let text = |value: Option<&[u8]>| {
            value
                .map_or("-", |value| std::str::from_utf8(value).unwrap())
                .to_owned()
        };
        let column = |c: &timberline_store::MetadataColumn| {
            format!("{}={}", c.name, c.values.iter().map(text).collect::<String>())
        };
        columns.iter().map(column).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(columns(Selection::All, None).await, "x=1-3- y=--2-");
    assert_eq!(columns(Selection::Rows(vec![1, 2]), None).await, "x=-3 y=-2");
    assert_eq!(columns(Selection::Rows(vec![0, 1]), None).await, "x=1-");
    assert_eq!(
        columns(Selection::All, Some(&["y".to_owned(), "other".to_owned()])).await,
        "y=--2-"
    );
    assert_eq!(columns(Selection::Rows(vec![]), None).await, "");
    engine.shutdown().await;
}

#[tokio::test]
async fn tenants_are_apart_in_head_and_object() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    for name in ["beta-10", "beta-2", "alpha"] {
        engine.push(&tenant(name), batch([("a", 1, name)])).await.unwrap();
    }
    for round in ["head", "object"] {
        for name in ["beta-10", "beta-2", "alpha"] {
            let sources = read_sources(&engine, &tenant(name), ALL).await;
            let [(_, rows)] = sources.as_slice() else {
                panic!("{round}: {sources:?}")
            };
            assert_eq!(
                rows.iter().map(|row| row.line.as_str()).collect::<Vec<_>>(),
                [name],
                "{round}"
            );
        }
        assert!(read_sources(&engine, &tenant("nobody"), ALL).await.is_empty());
        assert_eq!(engine.flush().await.unwrap().objects, u64::from(round == "head"));
    }
    engine.shutdown().await;
}

#[tokio::test]
async fn sources_outside_the_span_are_left_out_and_others_come_in_order_of_arrival() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    for (timestamp_ns, line) in [(100, "first"), (50, "second"), (10, "third")] {
        engine
            .push(&TenantId::single(), batch([("a", timestamp_ns, line)]))
            .await
            .unwrap();
        if line != "third" {
            engine.flush().await.unwrap();
        }
    }
    let lines = async |min_ns, max_ns| {
        let sources = read_sources(&engine, &TenantId::single(), TimeSpan { min_ns, max_ns }).await;
        sources
            .into_iter()
            .flat_map(|(_, rows)| rows)
            .map(|row| row.line)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(i64::MIN, i64::MAX).await, ["first", "second", "third"]);
    assert_eq!(lines(50, 100).await, ["first", "second"]);
    assert_eq!(lines(10, 49).await, ["third"]);
    assert_eq!(lines(101, 200).await, Vec::<String>::new());
    assert_eq!(read_lines(&engine).await.len(), 3);
    engine.shutdown().await;
}

#[tokio::test]
async fn names_of_labels_and_metadata_are_bounded_and_start_anew_with_a_cut() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.limits.max_names = 3;
    let engine = open(options.clone()).await.unwrap();
    // Label, metadata name, and whether the entry is kept.
    let cases = [
        ("a", "x", true),
        ("a", "y", true),
        ("a", "z", false),
        ("b", "x", false),
        ("a", "x", true),
    ];
    let entry = |label: &str, name: &str| {
        let mut batch = PushBatch::new();
        batch.begin_stream(LabelSet::from_pairs([(label, "1")]));
        batch.push_entry(1, b"", [(name, "1")]);
        batch
    };
    for (label, name, kept) in cases {
        let outcome = engine.push(&TenantId::single(), entry(label, name)).await.unwrap();
        let reasons: Vec<_> = outcome.rejected.iter().map(|r| (r.reason, r.status)).collect();
        let want = if kept { vec![] } else { vec![("max_names", 400)] };
        assert_eq!(reasons, want, "{label} {name}");
    }
    engine.shutdown().await;

    let engine = open(options).await.unwrap();
    let refused = engine.push(&TenantId::single(), entry("a", "z")).await.unwrap();
    assert_eq!(refused.accepted, 0, "names are counted again after a restart");
    engine.flush().await.unwrap();
    let outcome = engine.push(&TenantId::single(), entry("b", "z")).await.unwrap();
    assert_eq!(outcome.accepted, 1);
    engine.shutdown().await;
}

#[tokio::test]
async fn labels_and_names_count_as_memory_of_the_head() {
    let data = tempfile::tempdir().unwrap();
    let engine = open(plain(data.path())).await.unwrap();
    let value = "v".repeat(4000);
    let mut streams = PushBatch::new();
    let mut names = PushBatch::new();
    names.begin_stream(LabelSet::from_pairs([("s", "a")]));
    for number in 0..300 {
        streams.begin_stream(LabelSet::from_pairs([("s", format!("{value}{number}"))]));
        streams.push_entry(1, b"", []);
        let name = format!("{}{number}", "n".repeat(1000));
        names.push_entry(1, b"", [(name.as_str(), "1")]);
    }
    for (batch, at_least) in [(streams, 300 * 4000), (names, 300 * 1000)] {
        let before = engine.stats().head_bytes;
        engine.push(&TenantId::single(), batch).await.unwrap();
        let grown = engine.stats().head_bytes - before;
        assert!(grown > at_least, "{grown} of {at_least}");
    }
    engine.shutdown().await;
}

#[tokio::test]
async fn many_tenants_are_cut_into_several_objects() {
    let data = tempfile::tempdir().unwrap();
    let mut options = plain(data.path());
    options.head_max_tenants = 3;
    let engine = open(options).await.unwrap();
    for number in 0..7 {
        let tenant = tenant(&format!("t{number}"));
        engine.push(&tenant, batch([("a", 1, "line")])).await.unwrap();
    }
    engine.flush().await.unwrap();
    assert_eq!(engine.stats().flushes, 3);
    for number in 0..7 {
        let sources = read_sources(&engine, &tenant(&format!("t{number}")), ALL).await;
        assert_eq!(sources.iter().map(|(_, rows)| rows.len()).sum::<usize>(), 1);
    }
    engine.shutdown().await;
}
