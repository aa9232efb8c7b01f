//! The filters of an object: where they are, how they are read, and which are kept.

use super::reader::Reader;
use crate::{Error, TenantId};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use timberline_dataobj::extension::{TEXT_FILTER, TextFilters, VALUE_FILTER, ValueFilters, find_section};
use timberline_dataobj::{ObjectLayout, Section};
use tracing::warn;

/// Larger filter sections are not read; it bounds the memory of one reading. Ours take an eighth of an object at most.
const MAX_SECTION_BYTES: u64 = 64 << 20;

/// Filters in memory take about this many times their size in the object, most of it for finding those of a page.
const EXPANSION: usize = 2;

/// Memory of the filters of objects that are opened without a [`super::SourceCache`].
const DEFAULT_BYTES: usize = 64 << 20;

/// What filters tell about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilterKind {
    /// Texts in lines.
    Text,
    /// Values of structured metadata.
    Values,
}

/// Where the filters of a tenant are in an object.
#[derive(Debug)]
pub(super) struct FilterSections {
    text: Option<Section>,
    values: Option<Section>,
}

/// Filters of an object, as far as they were read.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters {
    text: Option<State<TextFilters>>,
    values: Option<State<ValueFilters>>,
}

#[derive(Debug)]
enum State<T> {
    Usable(Arc<T>),
    /// Damaged or not understood: as if the section were not there.
    Unusable,
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Usable(filters) => Self::Usable(filters.clone()),
            Self::Unusable => Self::Unusable,
        }
    }
}

impl<T> State<T> {
    fn usable(&self) -> Option<&T> {
        match self {
            Self::Usable(filters) => Some(filters),
            Self::Unusable => None,
        }
    }
}

/// What came of reading filters.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    pub(super) filters: Filters,
    /// As stored.
    pub(super) bytes: usize,
    /// About the memory that they take.
    pub(super) weight_bytes: usize,
    /// Sections that can't be used.
    pub(super) unusable: usize,
}

impl Filters {
    /// True if filters of the kind were read, usable or not.
    pub(super) fn has(&self, kind: FilterKind) -> bool {
        match kind {
            FilterKind::Text => self.text.is_some(),
            FilterKind::Values => self.values.is_some(),
        }
    }

    pub(super) fn text(&self) -> Option<&TextFilters> {
        self.text.as_ref().and_then(State::usable)
    }

    pub(super) fn values(&self) -> Option<&ValueFilters> {
        self.values.as_ref().and_then(State::usable)
    }

    /// Adds what `other` has.
    pub(super) fn join(&mut self, other: Filters) {
        self.text = other.text.or(self.text.take());
        self.values = other.values.or(self.values.take());
    }
}

impl FilterSections {
    /// The filters of a tenant in an object, those left out that are too large.
    pub(super) fn find(layout: &ObjectLayout, tenant: &TenantId) -> Self {
        let size = |section: &Section| length(&section.metadata).saturating_add(length(&section.data));
        let find = |kind| find_section(layout, tenant.as_str(), kind).filter(|s| size(s) <= MAX_SECTION_BYTES);
        Self {
            text: find(TEXT_FILTER).cloned(),
            values: find(VALUE_FILTER).cloned(),
        }
    }

    pub(super) fn get(&self, kind: FilterKind) -> Option<&Section> {
        match kind {
            FilterKind::Text => self.text.as_ref(),
            FilterKind::Values => self.values.as_ref(),
        }
    }

    /// Reads filters in one batch. Damage is logged here and is no error; that the store can't be read is one.
    pub(super) async fn fetch(&self, kinds: &[FilterKind], reader: &Reader) -> Result<Fetched, Error> {
        let sections = kinds.iter().filter_map(|kind| Some((*kind, self.get(*kind)?)));
        let sections: Vec<(FilterKind, &Section)> = sections.collect();
        let regions = |(_, section): &(FilterKind, &Section)| [section.metadata.clone(), section.data.clone()];
        let ranges: Vec<Range<u64>> = sections.iter().flat_map(regions).collect();
        let mut fetched = Fetched::default();
        let parts = match reader.fetch(&ranges).await {
            Ok(parts) => parts.into_iter().map(Ok).collect(),
            // A section that would lie outside of the object.
            Err(error @ Error::Corrupt { .. }) => vec![Err(error); ranges.len()],
            Err(error) => return Err(error),
        };
        let mut parts = parts.into_iter();
        for (kind, section) in sections {
            let mut next = || parts.next().expect("bug: one part for each range");
            fetched.add(
                kind,
                section,
                next().and_then(|metadata| Ok((metadata, next()?))),
                reader,
            );
        }
        Ok(fetched)
    }
}

impl Fetched {
    fn add(&mut self, kind: FilterKind, section: &Section, regions: Result<(Bytes, Bytes), Error>, reader: &Reader) {
        let failed = |error| Error::in_object(reader.key(), error);
        let size = regions
            .as_ref()
            .map_or(0, |(metadata, data)| metadata.len() + data.len());
        self.bytes += size;
        let mut state_of = |error: Option<Error>| {
            if let Some(error) = error {
                let section = section.index;
                warn!(object = reader.key(), section, %error, "filters can't be used; queries go on without them");
                self.unusable += 1;
            } else {
                self.weight_bytes += size * EXPANSION;
            }
        };
        match kind {
            FilterKind::Text => {
                let parsed = regions.and_then(|(m, d)| TextFilters::parse(section, &m, &d).map_err(failed));
                let (state, error) = split(parsed);
                state_of(error);
                self.filters.text = Some(state);
            }
            FilterKind::Values => {
                let parsed = regions.and_then(|(m, d)| ValueFilters::parse(section, &m, &d).map_err(failed));
                let (state, error) = split(parsed);
                state_of(error);
                self.filters.values = Some(state);
            }
        }
    }
}

fn split<T>(parsed: Result<T, Error>) -> (State<T>, Option<Error>) {
    match parsed {
        Ok(filters) => (State::Usable(Arc::new(filters)), None),
        Err(error) => (State::Unusable, Some(error)),
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

/// Filters of many objects within a bound, those given up first that were not used for longest. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub(super) struct FilterCache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    objects: HashMap<u64, KeptFilters>,
    weight_bytes: usize,
    next_key: u64,
    /// Counts uses; the time of the cache.
    clock: u64,
}

#[derive(Debug, Default)]
struct KeptFilters {
    filters: Filters,
    weight_bytes: usize,
    used: u64,
}

impl Default for FilterCache {
    fn default() -> Self {
        Self::new(DEFAULT_BYTES)
    }
}

impl FilterCache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self(Arc::new(Inner {
            max_bytes,
            kept: Mutex::default(),
        }))
    }

    /// A key for one more object.
    pub(super) fn new_key(&self) -> u64 {
        let mut kept = self.0.kept.lock();
        kept.next_key += 1;
        kept.next_key
    }

    /// What is kept of an object.
    pub(super) fn get(&self, key: u64) -> Filters {
        let mut kept = self.0.kept.lock();
        kept.clock += 1;
        let now = kept.clock;
        let object = kept.objects.get_mut(&key);
        object.map_or_else(Filters::default, |object| {
            object.used = now;
            object.filters.clone()
        })
    }

    /// Keeps more of an object, and gives up others if that is too much.
    pub(super) fn add(&self, key: u64, filters: &Filters, weight_bytes: usize) {
        let mut kept = self.0.kept.lock();
        kept.clock += 1;
        let now = kept.clock;
        let object = kept.objects.entry(key).or_default();
        let is_known = [FilterKind::Text, FilterKind::Values]
            .iter()
            .all(|kind| !filters.has(*kind) || object.filters.has(*kind));
        if is_known {
            // Another query read the same at the same time.
            return;
        }
        object.filters.join(filters.clone());
        object.weight_bytes += weight_bytes;
        object.used = now;
        kept.weight_bytes += weight_bytes;
        if kept.weight_bytes > self.0.max_bytes {
            kept.shrink(self.0.max_bytes);
        }
    }

    /// Forgets an object.
    pub(super) fn remove(&self, key: u64) {
        self.0.kept.lock().remove(key);
    }

    pub(super) fn weight_bytes(&self) -> usize {
        self.0.kept.lock().weight_bytes
    }
}

impl Kept {
    fn remove(&mut self, key: u64) {
        if let Some(object) = self.objects.remove(&key) {
            self.weight_bytes -= object.weight_bytes;
        }
    }

    /// Down to three quarters of the bound, so that not every addition has to look for the oldest.
    fn shrink(&mut self, max_bytes: usize) {
        let mut oldest_first: Vec<(u64, u64)> = self.objects.iter().map(|(key, object)| (object.used, *key)).collect();
        oldest_first.sort_unstable();
        for (_, key) in oldest_first {
            if self.weight_bytes <= max_bytes / 4 * 3 {
                break;
            }
            self.remove(key);
        }
    }
}
