//! Objects that Loki, another foreign writer and Timberline wrote, read through `ObjectSource`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrow_array::{Array, BinaryArray};
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use timberline_dataobj::{
    LogRow, LogsWriter, ObjectWriter, PageCut, SortOrder, StreamRow, StreamsWriter, WriterOptions,
};
use timberline_logql::labels::LabelSet;
use timberline_store::{
    Catalog, Commit, Error, ObjectMeta, ObjectSource, RowSource, Selection, SourceCache, Store, TenantId, TimeSpan,
    catalog_sources,
};

/// A row as a reader sees it: labels, time, line, metadata.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    labels: LabelSet,
    timestamp_ns: i64,
    line: Vec<u8>,
    metadata: BTreeMap<String, Vec<u8>>,
}

const FIXTURES: [&str; 7] = [
    "foreign-written",
    "logs-one-record",
    "logs-other-ids",
    "logs-schema-sorted",
    "logs-stream-asc",
    "logs-stripe-merged",
    "logs-timestamp-desc",
];

fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dataobj/tests/fixtures");
    std::fs::read(folder.join(name)).unwrap()
}

fn bytes_of(json: &Json) -> Option<Vec<u8>> {
    match json {
        Json::Null => None,
        Json::String(text) => Some(text.clone().into_bytes()),
        other => {
            let hex = other["hex"].as_str().unwrap();
            Some(
                (0..hex.len() / 2)
                    .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
                    .collect(),
            )
        }
    }
}

/// The rows of each tenant as the fixture's JSON tells them.
fn expected_rows(stem: &str) -> BTreeMap<String, Vec<Row>> {
    let json = zstd::stream::decode_all(fixture(&format!("{stem}.json.zst")).as_slice()).unwrap();
    let object: Json = serde_json::from_slice(&json).unwrap();
    let mut streams: BTreeMap<(String, i64), LabelSet> = BTreeMap::new();
    let mut tenants: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for kind in ["streams", "logs"] {
        for section in object["sections"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|s| s["kind"] == kind)
        {
            let tenant = section["tenant"].as_str().unwrap().to_owned();
            let columns = section["columns"].as_array().unwrap();
            for values in section["rows"].as_array().unwrap() {
                let cells = || columns.iter().zip(values.as_array().unwrap());
                let of = |logical: &str| cells().find(|(c, _)| c["logical"] == logical).unwrap().1;
                let tagged = |logical: &'static str| {
                    let cells = cells().filter(move |(c, _)| c["logical"] == logical);
                    cells.filter_map(|(c, v)| Some((c["tag"].as_str().unwrap().to_owned(), bytes_of(v)?)))
                };
                let id = of("stream_id").as_i64().unwrap();
                if kind == "streams" {
                    let labels = tagged("label").map(|(name, value)| (name, String::from_utf8(value).unwrap()));
                    streams.insert((tenant.clone(), id), LabelSet::from_pairs(labels));
                    continue;
                }
                tenants.entry(tenant.clone()).or_default().push(Row {
                    labels: streams[&(tenant.clone(), id)].clone(),
                    timestamp_ns: of("timestamp").as_i64().unwrap(),
                    line: bytes_of(of("message")).unwrap(),
                    metadata: tagged("metadata").collect(),
                });
            }
        }
    }
    tenants
}

fn meta_of(key: &str, object: &[u8], span: (i64, i64)) -> ObjectMeta {
    ObjectMeta {
        key: key.into(),
        min_ns: span.0,
        max_ns: span.1,
        rows: 0,
        size_bytes: object.len() as u64,
        uncompressed_bytes: 0,
    }
}

async fn source_of(object: &[u8], tenant: &str) -> ObjectSource {
    let store = Store::in_memory();
    store.put("objects/x", &Bytes::copy_from_slice(object)).await.unwrap();
    ObjectSource::open(
        store,
        meta_of("objects/x", object, (i64::MIN, i64::MAX)),
        TenantId::new(tenant).unwrap(),
    )
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn values(array: &BinaryArray) -> Vec<Option<Vec<u8>>> {
    array.iter().map(|value| value.map(<[u8]>::to_vec)).collect()
}

/// The selected rows of a run, and a check that the run's statistics hold.
async fn read_run(source: &dyn RowSource, run: usize, selection: &Selection) -> Result<Vec<Row>, Error> {
    let streams = source.streams().await?;
    let info = source.runs().await?[run];
    let keys = source.keys(run).await?;
    assert_eq!((keys.streams.len(), keys.timestamps.len()), (info.rows, info.rows));
    for (stream, time_ns) in keys.streams.values().iter().zip(keys.timestamps.values()) {
        assert!(
            (info.streams.0..=info.streams.1).contains(stream),
            "{info:?} does not hold stream {stream}"
        );
        assert!(
            (info.span.min_ns..=info.span.max_ns).contains(time_ns),
            "{info:?} does not hold time {time_ns}"
        );
    }
    let rows: Vec<usize> = match selection {
        Selection::All => (0..info.rows).collect(),
        Selection::Rows(rows) => rows.iter().map(|row| *row as usize).collect(),
    };
    let lines = source.lines(run, selection).await?;
    let metadata = source.metadata(run, selection, None).await?;
    assert_eq!(lines.len(), rows.len());
    for column in &metadata {
        assert_eq!(column.values.len(), rows.len());
        assert!(
            column.values.null_count() < rows.len(),
            "column {} holds no value",
            column.name
        );
        let again = source
            .metadata(run, selection, Some(&[column.name.to_string()]))
            .await?;
        assert_eq!((again.len(), values(&again[0].values)), (1, values(&column.values)));
    }
    let row = |(at, row): (usize, &usize)| {
        let stream = keys.streams.value(*row);
        let known = streams.iter().find(|s| s.id == stream).unwrap();
        assert!((known.span.min_ns..=known.span.max_ns).contains(&keys.timestamps.value(*row)));
        let present = metadata.iter().filter(|column| column.values.is_valid(at));
        Row {
            labels: known.labels.clone(),
            timestamp_ns: keys.timestamps.value(*row),
            line: lines.value(at).to_vec(),
            metadata: present
                .map(|c| (c.name.to_string(), c.values.value(at).to_vec()))
                .collect(),
        }
    };
    Ok(rows.iter().enumerate().map(row).collect())
}

async fn read_all(source: &dyn RowSource) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    for run in 0..source.runs().await?.len() {
        rows.extend(read_run(source, run, &Selection::All).await?);
    }
    Ok(rows)
}

#[tokio::test]
async fn foreign_objects_give_the_rows_of_their_json() {
    for stem in FIXTURES {
        let object = fixture(&format!("{stem}.dataobj"));
        let expected = expected_rows(stem);
        assert!(!expected.is_empty(), "{stem}");
        for (tenant, want) in expected {
            let source = source_of(&object, &tenant).await;
            let got = read_all(&source).await.unwrap();
            assert_eq!(got, want, "{stem}, tenant {tenant}");
            assert!(
                source.runs().await.unwrap().len() > 1 || want.len() < 25,
                "{stem}: several runs are tested"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_selection_gives_these_rows_of_all(fixture_number in 0..FIXTURES.len(), picks in prop::collection::vec(any::<bool>(), 1..40)) {
        run(async {
            let stem = FIXTURES[fixture_number];
            let object = fixture(&format!("{stem}.dataobj"));
            for tenant in expected_rows(stem).into_keys() {
                let source = source_of(&object, &tenant).await;
                for run in 0..source.runs().await.unwrap().len() {
                    let all = read_run(&source, run, &Selection::All).await.unwrap();
                    let picked: Vec<u32> = (0..all.len() as u32).filter(|row| picks[*row as usize % picks.len()]).collect();
                    let want: Vec<Row> = picked.iter().map(|row| all[*row as usize].clone()).collect();
                    assert_eq!(read_run(&source, run, &Selection::Rows(picked)).await.unwrap(), want);
                }
            }
        });
    }

    #[test]
    fn own_objects_give_the_rows_that_were_written(
        rows in prop::collection::vec((1i64..4, 0i64..50, "[a-z]{0,9}", prop::option::of("[x-z]"), prop::option::of("[0-9]{1,3}")), 1..80),
        page_rows in 1usize..20,
        section_rows in 1usize..60,
        cut in prop::sample::select(vec![PageCut::Aligned, PageCut::Independent]),
    ) {
        let options = WriterOptions { page_rows, page_bytes: 60, cut, ..WriterOptions::default() };
        let mut rows: Vec<Row> = rows.into_iter().map(|(stream, timestamp_ns, line, a, b)| Row {
            labels: LabelSet::from_pairs([("stream", stream.to_string())]),
            timestamp_ns,
            line: line.into_bytes(),
            metadata: [("a", a), ("b", b)].into_iter().filter_map(|(k, v)| Some((k.to_owned(), v?.into_bytes()))).collect(),
        }).collect();
        rows.sort_by(|a, b| a.labels.cmp(&b.labels).then(b.timestamp_ns.cmp(&a.timestamp_ns)));
        let object = write_object(&rows, section_rows, &options);
        run(async {
            let source = source_of(&object, "t").await;
            assert_eq!(read_all(&source).await.unwrap(), rows);
        });
    }
}

/// Rows sorted by stream; the label `stream` is the stream's number.
fn write_object(rows: &[Row], section_rows: usize, options: &WriterOptions) -> Vec<u8> {
    let id = |row: &Row| row.labels.get("stream").unwrap().parse::<i64>().unwrap();
    let mut streams = StreamsWriter::new("t", options);
    for of_stream in rows.chunk_by(|a, b| id(a) == id(b)) {
        let times = || of_stream.iter().map(|row| row.timestamp_ns);
        let labels: Vec<(&str, &str)> = of_stream[0].labels.iter().collect();
        let stream = StreamRow {
            id: id(&of_stream[0]),
            min_timestamp_ns: times().min().unwrap(),
            max_timestamp_ns: times().max().unwrap(),
            rows: of_stream.len() as i64,
            uncompressed_bytes: 0,
            labels: &labels,
        };
        streams.append(&stream).unwrap();
    }
    let mut object = ObjectWriter::new();
    object.push_section(streams.finish().unwrap());
    for section in rows.chunks(section_rows) {
        let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, options);
        for row in section {
            let metadata: Vec<(&str, &[u8])> = row.metadata.iter().map(|(k, v)| (k.as_str(), v.as_slice())).collect();
            let (stream_id, timestamp_ns) = (id(row), row.timestamp_ns);
            logs.append(&LogRow {
                stream_id,
                timestamp_ns,
                line: &row.line,
                metadata: &metadata,
            })
            .unwrap();
        }
        object.push_section(logs.finish().unwrap());
    }
    object.finish().unwrap()
}

/// 4000 rows of incompressible lines in pages of 1000, more than is read at once.
fn large_object() -> Vec<u8> {
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    let row = |i: i64| Row {
        labels: LabelSet::from_pairs([("stream", (1 + i / 2000).to_string())]),
        timestamp_ns: 10_000 - i % 2000,
        line: (0..400).map(|_| random()).collect(),
        metadata: if i < 1000 {
            [("first".into(), b"x".to_vec())].into()
        } else {
            BTreeMap::new()
        },
    };
    let rows: Vec<Row> = (0..4000).map(row).collect();
    write_object(
        &rows,
        4000,
        &WriterOptions {
            page_rows: 1000,
            ..WriterOptions::default()
        },
    )
}

#[tokio::test]
async fn requests_and_pages_are_few() {
    let folder = tempfile::tempdir().unwrap();
    let object = large_object();
    for store in [Store::in_memory(), Store::open_local(folder.path()).unwrap()] {
        store.put("objects/x", &Bytes::from(object.clone())).await.unwrap();
        let meta = meta_of("objects/x", &object, (8001, 10_000));
        let source = ObjectSource::open(store.clone(), meta, TenantId::new("t").unwrap());
        let gets = || store.counters().gets;
        assert_eq!(gets(), 0, "opening is lazy");
        assert_eq!(source.streams().await.unwrap().len(), 2);
        let runs = source.runs().await.unwrap();
        assert_eq!(gets(), 2, "the beginning, then metadata and streams");
        let want: Vec<_> = [(1, 9001), (1, 8001), (2, 9001), (2, 8001)].into_iter().collect();
        let got: Vec<_> = runs.iter().map(|run| (run.streams.0, run.span.min_ns)).collect();
        assert_eq!((got, runs[0].rows, runs[0].span.max_ns), (want, 1000, 10_000));
        assert!(store.counters().get_bytes < 40_000, "no page of lines was read");

        let pages = || source.scan_stats().pages_fetched;
        source.keys(2).await.unwrap();
        assert_eq!(pages(), 2);
        let before = (gets(), source.scan_stats().bytes_fetched);
        let lines = source.lines(2, &Selection::Rows(vec![3, 999])).await.unwrap();
        assert_eq!((lines.len(), lines.value(1).len(), pages()), (2, 400, 3));
        assert_eq!(gets() - before.0, 1);
        assert!((400_000..420_000).contains(&(source.scan_stats().bytes_fetched - before.1)));

        let before = gets();
        assert_eq!(source.lines(2, &Selection::Rows(vec![])).await.unwrap().len(), 0);
        assert_eq!(source.metadata(2, &Selection::All, None).await.unwrap().len(), 0);
        assert_eq!(
            source
                .metadata(0, &Selection::All, Some(&["second".into()]))
                .await
                .unwrap()
                .len(),
            0
        );
        assert_eq!((gets(), pages()), (before, 3), "columns without values are not fetched");
        assert_eq!(
            source.metadata(0, &Selection::All, None).await.unwrap()[0]
                .name
                .as_ref(),
            "first"
        );
        assert_eq!((gets(), pages()), (before + 1, 4));
        assert!(matches!(
            source.lines(0, &Selection::Rows(vec![1000])).await,
            Err(Error::Invalid(_))
        ));
        assert!(matches!(source.keys(4).await, Err(Error::Invalid(_))));
        assert_eq!(source.scan_stats().objects_opened, 1);
    }
}

#[tokio::test]
async fn small_objects_take_one_request() {
    let store = Store::in_memory();
    let object = fixture("logs-stream-asc.dataobj");
    store.put("objects/x", &object.clone().into()).await.unwrap();
    let source = ObjectSource::open(
        store.clone(),
        meta_of("objects/x", &object, (0, i64::MAX)),
        TenantId::new("acme").unwrap(),
    );
    read_all(&source).await.unwrap();
    assert_eq!(
        (store.counters().gets, store.counters().get_bytes),
        (1, object.len() as u64)
    );
}

#[tokio::test]
async fn damage_is_told_with_its_place_and_never_panics() {
    let object = fixture("logs-one-record.dataobj");
    let (tenant, want) = expected_rows("logs-one-record").pop_first().unwrap();
    let layout = match timberline_dataobj::ObjectLayout::parse(&object).unwrap() {
        timberline_dataobj::Parsed::Complete(layout) => layout,
        other => panic!("{other:?}"),
    };
    for at in 0..object.len() {
        let mut damaged = object.clone();
        damaged[at] ^= 0x11;
        let got = read_all(&source_of(&damaged, &tenant).await).await;
        let in_page = layout.sections().iter().any(|s| s.data.contains(&(at as u64)));
        match got {
            Ok(got) => assert!(!in_page || got == want, "byte {at}: undetected"),
            Err(error @ Error::Corrupt { .. }) => {
                assert!(error.to_string().starts_with("corrupt: object objects/x, "), "{error}");
                assert!(!in_page || error.to_string().contains("section"), "{error}");
            }
            Err(Error::Unsupported { object, .. }) => assert!(!in_page && object == "objects/x"),
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
}

#[tokio::test]
async fn truncated_and_missing_objects_are_errors() {
    let object = large_object();
    let full_size = object.len() as u64;
    for kept in [0, 7, 100, 16_384, 20_000, object.len() - 500_000] {
        let store = Store::in_memory();
        store
            .put("objects/x", &Bytes::copy_from_slice(&object[..kept]))
            .await
            .unwrap();
        let mut meta = meta_of("objects/x", &object, (0, i64::MAX));
        meta.size_bytes = full_size;
        let source = ObjectSource::open(store, meta, TenantId::new("t").unwrap());
        let error = read_all(&source).await.unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{kept}: {error}");
    }
    let source = ObjectSource::open(
        Store::in_memory(),
        meta_of("objects/x", &object, (0, 1)),
        TenantId::new("t").unwrap(),
    );
    assert!(matches!(source.streams().await, Err(Error::NotFound(_))));
    let message = source_of(&object, "other")
        .await
        .streams()
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "corrupt: object objects/x, header, offset 0: 0 streams sections of tenant other"
    );
}

#[tokio::test]
async fn the_cache_spares_requests_and_keeps_its_bound() {
    let store = Store::in_memory();
    let object = large_object();
    let tenant = TenantId::new("t").unwrap();
    let catalog = Catalog::open(store.clone()).await.unwrap();
    let mut add = Vec::new();
    for number in 0..4 {
        let key = format!("objects/{number}");
        store.put(&key, &object.clone().into()).await.unwrap();
        add.push((tenant.clone(), meta_of(&key, &object, (8001, 10_000))));
    }
    let snapshot = catalog
        .commit(Commit {
            add,
            ..Commit::default()
        })
        .await
        .unwrap();
    let span = TimeSpan {
        min_ns: 0,
        max_ns: 9000,
    };
    let ask = async |cache: &SourceCache| -> Vec<Arc<dyn RowSource>> {
        let sources = catalog_sources(&snapshot, &store, cache, &tenant, span).await.unwrap();
        for source in &sources {
            source.runs().await.unwrap();
        }
        sources
    };
    let opened = |sources: &[Arc<dyn RowSource>]| sources.iter().map(|s| s.scan_stats().objects_opened).sum::<u64>();

    let roomy = SourceCache::default();
    let sources = ask(&roomy).await;
    assert_eq!(
        sources.iter().map(|s| s.name()).collect::<Vec<_>>(),
        ["objects/0", "objects/1", "objects/2", "objects/3"]
    );
    assert_eq!(opened(&sources), 4);
    let gets = store.counters().gets;
    assert_eq!(opened(&ask(&roomy).await), 0);
    assert_eq!(store.counters().gets, gets);

    let tight = SourceCache::new(2 * roomy.weight_bytes() / 4);
    assert_eq!(opened(&ask(&tight).await), 4);
    tight.trim();
    assert!(tight.weight_bytes() > 0 && tight.weight_bytes() <= 2 * roomy.weight_bytes() / 4);
    assert_eq!(opened(&ask(&tight).await), 2);
}
