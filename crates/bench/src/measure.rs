//! Taking times.

use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// One round of each workload over little data: shows that it runs, says nothing of speed.
    Smoke,
    /// The data of the published workloads, and rounds until the best time is steady.
    Full,
}

/// Times of equal rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The fastest: what the machine can do when nothing disturbs it.
    pub best: Duration,
    /// The one in the middle.
    pub median: Duration,
    /// How many there were.
    pub count: usize,
}

/// How much was done in a time, or how long something took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// In the fastest round.
    pub best: f64,
    /// In the round in the middle.
    pub median: f64,
}

impl Rounds {
    /// Millions of `count` things per second.
    pub fn millions_per_second(&self, count: usize) -> Speed {
        self.per_second(count as f64 / 1e6)
    }

    /// Billions of `count` things per second.
    pub fn billions_per_second(&self, count: usize) -> Speed {
        self.per_second(count as f64 / 1e9)
    }

    /// Nanoseconds for each of `count` things.
    pub fn nanoseconds_each(&self, count: usize) -> Speed {
        let each = |time: Duration| time.as_secs_f64() * 1e9 / count as f64;
        Speed {
            best: each(self.best),
            median: each(self.median),
        }
    }

    fn per_second(&self, amount: f64) -> Speed {
        Speed {
            best: amount / self.best.as_secs_f64(),
            median: amount / self.median.as_secs_f64(),
        }
    }
}

/// Full effort spends about so long on each measurement, and has at least so many rounds.
const FULL_TIME: Duration = Duration::from_millis(700);
const MIN_ROUNDS: usize = 5;
/// A round should be long against the clock's own cost.
const MIN_ROUND_TIME: Duration = Duration::from_micros(200);

/// Runs `work` over and over.
pub fn measure(effort: Effort, mut work: impl FnMut()) -> Rounds {
    // The first run fills caches and pools.
    let started = Instant::now();
    work();
    let first = started.elapsed();
    if effort == Effort::Smoke {
        return Rounds {
            best: first,
            median: first,
            count: 1,
        };
    }
    let runs = (MIN_ROUND_TIME.as_nanos() / first.as_nanos().max(1)) as u32 + 1;
    let mut times = Vec::new();
    let started = Instant::now();
    while started.elapsed() < FULL_TIME || times.len() < MIN_ROUNDS {
        let round = Instant::now();
        for _ in 0..runs {
            work();
        }
        times.push(round.elapsed() / runs);
    }
    times.sort_unstable();
    Rounds {
        best: times[0],
        median: times[times.len() / 2],
        count: times.len(),
    }
}
