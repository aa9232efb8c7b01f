//! Runs that filters exclude: always rightly, and as many as they should; whatever is damaged excludes nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use timberline_dataobj::extension::{TEXT_FILTER, TextCondition, VALUE_FILTER, find_section};
use timberline_dataobj::{
    LogRow, LogsWriter, ObjectLayout, ObjectWriter, PageCut, Parsed, SortOrder, StreamRow, StreamsWriter, WriterOptions,
};
use timberline_store::{
    Catalog, Commit, Exclusion, ObjectMeta, ObjectSource, RowSource, Selection, SourceCache, Store, TenantId, TimeSpan,
    Wanted, WantedValue, catalog_sources,
};

/// Line and structured metadata.
type Row = (Vec<u8>, BTreeMap<&'static str, String>);

/// An object of one stream, newest row first.
fn write_object(rows: &[Row], section_rows: usize, options: &WriterOptions, with_filters: bool) -> Vec<u8> {
    let mut streams = StreamsWriter::new("t", options);
    let stream = StreamRow {
        id: 1,
        min_timestamp_ns: 1,
        max_timestamp_ns: rows.len() as i64,
        rows: rows.len() as i64,
        uncompressed_bytes: 0,
        labels: &[("app", "a")],
    };
    streams.append(&stream).unwrap();
    let mut object = ObjectWriter::new();
    object.push_section(streams.finish().unwrap());
    let mut timestamp_ns = rows.len() as i64;
    for section in rows.chunks(section_rows) {
        let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, options);
        if with_filters {
            logs = logs.with_extensions();
        }
        for (line, metadata) in section {
            let metadata: Vec<(&str, &[u8])> = metadata.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
            let row = LogRow {
                stream_id: 1,
                timestamp_ns,
                line,
                metadata: &metadata,
            };
            logs.append(&row).unwrap();
            timestamp_ns -= 1;
        }
        object.push_section(logs.finish().unwrap());
    }
    object.finish().unwrap()
}

const WORDS: [&str; 12] = [
    "connection",
    "refused",
    "upstream",
    "timeout",
    "request",
    "accepted",
    "level=info",
    "Checkout",
    "retry",
    "cache",
    "handler",
    "shutdown",
];

fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 20
}

/// Lines of a few words of which most pages lack one, and an id; metadata of few and of many values, some of them absent.
fn random_rows(seed: u64, count: usize) -> Vec<Row> {
    let mut state = seed;
    let mut next = move || random(&mut state);
    let row = |at: usize| {
        let words = (0..4).map(|_| WORDS[(next() as usize % 5 + at / 200 * 3) % WORDS.len()]);
        let words: Vec<&str> = words.collect();
        let line = format!("{} id={:08x}{:08x}", words.join(" "), next() as u32, next() as u32);
        let mut metadata = BTreeMap::from([("trace_id", format!("{:08x}{:08x}", next() as u32, next() as u32))]);
        if next() % 4 > 0 {
            metadata.insert("level", ["info", "warn", "error"][at / 300 % 3].to_owned());
        }
        (line.into_bytes(), metadata)
    };
    (0..count).map(row).collect()
}

fn options(page_rows: usize) -> WriterOptions {
    WriterOptions {
        page_rows,
        ..WriterOptions::default()
    }
}

fn meta_of(key: &str, object: &[u8]) -> ObjectMeta {
    ObjectMeta {
        key: key.into(),
        min_ns: i64::MIN,
        max_ns: i64::MAX,
        rows: 0,
        size_bytes: object.len() as u64,
        uncompressed_bytes: 0,
    }
}

async fn source_of(object: &[u8], tenant: &str) -> ObjectSource {
    let store = Store::in_memory();
    store.put("objects/x", &Bytes::copy_from_slice(object)).await.unwrap();
    ObjectSource::open(store, meta_of("objects/x", object), TenantId::new(tenant).unwrap())
}

fn texts(texts: &[&str]) -> Wanted {
    Wanted {
        texts: texts
            .iter()
            .map(|text| TextCondition::contains(text.as_bytes()))
            .collect(),
        ..Wanted::default()
    }
}

/// Groups of `name=value`.
fn values(groups: &[&[(&str, &str)]]) -> Wanted {
    let value = |(name, value): &(&str, &str)| WantedValue {
        name: (*name).to_owned(),
        value: value.as_bytes().to_vec(),
    };
    Wanted {
        values: groups.iter().map(|group| group.iter().map(value).collect()).collect(),
        ..Wanted::default()
    }
}

/// One letter per run: `t`ext or `v`alue excludes it, `.` nothing does.
async fn excluded(source: &dyn RowSource, wanted: &Wanted) -> String {
    let runs = source.runs().await.unwrap().len();
    let excluded = source.excluded_runs(wanted).await.unwrap();
    let letter = |run| match excluded.get(run) {
        None => '.',
        Some(Exclusion::Text) => 't',
        Some(Exclusion::Value) => 'v',
    };
    (0..runs).map(letter).collect()
}

fn holds(line: &[u8], text: &str) -> bool {
    let (line, text) = (line.to_ascii_lowercase(), text.to_ascii_lowercase().into_bytes());
    text.is_empty() || line.windows(text.len()).any(|window| window == text)
}

/// Fails if an excluded run holds a wanted row. Texts are given again, because a condition does not tell all of them.
async fn check_sound(source: &dyn RowSource, wanted: &Wanted, needles: &[&str]) -> usize {
    let excluded = source.excluded_runs(wanted).await.unwrap();
    let mut count = 0;
    for run in 0..source.runs().await.unwrap().len() {
        if excluded.get(run).is_none() {
            continue;
        }
        count += 1;
        let lines = source.lines(run, &Selection::All).await.unwrap();
        let columns = source.metadata(run, &Selection::All, None).await.unwrap();
        for (row, line) in lines.iter().enumerate() {
            let has = |wanted: &WantedValue| {
                let mut columns = columns.iter().filter(|column| *column.name == *wanted.name);
                columns.any(|column| column.values.iter().nth(row).flatten() == Some(&wanted.value))
            };
            let is_wanted = needles.iter().all(|needle| holds(line.unwrap_or_default(), needle))
                && wanted.values.iter().all(|group| group.iter().any(has));
            assert!(!is_wanted, "run {run}, row {row} is wanted, but excluded: {wanted:?}");
        }
    }
    count
}

#[tokio::test]
async fn runs_without_what_is_wanted_are_excluded() {
    let mut rows = random_rows(1, 2000);
    rows[700].0 = b"panic: Unexpected EOF id=77777777deadbeef".to_vec();
    rows[1300].1.insert("user", "alice".into());
    let trace = rows[1700].1["trace_id"].clone();
    let object = write_object(&rows, 1000, &options(500), true);
    let source = source_of(&object, "t").await;
    let f = async |wanted: Wanted, want: &str| {
        assert_eq!(excluded(&source, &wanted).await, want, "{wanted:?}");
    };
    f(texts(&["nobody wrote such a thing"]), "tttt").await;
    f(texts(&["panic: Unexpected"]), "t.tt").await;
    f(texts(&["PANIC: unexpected eof"]), "t.tt").await;
    f(texts(&["77777777deadbeef"]), "t.tt").await;
    f(texts(&["id=", "panic: unexp"]), "t.tt").await;
    for nothing in ["", "a", "EOF", "id="] {
        f(texts(&[nothing]), "....").await;
    }
    f(values(&[&[("trace_id", &trace)]]), "vvv.").await;
    f(values(&[&[("trace_id", "0123456789abcdef")]]), "vvvv").await;
    f(values(&[&[("trace_id", &trace), ("user", "alice")]]), "vv..").await;
    f(values(&[&[("trace_id", &trace)], &[("user", "alice")]]), "vvvv").await;
    // One value is too little for a filter.
    f(values(&[&[("user", "bob")]]), "vv.v").await;
    f(values(&[&[("nobody", "x")]]), "vvvv").await;
    f(values(&[&[("trace_id", "")]]), "....").await;
    f(values(&[&[("nobody", "")]]), "....").await;
    f(values(&[&[("nobody", "x"), ("level", "")]]), "....").await;
    let both = Wanted {
        values: values(&[&[("trace_id", &trace)]]).values,
        ..texts(&["panic: Unexpected"])
    };
    f(both, "vvvt").await;
    let stats = source.scan_stats();
    assert_eq!(
        (stats.filters_fetched, stats.filters_unusable, stats.pages_fetched),
        (2, 0, 0)
    );
    assert!(
        (100..object.len() as u64 / 8).contains(&stats.filter_bytes_fetched),
        "{stats:?}"
    );
}

#[tokio::test]
async fn objects_without_filters_exclude_by_their_columns_alone() {
    let mut rows = random_rows(2, 1000);
    rows[600].1.insert("user", "alice".into());
    let source = source_of(&write_object(&rows, 1000, &options(250), false), "t").await;
    let f = async |wanted: Wanted, want: &str| {
        assert_eq!(excluded(&source, &wanted).await, want, "{wanted:?}");
    };
    f(texts(&["nobody wrote such a thing"]), "....").await;
    f(values(&[&[("trace_id", "0123456789abcdef")]]), "....").await;
    f(values(&[&[("user", "bob")]]), "vv.v").await;
    f(values(&[&[("nobody", "x")]]), "vvvv").await;
    assert_eq!(source.scan_stats().filters_fetched, 0);
}

/// Pages of foreign objects are cut anywhere; what they can tell is which columns have values.
#[tokio::test]
async fn foreign_objects_lose_nothing() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dataobj/tests/fixtures");
    let mut tried = 0;
    for stem in [
        "foreign-written",
        "logs-other-ids",
        "logs-stream-asc",
        "logs-timestamp-desc",
    ] {
        let object = std::fs::read(folder.join(format!("{stem}.dataobj"))).unwrap();
        let Parsed::Complete(layout) = ObjectLayout::parse(&object).unwrap() else {
            panic!("{stem} is whole");
        };
        let tenant = &layout.sections()[0].tenant;
        let source = source_of(&object, tenant).await;
        let runs = source.runs().await.unwrap().len();
        assert_eq!(
            excluded(&source, &texts(&["nobody wrote such a thing"])).await,
            ".".repeat(runs)
        );
        for run in 0..runs {
            for column in source.metadata(run, &Selection::All, None).await.unwrap() {
                let Some(value) = column.values.iter().flatten().last() else {
                    continue;
                };
                let wanted = values(&[&[(&column.name, std::str::from_utf8(value).unwrap())]]);
                check_sound(&source, &wanted, &[]).await;
                tried += 1;
            }
        }
        assert_eq!(source.scan_stats().filters_fetched, 0);
    }
    assert!(tried > 0, "some have metadata");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn no_wanted_row_is_in_an_excluded_run(
        seed in any::<u64>(),
        count in 1usize..1500,
        page_rows in prop::sample::select(vec![3usize, 100, 300, 450]),
        section_rows in prop::sample::select(vec![250usize, 700, 2000]),
        cut in prop::sample::select(vec![PageCut::Aligned, PageCut::Independent]),
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..24), 1..12),
    ) {
        let rows = random_rows(seed, count);
        let options = WriterOptions { cut, page_bytes: 6000, ..options(page_rows) };
        let object = write_object(&rows, section_rows, &options, true);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let source = source_of(&object, "t").await;
            for (row, start, length) in &picks {
                let (line, metadata) = row.get(&rows);
                let start = start.index(line.len());
                let text = String::from_utf8(line[start..line.len().min(start + length)].to_vec()).unwrap();
                check_sound(&source, &texts(&[&text.to_ascii_uppercase()]), &[&text]).await;
                let trace: &[(&str, &str)] = &[("trace_id", &metadata["trace_id"])];
                let level: &[(&str, &str)] = &[("level", metadata.get("level").map_or("info", String::as_str))];
                for groups in [&[trace][..], &[level], &[trace, level], &[&[trace[0], level[0]]]] {
                    check_sound(&source, &values(groups), &[]).await;
                }
                let both = Wanted { values: values(&[trace]).values, ..texts(&[&text]) };
                check_sound(&source, &both, &[&text]).await;
            }
        });
    }
}

/// Every byte of the filters damaged in turn: no query fails, none loses a row, and the damage is noticed once.
#[tokio::test]
async fn damaged_filters_exclude_nothing_wrongly() {
    let rows = random_rows(3, 600);
    let object = write_object(&rows, 600, &options(300), true);
    let Parsed::Complete(layout) = ObjectLayout::parse(&object).unwrap() else {
        panic!("the object is whole");
    };
    let trace = rows[450].1["trace_id"].clone();
    let needle = String::from_utf8(rows[450].0.clone()).unwrap();
    let all = Wanted {
        values: values(&[&[("trace_id", &trace)]]).values,
        ..texts(&[&needle])
    };
    assert_eq!(excluded(&source_of(&object, "t").await, &all).await, "v.");
    let mut unusable = 0;
    for kind in [TEXT_FILTER, VALUE_FILTER] {
        let section = find_section(&layout, "t", kind).unwrap();
        for at in section.metadata.clone().chain(section.data.clone()) {
            let mut damaged = object.clone();
            damaged[at as usize] ^= 0x21;
            let source = source_of(&damaged, "t").await;
            let found = excluded(&source, &all).await;
            assert!(
                ["v.", "t.", ".."].contains(&found.as_str()),
                "{kind}, byte {at}: {found}"
            );
            let stats = source.scan_stats();
            assert!(stats.filters_unusable <= 1, "{kind}, byte {at}");
            if section.data.contains(&at) {
                assert_eq!(stats.filters_unusable, 1, "{kind}, byte {at}: undetected");
            }
            unusable += stats.filters_unusable;
            excluded(&source, &all).await;
            assert_eq!(source.scan_stats(), stats, "{kind}, byte {at}: read again");
        }
    }
    assert!(unusable > 100);
}

#[tokio::test]
async fn filters_are_kept_within_their_bound() {
    let store = Store::in_memory();
    let tenant = TenantId::new("t").unwrap();
    // Larger than what is read at once, so that requests tell.
    let object = write_object(&random_rows(4, 20_000), 20_000, &options(2000), true);
    assert!(object.len() > 256 << 10);
    let catalog = Catalog::open(store.clone()).await.unwrap();
    let mut add = Vec::new();
    for number in 0..4 {
        let key = format!("objects/{number}");
        store.put(&key, &Bytes::from(object.clone())).await.unwrap();
        add.push((tenant.clone(), meta_of(&key, &object)));
    }
    let commit = Commit {
        add,
        ..Commit::default()
    };
    let snapshot = catalog.commit(commit).await.unwrap();
    let span = TimeSpan {
        min_ns: 0,
        max_ns: 9000,
    };
    let wanted = texts(&["nobody wrote such a thing"]);
    let ask = async |cache: &SourceCache| -> u64 {
        let sources = catalog_sources(&snapshot, &store, cache, &tenant, span).await.unwrap();
        let mut fetched = 0;
        for source in &sources {
            assert_eq!(excluded(source.as_ref(), &wanted).await, "t".repeat(10));
            fetched += source.scan_stats().filters_fetched;
        }
        fetched
    };
    let roomy = SourceCache::default();
    let gets = || store.counters().gets;
    let before = gets();
    assert_eq!(
        (ask(&roomy).await, gets() - before),
        (4, 4 * 3),
        "one more request than opening"
    );
    let before = gets();
    assert_eq!((ask(&roomy).await, gets() - before), (0, 0));
    let weight = roomy.filter_weight_bytes();
    assert!(
        (object.len() / 50..object.len()).contains(&(weight / 4)),
        "{weight} of {}",
        object.len()
    );

    let tight = SourceCache::new(weight / 2);
    assert_eq!(ask(&tight).await, 4);
    assert!(tight.filter_weight_bytes() > 0 && tight.filter_weight_bytes() <= weight / 2);
    drop(roomy);
    let none: Arc<SourceCache> = Arc::new(SourceCache::new(0));
    assert_eq!((ask(&none).await, none.filter_weight_bytes()), (4, 0));
}
