//! `timberline ts copy`: series of one server into another.
//!
//! | step | file |
//! |---|---|
//! | which series, several at once, and what came of it | `mod.rs` |
//! | attributes and samples of a series | `series.rs` |
//! | compaction rules, once both ends have their samples | `rules.rs` |
//! | whether both servers say the same | `compare.rs` |
//!
//! The copy keeps no state of its own: samples are written in order of time, so the newest one of a series tells how far it has come.

mod compare;
mod rules;
mod series;

use super::attributes::Attributes;
use super::link::{Address, Link, Trouble};
use super::selection::{self, Selection};
use super::{EXIT_REFUSED, quiet_flag, url_flag};
use crate::Failure;
use anyhow::anyhow;
use clap::{Arg, ArgMatches, Command, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Differences that are shown; the others are counted.
const SHOWN: usize = 50;

/// Describes `timberline ts copy`.
pub(super) fn command() -> Command {
    let command = Command::new("copy")
        .about("Copy series from one server to another, with labels, attributes and rules")
        .arg(url_flag("from", "The server to read from").required(true))
        .arg(url_flag("to", "The server to write to").required(true))
        .arg(
            Arg::new("jobs")
                .long("jobs")
                .value_name("N")
                .default_value("4")
                .value_parser(value_parser!(u16).range(1..=64))
                .help("Series that are copied at the same time"),
        )
        .arg(quiet_flag())
        .after_help(
            "\
Both may be Timberline or any server of the RedisTimeSeries commands. Samples, labels, retention, chunk size, encoding,
duplicate policy, IGNORE and the time to live are copied; then compaction rules, with the bucket in progress. The destinations
of rules are copied with their sources. The server that is read from is not changed.

A copy that was interrupted is simply started again: a series that is there is continued after its newest sample, and then
given the attributes of the other one. The same brings a copy up to date, but for samples that came in late behind what had been
copied; the comparison at the end finds such series by their number of samples, and shows them. To copy one anew, delete it first.

Exit codes: 0 both servers say the same; 1 something differs or was refused; 2 usage; 3 a server can't be reached or fails.

Examples:
  timberline ts copy --from redis://old:6379 --to redis://127.0.0.1:6379
  timberline ts copy --from redis://old:6379 --to redis://127.0.0.1:6379/1 'sensor:*'
  timberline ts copy --from redis://app:secret@old:6379 --to redis://127.0.0.1:6379 --filter site=north",
        );
    selection::add_flags(command)
}

/// Does `timberline ts copy`.
pub(super) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let address = |name: &str| arguments.get_one::<Address>(name);
    let (Some(from), Some(to)) = (address("from"), address("to")) else {
        return Err(Failure::usage(anyhow!("two servers are needed")));
    };
    if from.is_same(to) {
        return Err(Failure::usage(anyhow!(
            "--from and --to are the same server and database"
        )));
    }
    let quiet = arguments.get_flag("quiet");
    let bar = if quiet {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(0)
    };
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} samples {per_sec} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));

    let copy = Copy {
        from: from.clone(),
        to: to.clone(),
        selection: Selection::from_flags(arguments),
        jobs: usize::from(arguments.get_one::<u16>("jobs").copied().unwrap_or(1)),
    };
    let started = Instant::now();
    let outcome = copy.run(&bar)?;
    bar.finish_and_clear();
    for (key, difference) in outcome.differences.iter().take(SHOWN) {
        eprintln!("{}: {difference}", String::from_utf8_lossy(key));
    }
    if outcome.differences.len() > SHOWN {
        eprintln!("and {} more", outcome.differences.len() - SHOWN);
    }
    if !quiet {
        eprintln!("{}", outcome.summary(started.elapsed()));
    }
    Ok(if outcome.differences.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_REFUSED)
    })
}

/// What is to be copied.
pub(super) struct Copy {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) selection: Selection,
    pub(super) jobs: usize,
}

/// What came of a copy.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Series that were selected, and destinations of their rules.
    pub(super) series: usize,
    /// Samples that were written.
    pub(super) written: u64,
    /// Rules that were made.
    pub(super) rules: usize,
    /// Series, and what is not as on the other server.
    pub(super) differences: Vec<(Vec<u8>, String)>,
}

impl Outcome {
    fn summary(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64().max(1e-3);
        let verdict = match self.differences.len() {
            0 => "both servers say the same".to_owned(),
            count => format!("{count} differences"),
        };
        format!(
            "copied {} samples of {} series and {} rules in {seconds:.1} s ({:.0} samples/s); {verdict}",
            self.written,
            self.series,
            self.rules,
            self.written as f64 / seconds
        )
    }
}

/// A series, and what was done with it or why the server refused.
type Done<T> = (Vec<u8>, Result<T, String>);

/// Both servers.
pub(super) struct Ends {
    pub(super) from: Link,
    pub(super) to: Link,
}

impl Copy {
    fn connect(&self) -> Result<Ends, Trouble> {
        Ok(Ends {
            from: Link::open(&self.from)?,
            to: Link::open(&self.to)?,
        })
    }

    /// Copies, and compares.
    pub(super) fn run(&self, bar: &ProgressBar) -> Result<Outcome, Failure> {
        let mut ends = self.connect()?;
        let keys = self.select(&mut ends.from, bar)?;
        let mut outcome = Outcome {
            series: keys.len(),
            ..Outcome::default()
        };
        for (key, result) in self.each(&keys, |ends, key| series::copy(ends, key, bar))? {
            match result {
                Ok(written) => outcome.written += written,
                Err(refused) => outcome.differences.push((key, refused)),
            }
        }
        bar.set_message("rules");
        for key in &keys {
            match rules::copy(&mut ends, key, bar) {
                Ok((rules, written)) => {
                    outcome.rules += rules;
                    outcome.written += written;
                }
                Err(trouble) => outcome.differences.push((key.clone(), trouble.refusal()?)),
            }
        }
        bar.set_message("comparing");
        for (key, result) in self.each(&keys, compare::compare)? {
            let differences = result.unwrap_or_else(|refused| vec![refused]);
            outcome
                .differences
                .extend(differences.into_iter().map(|difference| (key.clone(), difference)));
        }
        outcome.differences.sort();
        outcome.differences.dedup();
        Ok(outcome)
    }

    /// The series that are selected and the destinations of their rules, in order.
    fn select(&self, from: &mut Link, bar: &ProgressBar) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut keys: BTreeSet<Vec<u8>> = self.selection.keys(from)?.into_iter().collect();
        let mut destinations = BTreeSet::new();
        for key in &keys {
            if let Some(attributes) = Attributes::of(from, key)? {
                bar.inc_length(attributes.samples);
                destinations.extend(attributes.rules.into_iter().map(|rule| rule.destination));
            }
        }
        for key in destinations {
            if !keys.contains(&key)
                && let Some(attributes) = Attributes::of(from, &key)?
            {
                bar.inc_length(attributes.samples);
                keys.insert(key);
            }
        }
        Ok(keys.into_iter().collect())
    }

    /// Does something with all series, several at once. What a server refuses is among the results.
    fn each<T: Send>(
        &self,
        keys: &[Vec<u8>],
        work: impl Fn(&mut Ends, &[u8]) -> Result<T, Trouble> + Sync,
    ) -> Result<Vec<Done<T>>, Failure> {
        let queue = Mutex::new(keys.iter());
        let next = || queue.lock().ok().and_then(|mut keys| keys.next());
        let job = || -> Result<Vec<_>, Failure> {
            let mut ends = self.connect()?;
            let mut results = Vec::new();
            while let Some(key) = next() {
                let result = match work(&mut ends, key) {
                    Ok(result) => Ok(result),
                    Err(trouble) => Err(trouble.refusal()?),
                };
                results.push((key.clone(), result));
            }
            Ok(results)
        };
        let jobs = self.jobs.min(keys.len());
        let results = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(job)).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(Failure::failed(anyhow!("bug: a copying thread panicked"))))
            };
            threads.into_iter().map(join).collect::<Vec<_>>()
        });
        let mut all = Vec::with_capacity(keys.len());
        for result in results {
            all.extend(result?);
        }
        Ok(all)
    }
}
