//! Which series have to be written as of one moment.
//!
//! What is written to a source changes its destinations, too. So a source and its destinations are a group: their bodies are taken while the source
//! is locked, and a replay of what came later is right for all of them. Rules come and go while a snapshot is written. Where that
//! makes a source be written a second time, those that were its destinations the first time have to be written again as well, in the
//! groups in which they are now: what the source gave them in between is behind the second body, so that it is not replayed. The same holds
//! for all that became destinations since the snapshot began, and may not be any more.

use super::state::Durability;
use crate::series::{Series, SeriesBody};
use crate::view::ReadError;
use ahash::{AHashMap, AHashSet};
use std::sync::Arc;

/// Bodies with the number of their series, of one moment.
pub(super) type Group = Vec<(u64, SeriesBody)>;

/// What was written so far.
#[derive(Default)]
pub(super) struct Groups {
    written: AHashSet<u64>,
    /// The destinations that a source had when it was written last.
    destinations: AHashMap<u64, Vec<Arc<Series>>>,
}

impl Groups {
    /// The groups to write next so that a series is among what is written; none if it is already. No rule may be made or ended meanwhile.
    pub(super) fn with(&mut self, series: &Arc<Series>, durability: &Durability) -> Result<Vec<Group>, ReadError> {
        if self.written.contains(&series.id()) {
            return Ok(Vec::new());
        }
        let mut groups = Vec::new();
        let mut done = AHashSet::new();
        let mut due = vec![Arc::clone(series)];
        while let Some(series) = due.pop() {
            if done.contains(&series.id()) {
                continue;
            }
            let root = source_of(&series).unwrap_or_else(|| Arc::clone(&series));
            let (mut group, destinations) = group_of(&root)?;
            if group.iter().all(|(id, _)| *id != series.id()) {
                // Its key was removed, and with it the rule.
                group.push((series.id(), series.state.lock().body()?));
            }
            done.extend(group.iter().map(|(id, _)| *id));
            due.extend(self.destinations.insert(root.id(), destinations).unwrap_or_default());
            if let Some(new) = &*durability.new_rules.lock() {
                due.extend(new.get(&root.id()).into_iter().flatten().cloned());
            }
            groups.push(group);
        }
        self.written.extend(done);
        Ok(groups)
    }
}

fn source_of(series: &Series) -> Option<Arc<Series>> {
    let source = series.state.lock().source.upgrade();
    source.filter(|source| source.is_alive())
}

/// The bodies of a series and its destinations, and these.
fn group_of(root: &Series) -> Result<(Group, Vec<Arc<Series>>), ReadError> {
    let mut state = root.state.lock();
    let mut body = state.body()?;
    if !root.is_alive() {
        // Its key was removed meanwhile, which ended its rules: their destinations are on their own, or others'.
        body.rules.clear();
        return Ok((vec![(root.id(), body)], Vec::new()));
    }
    let destinations: Vec<Arc<Series>> = state.rules.iter().map(|rule| Arc::clone(rule.destination())).collect();
    let mut group = vec![(root.id(), body)];
    for destination in &destinations {
        group.push((destination.id(), destination.state.lock().body()?));
    }
    Ok((group, destinations))
}
