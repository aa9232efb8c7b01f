//! What is refused, with which reason and message, and that the rest of a request is kept.

use super::harness::{ALL, batch, open, plain, read_sources, tenant};
use crate::{Discarded, EngineOptions, PushBatch, PushError};
use timberline_logql::labels::{Label, LabelSet};
use timberline_store::{MAX_TIMESTAMP_NS, TenantId};

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
