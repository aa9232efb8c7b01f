//! `timberline inspect`: what a data object holds.

mod json;
mod object;
mod rows;
mod share;
mod text;
mod value;

use crate::{EXIT_FAILURE, Failure};
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
        .arg(
            Arg::new("verify")
                .long("verify")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["pages", "rows"])
                .help("Instead check every checksum, and everything that the format promises"),
        )
        .after_help(
            "\
First where the bytes of the object are. For each column: its type, rows that hold a value, pages, encodings, compression, size as stored, size with values
uncompressed and their ratio, and the smallest and largest value. The data objects of a folder lie below its store/.

--verify lists errors, because of which a reader could fail or answer wrongly, and notes, which are unusual but allowed;
then one line for each object. It goes on after objects that are not sound.

Exit codes: 0 shown, or verified without errors; 2 usage, or the file can't be opened; 3 it is not a data object, is
damaged, or of another version.

Examples:
  timberline inspect timberline-data/store/dataobj/objects/*/*
  timberline inspect OBJECT --pages --rows 10
  timberline inspect --verify timberline-data/store/dataobj/objects/*/*
  timberline inspect OBJECT --json | jq '.sections[].columns[] | {logical, tag, stored_bytes}'",
        )
}

/// Does `timberline inspect`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut exit = ExitCode::SUCCESS;
    for (number, path) in arguments
        .get_many::<PathBuf>("objects")
        .into_iter()
        .flatten()
        .enumerate()
    {
        let shown = if arguments.get_flag("verify") {
            verify(path, arguments, &mut out).map(|sound| {
                if !sound {
                    exit = ExitCode::from(EXIT_FAILURE);
                }
            })
        } else {
            show(path, arguments, number > 0, &mut out)
        };
        // What came before is worth seeing even if this one is damaged.
        let flushed = out.flush();
        match shown.and_then(|()| Ok(flushed?)) {
            // The reader, `head` perhaps, has seen enough.
            Err(failure) if is_broken_pipe(&failure) => break,
            other => other?,
        }
    }
    Ok(exit)
}

/// True if there are no errors.
fn verify(path: &Path, arguments: &ArgMatches, out: &mut impl Write) -> Result<bool, Failure> {
    let (name, bytes) = read(path)?;
    let report = timberline_dataobj::verify(&bytes);
    if arguments.get_flag("json") {
        writeln!(out, "{:#}", json::verified(&name, &report))?;
    } else {
        text::verified(out, &name, &report)?;
    }
    Ok(report.is_sound())
}

fn read(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path)
        .with_context(|| name.clone())
        .map_err(Failure::usage)?;
    Ok((name, bytes))
}

fn show(path: &Path, arguments: &ArgMatches, apart: bool, out: &mut impl Write) -> Result<(), Failure> {
    let (name, bytes) = read(path)?;
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
        writeln!(out, "{:#}", json::document(&object, &rows))?;
        return Ok(());
    }
    if apart {
        writeln!(out)?;
    }
    text::write(out, &name, &object, &rows, arguments.get_flag("pages"))?;
    Ok(())
}

fn is_broken_pipe(failure: &Failure) -> bool {
    failure
        .error
        .downcast_ref::<io::Error>()
        .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::rows::Rows;
    use super::*;
    use timberline_dataobj::*;

    fn object() -> Vec<u8> {
        let options = WriterOptions::default();
        let mut streams = StreamsWriter::new("t", &options);
        let labels = [("app", "a")];
        let times = (1_780_315_200_000_000_000, 1_780_315_201_000_000_000);
        let row = StreamRow {
            id: 1,
            min_timestamp_ns: times.0,
            max_timestamp_ns: times.1,
            rows: 2,
            uncompressed_bytes: 9,
            labels: &labels,
        };
        streams.append(&row).unwrap();
        let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options);
        let metadata = [("trace", b"x".as_slice())];
        logs.append(&LogRow {
            stream_id: 1,
            timestamp_ns: times.1,
            line: b"second",
            metadata: &metadata,
        })
        .unwrap();
        logs.append(&LogRow {
            stream_id: 1,
            timestamp_ns: times.0,
            line: b"one\xff",
            metadata: &[],
        })
        .unwrap();
        let mut object = ObjectWriter::new();
        object.push_section(streams.finish().unwrap());
        object.push_section(logs.finish().unwrap());
        object.finish().unwrap().to_vec()
    }

    #[test]
    fn everything_is_shown() {
        let bytes = object();
        let object = Object::parse(&bytes).unwrap();
        let rows: Vec<Rows> = object
            .sections
            .iter()
            .map(|s| rows::first(&bytes, s, 5).unwrap())
            .collect();
        let mut out = Vec::new();
        text::write(&mut out, "x", &object, &rows, true).unwrap();
        let out = String::from_utf8(out).unwrap();
        for part in [
            "section 0: streams v",
            "section 1: logs v",
            "tenant \"t\"",
            "label/app",
            "metadata/trace",
            "2026-06-01T12:00:01Z",
            "message=\"second\"",
            "sorted by",
            "delta",
            "zstd",
        ] {
            assert!(out.contains(part), "{part} is missing in:\n{out}");
        }
        let document = json::document(&object, &rows);
        assert_eq!(document["sections"][1]["row_count"], 2);
        assert_eq!(document["sections"][1]["rows"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn damaged_files_are_errors() {
        let bytes = object();
        for length in 0..bytes.len() {
            if let Ok(object) = Object::parse(&bytes[..length]) {
                let found: Result<Vec<_>, _> = object
                    .sections
                    .iter()
                    .map(|s| rows::first(&bytes[..length], s, 5))
                    .collect();
                let ends_in_the_last_magic = length >= bytes.len() - 4;
                assert_eq!(
                    found.is_ok(),
                    ends_in_the_last_magic,
                    "cut to {length} of {} bytes",
                    bytes.len()
                );
            }
        }
    }
}
