//! The table of settings: name, what values it takes, how it is read and changed.

use super::series;
use crate::events::Events;
use crate::server::Server;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use timberline_series::journal::Fsync;

/// One setting.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) check: Check,
    pub(super) get: fn(&Server, &Setting) -> String,
    pub(super) set: fn(&Arc<Server>, &Setting, &str),
    /// The value of one that changes nothing here, until it is set.
    default: &'static str,
}

/// What values a setting takes.
pub(super) enum Check {
    /// None: it can't be set.
    Fixed,
    /// Any text.
    Any,
    /// Whole numbers between two bounds.
    Integer(i64, i64),
    /// A number of bytes, perhaps with a unit: `100mb`.
    Bytes,
    /// One of these words, in any case.
    OneOf(&'static [&'static str]),
    /// What a function accepts.
    Function(fn(&Server, &str) -> Result<(), String>),
}

impl Check {
    pub(super) fn look(&self, server: &Server, value: &str) -> Result<(), String> {
        match self {
            Check::Fixed => Err("can't set immutable config".to_owned()),
            Check::Any => Ok(()),
            Check::Integer(low, high) => {
                let number: i64 = value
                    .parse()
                    .map_err(|_| "argument couldn't be parsed into an integer".to_owned())?;
                if (*low..=*high).contains(&number) {
                    Ok(())
                } else {
                    Err(format!("argument must be between {low} and {high} inclusive"))
                }
            }
            Check::Bytes => bytes(value)
                .map(|_| ())
                .ok_or_else(|| "argument must be a memory value".to_owned()),
            Check::OneOf(words) => {
                if words.iter().any(|word| word.eq_ignore_ascii_case(value)) {
                    Ok(())
                } else if words == &YES_NO {
                    Err("argument must be 'yes' or 'no'".to_owned())
                } else {
                    Err(format!(
                        "argument(s) must be one of the following: {}",
                        words.join(", ")
                    ))
                }
            }
            Check::Function(look) => look(server, value),
        }
    }
}

const YES_NO: [&str; 2] = ["yes", "no"];

/// A number of bytes with a unit of powers of 1000 (k, m, g) or 1024 (kb, mb, gb).
pub(super) fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let factor = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// A setting that clients know and that changes nothing here: it reads back.
const fn kept(name: &'static str, check: Check, default: &'static str) -> Setting {
    Setting {
        name,
        check,
        get: |server, setting| {
            let kept = server.config.kept.read();
            kept.get(setting.name)
                .cloned()
                .unwrap_or_else(|| setting.default.to_owned())
        },
        set: |server, setting, value| {
            server.config.kept.write().insert(setting.name, value.to_owned());
        },
        default,
    }
}

/// A setting that can't be set.
const fn fixed(name: &'static str, value: &'static str) -> Setting {
    kept(name, Check::Fixed, value)
}

const fn setting(
    name: &'static str,
    check: Check,
    get: fn(&Server, &Setting) -> String,
    set: fn(&Arc<Server>, &Setting, &str),
) -> Setting {
    Setting {
        name,
        check,
        get,
        set,
        default: "",
    }
}

/// A checked number.
fn number(value: &str) -> i64 {
    value.parse().unwrap_or_default()
}

pub(super) static SETTINGS: &[Setting] = &[
    // Those of series.
    setting(
        "ts-retention-policy",
        Check::Integer(0, i64::MAX),
        |server, _| server.engine.settings().retention_ms.to_string(),
        |server, _, value| {
            server
                .engine
                .change_settings(|settings| settings.retention_ms = number(value));
        },
    ),
    setting(
        "ts-chunk-size-bytes",
        Check::Function(series::check_chunk_size),
        |server, _| server.engine.settings().chunk_bytes.to_string(),
        |server, _, value| {
            server
                .engine
                .change_settings(|settings| settings.chunk_bytes = number(value) as u32);
        },
    ),
    setting(
        "ts-duplicate-policy",
        Check::Function(series::check_policy),
        |server, _| server.engine.settings().duplicate_policy.name().to_owned(),
        |server, _, value| series::set_policy(server, value),
    ),
    setting(
        "ts-encoding",
        Check::Function(series::check_encoding),
        |server, _| series::encoding(server),
        |server, _, value| series::set_encoding(server, value),
    ),
    setting(
        "ts-ignore-max-time-diff",
        Check::Integer(0, i64::MAX),
        |server, _| server.engine.settings().ignore_time_ms.to_string(),
        |server, _, value| {
            server
                .engine
                .change_settings(|settings| settings.ignore_time_ms = number(value));
        },
    ),
    setting(
        "ts-ignore-max-val-diff",
        Check::Function(series::check_ignore_value),
        |server, _| format!("{:.6}", server.engine.settings().ignore_value),
        |server, _, value| series::set_ignore_value(server, value),
    ),
    setting(
        "ts-compaction-policy",
        Check::Function(series::check_compaction),
        |server, _| server.engine.settings().compaction.to_string(),
        |server, _, value| series::set_compaction(server, value),
    ),
    kept("ts-num-threads", Check::Integer(1, 16), "3"),
    fixed("ts-libmr-protocol", ""),
    fixed("ts-topology-events", "no"),
    // Those that the server looks at.
    setting(
        "maxmemory",
        Check::Bytes,
        |server, _| server.config.max_memory().to_string(),
        |server, _, value| {
            server
                .config
                .max_memory
                .store(bytes(value).unwrap_or(0), Ordering::Relaxed);
            server.measure_memory();
        },
    ),
    setting(
        "maxclients",
        Check::Integer(1, 1_000_000),
        |server, _| server.config.max_clients().to_string(),
        |server, _, value| {
            server
                .config
                .max_clients
                .store(number(value) as usize, Ordering::Relaxed);
        },
    ),
    setting(
        "timeout",
        Check::Integer(0, i32::MAX as i64),
        |server, _| {
            server
                .config
                .idle_timeout()
                .map_or(0, |timeout| timeout.as_secs())
                .to_string()
        },
        |server, _, value| {
            server
                .config
                .idle_timeout_seconds
                .store(number(value) as u64, Ordering::Relaxed);
        },
    ),
    setting(
        "proto-max-bulk-len",
        Check::Function(|_, value| match bytes(value) {
            // No request is longer.
            Some(len) if (1 << 20..=1 << 30).contains(&len) => Ok(()),
            _ => Err("argument must be between 1048576 and 1073741824 inclusive".to_owned()),
        }),
        |server, _| server.config.limits(true).max_word_bytes.to_string(),
        |server, _, value| {
            let len = bytes(value).unwrap_or(1 << 29) as usize;
            server.config.max_word_bytes.store(len, Ordering::Relaxed);
        },
    ),
    setting(
        "slowlog-log-slower-than",
        Check::Integer(-1, i64::MAX),
        |server, _| server.config.slow_after_us.load(Ordering::Relaxed).to_string(),
        |server, _, value| server.config.slow_after_us.store(number(value), Ordering::Relaxed),
    ),
    setting(
        "slowlog-max-len",
        Check::Integer(0, 1_000_000),
        |server, _| server.config.slow_log_len().to_string(),
        |server, _, value| {
            server
                .config
                .slow_log_len
                .store(number(value) as usize, Ordering::Relaxed);
        },
    ),
    setting(
        "lua-time-limit",
        Check::Integer(0, i64::MAX),
        |server, _| server.config.script_limit().as_millis().to_string(),
        |server, _, value| {
            server
                .config
                .script_limit_ms
                .store(number(value) as u64, Ordering::Relaxed);
        },
    ),
    setting(
        "busy-reply-threshold",
        Check::Integer(0, i64::MAX),
        |server, _| server.config.script_limit().as_millis().to_string(),
        |server, _, value| {
            server
                .config
                .script_limit_ms
                .store(number(value) as u64, Ordering::Relaxed);
        },
    ),
    setting(
        "notify-keyspace-events",
        Check::Function(|_, value| match Events::parse(value) {
            Some(_) => Ok(()),
            None => Err("Invalid event class character. Use 'Ag$lshzxeKEtmdno'.".to_owned()),
        }),
        |server, _| server.events.letters(),
        |server, _, value| {
            let classes = Events::parse(value).unwrap_or(0);
            server.events.set(classes, server.engine.interest());
        },
    ),
    setting(
        "requirepass",
        Check::Any,
        |server, setting| {
            let kept = server.config.kept.read();
            kept.get(setting.name).cloned().unwrap_or_default()
        },
        |server, setting, value| {
            server.config.kept.write().insert(setting.name, value.to_owned());
            let password = format!(">{value}");
            let rules = if value.is_empty() {
                vec!["nopass"]
            } else {
                vec!["resetpass", &password]
            };
            // These rules are never refused.
            let _ = server.acl.set(crate::acl::DEFAULT_USER, rules);
        },
    ),
    setting(
        "port",
        Check::Fixed,
        |server, _| server.config.port().to_string(),
        |_, _, _| {},
    ),
    // Those that clients read, and that change nothing here.
    setting(
        "appendfsync",
        Check::OneOf(&["always", "everysec", "no"]),
        |server, _| server.engine.journal().fsync().name().to_owned(),
        |server, _, value| {
            if let Some(fsync) = Fsync::parse(value.as_bytes()) {
                server.engine.journal().set_fsync(fsync);
            }
        },
    ),
    setting(
        "appendonly",
        Check::Fixed,
        |server, _| if server.engine.journal().is_kept() { "yes" } else { "no" }.to_owned(),
        |_, _, _| {},
    ),
    kept("save", Check::Any, ""),
    kept("dir", Check::Fixed, "."),
    fixed("dbfilename", ""),
    kept("maxmemory-policy", Check::OneOf(&["noeviction"]), "noeviction"),
    kept("maxmemory-samples", Check::Integer(1, 64), "5"),
    kept("hz", Check::Integer(1, 500), "10"),
    kept(
        "loglevel",
        Check::OneOf(&["debug", "verbose", "notice", "warning", "nothing"]),
        "notice",
    ),
    kept("tcp-keepalive", Check::Integer(0, i32::MAX as i64), "300"),
    kept("latency-monitor-threshold", Check::Integer(0, i64::MAX), "0"),
    kept("client-query-buffer-limit", Check::Bytes, "1073741824"),
    kept(
        "client-output-buffer-limit",
        Check::Any,
        "normal 0 0 0 slave 0 0 0 pubsub 33554432 0 0",
    ),
    kept("lazyfree-lazy-user-del", Check::OneOf(&YES_NO), "yes"),
    kept("lazyfree-lazy-user-flush", Check::OneOf(&YES_NO), "no"),
    kept("activedefrag", Check::OneOf(&["no"]), "no"),
    kept("protected-mode", Check::OneOf(&YES_NO), "no"),
    fixed("databases", "16"),
    fixed("bind", "127.0.0.1"),
    fixed("cluster-enabled", "no"),
    fixed("io-threads", "1"),
    fixed("unixsocket", ""),
    fixed("supervised", "no"),
    fixed("daemonize", "no"),
    fixed("pidfile", ""),
    fixed("logfile", ""),
    fixed("tcp-backlog", "1024"),
    fixed("repl-backlog-size", "0"),
    fixed("min-replicas-to-write", "0"),
    fixed("replica-read-only", "yes"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_values() {
        let check = |text, want| assert_eq!(bytes(text), want, "{text}");
        check("0", Some(0));
        check("100mb", Some(100 << 20));
        check("1G", Some(1_000_000_000));
        check("1gb", Some(1 << 30));
        check("1x", None);
        check("", None);
        check("99999999999gb", None);
    }

    #[test]
    fn names_are_unique() {
        for (place, setting) in SETTINGS.iter().enumerate() {
            assert!(
                !SETTINGS[..place].iter().any(|other| other.name == setting.name),
                "{}",
                setting.name
            );
        }
    }
}
