//! TS.QUERYLABELS (specification, chapter 12).

use super::refusal::{self, Refusal};
use super::replies;
use super::selection::filters;
use crate::context::{Context, Flow};
use crate::protocol::Arguments;

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let subtype = arguments.get(1).ok_or(Refusal::Arity)?;
    let (label, filter) = if subtype.eq_ignore_ascii_case(b"LABELS") {
        (None, 2)
    } else if subtype.eq_ignore_ascii_case(b"VALUES") {
        (Some(arguments.get(2).ok_or(Refusal::Arity)?), 3)
    } else {
        return Err(refusal::QUERYLABELS_SUBTYPE);
    };
    let filters = match arguments.get(filter) {
        None => None,
        Some(word) if !word.eq_ignore_ascii_case(b"FILTER") => return Err(refusal::QUERYLABELS_FILTER),
        Some(_) if arguments.len() == filter + 1 => return Err(refusal::QUERYLABELS_NO_FILTER),
        Some(_) => Some(filters(arguments, filter + 1, arguments.len())?),
    };
    let found = match label {
        None => context.access.label_names(context.db(), filters.as_ref()),
        Some(name) => context.access.label_values(context.db(), name, filters.as_ref()),
    };
    replies::set(context.reply, &found);
    Ok(Flow::Done)
}
