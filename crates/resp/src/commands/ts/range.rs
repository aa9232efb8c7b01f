//! TS.RANGE and TS.REVRANGE (specification, chapter 9).

use super::keys;
use super::query::{Planned, answer, is_heavy};
use super::range_options::{Positions, RangeOptions, Shape};
use super::refusal::Refusal;
use super::replies::{self, RowShape};
use crate::context::{Context, Flow};
use crate::protocol::Arguments;
use timberline_series::series::{Reach, Series};

/// TS.RANGE.
pub(super) fn ascending(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    run(context, arguments, false)
}

/// TS.REVRANGE.
pub(super) fn descending(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    run(context, arguments, true)
}

fn run(context: &mut Context<'_>, arguments: Arguments<'_>, reverse: bool) -> Result<Flow, Refusal> {
    let key = arguments.get(1).ok_or(Refusal::Arity)?;
    let series = keys::series(context, key)?;
    let shape = Shape {
        from: 2,
        aggregator_lists: 1,
        list_per_key: false,
        filtered: false,
        reverse,
    };
    let options = Positions::find(arguments, 4, shape).read(arguments, shape)?;
    let planned = plan(&series, &options, 0, options.count)?;
    Ok(answer(context.reply, is_heavy([&planned]), move |reply| {
        replies::rows(reply, &planned.rows()?, RowShape::Flat);
        Ok(())
    })?)
}

/// A picture of a series and what to read of it. `key` is the number of the key among those of the command.
pub(super) fn plan(
    series: &Series,
    options: &RangeOptions,
    key: usize,
    count: Option<u64>,
) -> Result<Planned, Refusal> {
    let reach = if options.looks_beyond() {
        Reach::Neighbours
    } else {
        Reach::Inside
    };
    let (from, to) = options.bounds();
    Ok(Planned {
        view: series.view(from, to, reach, options.latest)?,
        query: options.query(key, count),
    })
}
