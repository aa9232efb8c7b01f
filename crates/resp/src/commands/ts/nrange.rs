//! TS.NRANGE and TS.NREVRANGE (specification, chapter 13).

use super::query::{Planned, answer, is_heavy};
use super::range::plan;
use super::range_options::{Positions, Shape};
use super::refusal::{self, Refusal};
use super::replies::{self, RowShape};
use super::{keys, numbers};
use crate::context::{Context, Flow};
use crate::protocol::Arguments;
use timberline_series::range::join;

/// TS.NRANGE.
pub(super) fn ascending(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    run(context, arguments, false)
}

/// TS.NREVRANGE.
pub(super) fn descending(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    run(context, arguments, true)
}

fn run(context: &mut Context<'_>, arguments: Arguments<'_>, reverse: bool) -> Result<Flow, Refusal> {
    let count = arguments.get(1).and_then(numbers::integer).unwrap_or(0);
    let keys = usize::try_from(count).unwrap_or(0);
    if keys == 0 {
        return Err(refusal::NUMKEYS);
    }
    // Command, number, keys, and two bounds.
    if keys > arguments.len().saturating_sub(4) {
        return Err(Refusal::Arity);
    }
    let series = (2..2 + keys)
        .map(|at| keys::series(context, arguments.get(at).unwrap_or_default()))
        .collect::<Result<Vec<_>, _>>()?;
    let shape = Shape {
        from: 2 + keys,
        aggregator_lists: keys,
        list_per_key: true,
        filtered: false,
        reverse,
    };
    let options = Positions::find(arguments, 4 + keys, shape).read(arguments, shape)?;
    let planned = series
        .iter()
        .enumerate()
        // The first rows of all keys together are among the first rows of each.
        .map(|(key, series)| plan(series, &options, key, options.count))
        .collect::<Result<Vec<Planned>, _>>()?;
    Ok(answer(context.reply, is_heavy(&planned), move |reply| {
        let rows = planned.iter().map(Planned::rows).collect::<Result<Vec<_>, _>>()?;
        replies::rows(reply, &join(&rows, reverse, options.count), RowShape::Nested);
        Ok(())
    })?)
}
