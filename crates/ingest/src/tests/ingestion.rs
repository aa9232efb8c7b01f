//! What is kept, and in which form.

use super::harness::{ALL, Read, batch, open, plain, read, read_lines, read_sources, tenant};
use crate::{EngineOptions, PushBatch};
use timberline_logql::labels::{Label, LabelSet};
use timberline_store::{MAX_TIMESTAMP_NS, Selection, SourceProvider, TenantId, TimeSpan};

fn label(name: &str, value: &str) -> Label {
    Label {
        name: name.into(),
        value: value.into(),
    }
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
