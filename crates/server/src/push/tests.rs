//! Both body formats through the one door, `BodyFormat`.

use super::*;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use prost::Message;
use std::io::Write;
use timberline_logql::labels::LabelSet;

const LIMIT: usize = 1 << 20;

/// The schema of http-api.md 3.3, as a generated encoder sees it: the oracle of the decoder written by hand.
mod schema {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct PushRequest {
        #[prost(message, repeated, tag = "1")]
        pub(super) streams: Vec<Stream>,
        #[prost(string, tag = "2")]
        pub(super) format: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Stream {
        #[prost(string, tag = "1")]
        pub(super) labels: String,
        #[prost(message, repeated, tag = "2")]
        pub(super) entries: Vec<Entry>,
        #[prost(uint64, tag = "3")]
        pub(super) hash: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Entry {
        #[prost(message, optional, tag = "1")]
        pub(super) timestamp: Option<Timestamp>,
        #[prost(bytes = "vec", tag = "2")]
        pub(super) line: Vec<u8>,
        #[prost(message, repeated, tag = "3")]
        pub(super) metadata: Vec<LabelPair>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct LabelPair {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(string, tag = "2")]
        pub(super) value: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Timestamp {
        #[prost(int64, tag = "1")]
        pub(super) seconds: i64,
        #[prost(int32, tag = "2")]
        pub(super) nanos: i32,
    }
}

/// An entry as the tests write it.
type Row<'a> = (i64, &'a [u8], &'a [(&'a str, &'a str)]);

/// Labels and entries of a stream.
type Stream<'a> = (&'a [(&'a str, &'a str)], &'a [Row<'a>]);

/// What a decoder must make of these streams; batches are compared by their debug text.
fn batch(streams: &[Stream<'_>]) -> String {
    let mut batch = PushBatch::new();
    for (labels, rows) in streams {
        batch.begin_stream(LabelSet::from_pairs(labels.iter().copied()));
        for (timestamp_ns, line, metadata) in *rows {
            batch.push_entry(*timestamp_ns, line, metadata.iter().copied());
        }
    }
    format!("{batch:?}")
}

fn decode(media_type: &str, encoding: &str, body: &[u8], limit: usize) -> Result<String, DecodeError> {
    let batch = BodyFormat::from_headers(Some(media_type), Some(encoding))?.decode(body, limit)?;
    Ok(format!("{batch:?}"))
}

fn json(text: &str) -> Result<String, DecodeError> {
    decode("application/json", "", text.as_bytes(), LIMIT)
}

#[test]
fn json_bodies() {
    let f = |text: &str, want: &[Stream<'_>]| assert_eq!(json(text).unwrap(), batch(want), "{text}");
    f(
        r#"{"streams": [
            {"stream": {"app": "shop", "env": "dev"},
             "values": [
               ["1700000000000000001", "first \"line\"\u00e9"],
               ["1700000000000000002", "second line", {"trace_id": "0af7", "user": "7"}]
             ]}]}"#,
        &[(
            &[("app", "shop"), ("env", "dev")],
            &[
                (1_700_000_000_000_000_001, "first \"line\"é".as_bytes(), &[]),
                (
                    1_700_000_000_000_000_002,
                    b"second line",
                    &[("trace_id", "0af7"), ("user", "7")],
                ),
            ],
        )],
    );
    // Labels behind the values; members that nobody knows; several streams.
    f(
        r#"{"x":[{}],"streams":[{"values":[["1","a"]],"y":null,"stream":{"a":"1"}},{"stream":{"b":"2"},"values":[["-2","b"]]}]}"#,
        &[(&[("a", "1")], &[(1, b"a", &[])]), (&[("b", "2")], &[(-2, b"b", &[])])],
    );
    // Numbers and booleans as label values are taken as they are written; of a repeated key the last counts.
    f(
        r#"{"streams":[{"stream":{"port":80,"ratio":1.50,"on":true,"a":"1","a":"2","gone":null},"values":[]}]}"#,
        &[(&[("a", "2"), ("on", "true"), ("port", "80"), ("ratio", "1.50")], &[])],
    );
    // Nulls are skipped, elements after the third ignored.
    f(
        r#"{"streams":[null,{"stream":{},"values":[null,["1","a",null],["2","b",{"k":null,"l":"v"},5,[{"z":[]}]]]},{"stream":null,"values":null},{}]}"#,
        &[
            (&[], &[(1, b"a", &[]), (2, b"b", &[("l", "v")])]),
            (&[], &[]),
            (&[], &[]),
        ],
    );
    // The older form, with its members in any order, beside the present one.
    f(
        r#"{"streams":[
            {"labels":"{a=\"1\", b=\"2\"}","entries":[{"ts":"2023-11-14T22:13:20.000000001Z","line":"a"},null,{"line":"b","x":1,"ts":"2023-11-14T23:13:20+01:00"}]},
            {"entries":[{"ts":"1970-01-01T00:00:00Z"}],"labels":"{c=\"3\"}"},
            {"labels":{"d":"4"},"stream":{"e":"5"},"values":[["1","c"]]},
            {"stream":{"e":"5"},"labels":"{f=\"6\"}","entries":null}]}"#,
        &[
            (
                &[("a", "1"), ("b", "2")],
                &[
                    (1_700_000_000_000_000_001, b"a", &[]),
                    (1_700_000_000_000_000_000, b"b", &[]),
                ],
            ),
            (&[("c", "3")], &[(0, b"", &[])]),
            (&[("e", "5")], &[(1, b"c", &[])]),
            (&[("e", "5")], &[]),
        ],
    );
    f(r#"{"streams":[]}"#, &[]);
    f(r#"{"streams":null}"#, &[]);
    f(" {} \n", &[]);
}

#[test]
fn json_lines_need_not_be_text() {
    let body = b"{\"streams\":[{\"stream\":{\"a\":\"1\"},\"values\":[[\"1\",\"\xff\x00\t\",{\"k\":\"\xfe\"}]]}]}";
    let want = batch(&[(&[("a", "1")], &[(1, b"\xff\x00\t", &[("k", "\u{fffd}")])])]);
    assert_eq!(decode("application/json", "", body, LIMIT).unwrap(), want);
}

#[test]
fn json_refusals() {
    let entry = |entry: &str| {
        json(&format!(
            r#"{{"streams":[{{"stream":{{"a":"1"}},"values":[["1","x"],{entry}]}}]}}"#
        ))
    };
    let stream = |labels: &str| {
        json(&format!(
            r#"{{"streams":[{{"stream":{labels},"values":[["1","x"]]}}]}}"#
        ))
    };
    let f = |got: Result<String, DecodeError>, want: &str| {
        let text = got.unwrap_err().to_string();
        assert!(text.contains(want), "{text:?} should contain {want:?}");
    };
    f(entry(r#"["2"]"#), "entry without a line");
    f(entry(r#"[]"#), "entry without a timestamp");
    f(entry(r#"["2",7]"#), "line must be a string, a number was found");
    f(entry(r#"["2",null]"#), "line must be a string, null was found");
    f(
        entry(r#"["2","x",{"k":7}]"#),
        r#"metadata "k" must be a string, a number was found"#,
    );
    f(
        entry(r#"["2","x",{"k":true}]"#),
        r#"metadata "k" must be a string, a boolean was found"#,
    );
    f(
        entry(r#"["2","x",{"k":{}}]"#),
        r#"metadata "k" must be a string, an object was found"#,
    );
    f(entry(r#"["2","x","k"]"#), "an object was expected, a string was found");
    f(entry(r#"{"ts":"2"}"#), "an array was expected, an object was found");
    let long = "-".repeat(100_000);
    let refused = entry(&format!(r#"["2","x",{{"{long}":7}}]"#));
    assert!(refused.unwrap_err().to_string().len() < 300);
    let old_entry = |entry: &str| {
        json(&format!(
            r#"{{"streams":[{{"labels":"{{a=\"1\"}}","entries":[{entry}]}}]}}"#
        ))
    };
    f(old_entry(r#"{"line":"x"}"#), r#"entry without a "ts""#);
    f(old_entry(r#"["1","x"]"#), "an object was expected, an array was found");
    f(stream(r#""{a=1}""#), "an object was expected, a string was found");
    f(json(""), "an object was expected, the body ends");
    f(json("[]"), "an object was expected, an array was found");
    f(
        json(r#"{"streams":[{"stream":{"a":"1"},"values":[["1","x"]"#),
        "unexpected end of the body",
    );
    f(json("{} x"), "text after the end of the JSON value");
    f(json(r#"{"streams":[],}"#), "a value was expected");
}

fn sample() -> schema::PushRequest {
    let pair = |name: &str, value: &str| schema::LabelPair {
        name: name.into(),
        value: value.into(),
    };
    let entry = |seconds, nanos, line: &[u8], metadata| schema::Entry {
        timestamp: Some(schema::Timestamp { seconds, nanos }),
        line: line.to_vec(),
        metadata,
    };
    let first = schema::Stream {
        labels: r#"{app="shop", env="dev"}"#.into(),
        entries: vec![
            entry(1_700_000_000, 1, b"first", vec![]),
            entry(
                -1,
                999_999_999,
                b"\xff\x00",
                vec![pair("trace_id", "0af7"), pair("", "")],
            ),
            schema::Entry::default(),
        ],
        hash: 7,
    };
    let second = schema::Stream {
        labels: r#"{app="x"}"#.into(),
        entries: vec![],
        hash: 0,
    };
    schema::PushRequest {
        streams: vec![first, second],
        format: "loki".into(),
    }
}

fn sample_batch() -> String {
    batch(&[
        (
            &[("app", "shop"), ("env", "dev")],
            &[
                (1_700_000_000_000_000_001, b"first", &[]),
                (-1, b"\xff\x00", &[("trace_id", "0af7"), ("", "")]),
                (0, b"", &[]),
            ],
        ),
        (&[("app", "x")], &[]),
    ])
}

fn snappy(body: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(body).unwrap()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_packing_of_both_formats() {
    let protobuf = sample().encode_to_vec();
    let json = br#"{"streams":[{"stream":{"app":"x"},"values":[["1","a"]]}]}"#;
    let json_batch = batch(&[(&[("app", "x")], &[(1, b"a", &[])])]);
    let f = |media_type, encoding, body: Vec<u8>, want: &str| {
        assert_eq!(
            decode(media_type, encoding, &body, LIMIT).unwrap(),
            want,
            "{media_type} {encoding}"
        );
    };
    let want = sample_batch();
    f("application/x-protobuf", "", snappy(&protobuf), &want);
    f("application/x-protobuf", "snappy", snappy(&protobuf), &want);
    f("application/x-protobuf", "gzip", gzip(&protobuf), &want);
    f("application/x-protobuf", "deflate", deflate(&protobuf), &want);
    f("application/x-protobuf", "deflate", zlib(&protobuf), &want);
    f("text/whatever; charset=utf-8", "", snappy(&protobuf), &want);
    f("application/json", "", json.to_vec(), &json_batch);
    f("Application/JSON; charset=utf-8", "", json.to_vec(), &json_batch);
    f("application/json", "gzip", gzip(json), &json_batch);
    f("application/json", "GZIP", gzip(json), &json_batch);
    f("application/json", "x-gzip", gzip(json), &json_batch);
    f(
        "application/json",
        "gzip",
        [gzip(&json[..9]), gzip(&json[9..])].concat(),
        &json_batch,
    );
    f("application/json", "deflate", deflate(json), &json_batch);
    f("application/json", "deflate", zlib(json), &json_batch);
    f("application/json", "snappy", snappy(json), &json_batch);
}

#[test]
fn bodies_say_what_they_unpack_to() {
    let claimed = |media_type: &str, encoding: &str, body: &[u8]| {
        BodyFormat::from_headers(Some(media_type), Some(encoding))
            .unwrap()
            .claimed_bytes(body)
    };
    let body = vec![b'x'; 100_000];
    assert_eq!(claimed("application/json", "", &body), 100_000);
    assert_eq!(claimed("application/json", "gzip", &gzip(&body)), 100_000);
    assert_eq!(claimed("application/x-protobuf", "", &snappy(&body)), 100_000);
    assert!(claimed("application/json", "deflate", &deflate(&body)) >= 100_000);
    for claims_too_much in ["gzip", "snappy"] {
        assert!(
            claimed("application/json", claims_too_much, &[0xff; 4]) < 5000,
            "{claims_too_much}"
        );
        assert_eq!(
            claimed("application/json", claims_too_much, &[]),
            0,
            "{claims_too_much}"
        );
    }
}

#[test]
fn headers_that_are_refused() {
    let f = |media_type: Option<&str>, encoding: Option<&str>, want: &str| {
        assert_eq!(
            BodyFormat::from_headers(media_type, encoding).unwrap_err().to_string(),
            want
        );
    };
    f(None, None, "mime: no media type");
    f(Some(""), None, "mime: no media type");
    f(Some("a/b/c"), None, "mime: invalid media type \"a/b/c\"");
    f(Some("/json"), None, "mime: invalid media type \"/json\"");
    f(
        Some("application/json"),
        Some("br"),
        "Content-Encoding \"br\" not supported",
    );
}

#[test]
fn bodies_that_contradict_their_headers_name_the_missing_one() {
    let text = br#"{"streams":[{"stream":{"app":"x"},"values":[["1","a"]]}]}"#;
    let f = |media_type, encoding, body: &[u8], want: Option<&str>| {
        let error = decode(media_type, encoding, body, LIMIT).unwrap_err().to_string();
        let hint = error.find("the body looks like").map(|at| &error[at..]);
        assert_eq!(hint, want, "{media_type} {encoding} {error}");
    };
    let json = Some(r#"the body looks like JSON, which needs the header "Content-Type: application/json""#);
    f("application/x-www-form-urlencoded", "", text, json);
    f("text/plain", "", &[b"\n  ", &text[..]].concat(), json);
    let packed = Some(r#"the body looks like gzip, which needs the header "Content-Encoding: gzip""#);
    f("application/json", "", &gzip(text), packed);
    f("application/x-protobuf", "", &gzip(&sample().encode_to_vec()), packed);
    f("application/json", "gzip", &gzip(text)[..30], None);
    f("application/json", "", &text[..30], None);
    f("application/x-protobuf", "", b"x", None);
}

#[test]
fn limits_hold_for_what_comes_out() {
    let text = format!(r#"{{"streams":[],"padding":"{}"}}"#, "x".repeat(1000));
    let body = text.as_bytes();
    let packings: [(&str, Vec<u8>); 4] = [
        ("", body.to_vec()),
        ("gzip", gzip(body)),
        ("deflate", deflate(body)),
        ("snappy", snappy(body)),
    ];
    for (encoding, packed) in packings {
        assert!(
            decode("application/json", encoding, &packed, body.len()).is_ok(),
            "{encoding}"
        );
        let error = decode("application/json", encoding, &packed, body.len() - 1).unwrap_err();
        let want = format!(
            "request body too large: {} bytes, limit: {} bytes",
            body.len(),
            body.len() - 1
        );
        assert_eq!(
            (error.to_string(), error.reason()),
            (want, "request_body_too_large"),
            "{encoding}"
        );
    }
}

#[test]
fn bombs_and_damage() {
    let zeros = vec![0; 8 << 20];
    for (encoding, packed) in [
        ("gzip", gzip(&zeros)),
        ("deflate", deflate(&zeros)),
        ("snappy", snappy(&zeros)),
    ] {
        let error = decode("application/json", encoding, &packed, LIMIT).unwrap_err();
        assert!(matches!(error, DecodeError::TooLarge { .. }), "{encoding}: {error}");
    }
    // A block that claims 900 KiB and holds a few bytes must not cost 900 KiB of memory.
    let lie = [0x80, 0xa0, 0x38, 0x00, b'a'];
    let error = decode("application/json", "snappy", &lie, LIMIT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "snappy body is damaged: 5 bytes can't hold the 921600 bytes they claim"
    );

    let body = br#"{"streams":[{"stream":{"app":"x"},"values":[["1","a"]]}]}"#;
    for (encoding, packed) in [("gzip", gzip(body)), ("deflate", zlib(body)), ("snappy", snappy(body))] {
        for length in 0..packed.len() {
            assert!(
                decode("application/json", encoding, &packed[..length], LIMIT).is_err(),
                "{encoding} {length}"
            );
        }
    }
    let protobuf = sample().encode_to_vec();
    let tag_only = [&protobuf[..], &[0x0a]].concat();
    for bad in [
        &tag_only[..],
        b"\x0a\x05x",
        b"\x0b",
        b"\x00",
        b"\x08\x01",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    ] {
        let error = decode("application/x-protobuf", "", &snappy(bad), LIMIT).unwrap_err();
        assert!(matches!(error, DecodeError::Protobuf(_)), "{bad:?}: {error}");
    }
}

#[test]
fn protobuf_timestamps_out_of_range() {
    for (seconds, nanos) in [
        (i64::MAX, 0),
        (i64::MIN, 0),
        (0, -1),
        (0, 1_000_000_000),
        (9_223_372_036, 854_775_808),
    ] {
        let mut request = sample();
        request.streams[0].entries[0].timestamp = Some(schema::Timestamp { seconds, nanos });
        let got = decode("application/x-protobuf", "", &snappy(&request.encode_to_vec()), LIMIT).unwrap();
        assert!(got.contains("is out of range"), "{got}");
    }
}

#[test]
fn protobuf_labels_that_are_none_refuse_their_stream_only() {
    let mut request = sample();
    request.streams[0].labels = "{app".into();
    let got = decode("application/x-protobuf", "", &snappy(&request.encode_to_vec()), LIMIT).unwrap();
    assert!(got.contains(r#"Unreadable { text: "{app""#), "{got}");
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(body: Vec<u8>) {
        for encoding in ["", "gzip", "deflate", "snappy"] {
            let _ = decode("application/json", encoding, &body, LIMIT);
            let _ = decode("application/x-protobuf", encoding, &body, LIMIT);
        }
        let _ = protobuf::decode(&body);
    }

    /// Bytes that are nearly right get further into the decoders than random ones.
    #[test]
    fn no_damage_makes_a_decoder_panic(at in 0..400_usize, byte: u8) {
        let mut body = sample().encode_to_vec();
        let length = body.len();
        body[at % length] = byte;
        let _ = protobuf::decode(&body);

        let mut body = br#"{"streams":[{"values":[["1","\u00e9\n",{"k":"v"}],null],"stream":{"a":1.5e3,"b":true}}]}"#.to_vec();
        let length = body.len();
        body[at % length] = byte;
        let _ = json::decode(&body);
    }

    #[test]
    fn both_formats_agree(
        rows in proptest::collection::vec((any::<i64>(), any::<String>(), proptest::collection::vec(("[a-z]{1,8}", any::<String>()), 0..4)), 0..20),
    ) {
        let value = |(timestamp, line, metadata): &(i64, String, Vec<(String, String)>)| {
            let pairs: Vec<_> = metadata.iter().enumerate().map(|(i, (n, v))| (format!("{n}{i}"), v.clone())).collect();
            (*timestamp, line.clone(), pairs)
        };
        let rows: Vec<_> = rows.iter().map(value).collect();
        let values: Vec<_> = rows
            .iter()
            .map(|(t, line, pairs)| {
                let pairs: serde_json::Map<_, _> = pairs.iter().map(|(n, v)| (n.clone(), v.clone().into())).collect();
                serde_json::json!([t.to_string(), line, pairs])
            })
            .collect();
        let text = serde_json::json!({"streams": [{"stream": {"a": "1"}, "values": values}]}).to_string();
        let entries = rows.iter().map(|(t, line, pairs)| {
            let mut pairs = pairs.clone();
            pairs.sort(); // As the map of the JSON text is.
            schema::Entry {
                timestamp: Some(schema::Timestamp {
                    seconds: t.div_euclid(1_000_000_000),
                    nanos: i32::try_from(t.rem_euclid(1_000_000_000)).unwrap(),
                }),
                line: line.clone().into_bytes(),
                metadata: pairs.into_iter().map(|(name, value)| schema::LabelPair { name, value }).collect(),
            }
        });
        let stream = schema::Stream { labels: r#"{a="1"}"#.into(), entries: entries.collect(), hash: 0 };
        let body = schema::PushRequest { streams: vec![stream], format: String::new() }.encode_to_vec();
        prop_assert_eq!(json(&text).unwrap(), format!("{:?}", protobuf::decode(&body).unwrap()));
    }
}
