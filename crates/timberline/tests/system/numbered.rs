//! Numbered lines: the test knows which must be there, which may be, and finds lines that are missing or doubled.

use crate::decoder::Row;
use crate::server::{Client, PATIENCE};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

/// Time of line 0; line n comes n microseconds later.
const FIRST_NS: i64 = 1_780_315_200_000_000_000;
const STEP_NS: i64 = 1_000;
/// Lines asked for at once.
const PAGE_LINES: u64 = 20_000;

/// The lines of one writer: what was acknowledged, what was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    /// By number: true if acknowledged.
    lines: BTreeMap<u64, bool>,
}

/// One writer's stream of numbered lines.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) job: String,
    pub(crate) number: u64,
    pub(crate) next: u64,
    pub(crate) sent: Sent,
    random: SmallRng,
    filler_bytes: usize,
}

impl Writer {
    /// A writer; its lines carry up to `filler_bytes` of random text that hardly compresses.
    pub(crate) fn new(job: &str, number: u64, seed: u64, filler_bytes: usize) -> Self {
        let random = SmallRng::seed_from_u64(seed ^ (number << 32));
        Self {
            job: job.to_owned(),
            number,
            next: 0,
            sent: Sent::default(),
            random,
            filler_bytes,
        }
    }

    fn line(&mut self, number: u64) -> Value {
        let length = self.random.random_range(0..=self.filler_bytes);
        let filler: String = (0..length)
            .map(|_| char::from(self.random.random_range(b'0'..=b'z')))
            .collect();
        let time_ns = FIRST_NS + number as i64 * STEP_NS;
        json!([time_ns.to_string(), format!("n={number} {filler}"), {"trace": format!("{:x}", number * 7919)}])
    }

    /// Sends the next so many lines in one request; gives the status, an error if the connection broke.
    pub(crate) fn push(&mut self, client: &Client, lines: u64) -> Result<u16, ureq::Error> {
        let numbers = self.next..self.next + lines;
        self.next = numbers.end;
        let mut values: Vec<Value> = numbers.clone().map(|n| self.line(n)).collect();
        if self.random.random_bool(0.3) {
            values.reverse();
        }
        let labels = json!({"job": self.job, "writer": self.number.to_string()});
        self.sent.lines.extend(numbers.clone().map(|n| (n, false)));
        let (status, _) = client.try_push(&json!([{"stream": labels, "values": values}]))?;
        if status == 204 {
            self.sent.lines.extend(numbers.map(|n| (n, true)));
        }
        Ok(status)
    }

    /// Number of acknowledged lines.
    pub(crate) fn acknowledged(&self) -> usize {
        self.sent.lines.values().filter(|acknowledged| **acknowledged).count()
    }

    /// The numbers of this writer's lines that the server has, from `from` on, in order of time.
    pub(crate) fn read(&self, client: &Client, from: u64) -> Vec<u64> {
        let query = format!("{{job=\"{}\", writer=\"{}\"}}", self.job, self.number);
        let mut found = Vec::new();
        let mut page = from;
        while page < self.next {
            let (start, end) = (
                FIRST_NS + page as i64 * STEP_NS,
                FIRST_NS + (page + PAGE_LINES) as i64 * STEP_NS,
            );
            found.extend(read_numbers(client, &query, start, end));
            page += PAGE_LINES;
        }
        found
    }

    /// Each acknowledged line from `from` on is there once, each other one at most once. Gives the number of
    /// acknowledged ones.
    pub(crate) fn check(&self, client: &Client, from: u64) -> usize {
        self.check_found(&self.read(client, from), from)
    }

    /// The same for the rows of all data objects, from the first line on.
    pub(crate) fn check_rows(&self, rows: &[Row]) -> usize {
        let mine = rows
            .iter()
            .filter(|row| row.labels["job"] == self.job && row.labels["writer"] == self.number.to_string());
        let mut found: Vec<u64> = mine.map(|row| number_of(&row.line)).collect();
        found.sort_unstable();
        self.check_found(&found, 0)
    }

    fn check_found(&self, found: &[u64], from: u64) -> usize {
        let name = format!("job {} writer {}", self.job, self.number);
        for pair in found.windows(2) {
            assert!(
                pair[0] < pair[1],
                "{name}: line {} twice or out of order (after {})",
                pair[1],
                pair[0]
            );
        }
        let mut acknowledged = 0;
        for (number, _) in self.sent.lines.range(from..).filter(|(_, acknowledged)| **acknowledged) {
            acknowledged += 1;
            assert!(
                found.binary_search(number).is_ok(),
                "{name}: acknowledged line {number} is lost"
            );
        }
        for number in found {
            assert!(
                self.sent.lines.contains_key(number),
                "{name}: line {number} was never sent"
            );
        }
        acknowledged
    }
}

/// The numbers of the lines that match, oldest first.
pub(crate) fn read_numbers(client: &Client, query: &str, start_ns: i64, end_ns: i64) -> Vec<u64> {
    let (start, end) = (start_ns.to_string(), end_ns.to_string());
    let parameters = [
        ("query", query),
        ("start", &start),
        ("end", &end),
        ("limit", "50000"),
        ("direction", "forward"),
    ];
    let answer = client.get_json("/loki/api/v1/query_range", &parameters);
    let mut found: Vec<(i64, u64)> = Vec::new();
    for stream in answer["data"]["result"].as_array().unwrap() {
        for value in stream["values"].as_array().unwrap() {
            let line = value[1].as_str().unwrap();
            found.push((value[0].as_str().unwrap().parse().unwrap(), number_of(line)));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, number)| number).collect()
}

fn number_of(line: &str) -> u64 {
    line.strip_prefix("n=")
        .and_then(|l| l.split(' ').next())
        .unwrap()
        .parse()
        .unwrap()
}

/// All numbered lines lie before this time.
pub(crate) fn after_all_ns() -> i64 {
    FIRST_NS + 3_600_000_000_000
}

/// Time of line 0.
pub(crate) fn first_ns() -> i64 {
    FIRST_NS
}

/// Calls `done` until it says yes.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
