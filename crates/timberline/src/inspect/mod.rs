//! `timberline inspect`: what a data object holds.

mod object;
mod report;
mod rows;

use crate::Failure;
use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches, Command};
use object::Object;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Describes `timberline inspect`.
pub(crate) fn command() -> Command {
    Command::new("inspect")
        .about("Show the sections, columns and pages of data objects")
        .arg(
            Arg::new("objects")
                .value_name("OBJECT")
                .required(true)
                .num_args(1..)
                .value_parser(clap::value_parser!(PathBuf))
                .help("Files of data objects"),
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
                .help("JSON, one document for each object, always with all pages"),
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
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (number, path) in arguments
        .get_many::<PathBuf>("objects")
        .into_iter()
        .flatten()
        .enumerate()
    {
        let shown = show(path, arguments, number > 0, &mut out);
        // What came before is worth seeing even if this one is damaged.
        let flushed = out.flush();
        match shown.and_then(|()| Ok(flushed?)) {
            // The reader, `head` perhaps, has seen enough.
            Err(failure) if is_broken_pipe(&failure) => break,
            other => other?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(path: &Path, arguments: &ArgMatches, apart: bool, out: &mut impl Write) -> Result<(), Failure> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path)
        .with_context(|| name.clone())
        .map_err(Failure::usage)?;
    let object = Object::parse(&bytes)
        .map_err(|e| e.in_object(&name))
        .with_context(|| name.clone())?;
    let most_rows = arguments.get_one::<u64>("rows").copied().unwrap_or(0);
    let rows = object
        .sections
        .iter()
        .map(|section| rows::first(&bytes, section, most_rows));
    let rows = rows
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| e.in_object(&name))
        .with_context(|| name.clone())?;
    if arguments.get_flag("json") {
        writeln!(out, "{:#}", report::json(&object, &rows))?;
        return Ok(());
    }
    if apart {
        writeln!(out)?;
    }
    report::text(out, &name, &object, &rows, arguments.get_flag("pages"))?;
    Ok(())
}

fn is_broken_pipe(failure: &Failure) -> bool {
    failure
        .error
        .downcast_ref::<io::Error>()
        .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
