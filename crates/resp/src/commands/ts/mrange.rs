//! TS.MRANGE and TS.MREVRANGE (specification, chapter 10).

use super::keys;
use super::query::{Planned, answer, is_heavy};
use super::range::plan;
use super::range_options::{Positions, RangeOptions, Shape};
use super::refusal::{self, Refusal};
use super::replies::{self, RowShape};
use super::selection::{Grouping, Selection, ShownLabels};
use crate::context::{Context, Flow};
use crate::protocol::{Arguments, Reply};
use std::collections::BTreeMap;
use std::sync::Arc;
use timberline_series::labels::Labels;
use timberline_series::range::{Rows, reduce};
use timberline_series::view::ReadError;

/// A series that the filters chose.
struct Entry {
    key: Arc<[u8]>,
    labels: Labels,
    planned: Planned,
}

/// TS.MRANGE.
pub(super) fn ascending(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    run(context, arguments, false)
}

/// TS.MREVRANGE.
pub(super) fn descending(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    run(context, arguments, true)
}

fn run(context: &mut Context<'_>, arguments: Arguments<'_>, reverse: bool) -> Result<Flow, Refusal> {
    let shape = Shape {
        from: 1,
        aggregator_lists: 1,
        list_per_key: false,
        filtered: true,
        reverse,
    };
    let positions = Positions::find(arguments, 3, shape);
    let options = positions.read(arguments, shape)?;
    let selection = Selection::read(arguments, &positions)?;
    let several_aggregators = options.aggregators.first().is_some_and(|list| list.len() > 1);
    if selection.grouping.is_some() && several_aggregators {
        return Err(refusal::GROUPBY_AGGREGATIONS);
    }
    let mut entries = Vec::new();
    for selected in keys::select(context, &selection.filters)? {
        entries.push(Entry {
            labels: match &selection.grouping {
                Some(_) => selected.series.labels(),
                None => selection.labels.needed_of(&selected.series),
            },
            // With groups COUNT is of the rows of a group, which are among as many first rows of its members.
            planned: plan(&selected.series, &options, 0, options.count)?,
            key: selected.key,
        });
    }
    let heavy = is_heavy(entries.iter().map(|entry| &entry.planned));
    Ok(answer(context.reply, heavy, move |reply| match &selection.grouping {
        Some(grouping) => write_groups(reply, &entries, &options, &selection.labels, grouping),
        None => write_series(reply, &entries, &options, &selection),
    })?)
}

fn write_series(
    reply: &mut Reply,
    entries: &[Entry],
    options: &RangeOptions,
    selection: &Selection,
) -> Result<(), ReadError> {
    let mut shown = Vec::with_capacity(entries.len());
    for entry in entries {
        let rows = entry.planned.rows()?;
        if !(selection.exclude_empty && rows.is_empty()) {
            shown.push((entry, rows));
        }
    }
    begin(reply, shown.len());
    for (entry, rows) in shown {
        begin_entry(reply, &entry.key, 3);
        replies::labels(reply, selection.labels.of(&entry.labels).into_iter());
        if reply.is_resp3() {
            let aggregators = options.aggregators.first().map_or(&[][..], Vec::as_slice);
            let names = aggregators.iter().map(|aggregator| aggregator.name());
            replies::named_list(reply, "aggregators", names);
        }
        replies::rows(reply, &rows, RowShape::Flat);
    }
    Ok(())
}

fn write_groups(
    reply: &mut Reply,
    entries: &[Entry],
    options: &RangeOptions,
    shown: &ShownLabels,
    grouping: &Grouping,
) -> Result<(), ReadError> {
    let mut groups: BTreeMap<&[u8], Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        if let Some(value) = entry.labels.get(&grouping.label) {
            groups.entry(value).or_default().push(entry);
        }
    }
    let mut reduced = Vec::with_capacity(groups.len());
    for (value, members) in groups {
        let rows = members
            .iter()
            .map(|member| member.planned.rows())
            .collect::<Result<Vec<Rows>, _>>()?;
        let rows = reduce(&rows, grouping.reducer, options.is_reverse(), options.count);
        reduced.push((value, members, rows));
    }
    begin(reply, reduced.len());
    for (value, members, rows) in reduced {
        begin_entry(reply, &[&grouping.label, &b"="[..], value].concat(), 4);
        let keys = members.iter().map(|member| &*member.key);
        write_group_labels(reply, shown, grouping, value, keys.clone());
        if reply.is_resp3() {
            replies::named_list(reply, "reducers", [grouping.reducer.name()].iter());
            replies::named_list(reply, "sources", keys);
        }
        replies::rows(reply, &rows, RowShape::Flat);
    }
    Ok(())
}

/// The labels of a group. Protocol 2 has no other place for the reducer and the keys of the members.
fn write_group_labels<'a>(
    reply: &mut Reply,
    shown: &ShownLabels,
    grouping: &Grouping,
    value: &[u8],
    keys: impl Iterator<Item = &'a [u8]>,
) {
    let mut pairs = vec![(grouping.label.to_vec(), value.to_vec())];
    if !reply.is_resp3() {
        let sources: Vec<&[u8]> = keys.collect();
        pairs.push((b"__reducer__".to_vec(), grouping.reducer.name().as_bytes().to_vec()));
        pairs.push((b"__source__".to_vec(), sources.join(&b","[..])));
    }
    replies::labels(reply, shown.of(&Labels::from_pairs(pairs)).into_iter());
}

fn begin(reply: &mut Reply, entries: usize) {
    if reply.is_resp3() {
        reply.map(entries);
    } else {
        reply.array(entries);
    }
}

/// Key and head of an entry; `parts` counts what follows the key in protocol 3, where protocol 2 has labels and rows only.
fn begin_entry(reply: &mut Reply, key: &[u8], parts: usize) {
    if reply.is_resp3() {
        reply.bulk(key);
        reply.array(parts);
    } else {
        reply.array(3);
        reply.bulk(key);
    }
}
