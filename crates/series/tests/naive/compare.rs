//! Runs a sequence on both, and compares.

use crate::aggregate::Pair;
use crate::command::{Command, Ending, Reply, agrees, same, same_rows};
use crate::engine;
use crate::store::Store;
use std::path::Path;
use std::sync::Arc;
use timberline_series::engine::Engine;
use timberline_series::journal::Fsync;
use timberline_series::series::Series;
use timberline_series::snapshot::OpenOptions;

/// Runs a sequence. An error says at which command the two differ, and how.
pub(crate) fn run(commands: &[Command]) -> Result<(), (usize, String)> {
    let mut store = Store::default();
    let is_kept = commands.iter().any(|command| matches!(command, Command::Reopen(_)));
    let folder = is_kept.then(|| tempfile::tempdir().expect("a folder for the engine"));
    let mut engine = match &folder {
        Some(folder) => open(folder.path()).map_err(|text| (0, text))?,
        None => Engine::in_memory(),
    };
    for (index, command) in commands.iter().enumerate() {
        if let (Command::Reopen(ending), Some(folder)) = (command, &folder) {
            engine = reopen(engine, *ending, folder.path()).map_err(|text| (index, text))?;
            check(&engine, &store).map_err(|text| (index, text))?;
        }
        step(&engine, &mut store, command).map_err(|text| (index, text))?;
    }
    check(&engine, &store).map_err(|text| (commands.len(), text))
}

fn open(folder: &Path) -> Result<Engine, String> {
    let options = OpenOptions {
        fsync: Fsync::No,
        ..OpenOptions::new(folder)
    };
    let (engine, opened) = Engine::open(options).map_err(|error| error.to_string())?;
    if opened.warnings.is_empty() {
        Ok(engine)
    } else {
        Err(format!("opening warns: {:?}", opened.warnings))
    }
}

/// Ends an engine and opens it again, with the settings that it had.
fn reopen(engine: Engine, ending: Ending, folder: &Path) -> Result<Engine, String> {
    match ending {
        Ending::Dropped => {}
        Ending::Saved | Ending::GoesOn => engine.save().map_err(|error| error.to_string())?,
        Ending::Reloaded => engine.reload().map_err(|error| error.to_string())?,
    }
    if matches!(ending, Ending::Reloaded | Ending::GoesOn) {
        return Ok(engine);
    }
    let settings = engine.settings();
    drop(engine);
    let engine = open(folder)?;
    engine.change_settings(|ours| *ours = settings);
    Ok(engine)
}

/// Runs one command on both.
fn step(engine: &Engine, store: &mut Store, command: &Command) -> Result<(), String> {
    let floors: Vec<i64> = store.series.iter().map(|series| series.floor()).collect();
    let wanted = store.run(command);
    let reply = engine::run(engine, command);
    // A reader of a bucket that may be dropped in part has nothing to compare.
    let is_unsure = matches!((command, &wanted), (Command::Range(..), Reply::Done));
    if !is_unsure && !agrees(&reply, &wanted) {
        return Err(difference(&reply, &wanted));
    }
    settle(engine, store, &floors)?;
    if matches!(command, Command::Check) {
        check(engine, store)?;
    }
    Ok(())
}

fn find(engine: &Engine, store: &Store, id: usize) -> Option<Arc<Series>> {
    let series = &store.series[id];
    let (db, key, _) = store.living().find(|(_, _, living)| *living == id)?;
    debug_assert_eq!((db, key), (series.db, &series.key));
    engine.shared().series(db, key.as_bytes()).ok()
}

/// Where the answer depends on what the retention dropped, which is the engine's to choose, the naive store follows the engine, if that
/// chose one of the legal answers.
fn settle(engine: &Engine, store: &mut Store, floors: &[i64]) -> Result<(), String> {
    for unsure in std::mem::take(&mut store.unsure) {
        let Some(series) = find(engine, store, unsure.series) else {
            continue;
        };
        let naive = &mut store.series[unsure.series];
        if unsure.timestamp < naive.floor() {
            continue;
        }
        let samples = engine::samples(&series).map_err(|reply| format!("{reply:?}"))?;
        let found = samples
            .iter()
            .find(|sample| sample.0 == unsure.timestamp)
            .map(|sample| sample.1);
        let is_found = |legal: &Option<f64>| match (legal, found) {
            (Some(legal), Some(found)) => same(found, *legal, naive.exact),
            (None, None) => true,
            _ => false,
        };
        if unsure.legal.as_ref().is_some_and(|legal| !legal.iter().any(is_found)) {
            return Err(format!("bucket {unsure:?} is {found:?}"));
        }
        match found {
            Some(value) => naive.samples.insert(unsure.timestamp, value),
            None => naive.samples.remove(&unsure.timestamp),
        };
    }
    for (id, before) in floors.iter().enumerate() {
        let mut before = *before;
        while store.series[id].floor() < before {
            let floor = store.series[id].floor();
            // What was hidden shows again, unless it was dropped. Of late buckets that were hidden at once it depends on when they were
            // computed whether they were kept at all.
            let Some(series) = find(engine, store, id) else { break };
            let samples = engine::samples(&series).map_err(|reply| format!("{reply:?}"))?;
            let kept = |timestamp: &i64| samples.binary_search_by_key(timestamp, |sample| sample.0).is_ok();
            let naive = &mut store.series[id];
            naive
                .samples
                .retain(|timestamp, _| *timestamp >= before || *timestamp < floor || kept(timestamp));
            if naive.was_destination {
                let shown = samples.iter().copied();
                naive.samples.extend(shown.filter(|sample| sample.0 < before));
            }
            before = floor;
        }
    }
    Ok(())
}

/// Compares everything.
fn check(engine: &Engine, store: &Store) -> Result<(), String> {
    for db in 0..2 {
        let mut keys: Vec<String> = engine
            .shared()
            .keys(db)
            .iter()
            .map(|key| String::from_utf8_lossy(key).into_owned())
            .collect();
        keys.sort();
        let wanted: Vec<String> = store.databases[usize::from(db)].keys().cloned().collect();
        if keys != wanted {
            return Err(format!("database {db} has keys {keys:?}, not {wanted:?}"));
        }
        for label in ["x=1", "x=2", "y=1", "z=1"] {
            let command = Command::Select(db, label);
            let mut wanted = Reply::Names(Vec::new());
            if let Reply::Names(names) = &mut wanted {
                names.extend(store.select(db, label));
            }
            let reply = engine::run(engine, &command);
            if !agrees(&reply, &wanted) {
                return Err(format!("{label}: {}", difference(&reply, &wanted)));
            }
        }
    }
    for (db, key, id) in store.living() {
        let series = find(engine, store, id).ok_or_else(|| format!("{db} {key} is not there"))?;
        check_series(&series, store, id).map_err(|text| format!("database {db}, key {key}: {text}"))?;
    }
    Ok(())
}

fn check_series(series: &Series, store: &Store, id: usize) -> Result<(), String> {
    let naive = &store.series[id];
    // In any order: reading what late samples changed must not depend on who asks first.
    let samples = engine::samples(series).map_err(|reply| format!("{reply:?}"))?;
    let wanted = naive.visible();
    if !same_rows(&samples, &wanted, naive.exact) {
        return Err(different_samples(&samples, &wanted, naive.exact));
    }
    let last = series.last(false).map_err(|error| error.to_string())?;
    let last: Option<Pair> = last.map(|last| (last.timestamp, last.value));
    let is_last = match (last, naive.last()) {
        (Some(one), Some(other)) => same_rows(&[one], &[other], naive.exact),
        (one, other) => one.is_none() && other.is_none(),
    };
    if !is_last {
        return Err(format!("the newest sample is {last:?}, not {:?}", naive.last()));
    }
    let (facts, wanted) = (engine::facts(series).unwrap_or_else(|reply| reply), store.facts(id));
    if agrees(&facts, &wanted) {
        Ok(())
    } else {
        Err(difference(&facts, &wanted))
    }
}

fn difference(reply: &Reply, wanted: &Reply) -> String {
    match (reply, wanted) {
        (Reply::Rows(rows, _), Reply::Rows(wanted, exact)) => different_samples(rows, wanted, *exact),
        (Reply::Many(replies), Reply::Many(wanted)) => {
            let place = replies.iter().zip(wanted).position(|(one, other)| !agrees(one, other));
            let place = place.unwrap_or_default();
            format!("sample {place}: {:?}, not {:?}", replies.get(place), wanted.get(place))
        }
        _ => format!("{reply:?}, not {wanted:?}"),
    }
}

fn different_samples(rows: &[Pair], wanted: &[Pair], exact: bool) -> String {
    let alike = |(one, other): (&Pair, &Pair)| same_rows(&[*one], &[*other], exact);
    let place = rows.iter().zip(wanted).position(|pair| !alike(pair));
    let place = place.unwrap_or(rows.len().min(wanted.len()));
    format!(
        "{} samples for {}; at {place}: {:?}, not {:?}",
        rows.len(),
        wanted.len(),
        &rows[place..rows.len().min(place + 3)],
        &wanted[place..wanted.len().min(place + 3)]
    )
}
