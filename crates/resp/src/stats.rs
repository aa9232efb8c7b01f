//! Counters of the server: INFO shows them, and whoever embeds the server may export them.

use crate::commands;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows, but for CONFIG RESETSTAT.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// What it is.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Counters of one command.
#[derive(Debug, Default)]
pub struct CommandStats {
    /// How often it was run.
    pub calls: Counter,
    /// Time that it took, in nanoseconds.
    pub nanoseconds: Counter,
    /// How often it was refused before it was run: arity, permission, memory.
    pub rejected: Counter,
    /// How often it gave an error.
    pub failed: Counter,
}

/// All counters.
pub struct Stats {
    /// Connections that came.
    pub connections: Counter,
    /// Connections refused because there were `maxclients`.
    pub rejected_connections: Counter,
    /// Commands that were run.
    pub commands: Counter,
    /// Bytes received.
    pub input_bytes: Counter,
    /// Bytes sent.
    pub output_bytes: Counter,
    /// Keys whose time was over.
    pub expired_keys: Counter,
    /// Reads of keys that were there.
    pub hits: Counter,
    /// Reads of keys that were not.
    pub misses: Counter,
    /// Error replies.
    pub errors: Counter,
    /// Passwords and permissions that did not do.
    pub denied: Counter,
    by_command: Vec<CommandStats>,
    /// By place in [`USUAL_ERRORS`].
    by_usual_error: [Counter; USUAL_ERRORS.len()],
    by_error: Mutex<BTreeMap<String, u64>>,
}

/// Codes of errors that may come in masses: they are counted without a lock.
const USUAL_ERRORS: [&str; 6] = ["ERR", "TSDB:", "WRONGTYPE", "NOAUTH", "NOPERM", "OOM"];

/// How many codes of errors are counted one by one; codes that clients make up (in scripts) can't make more.
const MAX_ERROR_CODES: usize = 64;

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            connections: Counter::default(),
            rejected_connections: Counter::default(),
            commands: Counter::default(),
            input_bytes: Counter::default(),
            output_bytes: Counter::default(),
            expired_keys: Counter::default(),
            hits: Counter::default(),
            misses: Counter::default(),
            errors: Counter::default(),
            denied: Counter::default(),
            by_command: commands::all().map(|_| CommandStats::default()).collect(),
            by_usual_error: Default::default(),
            by_error: Mutex::default(),
        }
    }
}

impl Stats {
    /// The counters of the command at a place of the table.
    pub fn of_command(&self, place: usize) -> &CommandStats {
        &self.by_command[place]
    }

    pub(crate) fn ran(&self, place: usize, calls: u64, took: Duration) {
        let command = &self.by_command[place];
        command.calls.add(calls);
        command.nanoseconds.add(took.as_nanos() as u64);
        self.commands.add(calls);
    }

    /// Counts an error reply by its first word.
    pub(crate) fn error(&self, text: &str) {
        self.errors.add(1);
        let code = text.split(' ').next().unwrap_or_default();
        if let Some(place) = USUAL_ERRORS.iter().position(|usual| *usual == code) {
            self.by_usual_error[place].add(1);
            return;
        }
        let mut by_error = self.by_error.lock();
        if let Some(count) = by_error.get_mut(code) {
            *count += 1;
        } else if by_error.len() < MAX_ERROR_CODES {
            by_error.insert(code.to_owned(), 1);
        }
    }

    /// Error replies by code.
    pub fn errors_by_code(&self) -> Vec<(String, u64)> {
        let usual = USUAL_ERRORS.iter().zip(&self.by_usual_error);
        let mut by_code: Vec<(String, u64)> = usual
            .map(|(code, count)| ((*code).to_owned(), count.get()))
            .filter(|(_, count)| *count > 0)
            .collect();
        let by_error = self.by_error.lock();
        by_code.extend(by_error.iter().map(|(code, count)| (code.clone(), *count)));
        by_code
    }

    /// CONFIG RESETSTAT.
    pub(crate) fn reset(&self) {
        for counter in [
            &self.connections,
            &self.rejected_connections,
            &self.commands,
            &self.input_bytes,
            &self.output_bytes,
            &self.expired_keys,
            &self.hits,
            &self.misses,
            &self.errors,
            &self.denied,
        ] {
            counter.reset();
        }
        for command in &self.by_command {
            for counter in [&command.calls, &command.nanoseconds, &command.rejected, &command.failed] {
                counter.reset();
            }
        }
        self.by_usual_error.iter().for_each(Counter::reset);
        self.by_error.lock().clear();
    }
}
