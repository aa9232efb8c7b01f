//! `timberline ts`: takes time series out of servers of the RedisTimeSeries commands, and into them.

mod attributes;
mod copy;
mod export;
mod format;
mod import;
mod infinity;
mod link;
mod number;
mod pages;
mod reply;
mod selection;
#[cfg(test)]
mod tests;
mod writer;

use crate::Failure;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::process::ExitCode;

/// Exit code if a server refused something for good, or a copy differs.
const EXIT_REFUSED: u8 = 1;
/// The server if none is named.
const DEFAULT_URL: &str = "redis://127.0.0.1:6379";

/// A sample: milliseconds since 1970 (or whatever the series counts) and a value.
pub(crate) type Sample = (i64, f64);

/// Describes `timberline ts`.
pub(crate) fn command() -> Command {
    Command::new("ts")
        .about("Export, import and copy time series")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(export::command())
        .subcommand(import::command())
        .subcommand(copy::command())
        .after_help(
            "\
All of them talk to servers of the RedisTimeSeries commands, Timberline or others, at addresses like
redis://[user:password@]host:port[/database].

Examples:
  timberline ts export 'sensor:*' --output sensors.csv
  timberline ts import sensors.csv --label site=north
  timberline ts copy --from redis://old:6379 --to redis://127.0.0.1:6379",
        )
}

/// Does `timberline ts`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    match arguments.subcommand() {
        Some(("export", arguments)) => export::run(arguments),
        Some(("import", arguments)) => import::run(arguments),
        Some(("copy", arguments)) => copy::run(arguments),
        _ => Ok(ExitCode::from(crate::EXIT_USAGE)),
    }
}

/// The address of a server.
fn url_flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("URL")
        .value_parser(link::Address::parse)
        .help(help)
}

/// `--quiet`.
fn quiet_flag() -> Arg {
    Arg::new("quiet")
        .long("quiet")
        .short('q')
        .action(ArgAction::SetTrue)
        .help("No progress bar and no summary")
}
