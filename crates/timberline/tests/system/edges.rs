//! Which crate may depend on which, and that heavy libraries are there once.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Allowed edges between our crates: dependencies point inwards.
const EDGES: [(&str, &[&str]); 12] = [
    ("timberline-dataobj", &[]),
    ("timberline-bench", &["timberline-dataobj", "timberline-logql"]),
    ("timberline-logql", &[]),
    ("timberline-oracle", &["timberline-logql"]),
    ("timberline-resp", &["timberline-series"]),
    ("timberline-series", &["timberline-dataobj"]),
    ("timberline-store", &["timberline-dataobj", "timberline-logql"]),
    (
        "timberline-ingest",
        &["timberline-dataobj", "timberline-logql", "timberline-store"],
    ),
    (
        "timberline-query",
        &[
            "timberline-dataobj",
            "timberline-logql",
            "timberline-series",
            "timberline-store",
        ],
    ),
    (
        "timberline-ruler",
        &[
            "timberline-logql",
            "timberline-query",
            "timberline-series",
            "timberline-store",
        ],
    ),
    (
        "timberline-server",
        &[
            "timberline-ingest",
            "timberline-logql",
            "timberline-query",
            "timberline-store",
        ],
    ),
    (
        "timberline",
        &[
            "timberline-bench",
            "timberline-dataobj",
            "timberline-ingest",
            "timberline-logql",
            "timberline-query",
            "timberline-resp",
            "timberline-ruler",
            "timberline-series",
            "timberline-server",
            "timberline-store",
        ],
    ),
];

/// Libraries that only these crates may use: (start of the library's name, crates).
const HOMES: [(&str, &[&str]); 8] = [
    ("datafusion", &["timberline-query"]),
    ("object_store", &["timberline-store"]),
    ("axum", &["timberline-server"]),
    ("hyper", &["timberline-server"]),
    ("tower", &["timberline-server"]),
    ("ureq", &["timberline"]),
    ("clap", &["timberline"]),
    ("anyhow", &["timberline"]),
];

/// Crates that know nothing of waiting, tenants or sockets.
const PURE: [&str; 4] = [
    "timberline-dataobj",
    "timberline-logql",
    "timberline-oracle",
    "timberline-series",
];
const IMPURE: [&str; 5] = ["tokio", "async-trait", "futures", "object_store", "tracing"];

/// Libraries of which the lock file holds one version.
const ONCE: [&str; 9] = [
    "arrow-array",
    "arrow-buffer",
    "arrow-schema",
    "datafusion-common",
    "object_store",
    "prost",
    "tokio",
    "zstd",
    "rustls",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Normal dependencies of each of our crates.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let normal = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|d| d["kind"].is_null())
            .map(|d| d["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|p| (p["name"].as_str().unwrap().to_owned(), normal(p)))
        .collect()
}

#[test]
fn dependencies_point_inwards() {
    let found = dependencies();
    let known: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    let names: BTreeSet<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, known, "a crate appeared or went: say here what it may depend on");
    for (name, allowed) in EDGES {
        for dependency in found[name].iter().filter(|d| d.starts_with("timberline")) {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} may not depend on {dependency}"
            );
        }
    }
}

#[test]
fn heavy_libraries_stay_in_their_crates() {
    for (name, libraries) in dependencies() {
        for library in &libraries {
            for (start, homes) in HOMES {
                let at_home = !library.starts_with(start) || homes.contains(&name.as_str());
                assert!(at_home, "{name} may not use {library}; only {homes:?} may");
            }
            let pure = PURE.contains(&name.as_str()) && IMPURE.contains(&library.as_str());
            assert!(!pure, "{name} is to stay free of {library}");
        }
    }
}

#[test]
fn one_version_of_each_heavy_library() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for library in ONCE {
        let versions = lock.matches(&format!("[[package]]\nname = \"{library}\"\n")).count();
        assert_eq!(versions, 1, "{library} is in Cargo.lock {versions} times");
    }
}
