//! TS.MGET (specification, chapter 12).

use super::range_options::{Positions, Shape};
use super::refusal::Refusal;
use super::selection::{ShownLabels, filters};
use super::{keys, replies};
use crate::context::{Context, Flow};
use crate::protocol::Arguments;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let shape = Shape {
        from: 1,
        aggregator_lists: 1,
        list_per_key: false,
        filtered: true,
        reverse: false,
    };
    let positions = Positions::find(arguments, 1, shape);
    let filter = positions.filter.ok_or(Refusal::Arity)?;
    let shown = ShownLabels::read(arguments, &positions)?;
    let filters = filters(arguments, filter + 1, arguments.len())?;
    let selected = keys::select(context, &filters)?;
    let mut entries = Vec::with_capacity(selected.len());
    for each in &selected {
        entries.push((
            &each.key,
            shown.needed_of(&each.series),
            each.series.last(positions.latest.is_some())?,
        ));
    }
    let reply = &mut *context.reply;
    let resp3 = reply.is_resp3();
    if resp3 {
        reply.map(entries.len());
    } else {
        reply.array(entries.len());
    }
    for (key, labels, sample) in entries {
        if resp3 {
            reply.bulk(key);
            reply.array(2);
        } else {
            reply.array(3);
            reply.bulk(key);
        }
        replies::labels(reply, shown.of(&labels).into_iter());
        replies::sample(reply, sample);
    }
    Ok(Flow::Done)
}
