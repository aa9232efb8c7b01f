//! TS.CREATERULE (specification, chapter 7).

use super::numbers;
use super::range_options::{aggregator_list, bucket_duration};
use super::refusal::{self, Refusal, rule_refusal};
use crate::context::{Context, Flow};
use crate::events;
use crate::protocol::Arguments;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let word = |at: usize| arguments.get(at).ok_or(Refusal::Arity);
    let (source, destination) = (word(1)?, word(2)?);
    if arguments.len() > 7 || !word(3)?.eq_ignore_ascii_case(b"AGGREGATION") {
        return Err(Refusal::Arity);
    }
    let (aggregators, duration) = (word(4)?, word(5)?);
    let aggregators = aggregator_list(aggregators)?;
    let duration = bucket_duration(duration)?;
    let [aggregator] = aggregators[..] else {
        return Err(refusal::RULE_AGGREGATIONS);
    };
    let align = match arguments.get(6) {
        Some(text) => numbers::unsigned(text).ok_or(refusal::RULE_ALIGN)?,
        None => 0,
    };
    context
        .access
        .create_rule(context.db(), source, destination, aggregator, duration, align)
        .map_err(rule_refusal)?;
    context.notify(events::MODULE, "ts.createrule:src", source);
    context.notify(events::MODULE, "ts.createrule:dest", destination);
    context.reply.ok();
    Ok(Flow::Done)
}
