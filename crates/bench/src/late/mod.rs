//! Late samples: what they cost a server of time-series commands, over its sockets.
//!
//! | what | file |
//! |---|---|
//! | the published workload as bytes | `workload.rs` |
//! | one measurement | `cell.rs` |
//! | published figures and goals | `published.rs` |
//! | results as a table, as a plot | `table.rs`, `svg.rs` |
//! | bytes per sample of typical data | `memory.rs`, `shapes.rs` |
//!
//! Servers are measured in turn: every repetition visits every cell once for every server, so that slow minutes of the machine touch all
//! alike. A measurement removes the series that it made (`late-bench#1` and so on) and touches no others.

mod cell;
mod command;
mod cpu;
mod error;
mod memory;
mod options;
mod published;
mod replies;
mod server;
mod shapes;
mod svg;
mod table;
mod workload;

pub use error::LateError;
pub use memory::{MemoryReport, MemoryRow, memory};
pub use options::{Encoding, Options, Rule};
pub use server::Server;

use serde::Serialize;
use std::collections::BTreeMap;

/// The results of a measurement. Its `Display` is the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// What was measured.
    pub options: Options,
    /// The servers, in the order of the columns; what is a ratio is one to the first.
    pub servers: Vec<String>,
    /// Each configuration, share and server, in this order.
    pub cells: Vec<Cell>,
}

/// A server, a configuration of its series, and a share of late samples. Each figure is the median of the repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Which of the servers.
    pub server: usize,
    /// How its series keep samples.
    pub encoding: Encoding,
    /// The size of their chunks.
    pub chunk_bytes: u64,
    /// How many samples of a hundred are late.
    pub late_percent: f64,
    /// Samples in a second.
    pub samples_per_second: f64,
    /// In the slowest repetition.
    pub samples_per_second_min: f64,
    /// In the fastest repetition.
    pub samples_per_second_max: f64,
    /// Samples in a second against those of the first share.
    pub rate_against_first_share: f64,
    /// Microseconds of the server's processors for each sample.
    pub cpu_us: Option<f64>,
    /// Memory of the series by samples they hold in the end.
    pub bytes_per_sample: f64,
    /// Milliseconds from sending a batch to its last answer.
    pub p50_ms: f64,
    /// The same for the slowest of a hundred.
    pub p99_ms: f64,
    /// Commands and samples that were refused, in one repetition.
    pub errors: u64,
    /// The published figure of the peer, where the workload is the published one.
    pub published_cpu_us: Option<f64>,
    /// What we want to reach, where a goal is meant for the workload.
    pub goal_cpu_us: Option<f64>,
}

/// Measures. `progress` hears what is about to be measured.
///
/// # Errors
/// What went wrong with a server; nothing is told of the others then.
pub fn run(options: &Options, servers: &[Server], mut progress: impl FnMut(&str)) -> Result<Outcome, LateError> {
    let configurations: Vec<_> = options.configurations().collect();
    // Shares and configurations by their place in the options.
    let mut runs: BTreeMap<(usize, usize, usize), Vec<cell::Run>> = BTreeMap::new();
    for repetition in 0..options.repeat {
        for (share, late_percent) in options.late_percents.iter().enumerate() {
            let commands = workload::encode(options, *late_percent, repetition);
            for (number, configuration) in configurations.iter().enumerate() {
                for (which, server) in servers.iter().enumerate() {
                    progress(&format!(
                        "repetition {} of {}, {late_percent} % late, {}, chunks of {}, {}",
                        repetition + 1,
                        options.repeat,
                        configuration.0,
                        configuration.1,
                        server.name()
                    ));
                    let run = cell::run(server, options, *configuration, &commands)?;
                    runs.entry((number, share, which)).or_default().push(run);
                }
            }
        }
    }
    let mut cells: Vec<Cell> = Vec::with_capacity(runs.len());
    for ((number, share, server), runs) in &runs {
        let (encoding, chunk_bytes) = configurations[*number];
        let mut cell = summary(
            *server,
            options,
            encoding,
            chunk_bytes,
            options.late_percents[*share],
            runs,
        );
        let first = cells
            .iter()
            .find(|c| c.server == *server && c.encoding == encoding && c.chunk_bytes == chunk_bytes);
        cell.rate_against_first_share = first.map_or(1.0, |first| cell.samples_per_second / first.samples_per_second);
        cells.push(cell);
    }
    Ok(Outcome {
        options: options.clone(),
        servers: servers.iter().map(|server| server.name().to_owned()).collect(),
        cells,
    })
}

/// The medians of some runs.
fn summary(
    server: usize,
    options: &Options,
    encoding: Encoding,
    chunk_bytes: u64,
    late_percent: f64,
    runs: &[cell::Run],
) -> Cell {
    let all = |figure: fn(&cell::Run) -> f64| runs.iter().map(figure).collect::<Vec<f64>>();
    let rates = all(|run| run.samples_per_second);
    let cpu: Option<Vec<f64>> = runs.iter().map(|run| run.cpu_us).collect();
    Cell {
        server,
        encoding,
        chunk_bytes,
        late_percent,
        samples_per_second: median(rates.clone()),
        samples_per_second_min: rates.iter().copied().fold(f64::INFINITY, f64::min),
        samples_per_second_max: rates.iter().copied().fold(0.0, f64::max),
        rate_against_first_share: 1.0,
        cpu_us: cpu.map(median),
        bytes_per_sample: median(all(|run| run.bytes_per_sample)),
        p50_ms: median(all(|run| run.p50_ms)),
        p99_ms: median(all(|run| run.p99_ms)),
        errors: median(all(|run| run.errors as f64)) as u64,
        published_cpu_us: options
            .is_published_workload()
            .then(|| published::peer_cpu_us(encoding, chunk_bytes, late_percent))
            .flatten(),
        goal_cpu_us: options.has_goals().then(|| published::goal_us(late_percent)),
    }
}

/// The one in the middle, or the mean of the two there; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.as_slice() {
        [] => 0.0,
        values if values.len() % 2 == 1 => values[values.len() / 2],
        values => f64::midpoint(values[values.len() / 2 - 1], values[values.len() / 2]),
    }
}

impl Outcome {
    /// The plot of the processor time, for a file.
    pub fn to_svg(&self) -> String {
        svg::plot(self)
    }

    /// Everything that was measured, for programs.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.unwrap_or_else(|error| panic!("bug: results can't be written as JSON: {error}"))
    }
}

#[cfg(test)]
mod tests;
