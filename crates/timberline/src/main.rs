//! The timberline program: `serve`, `push`, `query`, `sql`, `inspect`, `ts`, `bench` and `config`.
//!
//! Each command is one module with `command()`, which describes it, and `run()`, which does it and gives the exit code.

mod bench;
mod client;
mod config;
mod folder;
mod inspect;
mod plain_table;
mod push;
mod query;
mod serve;
mod sql;
mod time;
mod ts;
mod units;

use clap::Command;
use std::process::ExitCode;

/// Exit code of a mistake in flags, configuration or query, as clap uses it.
const EXIT_USAGE: u8 = 2;
/// Exit code of a server that can't be reached or fails, and of unreadable or damaged data.
const EXIT_FAILURE: u8 = 3;

const ABOUT: &str = "A log database in one program: the Grafana Loki API and LogQL over columnar data objects";

const EXAMPLES: &str = "\
Examples:
  timberline serve                                             start a server on 127.0.0.1:3100
  timberline push /var/log/dpkg.log --label job=dpkg           send a file to it
  timberline query '{job=\"dpkg\"} |= \"install\"' --since 30d     ask it
  timberline query 'sum(count_over_time({job=\"dpkg\"}[1h]))' --since 30d --step 1h
  timberline sql 'SELECT key, max(value) FROM series GROUP BY key'
  timberline inspect timberline-data/store/dataobj/objects/*/* look into data objects";

fn program() -> Command {
    Command::new("timberline")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(serve::command())
        .subcommand(push::command())
        .subcommand(query::command())
        .subcommand(sql::command())
        .subcommand(inspect::command())
        .subcommand(ts::command())
        .subcommand(bench::command())
        .subcommand(config::command())
}

fn main() -> ExitCode {
    let matches = program().get_matches();
    let Some((name, arguments)) = matches.subcommand() else {
        return ExitCode::from(EXIT_USAGE);
    };
    let outcome = match name {
        "serve" => serve::run(arguments),
        "push" => push::run(arguments),
        "query" => query::run(arguments),
        "sql" => sql::run(arguments),
        "inspect" => inspect::run(arguments),
        "ts" => ts::run(arguments),
        "bench" => bench::run(arguments),
        _ => config::run(arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("timberline {name}: {:#}", failure.error);
            ExitCode::from(failure.exit_code)
        }
    }
}

/// Why a command ended early, and with which exit code.
pub(crate) struct Failure {
    error: anyhow::Error,
    exit_code: u8,
}

impl Failure {
    /// A mistake of the person who typed: flag, file name, configuration, query.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self {
            error: error.into(),
            exit_code: EXIT_USAGE,
        }
    }

    /// Something that failed though it was asked for correctly.
    pub(crate) fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self {
            error: error.into(),
            exit_code: EXIT_FAILURE,
        }
    }
}

/// Errors of the system and of libraries are failures; mistakes of the user are marked where they are found.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::failed(error)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_description_of_the_commands_is_sound() {
        super::program().debug_assert();
    }
}
