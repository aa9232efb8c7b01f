//! TS.GET (specification, chapter 12).

use super::refusal::{self, Refusal};
use super::{keys, replies};
use crate::context::{Context, Flow};
use crate::protocol::Arguments;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let key = arguments.get(1).ok_or(Refusal::Arity)?;
    if arguments.len() > 3 {
        return Err(Refusal::Arity);
    }
    let series = keys::series(context, key)?;
    let latest = match arguments.get(2) {
        Some(word) if word.eq_ignore_ascii_case(b"LATEST") => true,
        Some(_) => return Err(refusal::GET_WORD),
        None => false,
    };
    let sample = series.last(latest)?;
    replies::sample(context.reply, sample);
    Ok(Flow::Done)
}
