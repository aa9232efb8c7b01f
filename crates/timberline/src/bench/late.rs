//! `timberline bench late`: late samples over the sockets of this program, and of others beside it.

use super::own_server::OwnServer;
use crate::Failure;
use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use timberline_bench::late::{self, Encoding, Options, Rule, Server};

/// Most series: each has a connection of its own, and processes may open about a thousand files.
const MAX_SERIES: u64 = 900;

/// Describes `timberline bench late`.
pub(super) fn command() -> Command {
    let number = |name: &'static str, value: &'static str, default: &'static str, most: u64| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .default_value(default)
            .value_parser(value_parser!(u64).range(1..=most))
    };
    let list = |name: &'static str, value: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .value_delimiter(',')
            .action(ArgAction::Set)
    };
    Command::new("late")
        .about("Late samples of time series, over the socket of a server")
        .arg(
            Arg::new("peer")
                .long("peer")
                .value_name("URL[#PID]")
                .action(ArgAction::Append)
                .help("Another server to measure in turn, such as redis://127.0.0.1:6379; may be given several times"),
        )
        .arg(
            Arg::new("peers-only")
                .long("peers-only")
                .action(ArgAction::SetTrue)
                .requires("peer")
                .help("Start no server of this program"),
        )
        .arg(
            list("ratios", "PERCENT,..")
                .default_value("0,1,5,10,25,50,75,99")
                .value_parser(parse_percent)
                .help("Shares of late samples"),
        )
        .arg(
            list("chunks", "BYTES,..")
                .default_value("128,4096")
                .value_parser(value_parser!(u64))
                .help("Chunk sizes"),
        )
        .arg(
            list("encodings", "NAME,..")
                .default_value("compressed,uncompressed")
                .value_parser(|text: &str| text.parse::<Encoding>())
                .help("Encodings"),
        )
        .arg(number("series", "N", "50", MAX_SERIES).help("Series, each with a connection of its own"))
        .arg(number("samples", "N", "10000", 100_000_000).help("Samples of each series"))
        .arg(number("pipeline", "N", "50", 100_000).help("Commands that are sent together"))
        .arg(number("repeat", "N", "3", 1000).help("How many times each cell is measured; medians are shown"))
        .arg(number("madd", "N", "1", 100_000).help("Send so many samples in one TS.MADD, instead of one in a TS.ADD"))
        .arg(
            Arg::new("window")
                .long("window")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("Late samples fall into the newest N timestamps, instead of anywhere in the past"),
        )
        .arg(
            Arg::new("policy")
                .long("policy")
                .value_name("POLICY")
                .help("Duplicate policy of the series; without it the server's own"),
        )
        .arg(
            Arg::new("rule")
                .long("rule")
                .value_name("AGGREGATOR:MS")
                .value_parser(|text: &str| text.parse::<Rule>())
                .help("Give each series a compaction rule, such as avg:1000"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .default_value("12345")
                .value_parser(value_parser!(u64).range(..1 << 40))
                .help("What the data are made from"),
        )
        .arg(
            Arg::new("memory")
                .long("memory")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["rule", "madd", "window", "policy", "svg", "ratios", "series", "repeat", "pipeline"])
                .help("Measure bytes per sample of typical data, in order, shuffled and reversed"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write all figures to a file"),
        )
        .arg(
            Arg::new("svg")
                .long("svg")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write a plot of the processor time to a file"),
        )
        .arg(
            Arg::new("smoke")
                .long("smoke")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["series", "samples", "repeat", "ratios"])
                .help("Very little data, to see that it runs"),
        )
        .after_help(
            "\
The workload is the published one of late samples: one connection for each series, batches of commands going round; each
sample is late with the given probability, and then falls anywhere into the past. Without --peer the server is this program
itself, started on a free port of 127.0.0.1 with a data folder that is removed afterwards; settings in the environment
(TIMBERLINE_..) hold for it. With --peer every repetition visits every cell once for every server, so that slow minutes touch
all alike. Processor time is read from /proc, so a server must run on this machine; it is found by what the server says, or by
#PID behind its address.

Of other servers only the series late-bench#1 and so on are written, and removed.

Exit codes: 0 measured, also if goals are missed; 2 usage; 3 a server can't be started or reached, or refuses.

Examples:
  timberline bench late
  timberline bench late --ratios 0,50 --encodings compressed --svg late.svg
  timberline bench late --peer redis://127.0.0.1:6379 --json late.json
  timberline bench late --rule avg:1000 --policy last
  timberline bench late --memory --chunks 4096",
        )
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.parse().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| format!("{text:?} is not a share in percent, from 0 to 100"))
}

/// Does `timberline bench late`.
pub(super) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let options = options(arguments);
    let urls: Vec<&String> = arguments.get_many("peer").into_iter().flatten().collect();
    let mut servers = Vec::new();
    // Ended when this goes.
    let own = if arguments.get_flag("peers-only") {
        None
    } else {
        Some(OwnServer::start()?)
    };
    if let Some(own) = &own {
        let url = format!("redis://{}#{}", own.address, own.process_id());
        servers.push(Server::connect(Some("timberline"), &url)?);
    }
    for url in urls {
        servers.push(Server::connect(None, url).map_err(|error| match error {
            late::LateError::Address { .. } => Failure::usage(error),
            error => Failure::failed(error),
        })?);
    }
    for server in servers.iter().filter(|server| !server.has_process()) {
        eprintln!(
            "the processor time of {} can't be told: no process of this machine; name it with #PID",
            server.name()
        );
    }

    let bar = ProgressBar::new_spinner().with_style(
        ProgressStyle::with_template("{spinner} {elapsed} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar.enable_steady_tick(Duration::from_millis(200));
    let progress = |text: &str| bar.set_message(text.to_owned());
    let (table, json, svg) = if arguments.get_flag("memory") {
        let report = late::memory(&options, &servers, progress)?;
        (report.to_string(), report.to_json(), None)
    } else {
        let outcome = late::run(&options, &servers, progress)?;
        (outcome.to_string(), outcome.to_json(), Some(outcome.to_svg()))
    };
    bar.finish_and_clear();
    print!("{table}");
    save(arguments.get_one("json"), &json)?;
    if let Some(svg) = svg {
        save(arguments.get_one("svg"), &svg)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn save(path: Option<&PathBuf>, text: &str) -> anyhow::Result<()> {
    path.map_or(Ok(()), |path| {
        std::fs::write(path, text).with_context(|| path.display().to_string())
    })
}

fn options(arguments: &ArgMatches) -> Options {
    let size = |name: &str| {
        let number = arguments.get_one::<u64>(name).copied().unwrap_or(1);
        usize::try_from(number).unwrap_or(usize::MAX)
    };
    let all = Options {
        series: size("series"),
        samples: size("samples"),
        pipeline: size("pipeline"),
        repeat: size("repeat"),
        seed: arguments.get_one::<u64>("seed").copied().unwrap_or_default(),
        window: arguments.get_one::<u64>("window").copied(),
        policy: arguments.get_one::<String>("policy").cloned(),
        late_percents: arguments.get_many("ratios").into_iter().flatten().copied().collect(),
        chunk_bytes: arguments.get_many("chunks").into_iter().flatten().copied().collect(),
        encodings: arguments.get_many("encodings").into_iter().flatten().copied().collect(),
        rule: arguments.get_one::<Rule>("rule").cloned(),
        samples_per_command: size("madd"),
    };
    if !arguments.get_flag("smoke") {
        return all;
    }
    let smoke = Options::smoke();
    Options {
        series: smoke.series,
        samples: smoke.samples,
        repeat: smoke.repeat,
        late_percents: smoke.late_percents,
        ..all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_the_published_workload_unless_told_otherwise() {
        let f = |flags: &[&str]| {
            let words = std::iter::once("late").chain(flags.iter().copied());
            options(&command().try_get_matches_from(words).unwrap())
        };
        assert_eq!(f(&[]), Options::default());
        assert_eq!(f(&["--smoke"]), Options::smoke());
        let some = f(&[
            "--ratios",
            "0,2.5",
            "--chunks",
            "64",
            "--encodings",
            "uncompressed",
            "--rule",
            "avg:10",
            "--madd",
            "5",
        ]);
        assert_eq!((some.late_percents, some.chunk_bytes), (vec![0.0, 2.5], vec![64]));
        assert_eq!(
            (some.encodings, some.samples_per_command),
            (vec![Encoding::Uncompressed], 5)
        );
        assert_eq!(some.rule.map(|rule| rule.bucket_ms), Some(10));
    }

    #[test]
    fn bad_flags_are_refused() {
        let f = |flags: &[&str]| {
            let words = std::iter::once("late").chain(flags.iter().copied());
            assert!(command().try_get_matches_from(words).is_err(), "{flags:?}");
        };
        f(&["--ratios", "101"]);
        f(&["--ratios", "-1"]);
        f(&["--ratios", "x"]);
        f(&["--series", "0"]);
        f(&["--samples", "0"]);
        f(&["--encodings", "zip"]);
        f(&["--rule", "avg"]);
        f(&["--peers-only"]);
        f(&["--memory", "--rule", "avg:1"]);
    }
}
