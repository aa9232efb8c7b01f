//! Chunks in an object store: read, written to, forgotten and remembered.

use crate::contents::contents;
use crate::operations::Operations;
use std::path::Path;
use timberline_series::cold::{ColdTier, Cooled, Cooling, FolderStore};
use timberline_series::engine::Engine;
use timberline_series::journal::Fsync;
use timberline_series::snapshot::OpenOptions;

/// Whatever can go goes.
fn everything() -> Cooling {
    Cooling {
        memory_budget: Some(0),
        object_bytes: 3000,
        ..Cooling::default()
    }
}

fn open(folder: &Path) -> Engine {
    let store = FolderStore::open(&folder.join("objects")).unwrap();
    let tier = Some(ColdTier::new(Box::new(store)));
    let options = OpenOptions {
        fsync: Fsync::No,
        tier,
        ..OpenOptions::new(folder.join("engine"))
    };
    let (engine, opened) = Engine::open(options).unwrap();
    assert_eq!(opened.warnings, Vec::<String>::new());
    engine
}

fn objects(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("objects")).unwrap().count()
}

#[test]
fn an_engine_with_cold_chunks_holds_what_one_without_holds() {
    for seed in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let model = Engine::in_memory();
        let mut engine = open(folder.path());
        let mut operations = Operations::new(seed);
        let mut chunks = 0;
        for step in 1..800 {
            operations.step(&[&model, &engine]);
            if step % 40 == 0 {
                chunks += engine.cool(&everything()).unwrap().chunks;
            }
            match step % 150 {
                30 | 41 => {
                    drop(engine);
                    engine = open(folder.path());
                }
                90 => engine.save().unwrap(),
                100 => drop(engine.delete_unused_objects().unwrap()),
                _ => continue,
            }
            for (found, want) in contents(&engine).iter().zip(&contents(&model)) {
                assert_eq!(found, want, "seed {seed} step {step}");
            }
        }
        assert!(chunks > 0, "seed {seed}");
        // Without keys nothing refers to objects; the files do until the next snapshot.
        engine.exclusive().flush(None);
        engine.save().unwrap();
        engine.delete_unused_objects().unwrap();
        assert_eq!(objects(folder.path()), 0, "seed {seed}");
    }
}

/// 20 days of a sample every minute.
fn twenty_days(engine: &Engine) {
    let access = engine.shared();
    let series = access.create(0, b"key", engine.settings().series_options()).unwrap();
    let mut writer = access.writer(series).unwrap().unwrap();
    for minute in 0..20 * 1440 {
        writer.add(minute * 60_000, (minute as f64).sin(), None).unwrap();
    }
}

#[test]
fn closed_days_go_and_late_samples_bring_them_back() {
    use timberline_series::policy::DuplicatePolicy;
    use timberline_series::series::Reach;
    use timberline_series::view::Part;
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    twenty_days(&engine);
    let hot = engine.memory_bytes();
    let cooled = engine.cool(&Cooling::default()).unwrap();
    assert!(cooled.objects == 1 && cooled.chunks > 20, "{cooled:?}");
    assert_eq!(engine.cool(&Cooling::default()).unwrap(), Cooled::default());
    assert!(engine.memory_bytes() < hot / 4);
    let access = engine.shared();
    let series = access.series(0, b"key").unwrap();
    // Not the last two days.
    let view = series.view(18 * 86_400_000, i64::MAX, Reach::Inside, false).unwrap();
    assert!(view.parts.iter().all(|part| !matches!(part, Part::Cold(_))));
    let written = access
        .writer(series.clone())
        .unwrap()
        .unwrap()
        .add(60_000, 7.0, Some(DuplicatePolicy::Last));
    assert_eq!(written.unwrap(), 60_000);
    let view = series.view(60_000, 60_000, Reach::Inside, false).unwrap();
    assert!(matches!(view.parts[..], [Part::Chunk(_)]));
}

#[test]
fn an_object_that_is_missing_or_damaged_is_an_error_of_who_reads_it() {
    use timberline_series::series::Reach;
    for damage in [
        |path: &Path| std::fs::remove_file(path).unwrap(),
        |path: &Path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes.iter_mut().for_each(|byte| *byte ^= 1);
            std::fs::write(path, bytes).unwrap();
        },
    ] {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(folder.path());
        twenty_days(&engine);
        engine.cool(&Cooling::default()).unwrap();
        let object = std::fs::read_dir(folder.path().join("objects"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        damage(&object);
        let access = engine.shared();
        let series = access.series(0, b"key").unwrap();
        let view = series.view(0, i64::MAX, Reach::Inside, false).unwrap();
        let error = timberline_series::range::run(&view, &crate::contents::everything())
            .unwrap_err()
            .to_string();
        assert!(error.contains(object.file_name().unwrap().to_str().unwrap()), "{error}");
        // A sample that needs the chunk is refused, one that does not is taken.
        let mut writer = access.writer(series).unwrap().unwrap();
        assert!(writer.add(60_001, 1.0, None).is_err());
        writer.add(i64::MAX, 1.0, None).unwrap();
    }
}
