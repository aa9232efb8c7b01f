//! TS.QUERYINDEX (specification, chapter 12).

use super::refusal::Refusal;
use super::replies;
use super::selection::filters;
use crate::context::{Context, Flow};
use crate::protocol::Arguments;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let filters = filters(arguments, 1, arguments.len())?;
    let selected = context.access.select(context.db(), &filters);
    let keys: Vec<_> = selected.into_iter().map(|selected| selected.key).collect();
    replies::set(context.reply, &keys);
    Ok(Flow::Done)
}
