//! `timberline ts export`: series of a server into a file.

use super::attributes::Attributes;
use super::format::{Format, SeriesWriter};
use super::link::{Address, Link, Trouble};
use super::pages::each_page;
use super::selection::{self, Selection};
use super::{DEFAULT_URL, EXIT_REFUSED, quiet_flag, url_flag};
use crate::{Failure, time};
use anyhow::{Context, anyhow};
use clap::{Arg, ArgMatches, Command, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::tz::TimeZone;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Describes `timberline ts export`.
pub(super) fn command() -> Command {
    let command = Command::new("export")
        .about("Write series of a server to a file")
        .arg(url_flag("from", "The server").default_value(DEFAULT_URL))
        .arg(
            Arg::new("start")
                .long("start")
                .value_name("TIME")
                .allow_hyphen_values(true)
                .value_parser(parse_time)
                .help("Oldest samples: milliseconds as the series has them, a time ago (2h), or a date (2026-06-01T12:00:00Z)"),
        )
        .arg(
            Arg::new("end")
                .long("end")
                .value_name("TIME")
                .allow_hyphen_values(true)
                .value_parser(parse_time)
                .help("Newest samples, inclusive"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("The file; without it, or with -, standard output"),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_parser(value_parser!(Format))
                .help("How; without it as the file's name says (.csv, .jsonl), else csv"),
        )
        .arg(quiet_flag())
        .after_help(
            "\
CSV has a line for each sample, key,timestamp,value. JSON lines have up to a thousand samples of a series each, with its
labels, and keep series without samples. Values are written with the fewest digits that read back as the same number; NaN,
Infinity and -Infinity by name. `timberline ts import` reads both. The server is only read from.

Exit codes: 0 all written; 1 the server refused some series; 2 usage, or the file can't be written; 3 the server can't be
reached or fails.

Examples:
  timberline ts export > all.csv
  timberline ts export 'sensor:*' --start 7d --output week.jsonl
  timberline ts export --filter site=north 'kind!=test' --from redis://:secret@db:6379/1 --format jsonl",
        );
    selection::add_flags(command)
}

/// Reads a time in milliseconds.
fn parse_time(text: &str) -> Result<i64, String> {
    if let Ok(milliseconds) = text.parse() {
        return Ok(milliseconds);
    }
    let ns = time::parse(text, time::now_ns(), &TimeZone::system())?;
    Ok(ns.div_euclid(1_000_000))
}

/// Does `timberline ts export`.
pub(super) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let bound = |name: &str, default| arguments.get_one::<i64>(name).copied().unwrap_or(default);
    let range = (bound("start", 0), bound("end", i64::MAX));
    let path = arguments
        .get_one::<PathBuf>("output")
        .filter(|path| path.as_os_str() != "-");
    let format = arguments.get_one::<Format>("format").copied();
    let format = format.unwrap_or_else(|| Format::of(path.map(PathBuf::as_path)));
    let Some(address) = arguments.get_one::<Address>("from") else {
        return Err(Failure::usage(anyhow!("no server is named")));
    };

    let mut link = Link::open(address)?;
    let keys = Selection::from_flags(arguments).keys(&mut link)?;
    let out = open(path.map(PathBuf::as_path)).map_err(Failure::usage)?;
    let mut writer = format.writer(out)?;
    let bar = if arguments.get_flag("quiet") {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(keys.len() as u64)
    };
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} series {elapsed} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));

    let mut refused = 0;
    let mut samples = 0;
    for key in &keys {
        match export(&mut link, key, range, writer.as_mut()) {
            Ok(count) => samples += count,
            Err(Stop::Trouble(trouble)) => {
                let text = trouble.refusal()?;
                bar.suspend(|| eprintln!("{}: {text}", String::from_utf8_lossy(key)));
                refused += 1;
            }
            Err(Stop::File(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
            Err(Stop::File(error)) => return Err(Failure::usage(error)),
        }
        bar.inc(1);
        bar.set_message(format!("{samples} samples"));
    }
    writer.finish().map_err(Failure::usage)?;
    bar.finish_and_clear();
    if !arguments.get_flag("quiet") {
        eprintln!("exported {samples} samples of {} series", keys.len() - refused);
    }
    Ok(if refused > 0 {
        ExitCode::from(EXIT_REFUSED)
    } else {
        ExitCode::SUCCESS
    })
}

fn open(path: Option<&Path>) -> anyhow::Result<Box<dyn Write>> {
    Ok(match path {
        None => Box::new(BufWriter::new(io::stdout().lock())),
        Some(path) => {
            let file = File::create(path).with_context(|| path.display().to_string())?;
            Box::new(BufWriter::new(file))
        }
    })
}

/// Why a series is not written, or not to its end.
enum Stop {
    Trouble(Trouble),
    File(io::Error),
}

/// Writes a series; its number of samples. A series that has gone since it was listed is left out.
fn export(link: &mut Link, key: &[u8], range: (i64, i64), writer: &mut dyn SeriesWriter) -> Result<u64, Stop> {
    let Some(attributes) = Attributes::of(link, key).map_err(Stop::Trouble)? else {
        return Ok(0);
    };
    writer.start(key, &attributes.labels).map_err(Stop::File)?;
    let mut samples = 0;
    let mut failed = None;
    let outcome = each_page(link, key, range, |page| {
        samples += page.len() as u64;
        writer.samples(page).map_err(|error| {
            failed = Some(error);
            Trouble::Refused("the file can't be written".to_owned())
        })
    });
    match (failed, outcome) {
        (Some(error), _) => Err(Stop::File(error)),
        (None, outcome) => outcome.map(|()| samples).map_err(Stop::Trouble),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_time("1500"), Ok(1500));
        assert_eq!(parse_time("1780315200000"), Ok(1_780_315_200_000));
        assert_eq!(parse_time("1970-01-01T00:00:01.5Z"), Ok(1500));
        assert!(parse_time("2h").is_ok_and(|ms| ms > 1_700_000_000_000));
        assert!(parse_time("soon").is_err());
    }
}
