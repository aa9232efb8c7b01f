//! Which series a command reads, and which of their labels it shows: FILTER, WITHLABELS, SELECTED_LABELS, GROUPBY, EXCLUDEEMPTY
//! (specification, chapters 10 and 11).

use super::range_options::{Positions, selected_labels};
use super::refusal::{self, Refusal};
use crate::protocol::Arguments;
use timberline_series::aggregate::Aggregator;
use timberline_series::error::FilterError;
use timberline_series::labels::{Filters, Labels};
use timberline_series::series::Series;

/// The most names of SELECTED_LABELS.
const MAX_SELECTED_LABELS: usize = 50;

/// Which labels an entry of an answer shows.
#[derive(Clone, Debug)]
pub(super) enum ShownLabels {
    /// None.
    Nothing,
    /// WITHLABELS: all of them.
    All,
    /// SELECTED_LABELS: those named, null where a series has none of that name.
    Named(Vec<Box<[u8]>>),
}

/// GROUPBY label REDUCE reducer.
#[derive(Clone, Debug)]
pub(super) struct Grouping {
    pub(super) label: Box<[u8]>,
    pub(super) reducer: Aggregator,
}

/// Which series, and how they are shown.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) filters: Filters,
    pub(super) labels: ShownLabels,
    pub(super) exclude_empty: bool,
    pub(super) grouping: Option<Grouping>,
}

impl ShownLabels {
    /// Reads WITHLABELS or SELECTED_LABELS.
    pub(super) fn read(arguments: Arguments<'_>, positions: &Positions) -> Result<ShownLabels, Refusal> {
        let Some(at) = positions.selected_labels else {
            return Ok(match positions.with_labels {
                Some(_) => ShownLabels::All,
                None => ShownLabels::Nothing,
            });
        };
        if positions.with_labels.is_some() {
            return Err(refusal::BOTH_LABEL_OPTIONS);
        }
        let names: Vec<Box<[u8]>> = selected_labels(arguments, at).map(Box::from).collect();
        match names.len() {
            0 => Err(refusal::SELECTED_LABELS_MISSING),
            1..=MAX_SELECTED_LABELS => Ok(ShownLabels::Named(names)),
            _ => Err(refusal::SELECTED_LABELS_LIMIT),
        }
    }

    /// The labels of a series, if any of them is shown.
    pub(super) fn needed_of(&self, series: &Series) -> Labels {
        match self {
            ShownLabels::Nothing => Labels::default(),
            ShownLabels::All | ShownLabels::Named(_) => series.labels(),
        }
    }

    /// The labels of a series to show: name and value. Selected names match in any case and are shown as stored.
    pub(super) fn of<'a>(&'a self, labels: &'a Labels) -> Vec<(&'a [u8], Option<&'a [u8]>)> {
        match self {
            ShownLabels::Nothing => Vec::new(),
            ShownLabels::All => labels.iter().map(|(name, value)| (name, Some(value))).collect(),
            ShownLabels::Named(names) => names
                .iter()
                .map(|name| {
                    let same = |known: &[u8]| known.eq_ignore_ascii_case(name);
                    match labels.iter().find(|(known, _)| same(known)) {
                        Some((known, value)) => (known, Some(value)),
                        None => (&**name, None),
                    }
                })
                .collect(),
        }
    }
}

impl Selection {
    /// Reads everything but the options of ranges.
    pub(super) fn read(arguments: Arguments<'_>, positions: &Positions) -> Result<Selection, Refusal> {
        let filter = positions.filter.ok_or(refusal::FILTER_MISSING)?;
        let labels = ShownLabels::read(arguments, positions)?;
        let end = match positions.group_by {
            Some(group_by) if group_by < filter => return Err(refusal::GROUPBY_BEFORE_FILTER),
            Some(group_by) => group_by,
            None => arguments.len(),
        };
        let group = match positions.group_by {
            Some(at) => Some(group_words(arguments, at)?),
            None => None,
        };
        if filter + 1 == end {
            return Err(refusal::FILTER_EMPTY);
        }
        let filters = filters(arguments, filter + 1, end)?;
        let exclude_empty = positions.exclude_empty.is_some();
        if exclude_empty && group.is_some() {
            return Err(refusal::GROUPBY_EXCLUDEEMPTY);
        }
        let grouping = match group {
            Some((label, reducer)) => Some(Grouping {
                label: label.into(),
                reducer: reducer_named(reducer)?,
            }),
            None => None,
        };
        Ok(Selection {
            filters,
            labels,
            exclude_empty,
            grouping,
        })
    }
}

/// Label and reducer; GROUPBY stands at `at` and must begin the last four words.
fn group_words(arguments: Arguments<'_>, at: usize) -> Result<(&[u8], &[u8]), Refusal> {
    let word = |offset: usize| arguments.get(at + offset).ok_or(Refusal::Arity);
    let (label, reduce, reducer) = (word(1)?, word(2)?, word(3)?);
    if arguments.len() != at + 4 || !reduce.eq_ignore_ascii_case(b"REDUCE") {
        return Err(Refusal::Arity);
    }
    Ok((label, reducer))
}

fn reducer_named(name: &[u8]) -> Result<Aggregator, Refusal> {
    let reducer = Aggregator::parse(name).ok_or(refusal::REDUCER)?;
    if reducer.is_reducer() {
        Ok(reducer)
    } else {
        Err(refusal::REDUCER)
    }
}

/// Filter expressions from one word to before another.
pub(super) fn filters(arguments: Arguments<'_>, start: usize, end: usize) -> Result<Filters, Refusal> {
    let expressions = (start..end).filter_map(|at| arguments.get(at));
    Filters::parse(expressions).map_err(|error| match error {
        FilterError::Unparsable => refusal::FILTER,
        FilterError::NoMatcher => refusal::NO_MATCHER,
    })
}
