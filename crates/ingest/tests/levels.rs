//! `detected_level` and `service_name` as recorded from Loki: `data/levels.jsonl.gz` has one entry a line with its labels and
//! metadata as pushed, and the level and service name that Loki's answers show for it.

use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;
use timberline_ingest::{Engine, EngineOptions, PushBatch};
use timberline_logql::labels::LabelSet;
use timberline_store::{Catalog, Selection, SourceProvider, Store, TenantId, TimeSpan};

#[derive(serde::Deserialize)]
struct Recorded {
    labels: BTreeMap<String, String>,
    metadata: BTreeMap<String, String>,
    line: String,
    level: String,
    service_name: String,
}

#[tokio::test]
async fn all_recorded_entries_get_the_level_and_service_that_loki_gave_them() {
    let mut text = String::new();
    GzDecoder::new(&include_bytes!("data/levels.jsonl.gz")[..])
        .read_to_string(&mut text)
        .unwrap();
    let recorded: Vec<Recorded> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(recorded.len() > 3000);

    let data = tempfile::tempdir().unwrap();
    let store = Store::in_memory();
    let catalog = Catalog::open(store.clone()).await.unwrap();
    let engine = Engine::open(EngineOptions::new(data.path()), store, catalog)
        .await
        .unwrap();
    let mut batch = PushBatch::new();
    for (number, entry) in recorded.iter().enumerate() {
        batch.begin_stream(LabelSet::from_pairs(
            entry.labels.iter().map(|(n, v)| (n.as_str(), v.as_str())),
        ));
        let metadata = entry.metadata.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        batch.push_entry(number as i64, entry.line.as_bytes(), metadata);
    }
    let tenant = TenantId::single();
    let outcome = engine.push(&tenant, batch).await.unwrap();
    assert_eq!((outcome.accepted, outcome.rejected), (recorded.len() as u64, vec![]));

    let mut seen = 0;
    let all = TimeSpan {
        min_ns: i64::MIN,
        max_ns: i64::MAX,
    };
    for source in engine.sources(&tenant, all).await.unwrap() {
        let streams = source.streams().await.unwrap();
        for run in 0..source.runs().await.unwrap().len() {
            let keys = source.keys(run).await.unwrap();
            let only = ["detected_level".to_owned()];
            let metadata = source.metadata(run, &Selection::All, Some(&only)).await.unwrap();
            let [levels] = metadata.as_slice() else {
                panic!("one column, not {}", metadata.len())
            };
            for row in 0..keys.timestamps.len() {
                let want = &recorded[keys.timestamps.value(row) as usize];
                assert_eq!(levels.values.value(row), want.level.as_bytes(), "{}", want.line);
                let labels = &streams[keys.streams.value(row) as usize - 1].labels;
                assert_eq!(labels.get("service_name"), Some(want.service_name.as_str()));
                seen += 1;
            }
        }
    }
    assert_eq!(seen, recorded.len());
    engine.shutdown().await;
}
