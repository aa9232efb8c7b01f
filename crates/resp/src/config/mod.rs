//! Settings: CONFIG GET and CONFIG SET over one table (`table`), and the values that the server itself looks at.

mod series;
mod table;

use crate::glob;
use crate::protocol::Limits;
use crate::server::Server;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use table::{SETTINGS, Setting};

/// The values that the server itself looks at; those of series are the engine's.
pub(crate) struct Config {
    max_memory: AtomicU64,
    max_clients: AtomicUsize,
    idle_timeout_seconds: AtomicU64,
    max_word_bytes: AtomicUsize,
    slow_after_us: AtomicI64,
    slow_log_len: AtomicUsize,
    script_limit_ms: AtomicU64,
    port: AtomicU16,
    /// Values that clients read and set and that change nothing here.
    kept: RwLock<BTreeMap<&'static str, String>>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            max_memory: AtomicU64::new(0),
            max_clients: AtomicUsize::new(10_000),
            idle_timeout_seconds: AtomicU64::new(0),
            max_word_bytes: AtomicUsize::new(Limits::default().max_word_bytes),
            slow_after_us: AtomicI64::new(10_000),
            slow_log_len: AtomicUsize::new(128),
            script_limit_ms: AtomicU64::new(5000),
            port: AtomicU16::new(6379),
            kept: RwLock::default(),
        }
    }
}

impl Config {
    pub(crate) fn limits(&self, authenticated: bool) -> Limits {
        Limits {
            max_word_bytes: self.max_word_bytes.load(Ordering::Relaxed),
            authenticated,
            ..Limits::default()
        }
    }

    pub(crate) fn max_memory(&self) -> u64 {
        self.max_memory.load(Ordering::Relaxed)
    }

    pub(crate) fn max_clients(&self) -> usize {
        self.max_clients.load(Ordering::Relaxed)
    }

    /// After how long a silent connection is closed.
    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        let seconds = self.idle_timeout_seconds.load(Ordering::Relaxed);
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// From when on a command is slow; nothing if none is.
    pub(crate) fn slow_after(&self) -> Option<Duration> {
        let microseconds = self.slow_after_us.load(Ordering::Relaxed);
        u64::try_from(microseconds).ok().map(Duration::from_micros)
    }

    pub(crate) fn slow_log_len(&self) -> usize {
        self.slow_log_len.load(Ordering::Relaxed)
    }

    /// From when on a script holds up others for too long; zero: never.
    pub(crate) fn script_limit(&self) -> Duration {
        Duration::from_millis(self.script_limit_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    pub(crate) fn set_port(&self, port: u16) {
        self.port.store(port, Ordering::Relaxed);
    }
}

/// The settings whose names fit one of the patterns, with their values.
pub(crate) fn get(server: &Server, patterns: &[&[u8]]) -> Vec<(&'static str, String)> {
    let chosen = SETTINGS.iter().filter(|setting| {
        patterns
            .iter()
            .any(|pattern| glob::matches_any_case(pattern, setting.name.as_bytes()))
    });
    chosen
        .map(|setting| (setting.name, (setting.get)(server, setting)))
        .collect()
}

/// Changes settings: all or none.
pub(crate) fn set(server: &Arc<Server>, pairs: &[(&[u8], &[u8])]) -> Result<(), String> {
    let mut changes: Vec<(&'static Setting, &str)> = Vec::new();
    for (name, value) in pairs {
        let Some(setting) = SETTINGS
            .iter()
            .find(|setting| setting.name.as_bytes().eq_ignore_ascii_case(name))
        else {
            return Err(format!(
                "ERR Unknown option or number of arguments for CONFIG SET - '{}'",
                String::from_utf8_lossy(name)
            ));
        };
        let failed = |reason: &str| {
            format!(
                "ERR CONFIG SET failed (possibly related to argument '{}') - {reason}",
                setting.name
            )
        };
        if changes.iter().any(|(other, _)| std::ptr::eq(*other, setting)) {
            return Err(failed("duplicate parameter"));
        }
        let value = std::str::from_utf8(value).map_err(|_| failed("the value is not UTF-8"))?;
        setting.check.look(server, value).map_err(|reason| failed(&reason))?;
        changes.push((setting, value));
    }
    for (setting, value) in changes {
        (setting.set)(server, setting, value);
    }
    Ok(())
}
