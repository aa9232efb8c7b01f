//! The published workload of late samples, as commands ready to be sent.
//!
//! The newest timestamp of each series starts at 100,000. A sample is late with a given probability: then its timestamp is uniform over all
//! of the past, or over a window of it; else it is the newest plus one. Values are uniform in [0, 32) with the digits of a 32-bit float.

use super::Options;
use super::command::{append_header, append_word};
use rand::Rng;
use rand::rngs::SmallRng;

/// Where the timestamps of a series start, so that the first late samples have a past to fall into.
const FIRST_NEWEST: u64 = 100_000;
/// Keeps the seeds of repetitions apart, which are that of the options plus a small number.
const SEED_STEP: u64 = 1_000_003;

/// The commands of one series.
pub(super) struct Commands {
    /// The series.
    pub(super) key: Vec<u8>,
    /// What is sent at a time.
    pub(super) batches: Vec<Batch>,
}

/// Commands that are sent together.
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) commands: usize,
}

/// The key of a series; as long as those of the published workload.
pub(super) fn key(series: usize) -> Vec<u8> {
    format!("late-bench#{}", series + 1).into_bytes()
}

/// The key of the destination of a series' rule.
pub(super) fn destination(key: &[u8]) -> Vec<u8> {
    [key, b":rule"].concat()
}

/// The commands of all series.
pub(super) fn encode(options: &Options, late_percent: f64, repetition: usize) -> Vec<Commands> {
    (0..options.series)
        .map(|series| {
            let seed = (options.seed + repetition as u64) * SEED_STEP + series as u64;
            encode_series(options, key(series), late_percent, &mut crate::rng(seed))
        })
        .collect()
}

fn encode_series(options: &Options, key: Vec<u8>, late_percent: f64, rng: &mut SmallRng) -> Commands {
    let mut samples = Samples {
        newest: FIRST_NEWEST,
        late_percent,
        window: options.window,
        rng,
    };
    let mut batches = Vec::new();
    let mut batch = Batch {
        bytes: Vec::new(),
        commands: 0,
    };
    let mut left = options.samples;
    while left > 0 {
        let count = left.min(options.samples_per_command);
        left -= count;
        if options.samples_per_command == 1 {
            append_header(&mut batch.bytes, 4);
            append_word(&mut batch.bytes, b"TS.ADD");
        } else {
            append_header(&mut batch.bytes, 1 + 3 * count);
            append_word(&mut batch.bytes, b"TS.MADD");
        }
        for _ in 0..count {
            let (timestamp, value) = samples.next();
            append_word(&mut batch.bytes, &key);
            append_word(&mut batch.bytes, timestamp.to_string().as_bytes());
            append_word(&mut batch.bytes, value.to_string().as_bytes());
        }
        batch.commands += 1;
        if batch.commands == options.pipeline || left == 0 {
            let full = std::mem::replace(
                &mut batch,
                Batch {
                    bytes: Vec::new(),
                    commands: 0,
                },
            );
            batches.push(full);
        }
    }
    Commands { key, batches }
}

struct Samples<'r> {
    newest: u64,
    late_percent: f64,
    window: Option<u64>,
    rng: &'r mut SmallRng,
}

impl Samples<'_> {
    fn next(&mut self) -> (u64, f32) {
        let timestamp = if self.rng.random::<f64>() * 100.0 < self.late_percent {
            let oldest = self.window.map_or(0, |window| self.newest.saturating_sub(window));
            self.rng.random_range(oldest..self.newest.max(oldest + 1))
        } else {
            self.newest += 1;
            self.newest
        };
        (timestamp, (self.rng.random::<f64>() * 32.0) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamps(late_percent: f64, window: Option<u64>) -> Vec<u64> {
        let mut rng = crate::rng(1);
        let mut samples = Samples {
            newest: FIRST_NEWEST,
            late_percent,
            window,
            rng: &mut rng,
        };
        (0..10_000).map(|_| samples.next().0).collect()
    }

    #[test]
    fn as_many_are_late_as_asked_for() {
        let late = |percent, window| {
            let mut newest = FIRST_NEWEST;
            let mut late = Vec::new();
            for timestamp in timestamps(percent, window) {
                if timestamp == newest + 1 {
                    newest += 1;
                } else {
                    late.push(newest - timestamp);
                }
            }
            late
        };
        assert!(late(0.0, None).is_empty());
        assert!(late(25.0, None).len().abs_diff(2_500) < 200);
        assert_eq!(late(100.0, None).len(), 10_000);
        let spread = late(50.0, None);
        assert!(spread.iter().any(|by| *by > 90_000) && spread.iter().any(|by| *by < 10_000));
        assert!(late(50.0, Some(10)).iter().all(|by| (1..=10).contains(by)));
    }

    #[test]
    fn commands_are_batched() {
        let f = |samples, pipeline, samples_per_command| {
            let options = Options {
                series: 2,
                samples,
                pipeline,
                samples_per_command,
                ..Options::default()
            };
            let commands = encode(&options, 10.0, 0);
            assert_eq!(commands.len(), 2);
            let words = |batch: &Batch, word: &[u8]| memchr::memmem::find_iter(&batch.bytes, word).count();
            for batch in &commands[0].batches {
                assert_eq!(words(batch, b"TS."), batch.commands);
            }
            let samples_sent: usize = commands[0]
                .batches
                .iter()
                .map(|batch| words(batch, &commands[0].key))
                .sum();
            assert_eq!(samples_sent, samples);
            commands[0]
                .batches
                .iter()
                .map(|batch| batch.commands)
                .collect::<Vec<_>>()
        };
        assert_eq!(f(100, 50, 1), [50, 50]);
        assert_eq!(f(101, 50, 1), [50, 50, 1]);
        assert_eq!(f(1, 50, 1), [1]);
        assert_eq!(f(101, 2, 10), [2, 2, 2, 2, 2, 1]);
    }

    #[test]
    fn a_command_is_written_as_the_protocol_says() {
        let options = Options {
            series: 1,
            samples: 1,
            ..Options::default()
        };
        let commands = encode(&options, 0.0, 0);
        let text = String::from_utf8_lossy(&commands[0].batches[0].bytes).into_owned();
        let start = "*4\r\n$6\r\nTS.ADD\r\n$12\r\nlate-bench#1\r\n$6\r\n100001\r\n$";
        assert!(text.starts_with(start) && text.ends_with("\r\n"), "{text}");
    }
}
