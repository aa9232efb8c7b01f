//! TS.INCRBY and TS.DECRBY (specification, chapter 3).

use super::add::create;
use super::numbers;
use super::refusal::{self, Refusal};
use super::series_options::Positions;
use crate::context::{Context, Flow};
use crate::events;
use crate::protocol::Arguments;
use timberline_series::error::{IncrementError, KeyError};

/// TS.INCRBY.
pub(super) fn increase(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    run(context, arguments, 1.0, "ts.incrby")
}

/// TS.DECRBY.
pub(super) fn decrease(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    run(context, arguments, -1.0, "ts.decrby")
}

fn run(context: &mut Context<'_>, arguments: Arguments<'_>, sign: f64, event: &'static str) -> Result<Flow, Refusal> {
    let (Some(key), Some(step)) = (arguments.get(1), arguments.get(2)) else {
        return Err(Refusal::Arity);
    };
    let options = Positions::find(arguments, 3);
    loop {
        let opened = context.writer(key)?;
        // Under the lock of the series, so that connections do not overtake each other with older times. Nothing is written without it.
        let now_ms = opened.as_ref().map_or(0, |writer| writer.now_ms());
        if let Err(KeyError::WrongType) = opened {
            return Err(refusal::WRONG_TYPE);
        }
        let step = numbers::float(step).ok_or(refusal::STEP)?;
        // The peer lets negative times pass here, by mistake.
        let timestamp = match options.timestamp(arguments) {
            Some(text) => numbers::timestamp(text, || now_ms)?,
            None => now_ms,
        };
        if let Ok(writer) = opened {
            let newest = writer.increment(sign * step, timestamp).map_err(|error| match error {
                IncrementError::Older => refusal::INCREMENT_OLDER,
                IncrementError::Nan => refusal::INCREMENT_NAN,
                IncrementError::Read(error) => error.into(),
            })?;
            context.notify(events::GENERIC, event, key);
            context.reply.integer(newest);
            return Ok(Flow::Done);
        }
        if !create(context, key, &options, arguments)? {
            return Ok(Flow::Exclusive);
        }
    }
}
