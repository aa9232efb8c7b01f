//! Which streams of which sources a query reads: selectors against the streams of each source (logql.md 4), and where two
//! sources may hold the same entry.

use crate::QueryError;
use crate::cancel::Cancelled;
use crate::context::{ScanCounters, count};
use std::collections::HashMap;
use std::sync::Arc;
use timberline_logql::ast::{MatchOp, Matcher};
use timberline_logql::labels::LabelSet;
use timberline_logql::regexp::compile_regex;
use timberline_store::TenantId;
use timberline_store::source::{RowSource, SourceProvider, StreamInfo, TimeSpan};

/// Compiled matchers of a selector; all must hold.
#[derive(Debug)]
pub(crate) struct Selector(Vec<(String, Test)>);

#[derive(Debug)]
enum Test {
    Equal(String, bool),
    Regex(regex::bytes::Regex, bool),
}

impl Selector {
    /// Compiles matchers. In selectors regular expressions are anchored and `.` matches a newline.
    pub(crate) fn compile(matchers: &[Matcher]) -> Result<Self, QueryError> {
        let compile = |m: &Matcher| {
            let regex =
                || compile_regex(&m.value, true, true).map_err(|e| QueryError::Parse(format!("parse error : {e}")));
            let test = match m.op {
                MatchOp::Equal => Test::Equal(m.value.clone(), true),
                MatchOp::NotEqual => Test::Equal(m.value.clone(), false),
                MatchOp::Regex => Test::Regex(regex()?, true),
                MatchOp::NotRegex => Test::Regex(regex()?, false),
            };
            Ok((m.name.clone(), test))
        };
        matchers.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// True if all matchers hold; an absent label counts as empty text.
    pub(crate) fn matches(&self, labels: &LabelSet) -> bool {
        self.0.iter().all(|(name, test)| {
            let value = labels.get(name).unwrap_or("");
            match test {
                Test::Equal(want, positive) => (value == want) == *positive,
                Test::Regex(regex, positive) => regex.is_match(value.as_bytes()) == *positive,
            }
        })
    }
}

/// A stream that the query reads.
#[derive(Debug)]
pub(crate) struct SelectedStream {
    pub(crate) labels: LabelSet,
    /// Where more than one source, or one source twice, may hold the same entry of this stream.
    pub(crate) duplicates: Option<TimeSpan>,
}

/// A source with at least one chosen stream.
#[derive(Debug)]
pub(crate) struct SelectedSource {
    pub(crate) source: Arc<dyn RowSource>,
    /// Position in order of arrival.
    pub(crate) arrival: usize,
    /// The source's numbers of the chosen streams, ascending.
    chosen: Vec<i64>,
    /// The query's number of each.
    numbers: Vec<u32>,
    /// From the source's number, less the first one chosen, to the query's; [`NOT_SELECTED`] elsewhere. Empty where the numbers lie far apart:
    /// a source may number its streams as it likes.
    table: Vec<u32>,
}

/// In [`SelectedSource::stream`]: the stream is not read.
pub(crate) const NOT_SELECTED: u32 = u32::MAX;

impl SelectedSource {
    fn new(source: Arc<dyn RowSource>, arrival: usize, mut chosen: Vec<(i64, u32)>) -> Self {
        chosen.sort_unstable();
        let (first_id, last_id) = (chosen.first().map_or(0, |c| c.0), chosen.last().map_or(0, |c| c.0));
        let mut table = Vec::new();
        let width = last_id.abs_diff(first_id);
        if width < 4096 + 64 * chosen.len() as u64 {
            table = vec![NOT_SELECTED; width as usize + 1];
            for &(id, stream) in &chosen {
                table[id.abs_diff(first_id) as usize] = stream;
            }
        }
        let (chosen, numbers) = chosen.into_iter().unzip();
        Self {
            source,
            arrival,
            chosen,
            numbers,
            table,
        }
    }

    /// The query's number of a stream of this source, or [`NOT_SELECTED`].
    #[inline]
    pub(crate) fn stream(&self, id: i64) -> u32 {
        let number = if self.table.is_empty() {
            self.chosen.binary_search(&id).ok().map(|at| self.numbers[at])
        } else {
            let first_id = self.chosen.first().copied().unwrap_or_default();
            self.table.get(id.wrapping_sub(first_id) as u64 as usize).copied()
        };
        number.unwrap_or(NOT_SELECTED)
    }

    /// The query's numbers of the chosen streams.
    pub(crate) fn chosen_streams(&self) -> &[u32] {
        &self.numbers
    }

    /// True if a chosen stream has a number within these bounds.
    pub(crate) fn any_between(&self, (min, max): (i64, i64)) -> bool {
        let at = self.chosen.partition_point(|&id| id < min);
        self.chosen.get(at).is_some_and(|&id| id <= max)
    }
}

/// What a selector chose.
#[derive(Debug)]
pub(crate) struct Selected {
    pub(crate) streams: Vec<SelectedStream>,
    pub(crate) sources: Vec<SelectedSource>,
}

/// Streams that are matched, by regular expressions perhaps, between two looks at whether anybody still waits.
const STREAMS_PER_LOOK: usize = 512;

/// Chooses streams and sources of a tenant for a selector and a time span.
pub(crate) async fn select(
    provider: &dyn SourceProvider,
    tenant: &TenantId,
    matchers: &[Matcher],
    span: TimeSpan,
    counters: &ScanCounters,
    cancelled: &Cancelled,
) -> Result<Selected, QueryError> {
    let selector = Selector::compile(matchers)?;
    let mut numbers: HashMap<LabelSet, u32> = HashMap::new();
    let mut places: Vec<Vec<StreamInfo>> = Vec::new();
    let mut sources = Vec::new();
    for (arrival, source) in provider.sources(tenant, span).await?.into_iter().enumerate() {
        let mut chosen = Vec::new();
        for (at, info) in source.streams().await?.iter().enumerate() {
            if at.is_multiple_of(STREAMS_PER_LOOK) {
                cancelled.check()?;
            }
            if !info.span.overlaps(&span) || !selector.matches(&info.labels) {
                continue;
            }
            let number = *numbers.entry(info.labels.clone()).or_insert_with(|| {
                places.push(Vec::new());
                (places.len() - 1) as u32
            });
            places[number as usize].push(info.clone());
            chosen.push((info.id, number));
        }
        if !chosen.is_empty() {
            counters.sources.lock().push(source.clone());
            sources.push(SelectedSource::new(source, arrival, chosen));
        }
    }
    count(&counters.streams, places.len());
    let streams = places
        .iter()
        .map(|infos| SelectedStream {
            labels: infos[0].labels.clone(),
            duplicates: duplicates(infos),
        })
        .collect();
    Ok(Selected { streams, sources })
}

/// The smallest span that covers every place where two sources overlap or one repeats itself.
fn duplicates(infos: &[StreamInfo]) -> Option<TimeSpan> {
    let mut spans: Vec<TimeSpan> = infos.iter().map(|i| i.span).collect();
    spans.sort_by_key(|s| s.min_ns);
    let mut found: Option<TimeSpan> = None;
    let mut add = |span: TimeSpan| {
        let old = found.unwrap_or(span);
        found = Some(TimeSpan {
            min_ns: old.min_ns.min(span.min_ns),
            max_ns: old.max_ns.max(span.max_ns),
        });
    };
    infos.iter().filter_map(|i| i.duplicates).for_each(&mut add);
    let mut latest = i64::MIN;
    for (i, span) in spans.iter().enumerate() {
        if i > 0 && span.min_ns <= latest {
            add(TimeSpan {
                min_ns: span.min_ns,
                max_ns: span.max_ns.min(latest),
            });
        }
        latest = latest.max(span.max_ns);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(min_ns: i64, max_ns: i64, duplicates: Option<(i64, i64)>) -> StreamInfo {
        let span = TimeSpan { min_ns, max_ns };
        let duplicates = duplicates.map(|(min_ns, max_ns)| TimeSpan { min_ns, max_ns });
        StreamInfo {
            id: 1,
            labels: LabelSet::default(),
            span,
            rows: 1,
            bytes: 1,
            duplicates,
        }
    }

    #[test]
    fn overlaps_of_sources_and_repeats_within_one_are_found() {
        let f = |infos: &[StreamInfo]| duplicates(infos).map(|s| (s.min_ns, s.max_ns));
        assert_eq!(f(&[info(0, 10, None)]), None);
        assert_eq!(f(&[info(0, 10, None), info(11, 20, None)]), None);
        assert_eq!(f(&[info(0, 10, None), info(10, 20, None)]), Some((10, 10)));
        assert_eq!(
            f(&[info(0, 100, None), info(10, 20, None), info(30, 40, None)]),
            Some((10, 40))
        );
        assert_eq!(f(&[info(5, 9, Some((6, 7)))]), Some((6, 7)));
        assert_eq!(f(&[info(5, 9, Some((6, 7))), info(9, 12, None)]), Some((6, 9)));
    }

    #[test]
    fn stream_numbers_map_both_ways() {
        #[derive(Debug)]
        struct Nothing;
        #[async_trait::async_trait]
        impl RowSource for Nothing {
            fn name(&self) -> &str {
                "nothing"
            }
            fn span(&self) -> TimeSpan {
                TimeSpan { min_ns: 0, max_ns: 0 }
            }
            fn newest_first(&self) -> bool {
                true
            }
            async fn streams(&self) -> Result<Arc<[StreamInfo]>, timberline_store::Error> {
                Ok(Arc::from([]))
            }
            async fn runs(&self) -> Result<Arc<[timberline_store::source::RunInfo]>, timberline_store::Error> {
                Ok(Arc::from([]))
            }
            async fn keys(&self, _: usize) -> Result<timberline_store::source::Keys, timberline_store::Error> {
                unreachable!()
            }
            async fn lines(
                &self,
                _: usize,
                _: &timberline_store::source::Selection,
            ) -> Result<arrow_array::BinaryArray, timberline_store::Error> {
                unreachable!()
            }
            async fn metadata(
                &self,
                _: usize,
                _: &timberline_store::source::Selection,
                _: Option<&[String]>,
            ) -> Result<Vec<timberline_store::source::MetadataColumn>, timberline_store::Error> {
                unreachable!()
            }
        }
        let far = SelectedSource::new(Arc::new(Nothing), 0, vec![(i64::MAX, 2), (i64::MIN, 0), (7, 1)]);
        let found: Vec<u32> = [i64::MIN, 7, 8, i64::MAX].iter().map(|&id| far.stream(id)).collect();
        assert_eq!(found, [0, 1, NOT_SELECTED, 2]);
        let s = SelectedSource::new(Arc::new(Nothing), 0, vec![(7, 0), (4, 1)]);
        let found: Vec<u32> = [3, 4, 5, 7, 8, i64::MIN].iter().map(|&id| s.stream(id)).collect();
        assert_eq!(found, [NOT_SELECTED, 1, NOT_SELECTED, 0, NOT_SELECTED, NOT_SELECTED]);
        assert!(s.any_between((5, 7)) && !s.any_between((5, 6)) && !s.any_between((8, 9)) && s.any_between((0, 4)));
    }
}
