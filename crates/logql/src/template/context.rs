// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! What functions see of an expansion: the entry, the environment, and where new values are made.

use std::fmt;

use bumpalo::Bump;
use jiff::tz::TimeZone;
use regex::bytes::{CaptureLocations, Regex};

use super::LabelSource;
use super::limits::{BYTES_PER_STEP, MAX_CACHED_REGEXES, MAX_STEPS, MAX_TEXT_BYTES, MAX_VALUE_BYTES};
use super::print::quote::Shown;
use super::sink::{Sink, put};
use super::time::parse_time;
use super::value::Value;
use crate::pipeline::Environment;
use crate::regexp::compile_regex;

/// An expansion failed. Why stands in [`Context::cause`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    /// The function that failed, if it was one.
    pub(super) function: Option<&'static str>,
}

pub(super) type Outcome<'a> = Result<Value<'a>, Failure>;

/// Buffers and caches, reused from entry to entry.
#[derive(Default)]
pub(super) struct Buffers {
    text: Vec<u8>,
    pub(super) cause: Vec<u8>,
    regexes: Vec<CachedRegex>,
    /// Which of `regexes` is replaced next.
    oldest: usize,
    zone: Option<(Vec<u8>, TimeZone)>,
}

/// A compiled expression with a place for its captures.
pub(super) struct CachedRegex {
    pattern: Vec<u8>,
    pub(super) regex: Regex,
    pub(super) locations: CaptureLocations,
}

/// An expansion under way.
pub(super) struct Context<'s, 'a> {
    pub(super) arena: &'a Bump,
    pub(super) buffers: &'s mut Buffers,
    pub(super) source: &'a dyn LabelSource,
    pub(super) line: &'a [u8],
    pub(super) timestamp_ns: i64,
    pub(super) environment: &'a Environment,
    /// The compiled first argument of the function that is called, if that is a constant.
    pub(super) constant_regex: Option<&'a Regex>,
    steps: u64,
    value_bytes: usize,
}

impl<'s, 'a> Context<'s, 'a> {
    pub(super) fn new(
        arena: &'a Bump,
        buffers: &'s mut Buffers,
        source: &'a dyn LabelSource,
        line: &'a [u8],
        timestamp_ns: i64,
        environment: &'a Environment,
    ) -> Self {
        Self {
            arena,
            buffers,
            source,
            line,
            timestamp_ns,
            environment,
            constant_regex: None,
            steps: 0,
            value_bytes: 0,
        }
    }

    /// Fails with a message.
    pub(super) fn fail(&mut self, message: fmt::Arguments<'_>) -> Failure {
        self.buffers.cause.clear();
        put!(Sink::new(&mut self.buffers.cause), "{message}");
        Failure { function: None }
    }

    /// Counts a step, and what it reads.
    pub(super) fn step(&mut self, bytes: usize) -> Result<(), Failure> {
        self.steps += 1 + (bytes / BYTES_PER_STEP) as u64;
        if self.steps > MAX_STEPS {
            return Err(self.fail(format_args!("template takes more than {MAX_STEPS} steps")));
        }
        Ok(())
    }

    /// Counts memory that values take.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        self.value_bytes = self.value_bytes.saturating_add(bytes);
        if self.value_bytes > MAX_VALUE_BYTES {
            return Err(self.fail(format_args!("values of the template exceed {MAX_VALUE_BYTES} bytes")));
        }
        Ok(())
    }

    /// The text that `write` writes.
    pub(super) fn text(&mut self, write: impl FnOnce(&mut Sink<'_>)) -> Outcome<'a> {
        let buffer = &mut self.buffers.text;
        buffer.clear();
        let mut sink = Sink::new(buffer);
        write(&mut sink);
        let is_exceeded = sink.is_exceeded();
        let length = buffer.len();
        if is_exceeded {
            return Err(self.fail(format_args!("text exceeds {MAX_TEXT_BYTES} bytes")));
        }
        self.reserve(length)?;
        Ok(Value::Text(self.arena.alloc_slice_copy(&self.buffers.text)))
    }

    /// Places for values.
    pub(super) fn values(&mut self, count: usize) -> Result<&'a mut [Value<'a>], Failure> {
        self.reserve(count.saturating_mul(size_of::<Value<'a>>()))?;
        Ok(self.arena.alloc_slice_fill_copy(count, Value::Nothing))
    }

    /// The compiled expression, taken out of the cache; give it back with [`Context::keep_regex`].
    pub(super) fn take_regex(&mut self, pattern: &[u8]) -> Result<CachedRegex, Failure> {
        let cached = self.buffers.regexes.iter().position(|cached| cached.pattern == pattern);
        if let Some(at) = cached {
            return Ok(self.buffers.regexes.swap_remove(at));
        }
        let regex = match (self.constant_regex, std::str::from_utf8(pattern)) {
            (Some(regex), _) => regex.clone(),
            (None, Ok(text)) => {
                // Compiling is far more work than matching.
                self.step(1 << 16)?;
                compile_regex(text, false, false).map_err(|error| self.fail(format_args!("{error}")))?
            }
            (None, Err(_)) => {
                let message = format_args!("error parsing regexp: invalid UTF-8: `{}`", Shown(pattern));
                return Err(self.fail(message));
            }
        };
        Ok(CachedRegex {
            pattern: pattern.to_owned(),
            locations: regex.capture_locations(),
            regex,
        })
    }

    /// Puts an expression into the cache, in the place of the oldest one if that is full.
    pub(super) fn keep_regex(&mut self, cached: CachedRegex) {
        let regexes = &mut self.buffers.regexes;
        if regexes.len() < MAX_CACHED_REGEXES {
            regexes.push(cached);
        } else {
            let oldest = self.buffers.oldest % MAX_CACHED_REGEXES;
            self.buffers.oldest = oldest + 1;
            regexes[oldest] = cached;
        }
    }

    /// Reads a time in the zone of this name, as [`parse_time`] does. `None` also for an unknown zone.
    pub(super) fn parse_time_in(&mut self, layout: &[u8], zone: &[u8], text: &[u8]) -> Option<super::time::Time> {
        let is_cached = self.buffers.zone.as_ref().is_some_and(|(name, _)| name == zone);
        if !is_cached {
            let found = super::time::find_zone(zone, self.environment)?;
            self.buffers.zone = Some((zone.to_owned(), found));
        }
        let (_, zone) = self.buffers.zone.as_ref()?;
        parse_time(layout, text, zone)
    }
}
