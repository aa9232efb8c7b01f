//! `timberline inspect`: what a data object holds.

mod object;
mod report;
mod rows;

use crate::Failure;
use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches, Command};
use object::Object;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Describes `timberline inspect`.
pub(crate) fn command() -> Command {
    Command::new("inspect")
        .about("Show the sections, columns and pages of a data object")
        .arg(
            Arg::new("object")
                .value_name("OBJECT")
                .required(true)
                .value_parser(clap::value_parser!(PathBuf))
                .help("File of a data object"),
        )
        .arg(
            Arg::new("pages")
                .long("pages")
                .action(ArgAction::SetTrue)
                .help("Also each page"),
        )
        .arg(
            Arg::new("rows")
                .long("rows")
                .value_name("N")
                .value_parser(clap::value_parser!(u64))
                .help("Also the first N rows of each section"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("JSON, always with all pages"),
        )
        .after_help(
            "\
For each column: its type, rows that hold a value, pages, encodings, compression, size as stored, size with values
uncompressed and their ratio, and the smallest and largest value. The data objects of a folder lie below its store/.

Exit codes: 0 shown; 2 usage, or the file can't be opened; 3 it is not a data object, is damaged, or of another version.

Examples:
  timberline inspect timberline-data/store/dataobj/objects/*/*
  timberline inspect OBJECT --pages --rows 10
  timberline inspect OBJECT --json | jq '.sections[].columns[] | {logical, tag, stored_bytes}'",
        )
}

/// Does `timberline inspect`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let empty = PathBuf::new();
    let path = arguments.get_one::<PathBuf>("object").unwrap_or(&empty);
    let name = path.display().to_string();
    let bytes = std::fs::read(path)
        .with_context(|| name.clone())
        .map_err(Failure::usage)?;
    let object = Object::parse(&bytes)
        .map_err(|error| error.in_object(&name))
        .with_context(|| name.clone())?;
    let most_rows = arguments.get_one::<u64>("rows").copied().unwrap_or(0);
    let rows = object
        .sections
        .iter()
        .map(|section| rows::first(&bytes, section, most_rows))
        .collect::<Result<Vec<_>, _>>();
    let rows = rows
        .map_err(|error| error.in_object(&name))
        .with_context(|| name.clone())?;

    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = if arguments.get_flag("json") {
        writeln!(out, "{:#}", report::json(&object, &rows))
    } else {
        report::text(&mut out, &name, &object, &rows, arguments.get_flag("pages"))
    };
    match written.and_then(|()| out.flush()) {
        // The reader, `head` perhaps, has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}
