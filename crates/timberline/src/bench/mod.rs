//! `timberline bench`: workloads of published figures, measured here and set beside them.

mod late;
mod own_server;

use crate::Failure;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::process::ExitCode;
use timberline_bench::{Effort, decode, pipeline};

/// Describes `timberline bench`.
pub(crate) fn command() -> Command {
    Command::new("bench")
        .about("Measure workloads of published figures on this machine")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(workloads_of(
            "decode",
            "Decoding of data objects, on one core",
            decode::workloads(),
        ))
        .subcommand(workloads_of(
            "pipeline",
            "Pipelines of LogQL stages over lines, on one core",
            pipeline::workloads(),
        ))
        .subcommand(late::command())
        .after_help(
            "\
Of decode and pipeline: `ours` is the best of many short rounds, `median` the one in the middle. `peer` is the figure of Loki's own benchmarks, measured on two cores of an AMD EPYC (Zen 4);
`ratio` is the best round against it, and `goal` what we want to reach. Rows without a peer tell what bounds the rows above.

Examples:
  timberline bench decode
  timberline bench decode A1 A5
  timberline bench pipeline
  timberline bench late",
        )
}

/// Describes a group of workloads.
fn workloads_of(name: &'static str, about: &'static str, workloads: impl Iterator<Item = &'static str>) -> Command {
    Command::new(name)
        .about(about)
        .arg(
            Arg::new("workloads")
                .value_name("WORKLOAD")
                .num_args(0..)
                .value_parser(clap::builder::PossibleValuesParser::new(workloads))
                .help("Only these; all if none is named"),
        )
        .arg(
            Arg::new("smoke")
                .long("smoke")
                .action(ArgAction::SetTrue)
                .help("One short round of each, to see that it runs"),
        )
}

/// Does `timberline bench`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some((group, arguments)) = arguments.subcommand() else {
        return Ok(ExitCode::from(crate::EXIT_USAGE));
    };
    if group == "late" {
        return late::run(arguments);
    }
    let only: Vec<&str> = arguments
        .get_many::<String>("workloads")
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let effort = if arguments.get_flag("smoke") {
        Effort::Smoke
    } else {
        Effort::Full
    };
    let report = match group {
        "pipeline" => pipeline::run(effort, &only, None),
        _ => decode::run(effort, &only),
    };
    print!("{report}");
    Ok(ExitCode::SUCCESS)
}
