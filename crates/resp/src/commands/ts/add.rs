// hot path: no lock shared between cores but the key's, no logging, no allocation per sample.
//! TS.ADD (specification, chapters 3 and 4).

use super::numbers;
use super::refusal::{self, Refusal};
use super::series_options::Positions;
use crate::context::{Context, Flow};
use crate::events;
use crate::protocol::Arguments;
use timberline_series::error::{AddError, KeyError};

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let (Some(key), Some(timestamp), Some(value)) = (arguments.get(1), arguments.get(2), arguments.get(3)) else {
        return Err(Refusal::Arity);
    };
    let value = numbers::value(value).ok_or(refusal::VALUE)?;
    let timestamp = numbers::timestamp(timestamp, || context.now_ms())?;
    let options = match arguments.get(4) {
        Some(_) => Positions::find(arguments, 4),
        None => Positions::default(),
    };
    loop {
        match context.writer(key)? {
            Ok(writer) => {
                let on_duplicate = options.on_duplicate(arguments)?;
                let added = writer.add(timestamp, value, on_duplicate);
                context.notify(events::MODULE, "ts.add", key);
                context.reply.integer(added.map_err(add_refusal)?);
                return Ok(Flow::Done);
            }
            Err(KeyError::WrongType) => return Err(refusal::NOT_A_SERIES),
            // Again after it was made: another client may have removed it already.
            Err(KeyError::Missing) => {
                options.on_duplicate(arguments)?;
                if !create(context, key, &options, arguments)? {
                    return Ok(Flow::Exclusive);
                }
            }
        }
    }
}

/// Makes the series of a command that writes to a missing key. `false` if that takes an exclusive access.
#[cold]
pub(super) fn create(
    context: &Context<'_>,
    key: &[u8],
    options: &Positions,
    arguments: Arguments<'_>,
) -> Result<bool, Refusal> {
    let given = options.read(arguments)?;
    if context.access.creating_needs_exclusive() {
        return Ok(false);
    }
    let options = given.or(context.access.engine().settings().series_options());
    // If another client was faster, its series is the one to write to.
    let _ = context.access.create_with_rules(context.db(), key, options);
    Ok(true)
}

/// The words for a sample that is not taken.
pub(super) fn add_refusal(error: AddError) -> Refusal {
    match error {
        AddError::Blocked => refusal::BLOCKED,
        AddError::OlderThanRetention => refusal::OLDER_THAN_RETENTION,
        AddError::Read(error) => error.into(),
    }
}
