// hot path: no lock shared between cores but the key's, no logging, no allocation per sample.
//! TS.MADD (specification, chapter 3).

use super::add::add_refusal;
use super::numbers;
use super::refusal::{self, Refusal};
use crate::context::{Context, Flow};
use crate::events;
use crate::protocol::Arguments;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let words = arguments.len() - 1;
    if words == 0 || !words.is_multiple_of(3) {
        return Err(Refusal::Arity);
    }
    let mut now_ms = None;
    context.reply.array(words / 3);
    for triple in 0..words / 3 {
        let at = 1 + 3 * triple;
        let word = |offset: usize| arguments.get(at + offset).unwrap_or_default();
        match add(context, word(0), word(1), word(2), &mut now_ms) {
            Ok(timestamp) => context.reply.integer(timestamp),
            Err(refusal) => context.reply.error(&refusal.of(context.command).0),
        }
    }
    Ok(Flow::Done)
}

fn add(
    context: &mut Context<'_>,
    key: &[u8],
    timestamp: &[u8],
    value: &[u8],
    now_ms: &mut Option<i64>,
) -> Result<i64, Refusal> {
    let value = numbers::value(value).ok_or(refusal::VALUE)?;
    // All samples of a command are of the same time.
    let timestamp = numbers::timestamp(timestamp, || *now_ms.get_or_insert_with(|| context.now_ms()))?;
    let Ok(writer) = context.writer(key)? else {
        return Err(refusal::NOT_A_SERIES);
    };
    let added = writer.add(timestamp, value, None);
    context.notify(events::MODULE, "ts.add", key);
    added.map_err(add_refusal)
}
