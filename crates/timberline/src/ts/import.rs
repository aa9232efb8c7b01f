//! `timberline ts import`: series from files into a server.

use super::attributes::Labels;
use super::format::{Format, Record, Unreadable};
use super::link::{Address, Link};
use super::writer::{BATCH_SAMPLES, Fate, Write, write};
use super::{DEFAULT_URL, EXIT_REFUSED, Sample, quiet_flag, reply, url_flag};
use crate::Failure;
use anyhow::{Context, anyhow};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use redis::{Cmd, cmd};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What a file is read by.
const READ_BYTES: usize = 1 << 20;

/// Describes `timberline ts import`.
pub(super) fn command() -> Command {
    Command::new("import")
        .about("Write series from files to a server")
        .arg(
            Arg::new("files")
                .value_name("FILE")
                .required(true)
                .num_args(1..)
                .value_parser(value_parser!(PathBuf))
                .help("CSV or JSON lines; - is standard input"),
        )
        .arg(url_flag("to", "The server").default_value(DEFAULT_URL))
        .arg(
            Arg::new("format")
                .long("format")
                .value_parser(value_parser!(Format))
                .help("How the files are written; without it as each one's name says (.csv, .jsonl), else csv"),
        )
        .arg(
            Arg::new("label")
                .long("label")
                .short('l')
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .value_parser(parse_label)
                .help("A label of series that are created, besides those of the file; may be given several times"),
        )
        .arg(
            Arg::new("on-duplicate")
                .long("on-duplicate")
                .value_name("POLICY")
                .ignore_case(true)
                .value_parser(PossibleValuesParser::new(["block", "first", "last", "min", "max", "sum"]))
                .help("What becomes of samples on timestamps that are there; without it as each series or the server says"),
        )
        .arg(quiet_flag())
        .after_help(
            "\
CSV begins with the headings key,timestamp,value, in any order. A line of JSON is
{\"key\":\"a\",\"labels\":{\"site\":\"north\"},\"timestamps\":[1,2],\"values\":[0.5,1]}, or has timestamp and value of a single sample.
Timestamps are milliseconds, or dates of RFC 3339. Series that are not there are created; the labels of those that are stay.
With --on-duplicate last or first a file can be imported again. Without it samples go in batches, which is about twice as fast.

Lines that can't be read and samples that the server refuses are counted by reason, with the first line of each; all others
are written.

Exit codes: 0 all written; 1 some lines or samples were refused; 2 usage, or a file can't be read; 3 the server can't be
reached or fails.

Examples:
  timberline ts import sensors.csv --label site=north
  timberline ts import backup.jsonl --on-duplicate last --to redis://:secret@db:6379/1
  zcat *.csv.gz | timberline ts import -",
        )
}

fn parse_label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

/// Does `timberline ts import`.
pub(super) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let files: Vec<&PathBuf> = arguments.get_many("files").into_iter().flatten().collect();
    let labels = arguments.get_many::<(String, String)>("label").into_iter().flatten();
    let labels: Labels = labels
        .map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes()))
        .collect();
    let format = arguments.get_one::<Format>("format").copied();
    let quiet = arguments.get_flag("quiet");
    let Some(address) = arguments.get_one::<Address>("to") else {
        return Err(Failure::usage(anyhow!("no server is named")));
    };
    // Finds a missing file before half of the others are written.
    for path in files.iter().filter(|path| !is_standard_input(path)) {
        File::open(path)
            .with_context(|| path.display().to_string())
            .map_err(Failure::usage)?;
    }

    let bar = if quiet {
        ProgressBar::hidden()
    } else {
        ProgressBar::new_spinner()
    };
    let style = ProgressStyle::with_template("{spinner} {elapsed} {pos} samples {per_sec}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(200));
    let started = Instant::now();
    let on_duplicate = arguments.get_one::<String>("on-duplicate").map(String::as_str);
    let mut import = Import::new(Link::open(address)?, labels, on_duplicate, bar.clone());
    let mut unread = None;
    for path in files {
        match import.file(path, format) {
            Ok(()) => {}
            Err(Stop::Server(error)) => return Err(Failure::failed(error)),
            Err(Stop::File(error)) => {
                unread = Some(error);
                break;
            }
        }
    }
    bar.finish_and_clear();
    if !quiet {
        let seconds = started.elapsed().as_secs_f64().max(1e-3);
        let rate = import.taken as f64 / seconds;
        let ignored = match import.ignored {
            0 => String::new(),
            count => format!("; {count} ignored, as their series say"),
        };
        eprintln!(
            "imported {} samples, {} series created, in {seconds:.1} s ({rate:.0} samples/s){ignored}",
            import.taken, import.created
        );
    }
    for line in import.mistakes.lines() {
        eprintln!("{line}");
    }
    match unread {
        Some(error) => Err(Failure::usage(error)),
        None if import.mistakes.is_empty() => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::from(EXIT_REFUSED)),
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Why an import ends early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The server can't be reached, or has gone.
    Server(anyhow::Error),
    /// The file can't be read to its end.
    File(anyhow::Error),
}

/// Mistakes by kind: how many, and where the first one is.
#[derive(Debug, Default)]
pub(super) struct Mistakes(BTreeMap<String, (u64, String)>);

impl Mistakes {
    fn add(&mut self, kind: &str, count: u64, place: impl FnOnce() -> String) {
        if let Some(entry) = self.0.get_mut(kind) {
            entry.0 += count;
        } else {
            self.0.insert(kind.to_owned(), (count, place()));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A line for each kind, the most frequent first.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut kinds: Vec<_> = self.0.iter().collect();
        kinds.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        kinds
            .into_iter()
            .map(|(kind, (count, place))| format!("{count} refused, first at {place}: {kind}"))
            .collect()
    }
}

/// An import on its way.
pub(super) struct Import<'a> {
    link: Link,
    labels: Labels,
    on_duplicate: Option<&'a str>,
    bar: ProgressBar,
    /// Series that were met; the samples of the batch name them by number.
    numbers: HashMap<Vec<u8>, usize>,
    keys: Vec<Vec<u8>>,
    /// Series to create before the batch is written, by number, with the line they are met at.
    new: Vec<(usize, Labels, u64)>,
    batch: Vec<(usize, Sample, u64)>,
    pub(super) taken: u64,
    pub(super) ignored: u64,
    pub(super) created: u64,
    pub(super) mistakes: Mistakes,
}

impl<'a> Import<'a> {
    pub(super) fn new(link: Link, labels: Labels, on_duplicate: Option<&'a str>, bar: ProgressBar) -> Self {
        Self {
            link,
            labels,
            on_duplicate,
            bar,
            numbers: HashMap::new(),
            keys: Vec::new(),
            new: Vec::new(),
            batch: Vec::new(),
            taken: 0,
            ignored: 0,
            created: 0,
            mistakes: Mistakes::default(),
        }
    }

    /// Imports a file.
    pub(super) fn file(&mut self, path: &Path, format: Option<Format>) -> Result<(), Stop> {
        let name = path.display().to_string();
        let format = format.unwrap_or_else(|| Format::of(Some(path)));
        let open = || -> anyhow::Result<_> {
            let input: Box<dyn BufRead> = if is_standard_input(path) {
                Box::new(BufReader::with_capacity(READ_BYTES, io::stdin()))
            } else {
                Box::new(BufReader::with_capacity(READ_BYTES, File::open(path)?))
            };
            format.reader(input)
        };
        let mut records = open().with_context(|| name.clone()).map_err(Stop::File)?;
        while let Some(record) = records.next() {
            match record {
                Ok(record) => self.record(&name, record)?,
                Err(Unreadable::Line { line, mistake }) => self.mistakes.add(&mistake, 1, || format!("{name}:{line}")),
                Err(Unreadable::File(error)) => {
                    // What was read until here is written.
                    self.flush(&name)?;
                    return Err(Stop::File(anyhow!(error).context(name)));
                }
            }
        }
        self.flush(&name)
    }

    fn record(&mut self, file: &str, record: Record) -> Result<(), Stop> {
        let number = match self.numbers.get(&record.key) {
            Some(number) => *number,
            None => {
                let number = self.keys.len();
                self.keys.push(record.key.clone());
                self.numbers.insert(record.key, number);
                self.new.push((number, record.labels, record.line));
                number
            }
        };
        for sample in record.samples {
            self.batch.push((number, sample, record.line));
            if self.batch.len() == BATCH_SAMPLES {
                self.flush(file)?;
            }
        }
        // Series without samples are not to gather without bound.
        if self.new.len() == BATCH_SAMPLES {
            self.flush(file)
        } else {
            Ok(())
        }
    }

    /// Writes the batch.
    fn flush(&mut self, file: &str) -> Result<(), Stop> {
        self.create(file).map_err(Stop::Server)?;
        let writes: Vec<Write> = self
            .batch
            .iter()
            .map(|(number, (timestamp, value), _)| Write {
                key: &self.keys[*number],
                timestamp: *timestamp,
                value: *value,
            })
            .collect();
        let fates = write(&mut self.link, &writes, self.on_duplicate).map_err(Stop::Server)?;
        for ((_, _, line), fate) in self.batch.iter().zip(&fates) {
            match fate {
                Fate::Taken => self.taken += 1,
                Fate::Ignored => self.ignored += 1,
                Fate::Refused(why) => self.mistakes.add(why, 1, || format!("{file}:{line}")),
            }
        }
        self.bar.set_position(self.taken);
        self.batch.clear();
        Ok(())
    }

    /// Creates the series that were met since the last batch, unless they are there.
    fn create(&mut self, file: &str) -> anyhow::Result<()> {
        let create = |(number, labels, _): &(usize, Labels, u64)| {
            let mut command: Cmd = cmd("TS.CREATE");
            command.arg(&self.keys[*number]);
            if !labels.is_empty() || !self.labels.is_empty() {
                command.arg("LABELS");
            }
            for (name, value) in labels.iter().chain(&self.labels) {
                command.arg(name).arg(value);
            }
            command
        };
        let commands: Vec<Cmd> = self.new.iter().map(create).collect();
        if commands.is_empty() {
            return Ok(());
        }
        for (answer, (_, _, line)) in self.link.ask_all(&commands)?.iter().zip(&self.new) {
            match reply::refusal(answer) {
                Some(text) => {
                    if !text.contains("key already exists") {
                        self.mistakes.add(&text, 1, || format!("{file}:{line}"));
                    }
                }
                None => self.created += 1,
            }
        }
        self.new.clear();
        Ok(())
    }
}
