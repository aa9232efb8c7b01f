//! `timberline push`: sends log files to a server.

mod lines;
mod sender;
mod timestamps;
mod wire;

use crate::client::{self, Client};
use crate::{EXIT_FAILURE, Failure, units};
use anyhow::{Context, anyhow};
use clap::{Arg, ArgAction, ArgMatches, Command};
use indicatif::{ProgressBar, ProgressStyle};
use lines::Lines;
use sender::{Sender, Totals};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use timberline_logql::labels::LabelSet;
use wire::Batch;

/// A request is sent when its lines take this much: large enough that its overhead does not count, small enough that
/// several fit through any server's body limit.
const BATCH_BYTES: usize = 1 << 20;
/// Or when it has this many lines.
const BATCH_ENTRIES: usize = 10_000;
/// Exit code if the server refused entries for good.
const EXIT_REFUSED: u8 = 1;

/// Describes `timberline push`.
pub(crate) fn command() -> Command {
    let command = Command::new("push")
        .about("Send log files to a server")
        .arg(
            Arg::new("files")
                .value_name("FILE")
                .required(true)
                .num_args(1..)
                .value_parser(clap::value_parser!(PathBuf))
                .help("Files, plain or gzip; - is standard input"),
        )
        .arg(
            Arg::new("label")
                .long("label")
                .short('l')
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .value_parser(parse_label)
                .help("A label for all lines; may be given several times"),
        )
        .arg(
            Arg::new("quiet")
                .long("quiet")
                .short('q')
                .action(ArgAction::SetTrue)
                .help("No progress bar and no summary"),
        )
        .after_help(
            "\
Times are found in RFC 3339 and ISO dates, syslog, web server logs, Unix time in s, ms, us and ns, and in the fields ts,
time, timestamp and @timestamp of JSON and logfmt lines. Times without a zone are local (TZ). A line without a time takes
that of the line before it, at the beginning of a file that of the file's last change, of standard input the present. Lines that follow each other with
the same time are set apart by a nanosecond each, so sending a file again adds nothing. Blank lines are left out.

Each file's lines get the label filename; without any --label also service_name, made from the file's name.

Busy (429) and failing (5xx) servers are tried again for about a minute.

Exit codes: 0 all sent; 1 the server refused lines for good; 2 usage, or a file can't be read; 3 the server can't be reached or fails.

Examples:
  timberline push /var/log/dpkg.log --label job=dpkg
  timberline push /var/log/apt/*.log /var/log/dpkg.log.*.gz --label job=apt --label host=$(hostname)
  journalctl -o short-iso | timberline push - --label job=journal",
        );
    client::add_flags(command)
}

fn parse_label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| "write it as NAME=VALUE".to_owned())?;
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!(
            "{name:?} is not a label name: letters, digits and _, not a digit first"
        ));
    }
    if value.is_empty() {
        return Err(format!("label {name} has no value"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Does `timberline push`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let client = Client::from_flags(arguments).map_err(Failure::usage)?;
    let labels: Vec<(String, String)> = arguments.get_many("label").into_iter().flatten().cloned().collect();
    let files: Vec<&PathBuf> = arguments.get_many("files").into_iter().flatten().collect();
    let quiet = arguments.get_flag("quiet");
    check_readable(&files).map_err(Failure::usage)?;

    let started = Instant::now();
    let progress = Progress::start(&files, quiet);
    let sender = Sender::start(&client, progress.sent_counter());
    let mut unread = None;
    for path in &files {
        match read_file(path, &labels, &sender, &progress) {
            Ok(true) => {}
            Ok(false) => break,
            Err(failure) => {
                unread = Some(failure);
                break;
            }
        }
    }
    // Also after a file that can't be read to its end: what was read until then is sent.
    let outcome = sender.finish();
    progress.bar.finish_and_clear();
    let totals = outcome?;
    if !quiet {
        eprintln!("{}", summary(&totals, started.elapsed()));
    }
    if let Some(refusal) = &totals.refusal {
        eprintln!(
            "the server refused lines in {} requests; last: {refusal}",
            totals.refused_requests
        );
    }
    if let Some(failure) = unread {
        return Err(failure);
    }
    if totals.refusal.is_some() {
        return Ok(ExitCode::from(EXIT_REFUSED));
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds a missing file before half of the others are sent.
fn check_readable(files: &[&PathBuf]) -> anyhow::Result<()> {
    for path in files.iter().filter(|p| !is_standard_input(p)) {
        let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
        if file.metadata()?.is_dir() {
            return Err(anyhow!("{} is a directory", path.display()));
        }
    }
    Ok(())
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a file and hands its lines over, also those before a place that can't be read; false if sending has failed.
fn read_file(path: &Path, labels: &[(String, String)], sender: &Sender, progress: &Progress) -> Result<bool, Failure> {
    let labels = stream_labels(path, labels);
    let bar = progress.bar.clone();
    let count = move |bytes| bar.inc(bytes);
    let is_live = is_standard_input(path);
    let opened = if is_live {
        Lines::standard_input(count)
    } else {
        Lines::open(path, count)
    };
    let name = || path.display().to_string();
    let mut lines = opened.with_context(name).map_err(Failure::usage)?;
    let mut batch = Batch::new(&labels);
    loop {
        // Lines of a program that goes on writing are sent before it is waited for. While all connections are busy more lines gather, so
        // that a fast writer gets large requests.
        if is_live && batch.entries() > 0 && lines.would_wait() {
            let waiting = std::mem::replace(&mut batch, Batch::new(&labels));
            if !sender.send(waiting) {
                return Ok(false);
            }
        }
        let line = match lines.next_line().with_context(name) {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => {
                let _ = batch.entries() == 0 || sender.send(batch);
                return Err(Failure::usage(error));
            }
        };
        if batch.entries() == BATCH_ENTRIES || (batch.entries() > 0 && batch.bytes() + line.text.len() > BATCH_BYTES) {
            let full = std::mem::replace(&mut batch, Batch::new(&labels));
            if !sender.send(full) {
                return Ok(false);
            }
        }
        batch.push(line.timestamp_ns, line.text);
    }
    Ok(batch.entries() == 0 || sender.send(batch))
}

/// The labels given, `filename`, and `service_name` if no label was given.
fn stream_labels(path: &Path, given: &[(String, String)]) -> LabelSet {
    let mut labels = given.to_vec();
    if !is_standard_input(path) {
        let full = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        labels.push(("filename".to_owned(), full.to_string_lossy().into_owned()));
    }
    if given.is_empty() {
        labels.push(("service_name".to_owned(), service_name(path)));
    }
    LabelSet::from_pairs(labels)
}

/// The file's name without what rotation and compression add: `dpkg` for `dpkg.log.2.gz`.
fn service_name(path: &Path) -> String {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut stem = name.as_str();
    while let Some((before, suffix)) = stem.rsplit_once('.') {
        let noise = matches!(suffix, "gz" | "log" | "txt" | "json") || suffix.bytes().all(|b| b.is_ascii_digit());
        if !noise || before.is_empty() {
            break;
        }
        stem = before;
    }
    if stem.is_empty() || stem == "-" {
        "stdin".to_owned()
    } else {
        stem.to_owned()
    }
}

fn summary(totals: &Totals, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-3);
    let retries = if totals.retries > 0 {
        format!(", {} requests sent again", totals.retries)
    } else {
        String::new()
    };
    format!(
        "sent {} lines, {} in {:.1} s ({:.0} lines/s, {}/s){retries}",
        totals.entries,
        units::about_bytes(totals.bytes),
        seconds,
        totals.entries as f64 / seconds,
        units::about_bytes((totals.bytes as f64 / seconds) as u64),
    )
}

/// The bar on a terminal: bytes read of all files, lines on their way.
struct Progress {
    bar: ProgressBar,
    lines: Arc<AtomicU64>,
}

impl Progress {
    fn start(files: &[&PathBuf], quiet: bool) -> Self {
        let sizes: Option<Vec<u64>> = files.iter().map(|p| Some(std::fs::metadata(p).ok()?.len())).collect();
        // indicatif itself draws nothing where standard error is no terminal.
        let bar = match sizes {
            _ if quiet => ProgressBar::hidden(),
            Some(sizes) => ProgressBar::new(sizes.iter().sum()).with_style(style("{wide_bar} {bytes}/{total_bytes}")),
            None => ProgressBar::new_spinner().with_style(style("{spinner} {bytes}")),
        };
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            bar,
            lines: Arc::default(),
        }
    }

    /// Counts lines that were sent.
    fn sent_counter(&self) -> impl Fn(u64) + Clone + Send + 'static {
        let (bar, lines) = (self.bar.clone(), self.lines.clone());
        move |entries| {
            let sent = lines.fetch_add(entries, Ordering::Relaxed) + entries;
            let seconds = bar.elapsed().as_secs_f64().max(1e-3);
            bar.set_message(format!("{sent} lines, {:.0} lines/s", sent as f64 / seconds));
        }
    }
}

fn style(start: &str) -> ProgressStyle {
    ProgressStyle::with_template(&format!("{start} {{bytes_per_sec}} {{msg}}"))
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// The exit code of failures is the one that the help names.
const _: () = assert!(EXIT_FAILURE == 3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_names() {
        let f = |path: &str, want: &str| assert_eq!(service_name(Path::new(path)), want);
        f("/var/log/dpkg.log", "dpkg");
        f("/var/log/dpkg.log.2.gz", "dpkg");
        f("syslog", "syslog");
        f("syslog.1", "syslog");
        f("app-1.2.log", "app-1");
        f(".log", ".log");
        f("-", "stdin");
        f("my.service.txt", "my.service");
    }

    #[test]
    fn labels_of_a_file() {
        let f = |path: &str, given: &[(&str, &str)]| {
            let given: Vec<_> = given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            stream_labels(Path::new(path), &given).to_string()
        };
        assert_eq!(
            f("/no/such.log", &[]),
            r#"{filename="/no/such.log", service_name="such"}"#
        );
        assert_eq!(
            f("/no/such.log", &[("job", "x")]),
            r#"{filename="/no/such.log", job="x"}"#
        );
        assert_eq!(f("/no/such.log", &[("filename", "x")]), r#"{filename="x"}"#);
        assert_eq!(f("-", &[]), r#"{service_name="stdin"}"#);
    }

    #[test]
    fn label_flags() {
        assert_eq!(parse_label("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        for bad in ["a", "=b", "a-b=c", "1a=b", "a="] {
            assert!(parse_label(bad).is_err(), "{bad}");
        }
    }
}
