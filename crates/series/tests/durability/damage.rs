//! Damaged files: what a crash cut short is cut off, anything else is told.

use crate::contents::contents;
use crate::operations::Operations;
use crate::reopening::open;
use std::fs;
use std::path::{Path, PathBuf};
use timberline_series::engine::Engine;
use timberline_series::snapshot::OpenOptions;

fn segment(folder: &Path) -> PathBuf {
    folder.join(format!("{:020}.log", 1))
}

/// A folder, and what its engine held after each of the last commands, with the length of the segment at that time.
fn written(folder: &Path) -> Vec<(u64, Vec<String>)> {
    let engine = open(folder);
    let mut operations = Operations::new(3);
    let mut states = Vec::new();
    for step in 0..120 {
        operations.step(&[&engine]);
        if step >= 117 {
            engine.journal().sync(engine.journal().next_sequence() - 1).unwrap();
            states.push((fs::metadata(segment(folder)).unwrap().len(), contents(&engine)));
        }
    }
    states
}

#[test]
fn a_write_that_a_crash_cut_short_is_cut_off_and_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    let states = written(folder.path());
    let whole = fs::read(segment(folder.path())).unwrap();
    let begin = states[0].0 as usize;
    let lengths: Vec<usize> = (begin..whole.len())
        .step_by(61)
        .chain(whole.len() - 30..=whole.len())
        .collect();
    for length in lengths {
        let copy = tempfile::tempdir().unwrap();
        fs::write(segment(copy.path()), &whole[..length]).unwrap();
        let (engine, opened) = Engine::open(OpenOptions::new(copy.path())).unwrap();
        let whole_commands = states.iter().rposition(|(end, _)| *end as usize <= length).unwrap();
        // A command may be several frames; between them there is a state that was never seen here.
        if states[whole_commands].0 as usize == length {
            assert_eq!(contents(&engine), states[whole_commands].1);
            assert_eq!(opened.warnings, Vec::<String>::new());
        }
        drop(engine);
        let aside = copy.path().join(format!("{:020}.log.damaged", 1));
        assert_eq!(aside.exists(), !opened.warnings.is_empty());
        // Nothing is left to be told the second time.
        open(copy.path());
    }
}

#[test]
fn damage_before_whole_frames_is_an_error_unless_it_is_to_be_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let states = written(folder.path());
    let path = segment(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let at = states[0].0 as usize - 5;
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = Engine::open(OpenOptions::new(folder.path())).err().unwrap().to_string();
    assert!(
        error.starts_with(&format!("corrupt: {} at offset ", path.display())),
        "{error}"
    );
    assert!(error.ends_with("a frame is damaged, and whole ones follow"), "{error}");
    let (engine, opened) = Engine::open(OpenOptions {
        past_damage: true,
        ..OpenOptions::new(folder.path())
    })
    .unwrap();
    assert_eq!(opened.warnings.len(), 1);
    let found = contents(&engine);
    drop(engine);
    assert_eq!(contents(&open(folder.path())), found);
}

#[test]
fn a_missing_segment_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..3 {
        let engine = open(folder.path());
        let mut operations = Operations::new(seed);
        (0..20).for_each(|_| operations.step(&[&engine]));
    }
    fs::remove_file(folder.path().join(format!("{:020}.log", 2))).unwrap();
    let error = Engine::open(OpenOptions::new(folder.path())).err().unwrap().to_string();
    assert!(error.contains(" stands where frame "), "{error}");
}

#[test]
fn a_snapshot_is_whole_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let mut operations = Operations::new(5);
    (0..300).for_each(|_| operations.step(&[&engine]));
    engine.save().unwrap();
    let want = contents(&engine);
    drop(engine);
    let path = folder.path().join(format!("snapshot-{:020}", 2));
    let whole = fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        for bytes in [&damaged, &whole[..at]] {
            fs::write(&path, bytes).unwrap();
            let error = Engine::open(OpenOptions::new(folder.path())).err().unwrap().to_string();
            assert!(
                error.starts_with(&format!("corrupt: {} at offset ", path.display())),
                "{error}"
            );
        }
    }
    fs::write(&path, &whole).unwrap();
    fs::write(folder.path().join("snapshot-3.tmp"), b"half").unwrap();
    assert_eq!(contents(&open(folder.path())), want);
}
