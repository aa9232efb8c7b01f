//! One measurement: one server, one configuration of its series, one share of late samples.

use super::replies::Replies;
use super::server::{Control, PATIENCE, Server};
use super::workload::{Batch, Commands, destination};
use super::{Encoding, LateError, Options};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Events that are taken at once; more wait for the next turn.
const EVENTS: usize = 256;
/// What is read at a time.
const READ_BYTES: usize = 64 << 10;

/// What one run of a cell gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) samples_per_second: f64,
    /// Microseconds of the server's processors for each sample.
    pub(super) cpu_us: Option<f64>,
    /// Memory of the series by samples they hold.
    pub(super) bytes_per_sample: f64,
    /// Milliseconds from sending a batch to its last answer.
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) errors: u64,
}

/// Sends all commands, going round over the series, and measures.
pub(super) fn run(
    server: &Server,
    options: &Options,
    (encoding, chunk_bytes): (Encoding, u64),
    commands: &[Commands],
) -> Result<Run, LateError> {
    let mut control = server.control()?;
    remove(&mut control, commands)?;
    for series in commands {
        create(&mut control, options, encoding, chunk_bytes, &series.key)?;
    }
    let mut round = Round::start(server, commands)?;
    let cpu_before = server.cpu_seconds().transpose()?;
    let started = Instant::now();
    round.finish(server)?;
    let seconds = started.elapsed().as_secs_f64();
    let cpu_after = server.cpu_seconds().transpose()?;
    let samples = (options.series * options.samples) as f64;

    let (mut bytes, mut kept) = (0, 0);
    for series in commands {
        bytes += control.memory_usage(&series.key)?;
        kept += control.sample_count(&series.key)?;
    }
    remove(&mut control, commands)?;
    round.latencies.sort_unstable();
    Ok(Run {
        samples_per_second: samples / seconds,
        cpu_us: cpu_before
            .zip(cpu_after)
            .map(|(before, after)| (after - before) / samples * 1e6),
        bytes_per_sample: bytes as f64 / kept.max(1) as f64,
        p50_ms: quantile_ms(&round.latencies, 0.5),
        p99_ms: quantile_ms(&round.latencies, 0.99),
        errors: round.links.iter().map(|link| link.replies.errors).sum(),
    })
}

/// Removes the series of the benchmark, and nothing else.
fn remove(control: &mut Control, commands: &[Commands]) -> Result<(), LateError> {
    for series in commands {
        control.must(&[b"DEL", &series.key, &destination(&series.key)])?;
    }
    Ok(())
}

fn create(
    control: &mut Control,
    options: &Options,
    encoding: Encoding,
    chunk_bytes: u64,
    key: &[u8],
) -> Result<(), LateError> {
    let chunk = chunk_bytes.to_string();
    let encoding = encoding.word().as_bytes();
    let mut words: Vec<&[u8]> = vec![
        b"TS.CREATE",
        key,
        b"ENCODING",
        encoding,
        b"CHUNK_SIZE",
        chunk.as_bytes(),
    ];
    if let Some(policy) = &options.policy {
        words.extend([b"DUPLICATE_POLICY".as_slice(), policy.as_bytes()]);
    }
    control.must(&words)?;
    if let Some(rule) = &options.rule {
        let destination = destination(key);
        let bucket = rule.bucket_ms.to_string();
        control.must(&[b"TS.CREATE", &destination])?;
        let aggregator = rule.aggregator.as_bytes();
        control.must(&[
            b"TS.CREATERULE",
            key,
            &destination,
            b"AGGREGATION",
            aggregator,
            bucket.as_bytes(),
        ])?;
    }
    Ok(())
}

fn quantile_ms(sorted: &[Duration], share: f64) -> f64 {
    let index = (sorted.len() as f64 * share) as usize;
    let latency = sorted.get(index.min(sorted.len().saturating_sub(1)));
    latency.map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
}

/// The connections of a cell, one for each series.
struct Round<'c> {
    poll: Poll,
    links: Vec<Link<'c>>,
    latencies: Vec<Duration>,
}

/// A connection and what is sent over it.
struct Link<'c> {
    stream: TcpStream,
    batches: std::slice::Iter<'c, Batch>,
    /// What is still to be written of the batch on its way.
    unsent: &'c [u8],
    replies: Replies,
    sent_at: Instant,
}

impl<'c> Round<'c> {
    fn start(server: &Server, commands: &'c [Commands]) -> Result<Self, LateError> {
        let poll = Poll::new().map_err(|error| server.lost(error))?;
        let mut links = Vec::with_capacity(commands.len());
        for (number, series) in commands.iter().enumerate() {
            let stream = server.raw_connection()?;
            let register = |stream: std::net::TcpStream| -> io::Result<TcpStream> {
                stream.set_nonblocking(true)?;
                let mut stream = TcpStream::from_std(stream);
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut stream, Token(number), interest)?;
                Ok(stream)
            };
            links.push(Link {
                stream: register(stream).map_err(|error| server.lost(error))?,
                batches: series.batches.iter(),
                unsent: &[],
                replies: Replies::default(),
                sent_at: Instant::now(),
            });
        }
        Ok(Self {
            poll,
            links,
            latencies: Vec::new(),
        })
    }

    /// Sends everything and waits for all answers.
    fn finish(&mut self, server: &Server) -> Result<(), LateError> {
        let mut open = 0;
        for link in &mut self.links {
            open += usize::from(link.send_next().map_err(|error| server.lost(error))?);
        }
        let mut events = Events::with_capacity(EVENTS);
        let mut buffer = vec![0; READ_BYTES];
        while open > 0 {
            match self.poll.poll(&mut events, Some(PATIENCE)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => outcome.map_err(|error| server.lost(error))?,
            }
            if events.is_empty() {
                return Err(LateError::Silent {
                    server: server.name().to_owned(),
                    waited: PATIENCE,
                });
            }
            for event in &events {
                let link = &mut self.links[event.token().0];
                if event.is_writable() {
                    link.write().map_err(|error| server.lost(error))?;
                }
                if event.is_readable() {
                    let ended = link.read(&mut buffer, &mut self.latencies);
                    open -= usize::from(ended.map_err(|error| server.lost(error))?);
                }
            }
        }
        Ok(())
    }
}

impl Link<'_> {
    /// Sends the next batch; false if there is none.
    fn send_next(&mut self) -> io::Result<bool> {
        let Some(batch) = self.batches.next() else {
            return Ok(false);
        };
        self.replies.expect(batch.commands);
        self.unsent = &batch.bytes;
        self.sent_at = Instant::now();
        self.write()?;
        Ok(true)
    }

    /// Writes as much as the socket takes.
    fn write(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.stream.write(self.unsent) {
                Ok(count) => self.unsent = &self.unsent[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads all there is, and sends the next batch when one is answered; true when the last one is.
    fn read(&mut self, buffer: &mut [u8], latencies: &mut Vec<Duration>) -> io::Result<bool> {
        loop {
            let count = match self.stream.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if self.replies.take(&buffer[..count]) && self.unsent.is_empty() {
                latencies.push(self.sent_at.elapsed());
                if !self.send_next()? {
                    return Ok(true);
                }
            }
        }
    }
}
