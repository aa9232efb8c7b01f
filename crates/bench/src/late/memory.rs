//! How many bytes a sample takes in memory, in whichever order samples come.

use super::published::GOAL_EMPTY_SERIES_BYTES;
use super::server::{Control, Server};
use super::shapes::{self, Shape};
use super::{Encoding, LateError, Options, workload};
use rand::seq::SliceRandom;
use serde::Serialize;
use std::fmt;

/// Samples in one command.
const COMMAND_SAMPLES: usize = 200;

/// Bytes per sample. Its `Display` is the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryReport {
    /// Samples of each series.
    pub samples: usize,
    /// The servers.
    pub servers: Vec<String>,
    /// Bytes of a series without samples, by server.
    pub empty_series_bytes: Vec<u64>,
    /// The figures.
    pub rows: Vec<MemoryRow>,
}

/// Bytes per sample of one kind of data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryRow {
    /// Which of the servers.
    pub server: usize,
    /// How samples are kept.
    pub encoding: Encoding,
    /// The size of chunks.
    pub chunk_bytes: u64,
    /// What the data are.
    pub shape: &'static str,
    /// Samples came in order.
    pub in_order: f64,
    /// Samples came in any order.
    pub shuffled: f64,
    /// The newest sample came first.
    pub reversed: f64,
    /// The published figures of the peer, in order and shuffled.
    pub published: Option<(f64, f64)>,
    /// What we want to reach in order and shuffled.
    pub goals: Option<(f64, f64)>,
}

/// Measures the memory of typical data: series, one after the other, with the samples, seed, encodings and chunk sizes of the options.
/// `progress` hears what is about to be measured.
///
/// # Errors
/// What went wrong with a server; nothing is told of the others then.
pub fn memory(
    options: &Options,
    servers: &[Server],
    mut progress: impl FnMut(&str),
) -> Result<MemoryReport, LateError> {
    let shapes = shapes::all(options.samples, &mut crate::rng(options.seed));
    let key = workload::key(0);
    let mut report = MemoryReport {
        samples: options.samples,
        servers: servers.iter().map(|server| server.name().to_owned()).collect(),
        empty_series_bytes: Vec::new(),
        rows: Vec::new(),
    };
    for server in servers {
        let mut control = server.control()?;
        control.must(&[b"DEL", &key])?;
        control.must(&[b"TS.CREATE", &key])?;
        report.empty_series_bytes.push(control.memory_usage(&key)?);
        control.must(&[b"DEL", &key])?;
    }
    for (encoding, chunk_bytes) in options.configurations() {
        for shape in &shapes {
            for (number, server) in servers.iter().enumerate() {
                progress(&format!(
                    "{}, {encoding}, chunks of {chunk_bytes}, {}",
                    shape.name,
                    server.name()
                ));
                let mut control = server.control()?;
                let mut bytes =
                    |samples: &[(i64, f64)]| series_bytes(&mut control, encoding, chunk_bytes, &key, samples);
                let mut samples = shape.samples.clone();
                let in_order = bytes(&samples)?;
                samples.reverse();
                let reversed = bytes(&samples)?;
                samples.shuffle(&mut crate::rng(options.seed));
                let shuffled = bytes(&samples)?;
                let is_published = encoding == Encoding::Compressed && chunk_bytes == 4096;
                let goal = shape.goal.filter(|_| is_published);
                report.rows.push(MemoryRow {
                    server: number,
                    encoding,
                    chunk_bytes,
                    shape: shape.name,
                    in_order,
                    shuffled,
                    reversed,
                    published: shape.peer.filter(|_| is_published),
                    goals: goal.map(|goal| (goal, Shape::shuffled_goal(in_order))),
                });
            }
        }
    }
    Ok(report)
}

/// Writes a series, and tells what each sample takes.
fn series_bytes(
    control: &mut Control,
    encoding: Encoding,
    chunk_bytes: u64,
    key: &[u8],
    samples: &[(i64, f64)],
) -> Result<f64, LateError> {
    let chunk = chunk_bytes.to_string();
    control.must(&[b"DEL", key])?;
    let encoding = encoding.word().as_bytes();
    control.must(&[
        b"TS.CREATE",
        key,
        b"ENCODING",
        encoding,
        b"CHUNK_SIZE",
        chunk.as_bytes(),
    ])?;
    for part in samples.chunks(COMMAND_SAMPLES) {
        let texts: Vec<_> = part.iter().map(|(t, v)| (t.to_string(), v.to_string())).collect();
        let mut words: Vec<&[u8]> = vec![b"TS.MADD"];
        words.extend(texts.iter().flat_map(|(t, v)| [key, t.as_bytes(), v.as_bytes()]));
        control.must_all(&words)?;
    }
    let bytes = control.memory_usage(key)?;
    control.must(&[b"DEL", key])?;
    Ok(bytes as f64 / samples.len().max(1) as f64)
}

impl MemoryReport {
    /// Everything that was measured, for programs.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.unwrap_or_else(|error| panic!("bug: results can't be written as JSON: {error}"))
    }
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "bytes per sample, series of {} samples", self.samples)?;
        let name = self
            .servers
            .iter()
            .map(String::len)
            .max()
            .unwrap_or(0)
            .max("server".len());
        let shape = self.rows.iter().map(|row| row.shape.len()).max().unwrap_or(0);
        let mut configuration = None;
        for row in &self.rows {
            if configuration != Some((row.encoding, row.chunk_bytes)) {
                configuration = Some((row.encoding, row.chunk_bytes));
                writeln!(
                    f,
                    "\n{:<shape$}  {:<name$} {:>9} {:>9} {:>9}  {:<12} goal",
                    format!("{}, chunks of {} bytes", row.encoding, row.chunk_bytes),
                    "server",
                    "in order",
                    "shuffled",
                    "reversed",
                    "peer"
                )?;
            }
            let peer = row
                .published
                .map_or_else(String::new, |(a, b)| format!("{a:.2} / {b:.2}"));
            let goal = row.goals.map_or_else(String::new, |(in_order, shuffled)| {
                let verdict = |met| if met { "met" } else { "missed" };
                format!(
                    "{in_order:.2} in order: {}; {shuffled:.2} shuffled: {}",
                    verdict(row.in_order <= in_order),
                    verdict(row.shuffled <= shuffled)
                )
            });
            let line = format!(
                "{:<shape$}  {:<name$} {:>9.2} {:>9.2} {:>9.2}  {peer:<12} {goal}",
                row.shape, self.servers[row.server], row.in_order, row.shuffled, row.reversed
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        writeln!(f)?;
        for (name, bytes) in self.servers.iter().zip(&self.empty_series_bytes) {
            let met = if *bytes as f64 <= GOAL_EMPTY_SERIES_BYTES {
                "met"
            } else {
                "missed"
            };
            writeln!(
                f,
                "an empty series of {name}: {bytes} bytes (peer 4500, goal {GOAL_EMPTY_SERIES_BYTES}: {met})"
            )?;
        }
        writeln!(
            f,
            "peer: the published figures, in order / shuffled. Shuffled samples are to take at most a tenth more than those in order."
        )
    }
}
