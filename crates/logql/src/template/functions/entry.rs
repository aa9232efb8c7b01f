// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! The entry itself, and the time of the query.

use crate::template::context::{Context, Outcome};
use crate::template::time::Time;
use crate::template::value::Value;

pub(super) fn line<'a>(context: &mut Context<'_, 'a>, _: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Text(context.line))
}

pub(super) fn timestamp<'a>(context: &mut Context<'_, 'a>, _: &[Value<'a>]) -> Outcome<'a> {
    let zone = &context.environment.zone;
    Ok(Value::Time(Time::from_nanoseconds(context.timestamp_ns, zone)))
}

pub(super) fn now<'a>(context: &mut Context<'_, 'a>, _: &[Value<'a>]) -> Outcome<'a> {
    let environment = context.environment;
    Ok(Value::Time(Time::from_nanoseconds(
        environment.now_ns,
        &environment.zone,
    )))
}
