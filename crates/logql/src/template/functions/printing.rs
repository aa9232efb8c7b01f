// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! `print`, `printf` and `println`.

use super::text_of;
use crate::template::context::{Context, Outcome};
use crate::template::print::{self, printf};
use crate::template::value::Value;

pub(super) fn print<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    context.text(|out| print::print_all(arguments, out))
}

pub(super) fn print_line<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    context.text(|out| print::print_line(arguments, out))
}

pub(super) fn print_formatted<'a>(context: &mut Context<'_, 'a>, arguments: &[Value<'a>]) -> Outcome<'a> {
    let format = text_of(arguments, 0);
    let values = arguments.get(1..).unwrap_or_default();
    context.text(|out| printf::print_formatted(format, values, out))
}
