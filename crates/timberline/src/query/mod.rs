//! `timberline query`: asks a server, or the folder of a server that does not run.

mod answer;
mod local;
mod output;
mod remote;
mod table;

use crate::client;
use crate::{Failure, time, units};
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use jiff::tz::TimeZone;
use output::{Color, Form, Style};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit code if nothing matched, as `grep` has it.
const EXIT_NOTHING: u8 = 1;

/// Describes `timberline query`.
pub(crate) fn command() -> Command {
    let flag = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let command = Command::new("query")
        .about("Ask for log lines or numbers with LogQL")
        .arg(Arg::new("query").value_name("LOGQL").required(true).help("The query"))
        .arg(flag("since", "DURATION", "How far back from --to [default: 1h]").conflicts_with("from"))
        .arg(flag("from", "TIME", "Start, included"))
        .arg(flag("to", "TIME", "End, excluded for lines [default: now]"))
        .arg(flag("limit", "N", "Most lines").default_value("100").value_parser(clap::value_parser!(u32).range(1..)))
        .arg(flag("step", "DURATION", "Distance of the points of a metric query [default: the range / 250]"))
        .arg(
            flag("direction", "WAY", "Newest first (backward) or oldest first (forward)")
                .default_value("backward")
                .value_parser(["backward", "forward"]),
        )
        .arg(flag("instant", "", "One value per series, as of --to").num_args(0).action(ArgAction::SetTrue))
        .arg(flag("at", "TIME", "One value per series, as of this time").conflicts_with_all(["from", "to", "since", "step"]))
        .arg(flag("output", "FORM", "Form of the output").short('o').default_value("default").value_parser(
            PossibleValuesParser::new(["default", "raw", "jsonl", "table", "json"]),
        ))
        .arg(
            flag("color", "WHEN", "Colour; auto is yes on a terminal, unless NO_COLOR is set")
                .default_value("auto")
                .value_parser(["auto", "always", "never"]),
        )
        .arg(flag("utc", "", "Times in UTC instead of the local zone").num_args(0).action(ArgAction::SetTrue))
        .arg(
            flag("explain", "", "Run the query and tell how: what was read, what was passed over and why, what it took")
                .num_args(0)
                .action(ArgAction::SetTrue),
        )
        .arg(
            flag("data", "DIR", "Read this data folder without a server")
                .value_parser(clap::value_parser!(PathBuf)),
        )
        .after_help(
            "\
TIME is now, a duration ago (2h), a date (2026-06-01), a date and time (2026-06-01T12:00:00, with Z or an offset or local),
or Unix time in seconds or nanoseconds. Lines come newest first, as from logcli; --direction forward turns them round, and
with it --limit keeps the oldest.

Output: default is coloured lines for logs, with the labels that all lines share on standard error, and a table for
metrics; raw is the lines alone; jsonl one JSON object for each line or value; json the API's result.

Exit codes: 0 something was found; 1 nothing matched; 2 usage or a mistake in the query; 3 the server can't be reached or
fails, or the folder can't be read.

Examples:
  timberline query '{job=\"dpkg\"} |= \"installed\"' --since 7d --limit 20
  timberline query 'sum by (action) (count_over_time({job=\"dpkg\"}[1h]))' --since 1d --step 1h
  timberline query 'topk(5, sum by (host) (rate({job=\"nginx\"}[5m])))' --instant
  timberline query '{job=\"api\"}' --data ./timberline-data -o raw | less",
        );
    client::add_flags(command)
}

/// A query with its parameters.
#[derive(Clone, Debug, PartialEq)]
struct Question {
    query: String,
    span: Span,
    limit: u32,
    forward: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Span {
    Range {
        start_ns: i64,
        end_ns: i64,
        step_ns: Option<i64>,
    },
    Instant {
        time_ns: i64,
    },
}

/// Who is asked.
enum Place {
    /// A data folder, and the tenant.
    Folder(PathBuf, Option<String>),
    Server(client::Client),
}

impl Place {
    fn from_flags(arguments: &ArgMatches) -> Result<Self, Failure> {
        Ok(match arguments.get_one::<PathBuf>("data") {
            Some(folder) => Self::Folder(folder.clone(), arguments.get_one::<String>("tenant").cloned()),
            None => Self::Server(client::Client::from_flags(arguments).map_err(Failure::usage)?),
        })
    }
}

/// Does `timberline query`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let utc = arguments.get_flag("utc");
    let zone = if utc { TimeZone::UTC } else { TimeZone::system() };
    let question = question(arguments, time::now_ns(), &zone).map_err(|why| Failure::usage(anyhow!(why)))?;
    let url_given = arguments.value_source("url") == Some(ValueSource::CommandLine);
    if url_given && arguments.contains_id("data") {
        return Err(Failure::usage(anyhow!(
            "--url and --data can't be used together: ask a server or a folder"
        )));
    }
    let place = Place::from_flags(arguments)?;
    if arguments.get_flag("explain") {
        let text = match &place {
            Place::Folder(folder, tenant) => local::explain(folder, tenant.as_ref(), &question)?,
            Place::Server(client) => remote::explain(client, &question)?,
        };
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let answer = match &place {
        Place::Folder(folder, tenant) => local::ask(folder, tenant.as_ref(), &question)?,
        Place::Server(client) => remote::ask(client, &question)?,
    };
    let text = |name: &str| arguments.get_one::<String>(name).map_or("", String::as_str);
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let color = match text("color") {
        "always" => Color::Yes,
        "auto" if io::stdout().is_terminal() && !no_color => Color::Yes,
        _ => Color::No,
    };
    let form = match text("output") {
        "raw" => Form::Raw,
        "jsonl" => Form::JsonLines,
        "json" => Form::Json,
        "table" => Form::Table,
        _ => Form::Default,
    };
    let style = Style {
        form,
        color,
        zone,
        forward: question.forward,
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = output::write(&answer, &style, &mut out, &mut io::stderr()).and_then(|()| out.flush());
    match written {
        // The reader, `head` perhaps, has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        other => other?,
    }
    Ok(if answer.is_empty() {
        ExitCode::from(EXIT_NOTHING)
    } else {
        ExitCode::SUCCESS
    })
}

fn question(arguments: &ArgMatches, now_ns: i64, zone: &TimeZone) -> Result<Question, String> {
    let text = |name: &str| arguments.get_one::<String>(name).map(String::as_str);
    let point = |name: &str| {
        let parse = |value| time::parse(value, now_ns, zone).map_err(|why| format!("--{name}: {why}"));
        text(name).map(parse).transpose()
    };
    let length = |name: &str| -> Result<Option<i64>, String> {
        let Some(value) = text(name) else { return Ok(None) };
        let duration = units::parse_duration(value).map_err(|why| format!("--{name}: {why}"))?;
        if duration.is_zero() {
            return Err(format!("--{name} is zero"));
        }
        Ok(Some(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    };
    let end_ns = point("to")?.unwrap_or(now_ns);
    let span = match point("at")? {
        Some(time_ns) => Span::Instant { time_ns },
        None if arguments.get_flag("instant") => Span::Instant { time_ns: end_ns },
        None => {
            let since_ns = length("since")?.unwrap_or(3_600_000_000_000);
            let start_ns = point("from")?.unwrap_or(end_ns.saturating_sub(since_ns));
            if start_ns > end_ns {
                return Err("--from lies after --to".to_owned());
            }
            Span::Range {
                start_ns,
                end_ns,
                step_ns: length("step")?,
            }
        }
    };
    Ok(Question {
        query: text("query").unwrap_or_default().to_owned(),
        span,
        limit: arguments.get_one("limit").copied().unwrap_or(100),
        forward: text("direction") == Some("forward"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    fn ask(flags: &[&str]) -> Result<Span, String> {
        let words = ["query", "{a=\"b\"}"].iter().chain(flags);
        let matches = command().try_get_matches_from(words).map_err(|e| e.to_string())?;
        question(&matches, 100 * HOUR, &TimeZone::UTC).map(|q| q.span)
    }

    #[test]
    fn spans() {
        let range = |start, end, step_ns| {
            Ok(Span::Range {
                start_ns: start * HOUR,
                end_ns: end * HOUR,
                step_ns,
            })
        };
        assert_eq!(ask(&[]), range(99, 100, None));
        assert_eq!(ask(&["--since", "2d"]), range(52, 100, None));
        assert_eq!(
            ask(&["--to", "10h", "--since", "1h", "--step", "1h"]),
            range(89, 90, Some(HOUR))
        );
        assert_eq!(ask(&["--from", "1970-01-01T05:00:00Z"]), range(5, 100, None));
        assert_eq!(ask(&["--instant"]), Ok(Span::Instant { time_ns: 100 * HOUR }));
        assert_eq!(
            ask(&["--instant", "--to", "1h"]),
            Ok(Span::Instant { time_ns: 99 * HOUR })
        );
        assert_eq!(ask(&["--at", "1h"]), Ok(Span::Instant { time_ns: 99 * HOUR }));
    }

    #[test]
    fn mistakes() {
        let f = |flags: &[&str], want: &str| {
            let error = ask(flags).unwrap_err();
            assert!(error.contains(want), "{error}");
        };
        f(&["--from", "soon"], "--from: \"soon\" is not a time");
        f(&["--from", "1h", "--to", "2h"], "--from lies after --to");
        f(&["--step", "0s"], "--step is zero");
        f(&["--since", "x"], "--since: \"x\" is not a duration");
        f(&["--limit", "0"], "0");
        f(&["--since", "1h", "--from", "2h"], "cannot be used with");
    }
}
