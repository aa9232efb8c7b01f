//! Scripts in Lua 5.1 (EVAL): kept by the digest of their text, run alone, with no way to the outside but commands.

mod run;
mod values;

pub(crate) use run::run;

use crate::context::CommandError;
use ahash::AHashMap;
use parking_lot::Mutex;
use sha1::{Digest, Sha1};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What other clients are told while a script runs for too long.
pub(crate) const BUSY: &str = "BUSY A script is running. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";

/// Bytes of all scripts that are kept; beyond, those of EVAL are forgotten, and SCRIPT LOAD is refused.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Known scripts, and the one that runs.
#[derive(Default)]
pub(crate) struct Scripts {
    known: Mutex<Known>,
    running: Mutex<Option<Running>>,
}

#[derive(Default)]
struct Known {
    by_digest: AHashMap<String, Arc<[u8]>>,
    bytes: usize,
}

/// A script that runs.
#[derive(Clone)]
struct Running {
    since: Instant,
    limit: Duration,
    /// Whether it has changed a key: then it can't be ended without being seen half done.
    has_written: Arc<AtomicBool>,
    is_killed: Arc<AtomicBool>,
}

/// Forgets which script runs when it has ended.
pub(crate) struct RunningGuard<'a> {
    scripts: &'a Scripts,
    running: Running,
}

impl Scripts {
    /// The digest of a script, in hexadecimal digits.
    pub(crate) fn digest(script: &[u8]) -> String {
        crate::acl::hex(&Sha1::digest(script))
    }

    /// Makes a script known. Gives its digest.
    pub(crate) fn load(&self, script: &[u8]) -> Result<String, CommandError> {
        let digest = Scripts::digest(script);
        let mut known = self.known.lock();
        if known.by_digest.contains_key(&digest) {
            return Ok(digest);
        }
        if known.bytes + script.len() > MAX_KEPT_BYTES {
            return Err(CommandError::text(
                "ERR the known scripts take 64 MiB, which is all they may: SCRIPT FLUSH forgets them",
            ));
        }
        known.bytes += script.len();
        known.by_digest.insert(digest.clone(), script.into());
        Ok(digest)
    }

    pub(crate) fn get(&self, digest: &str) -> Option<Arc<[u8]>> {
        self.known.lock().by_digest.get(digest).cloned()
    }

    pub(crate) fn flush(&self) {
        *self.known.lock() = Known::default();
    }

    /// Whether a script runs for longer than others are let wait silently.
    pub(crate) fn is_slow(&self) -> bool {
        let running = self.running.lock();
        running
            .as_ref()
            .is_some_and(|running| !running.limit.is_zero() && running.since.elapsed() > running.limit)
    }

    /// Ends the script that runs.
    pub(crate) fn kill(&self) -> Result<(), CommandError> {
        let running = self.running.lock();
        let Some(running) = running.as_ref() else {
            return Err(CommandError::text("NOTBUSY No scripts in execution right now."));
        };
        if running.has_written.load(Ordering::Acquire) {
            return Err(CommandError::text(
                "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script \
                 termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
            ));
        }
        running.is_killed.store(true, Ordering::Release);
        Ok(())
    }

    fn begin(&self, limit: Duration) -> RunningGuard<'_> {
        let running = Running {
            since: Instant::now(),
            limit,
            has_written: Arc::default(),
            is_killed: Arc::default(),
        };
        *self.running.lock() = Some(running.clone());
        RunningGuard { scripts: self, running }
    }
}

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        *self.scripts.running.lock() = None;
    }
}
