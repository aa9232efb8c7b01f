//! The engine against a model that is obviously right: a set of entries.

use super::harness::{Read, open, plain, read_sources, tenant};
use crate::PushBatch;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use timberline_logql::labels::LabelSet;

/// Random pushes of late, equal and repeated entries for two tenants, with cuts and restarts in between: after each step the
/// engine holds the model's entries. Repeated ones may still be doubled across sources, which readers resolve; within a data
/// object they may not.
#[tokio::test]
async fn random_pushes_cuts_and_restarts_agree_with_a_set() {
    for seed in 0..6 {
        println!("seed {seed}");
        let mut random = SmallRng::seed_from_u64(seed);
        let data = tempfile::tempdir().unwrap();
        let mut options = plain(data.path());
        options.head_max_bytes = 40 << 10;
        let mut engine = open(options.clone()).await.unwrap();
        let mut model: BTreeMap<&str, BTreeSet<Read>> = BTreeMap::new();
        for _ in 0..25 {
            match random.random_range(0..10) {
                0 => {
                    engine.flush().await.unwrap();
                }
                1 => {
                    engine.shutdown().await;
                    engine = open(options.clone()).await.unwrap();
                }
                _ => {
                    let name = ["one", "two"][random.random_range(0..2)];
                    let (batch, entries) = random_batch(&mut random);
                    let pushed = engine.push(&tenant(name), batch).await.unwrap();
                    assert!(pushed.rejected.is_empty());
                    model.entry(name).or_default().extend(entries);
                }
            }
            for (name, want) in &model {
                let mut got = BTreeSet::new();
                for (source, rows) in read_sources(&engine, &tenant(name), super::harness::ALL).await {
                    let count = rows.len();
                    let distinct: BTreeSet<Read> = rows.into_iter().collect();
                    assert!(
                        source == "head" || distinct.len() == count,
                        "{source} holds an entry twice"
                    );
                    got.extend(distinct);
                }
                assert_eq!(got, *want, "tenant {name}");
            }
        }
        engine.shutdown().await;
    }
}

fn random_batch(random: &mut SmallRng) -> (PushBatch, Vec<Read>) {
    let mut batch = PushBatch::new();
    let mut entries = Vec::new();
    for _ in 0..random.random_range(1..4) {
        let labels = LabelSet::from_pairs([("s", random.random_range(0..4).to_string())]);
        batch.begin_stream(labels.clone());
        for _ in 0..random.random_range(0..80) {
            let timestamp_ns = random.random_range(-20..200);
            let line = "line ".repeat(random.random_range(0..4));
            let mut metadata = Vec::new();
            for name in ["a", "b", "c"] {
                if random.random_ratio(1, 3) {
                    metadata.push((name.to_owned(), random.random_range(0..2).to_string()));
                }
            }
            batch.push_entry(
                timestamp_ns,
                line.as_bytes(),
                metadata.iter().map(|(n, v)| (n.as_str(), v.as_str())),
            );
            entries.push(Read {
                labels: labels.to_string(),
                timestamp_ns,
                line,
                metadata,
            });
        }
    }
    (batch, entries)
}
