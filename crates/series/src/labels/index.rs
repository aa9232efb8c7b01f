//! Which series have which labels: name and value to ids, of one database.

use super::filter::{LabelFilter, Test};
use super::{Filters, Labels};
use crate::series::Series;
use ahash::{AHashMap, AHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A series that filters chose.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The key at the time of choosing.
    pub key: Arc<[u8]>,
    /// The series.
    pub series: Arc<Series>,
}

type Ids = AHashSet<u64>;

/// The series of each value of a name.
type Values = AHashMap<Box<[u8]>, Ids>;

/// The labels of all series of one database.
#[derive(Debug, Default)]
pub struct LabelIndex {
    series: AHashMap<u64, Selected>,
    names: AHashMap<Box<[u8]>, Values>,
}

impl LabelIndex {
    /// Enters a series under its labels. A series without labels is not entered.
    pub(crate) fn insert(&mut self, key: Arc<[u8]>, series: &Arc<Series>, labels: &Labels) {
        if labels.is_empty() {
            return;
        }
        self.series.insert(
            series.id(),
            Selected {
                key,
                series: Arc::clone(series),
            },
        );
        for (name, value) in labels.iter() {
            let values = self.names.entry(name.into()).or_default();
            values.entry(value.into()).or_default().insert(series.id());
        }
    }

    /// Takes a series out.
    pub(crate) fn remove(&mut self, id: u64, labels: &Labels) {
        self.series.remove(&id);
        for (name, value) in labels.iter() {
            let Some(values) = self.names.get_mut(name) else {
                continue;
            };
            if let Some(ids) = values.get_mut(value) {
                ids.remove(&id);
                if ids.is_empty() {
                    values.remove(value);
                }
            }
            if values.is_empty() {
                self.names.remove(name);
            }
        }
    }

    /// Takes everything out.
    pub(crate) fn clear(&mut self) {
        self.series.clear();
        self.names.clear();
    }

    /// The series that all filters let pass, ascending by key.
    pub fn select(&self, filters: &Filters) -> Vec<Selected> {
        let mut chosen: Vec<Selected> = self
            .matching(filters)
            .iter()
            .filter_map(|id| self.series.get(id).cloned())
            .collect();
        chosen.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        chosen
    }

    /// Distinct label names of the series that pass, or of all, ascending.
    pub fn label_names(&self, filters: Option<&Filters>) -> Vec<Vec<u8>> {
        let chosen = filters.map(|filters| self.matching(filters));
        let has_some = |values: &Values| values.values().any(|ids| overlaps(ids, chosen.as_ref()));
        let names: BTreeSet<&[u8]> = self
            .names
            .iter()
            .filter(|(_, values)| has_some(values))
            .map(|(name, _)| &**name)
            .collect();
        names.into_iter().map(<[u8]>::to_vec).collect()
    }

    /// Distinct values of a label of the series that pass, or of all, ascending.
    pub fn label_values(&self, name: &[u8], filters: Option<&Filters>) -> Vec<Vec<u8>> {
        let chosen = filters.map(|filters| self.matching(filters));
        let values = self.names.get(name).into_iter().flatten();
        let found: BTreeSet<&[u8]> = values
            .filter(|(_, ids)| overlaps(ids, chosen.as_ref()))
            .map(|(value, _)| &**value)
            .collect();
        found.into_iter().map(<[u8]>::to_vec).collect()
    }

    /// The ids that pass: the smallest list of an equality, held against all the others.
    fn matching(&self, filters: &Filters) -> Ids {
        let lists = filters.iter().filter_map(|filter| match &filter.test {
            Test::OneOf(values) => Some((filter, self.ids_of(&filter.name, values))),
            _ => None,
        });
        let Some((base, lists)) = lists.min_by_key(|(_, lists)| lists.iter().map(|ids| ids.len()).sum::<usize>())
        else {
            return Ids::default();
        };
        let passes = |id: &u64| {
            filters
                .iter()
                .filter(|filter| !std::ptr::eq(*filter, base))
                .all(|filter| self.passes(*id, filter))
        };
        lists.into_iter().flatten().copied().filter(passes).collect()
    }

    fn ids_of(&self, name: &[u8], values: &[Box<[u8]>]) -> Vec<&Ids> {
        let Some(known) = self.names.get(name) else {
            return Vec::new();
        };
        values.iter().filter_map(|value| known.get(value)).collect()
    }

    fn passes(&self, id: u64, filter: &LabelFilter) -> bool {
        let has_one_of = |values: &[Box<[u8]>]| self.ids_of(&filter.name, values).iter().any(|ids| ids.contains(&id));
        let has_name = || {
            self.names
                .get(&filter.name)
                .is_some_and(|values| values.values().any(|ids| ids.contains(&id)))
        };
        match &filter.test {
            Test::OneOf(values) => has_one_of(values),
            Test::NoneOf(values) => !has_one_of(values),
            Test::Absent => !has_name(),
            Test::Present => has_name(),
        }
    }
}

fn overlaps(ids: &Ids, chosen: Option<&Ids>) -> bool {
    chosen.is_none_or(|chosen| {
        if chosen.len() < ids.len() {
            chosen.iter().any(|id| ids.contains(id))
        } else {
            ids.iter().any(|id| chosen.contains(id))
        }
    })
}
