//! The catalog against a naive model: random commits, crashes between any two writes, several writers at once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use object_store::memory::InMemory;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use support::{Fault, FaultyBackend};
use timberline_store::{
    Catalog, CatalogOptions, CatalogSnapshot, Commit, Error, ObjectMeta, Store, TenantId, TimeSpan,
};

const HOUR_NS: i64 = 3_600_000_000_000;
const EVER: TimeSpan = TimeSpan {
    min_ns: i64::MIN,
    max_ns: i64::MAX,
};

/// What the catalog should hold: per tenant the objects in order of arrival, and watermarks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    objects: BTreeMap<TenantId, Vec<ObjectMeta>>,
    watermarks: BTreeMap<String, u64>,
}

impl Model {
    fn commit(&mut self, commit: &Commit) {
        for (tenant, key) in &commit.remove {
            self.objects
                .entry(tenant.clone())
                .or_default()
                .retain(|o| o.key != *key);
        }
        for (tenant, meta) in &commit.add {
            let objects = self.objects.entry(tenant.clone()).or_default();
            match objects.iter_mut().find(|o| o.key == meta.key) {
                Some(listed) => *listed = meta.clone(),
                None => objects.push(meta.clone()),
            }
        }
        if let Some((writer, segment)) = &commit.watermark {
            let known = self.watermarks.entry(writer.clone()).or_default();
            *known = (*known).max(*segment);
        }
    }

    fn objects(&self, tenant: &TenantId, span: TimeSpan) -> Vec<ObjectMeta> {
        let all = self.objects.get(tenant).into_iter().flatten();
        all.filter(|o| o.span().overlaps(&span)).cloned().collect()
    }

    async fn agrees(&self, snapshot: &CatalogSnapshot, span: TimeSpan) -> bool {
        for tenant in tenants() {
            if snapshot.objects(&tenant, span).await.unwrap() != self.objects(&tenant, span) {
                return false;
            }
        }
        (0..3)
            .map(|w| format!("w{w}"))
            .all(|w| snapshot.watermark(&w) == self.watermarks.get(&w).copied())
    }
}

fn tenants() -> [TenantId; 2] {
    [TenantId::single(), TenantId::new("o'(ther)*!").unwrap()]
}

/// The object of a number. Its span depends on the number alone, as a key is never used for other rows; its size does not.
fn object(number: u8, size_bytes: u64) -> ObjectMeta {
    let begin = i64::from(number % 7) * 17 * HOUR_NS - 40 * HOUR_NS;
    let hours = [0, 5, 13, 80, 95, 96, 9000][usize::from(number / 7) % 7];
    ObjectMeta {
        key: format!("objects/{number:02}/x"),
        min_ns: begin,
        max_ns: begin + hours * HOUR_NS,
        rows: 7,
        size_bytes,
        uncompressed_bytes: 99,
    }
}

fn any_commit() -> impl Strategy<Value = Commit> {
    let add = prop::collection::vec((0..2usize, 0u8..49, 1u64..5), 0..4);
    let remove = prop::collection::vec((0..2usize, 0u8..49), 0..3);
    let watermark = prop::option::of((0..3u8, 0..9u64));
    (add, remove, watermark).prop_map(|(add, remove, watermark)| Commit {
        add: add
            .into_iter()
            .map(|(t, number, size)| (tenants()[t].clone(), object(number, size)))
            .collect(),
        remove: remove
            .into_iter()
            .map(|(t, number)| (tenants()[t].clone(), object(number, 0).key))
            .collect(),
        watermark: watermark.map(|(writer, segment)| (format!("w{writer}"), segment)),
    })
}

fn any_span() -> impl Strategy<Value = TimeSpan> {
    (-60i64..200, 0i64..100).prop_map(|(begin, hours)| TimeSpan {
        min_ns: begin * HOUR_NS,
        max_ns: (begin + hours) * HOUR_NS,
    })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Superseded tables go at once, so that a catalog which still needs one fails.
fn impatient() -> CatalogOptions {
    CatalogOptions {
        keep_superseded: Duration::ZERO,
    }
}

async fn check_against_model(store: Store, commits: &[Commit], span: TimeSpan) {
    let catalog = Catalog::open_with(store.clone(), impatient()).await.unwrap();
    let mut model = Model::default();
    for commit in commits {
        let snapshot = catalog.commit(commit.clone()).await.unwrap();
        model.commit(commit);
        assert!(model.agrees(&snapshot, span).await && model.agrees(&snapshot, EVER).await);
    }
    let reopened = Catalog::open_with(store, impatient()).await.unwrap();
    assert!(model.agrees(&reopened.snapshot(), EVER).await);
}

/// Commits, dying at one write of the last commit; returns false if that write was never reached.
async fn crash_at(commits: &[Commit], fault: Fault) -> bool {
    let (last, earlier) = commits.split_last().unwrap();
    let disk = Arc::new(InMemory::new());
    let mut before = Model::default();
    let catalog = Catalog::open(Store::new(disk.clone())).await.unwrap();
    for commit in earlier {
        catalog.commit(commit.clone()).await.unwrap();
        before.commit(commit);
    }
    let mut after = before.clone();
    after.commit(last);

    let backend = Arc::new(FaultyBackend::new(disk.clone(), fault));
    let dying = Catalog::open(Store::new(backend.clone())).await.unwrap();
    let answer = dying.commit(last.clone()).await;
    assert_eq!(answer.is_err(), backend.crashed());

    let restarted = Catalog::open_with(Store::new(disk), impatient()).await.unwrap();
    let snapshot = restarted.snapshot();
    let (old, new) = (
        before.agrees(&snapshot, EVER).await,
        after.agrees(&snapshot, EVER).await,
    );
    assert!(
        if answer.is_ok() { new } else { old || new },
        "neither the old state nor the new one"
    );
    let replayed = restarted.commit(last.clone()).await.unwrap();
    if last.remove.is_empty() {
        assert!(
            after.agrees(&replayed, EVER).await,
            "a commit made twice doubles or loses"
        );
    }
    backend.crashed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_model_in_memory(commits in prop::collection::vec(any_commit(), 1..12), span in any_span()) {
        run(check_against_model(Store::in_memory(), &commits, span));
    }

    #[test]
    fn a_crash_at_any_write_leaves_the_old_state_or_the_new(commits in prop::collection::vec(any_commit(), 1..5)) {
        for fault in [Fault::CrashBefore, Fault::CrashAfter] {
            let mut write = 0;
            while run(crash_at(&commits, fault(write))) {
                write += 1;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_model_in_a_folder(commits in prop::collection::vec(any_commit(), 1..6), span in any_span()) {
        let folder = tempfile::tempdir().unwrap();
        run(check_against_model(Store::open_local(folder.path()).unwrap(), &commits, span));
    }
}

/// Two catalogs, as two processes would have them, commit to the same tables at the same time.
async fn race(store: Store) {
    let catalogs = [
        Catalog::open(store.clone()).await.unwrap(),
        Catalog::open(store.clone()).await.unwrap(),
    ];
    let writer = |c: usize| {
        let catalog = catalogs[c].clone();
        tokio::spawn(async move {
            for i in 0..20u8 {
                let mut meta = object(3, 1);
                meta.key = format!("objects/{c}/{i:02}");
                let add = vec![(TenantId::single(), meta)];
                let watermark = Some((format!("w{c}"), u64::from(i)));
                catalog
                    .commit(Commit {
                        add,
                        watermark,
                        ..Commit::default()
                    })
                    .await
                    .unwrap();
            }
        })
    };
    let (first, second) = (writer(0), writer(1));
    first.await.unwrap();
    second.await.unwrap();
    let snapshot = catalogs[0].refresh().await.unwrap();
    let objects = snapshot.objects(&TenantId::single(), EVER).await.unwrap();
    assert_eq!(
        (snapshot.watermark("w0"), snapshot.watermark("w1")),
        (Some(19), Some(19))
    );
    for c in 0..2 {
        let of_writer: Vec<String> = objects
            .iter()
            .map(|o| o.key.clone())
            .filter(|k| k.starts_with(&format!("objects/{c}/")))
            .collect();
        assert_eq!(
            of_writer,
            (0..20).map(|i| format!("objects/{c}/{i:02}")).collect::<Vec<_>>()
        );
    }
    assert_eq!(snapshot.generation(), 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_catalogs_lose_nothing_in_memory() {
    race(Store::in_memory()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_catalogs_lose_nothing_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    race(Store::open_local(folder.path()).unwrap()).await;
}

#[tokio::test]
async fn a_lost_answer_is_not_taken_for_a_conflict() {
    let disk = Arc::new(InMemory::new());
    let backend = Arc::new(FaultyBackend::new(disk.clone(), Fault::WritesRepeated));
    let catalog = Catalog::open(Store::new(backend)).await.unwrap();
    for number in 0..3 {
        assert_eq!(
            catalog.commit(add(number)).await.unwrap().generation(),
            u64::from(number) + 1
        );
    }
    let reopened = Catalog::open(Store::new(disk)).await.unwrap();
    assert_eq!(
        reopened
            .snapshot()
            .objects(&TenantId::single(), EVER)
            .await
            .unwrap()
            .len(),
        3
    );
}

fn add(number: u8) -> Commit {
    Commit {
        add: vec![(TenantId::single(), object(number, 1))],
        ..Commit::default()
    }
}

#[tokio::test]
async fn superseded_tables_stay_for_older_snapshots_and_go_later() {
    let store = Store::in_memory();
    let catalog = Catalog::open(store.clone()).await.unwrap();
    let old = catalog.commit(add(0)).await.unwrap();
    catalog.commit(add(21)).await.unwrap();
    // A reader without a cache of its own: the first version of the table must still be on the store.
    assert!(store.list("catalog/tables").await.unwrap().len() >= 3);
    assert_eq!(old.objects(&TenantId::single(), EVER).await.unwrap(), [object(0, 1)]);

    let impatient = Catalog::open_with(store.clone(), impatient()).await.unwrap();
    for number in [1, 2, 3] {
        impatient.commit(add(number)).await.unwrap();
    }
    let last = impatient
        .commit(Commit {
            watermark: Some(("w0".into(), 1)),
            ..Commit::default()
        })
        .await
        .unwrap();
    let named: usize = {
        let root: serde_json::Value = serde_json::from_slice(&store.get("catalog/root.json").await.unwrap()).unwrap();
        assert_eq!(root["body"]["superseded"], serde_json::json!([]));
        root["body"]["tenants"]["fake"]["windows"].as_object().unwrap().len()
    };
    assert_eq!(
        store.list("catalog/tables").await.unwrap().len(),
        named,
        "only current tables are left"
    );
    assert_eq!(last.objects(&TenantId::single(), EVER).await.unwrap().len(), 5);
}

#[tokio::test]
async fn nothing_is_written_for_a_commit_that_changes_nothing() {
    let store = Store::in_memory();
    let catalog = Catalog::open(store.clone()).await.unwrap();
    let commit = Commit {
        watermark: Some(("w0".into(), 4)),
        ..add(0)
    };
    catalog.commit(commit.clone()).await.unwrap();
    let puts = store.counters().puts;
    assert_eq!(catalog.commit(commit).await.unwrap().generation(), 1);
    assert_eq!(store.counters().puts, puts);
}

/// `/dev/full`, put where the root would be staged, refuses every byte as a full disk does.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn attempts_on_a_full_disk_leave_no_tables_behind() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_local(folder.path()).unwrap();
    let catalog = Catalog::open(store.clone()).await.unwrap();
    for attempt in 0..3 {
        // Each attempt stages one table, then the root.
        let staged = folder
            .path()
            .join(format!(".tmp/{}-{}", std::process::id(), 2 * attempt + 1));
        std::os::unix::fs::symlink("/dev/full", staged).unwrap();
        let error = catalog.commit(add(1)).await.unwrap_err();
        assert!(matches!(error, Error::OutOfSpace(_)), "{error}");
        assert_eq!(store.list("").await.unwrap(), []);
    }
    let snapshot = catalog.commit(add(1)).await.unwrap();
    assert_eq!(snapshot.objects(&tenants()[0], EVER).await.unwrap().len(), 1);
    assert_eq!(store.list("").await.unwrap().len(), 2, "the root and its table");
}

#[tokio::test]
async fn queries_read_only_the_tables_of_their_windows_and_only_once() {
    let store = Store::in_memory();
    let catalog = Catalog::open(store.clone()).await.unwrap();
    for day in 0..30 {
        let mut meta = object(0, 1);
        meta.key = format!("objects/{day}");
        (meta.min_ns, meta.max_ns) = (day * 24 * HOUR_NS, day * 24 * HOUR_NS + 1);
        catalog
            .commit(Commit {
                add: vec![(TenantId::single(), meta)],
                ..Commit::default()
            })
            .await
            .unwrap();
    }
    let fresh = Store::clone(&store);
    let catalog = Catalog::open_read_only(fresh).await.unwrap();
    let before = store.counters();
    let day = TimeSpan {
        min_ns: 48 * HOUR_NS,
        max_ns: 71 * HOUR_NS,
    };
    for _ in 0..3 {
        assert_eq!(
            catalog
                .snapshot()
                .objects(&TenantId::single(), day)
                .await
                .unwrap()
                .len(),
            1
        );
    }
    let after = store.counters();
    assert_eq!((after.gets - before.gets, after.lists - before.lists), (1, 0));
}

#[tokio::test]
async fn a_year_in_one_object_is_one_table() {
    let store = Store::in_memory();
    let catalog = Catalog::open(store.clone()).await.unwrap();
    let mut meta = object(0, 1);
    meta.max_ns = meta.min_ns + 365 * 24 * HOUR_NS;
    catalog
        .commit(Commit {
            add: vec![(TenantId::single(), meta.clone())],
            ..Commit::default()
        })
        .await
        .unwrap();
    assert_eq!(store.counters().puts, 2);
    let in_june = TimeSpan {
        min_ns: meta.min_ns + 150 * 24 * HOUR_NS,
        max_ns: meta.min_ns + 151 * 24 * HOUR_NS,
    };
    assert_eq!(
        catalog.snapshot().objects(&TenantId::single(), in_june).await.unwrap(),
        [meta]
    );
}

#[tokio::test]
async fn damage_and_other_formats_are_refused() {
    let store = Store::in_memory();
    Catalog::open(store.clone())
        .await
        .unwrap()
        .commit(add(0))
        .await
        .unwrap();
    let root = String::from_utf8(store.get("catalog/root.json").await.unwrap().to_vec()).unwrap();
    let f = async |from: &str, to: &str| {
        store
            .put("catalog/root.json", &root.replace(from, to).into())
            .await
            .unwrap();
        Catalog::open(store.clone()).await.unwrap_err()
    };
    assert!(matches!(
        f("\"format\":1", "\"format\":2").await,
        Error::UnknownFormat { found: 2, .. }
    ));
    assert!(matches!(
        f("\"generation\":1", "\"generation\":2").await,
        Error::Corrupt { .. }
    ));
    assert!(
        f("{", "")
            .await
            .to_string()
            .starts_with("corrupt: object catalog/root.json")
    );
}

#[tokio::test]
async fn a_read_only_folder_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_local(folder.path()).unwrap();
    Catalog::open(store).await.unwrap().commit(add(0)).await.unwrap();
    std::fs::write(folder.path().join(".tmp/1-1"), b"being written").unwrap();
    let read_only = Store::open_local_read_only(folder.path()).unwrap();
    let catalog = Catalog::open_read_only(read_only.clone()).await.unwrap();
    assert_eq!(
        catalog.snapshot().objects(&TenantId::single(), EVER).await.unwrap(),
        [object(0, 1)]
    );
    catalog.commit(add(1)).await.unwrap_err();
    read_only.delete("catalog/root.json").await.unwrap_err();
    assert!(folder.path().join(".tmp/1-1").exists());
}
