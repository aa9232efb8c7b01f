//! Random commands with closing, snapshots and reloading in between, beside an engine that lives on.

use crate::contents::contents;
use crate::operations::Operations;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::path::Path;
use timberline_series::engine::Engine;
use timberline_series::journal::Fsync;
use timberline_series::snapshot::OpenOptions;

pub(crate) fn open(folder: &Path) -> Engine {
    let (engine, opened) = Engine::open(OpenOptions {
        fsync: Fsync::No,
        ..OpenOptions::new(folder)
    })
    .unwrap();
    assert_eq!(opened.warnings, Vec::<String>::new());
    engine
}

fn check(seed: u64, steps: usize) {
    let folder = tempfile::tempdir().unwrap();
    let model = Engine::in_memory();
    let mut engine = open(folder.path());
    let mut operations = Operations::new(seed);
    let mut random = SmallRng::seed_from_u64(!seed);
    for step in 0..steps {
        operations.step(&[&model, &engine]);
        match random.random_range(0..400) {
            0..3 => {
                drop(engine);
                engine = open(folder.path());
            }
            3 => engine.save().unwrap(),
            4 => engine.reload().unwrap(),
            5..9 => {}
            _ => continue,
        }
        let (found, want) = (contents(&engine), contents(&model));
        for (found, want) in found.iter().zip(&want) {
            assert_eq!(found, want, "seed {seed} step {step}");
        }
        assert_eq!(found.len(), want.len(), "seed {seed} step {step}");
    }
}

#[test]
fn an_engine_that_is_closed_and_opened_holds_what_one_that_lives_on_holds() {
    for seed in 0..16 {
        check(seed, 1000);
    }
}

#[test]
fn a_folder_is_opened_once() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let again = Engine::open(OpenOptions::new(folder.path()));
    assert_eq!(
        again.err().unwrap().to_string(),
        format!("{} is used by another process", folder.path().display())
    );
    drop(engine);
    open(folder.path());
}

#[test]
fn a_snapshot_replaces_what_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let mut operations = Operations::new(1);
    (0..300).for_each(|_| operations.step(&[&engine]));
    assert!(engine.journal().statistics().bytes_since_snapshot > 0);
    engine.save().unwrap();
    assert_eq!(engine.journal().statistics().bytes_since_snapshot, 0);
    assert_eq!(engine.snapshots().taken, 1);
    let want = contents(&engine);
    drop(engine);
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["lock", "snapshot-00000000000000000002"]);
    assert_eq!(contents(&open(folder.path())), want);
}

#[test]
fn keys_that_ended_while_nobody_looked_are_gone_and_those_that_were_kept_stay() {
    use timberline_series::keyspace::Expiry;
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let soon = engine.now_ms() + 30;
    engine.shared().set_text(0, b"goes", b"text", Expiry::At(soon));
    engine.shared().set_text(0, b"stays", b"text", Expiry::At(soon));
    engine.shared().set_expiry(0, b"stays", None);
    while engine.now_ms() <= soon {
        std::thread::yield_now();
    }
    drop(engine);
    let engine = open(folder.path());
    let access = engine.shared();
    assert!(access.value(0, b"goes").is_none());
    assert!(access.value(0, b"stays").is_some());
}
