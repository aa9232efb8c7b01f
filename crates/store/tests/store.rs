//! A folder and memory behave the same behind `Store`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use timberline_store::{Error, Store};

fn stores() -> (tempfile::TempDir, [(&'static str, Store); 2]) {
    let folder = tempfile::tempdir().unwrap();
    let local = Store::open_local(folder.path()).unwrap();
    (folder, [("memory", Store::in_memory()), ("folder", local)])
}

#[tokio::test]
async fn what_is_put_is_got_listed_and_deleted() {
    let (_folder, stores) = stores();
    for (kind, store) in stores {
        let body = Bytes::from_static(b"0123456789");
        for key in ["b/2", "a", "b/tenant*!'()/x.json", "b/1"] {
            store.put(key, &body).await.unwrap();
            assert_eq!(store.get(key).await.unwrap(), body, "{kind}");
        }
        let keys = |listed: Vec<timberline_store::ListedObject>| listed.into_iter().map(|o| o.key).collect::<Vec<_>>();
        assert_eq!(
            keys(store.list("").await.unwrap()),
            ["a", "b/1", "b/2", "b/tenant*!'()/x.json"],
            "{kind}"
        );
        assert_eq!(
            keys(store.list("b").await.unwrap()),
            ["b/1", "b/2", "b/tenant*!'()/x.json"],
            "{kind}"
        );
        assert_eq!(keys(store.list("none").await.unwrap()), [""; 0], "{kind}");
        store.delete("a").await.unwrap();
        store.delete("a").await.unwrap();
        assert!(
            matches!(store.get("a").await.unwrap_err(), Error::NotFound(key) if key == "a"),
            "{kind}"
        );
        let counters = store.counters();
        assert_eq!(
            (counters.puts, counters.put_bytes, counters.gets, counters.get_bytes),
            (4, 40, 4, 40),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn ranges_are_read_together_and_short_objects_are_corrupt() {
    let (_folder, stores) = stores();
    for (kind, store) in stores {
        let body: Bytes = (0..100u8).collect::<Vec<_>>().into();
        store.put("x", &body).await.unwrap();
        assert_eq!(
            store.get_range("x", 90..1000).await.unwrap(),
            body.slice(90..),
            "{kind}"
        );
        assert_eq!(store.get_range("x", 5..5).await.unwrap(), Bytes::new(), "{kind}");
        let before = store.counters();
        let ranges = [50..60, 3..10, 8..20, 7..7, 0..100, 99..100];
        let got = store.get_ranges("x", &ranges).await.unwrap();
        let want: Vec<Bytes> = ranges
            .iter()
            .map(|r| body.slice(r.start as usize..r.end as usize))
            .collect();
        assert_eq!(got, want, "{kind}");
        assert_eq!(store.counters().gets - before.gets, 1, "{kind}");
        assert!(store.get_ranges("x", &[]).await.unwrap().is_empty(), "{kind}");
        for beyond in [90..101, 100..101, 200..300] {
            let message = store.get_ranges("x", &[0..5, beyond]).await.unwrap_err().to_string();
            assert!(
                message.starts_with("corrupt: object x, file, offset"),
                "{kind}: {message}"
            );
        }
        assert!(
            matches!(
                store.get_ranges("y", &[0..5, 7..9]).await.unwrap_err(),
                Error::NotFound(_)
            ),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn replace_succeeds_only_on_the_version_that_was_read() {
    let (_folder, stores) = stores();
    for (kind, store) in stores {
        let first = store
            .replace("r", None, "1".into())
            .await
            .unwrap()
            .expect("r was absent");
        assert!(store.replace("r", None, "2".into()).await.unwrap().is_none(), "{kind}");
        let second = store
            .replace("r", Some(&first), "2".into())
            .await
            .unwrap()
            .expect("r was first");
        assert!(
            store.replace("r", Some(&first), "3".into()).await.unwrap().is_none(),
            "{kind}"
        );
        let read = store.get_versioned("r").await.unwrap();
        assert_eq!(
            (&read.bytes, &second.bytes),
            (&Bytes::from("2"), &Bytes::from("2")),
            "{kind}"
        );
        assert!(
            store.replace("r", Some(&read), "4".into()).await.unwrap().is_some(),
            "{kind}"
        );
        assert_eq!(store.get("r").await.unwrap(), "4", "{kind}");
    }
}

#[tokio::test]
async fn keys_that_could_leave_the_store_are_refused() {
    let store = Store::in_memory();
    for key in [
        "",
        "/etc/passwd",
        "..",
        "a/../b",
        "a/./b",
        "a//b",
        "a/",
        ".tmp/x",
        ".lock",
        "a\\b",
        "a\nb",
        "a#1",
    ] {
        let error = store.put(key, &Bytes::new()).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{key}: {error}");
        assert!(store.get(key).await.is_err(), "{key}");
    }
}

/// `/dev/full`, put where a staged file would be written, refuses every byte as a full disk does.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_told_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_local(folder.path()).unwrap();
    let staged = folder.path().join(format!(".tmp/{}-0", std::process::id()));
    std::os::unix::fs::symlink("/dev/full", staged).unwrap();
    let error = store.put("x", &Bytes::from_static(b"too much")).await.unwrap_err();
    assert!(matches!(&error, Error::OutOfSpace(key) if key == "x"), "{error}");
    store.put("x", &Bytes::from_static(b"fits again")).await.unwrap();
    assert_eq!(store.get("x").await.unwrap(), "fits again");
}
