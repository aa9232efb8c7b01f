//! The table of all settings.

use super::Config;
use crate::units::{exact_bytes, exact_duration, parse_bytes, parse_duration};
use std::path::PathBuf;

/// One setting: its flag is the name with dashes, its variable `TIMBERLINE_` and the name in capitals, its YAML key the name.
pub(crate) struct Setting {
    pub(super) name: &'static str,
    pub(super) flag: &'static str,
    pub(super) value_name: &'static str,
    pub(super) help: &'static str,
    pub(super) get: fn(&Config) -> String,
    pub(super) set: fn(&mut Config, &str) -> Result<(), String>,
}

impl Setting {
    /// The name of its environment variable.
    pub(super) fn variable(&self) -> String {
        format!("TIMBERLINE_{}", self.name.to_ascii_uppercase())
    }
}

/// All settings.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "http",
        flag: "http",
        value_name: "ADDR",
        help: "Where the Loki API listens; port 0 picks a free one, which is printed",
        get: |c| c.http.clone(),
        set: |c, text| set(&mut c.http, Ok(text.to_owned())),
    },
    Setting {
        name: "resp",
        flag: "resp",
        value_name: "ADDR",
        help: "Where the time-series commands (Redis protocol) listen, or off; port 0 picks a free one, which is printed",
        get: |c| c.resp.clone().unwrap_or_else(|| "off".to_owned()),
        set: |c, text| set(&mut c.resp, Ok((text != "off").then(|| text.to_owned()))),
    },
    Setting {
        name: "resp_password",
        flag: "resp-password",
        value_name: "PASSWORD",
        help: "What Redis clients must give to AUTH; none if empty. Better set by the environment: flags can be seen by other users",
        get: |c| {
            if c.resp_password.is_empty() {
                String::new()
            } else {
                HIDDEN.to_owned()
            }
        },
        set: |c, text| set(&mut c.resp_password, not_hidden(text)),
    },
    Setting {
        name: "resp_fsync",
        flag: "resp-fsync",
        value_name: "WHEN",
        help: "When writes to series are on disk: always (before they are answered), everysec (within a second), or no (when the system likes)",
        get: |c| c.resp_fsync.clone(),
        set: |c, text| set(&mut c.resp_fsync, parse_fsync(text)),
    },
    Setting {
        name: "series_max_memory",
        flag: "series-max-memory",
        value_name: "SIZE",
        help: "Writes that need memory are refused while series and keys take more than this; 0 for no limit",
        get: |c| exact_bytes(c.series_max_memory),
        set: |c, text| set(&mut c.series_max_memory, parse_bytes(text)),
    },
    Setting {
        name: "rules",
        flag: "rules",
        value_name: "PATH",
        help: "File or folder of recording rules, whose answers are written into series; sub-folders are tenants; none if empty",
        get: |c| {
            c.rules
                .as_ref()
                .map(|path| path.display().to_string())
                .unwrap_or_default()
        },
        set: |c, text| set(&mut c.rules, Ok((!text.is_empty()).then(|| PathBuf::from(text)))),
    },
    Setting {
        name: "data",
        flag: "data",
        value_name: "DIR",
        help: "Where write-ahead log, series, catalog and data objects are kept; made if missing",
        get: |c| c.data.display().to_string(),
        set: |c, text| set(&mut c.data, Ok(PathBuf::from(text))),
    },
    Setting {
        name: "auth_required",
        flag: "auth-required",
        value_name: "BOOL",
        help: "Refuse requests without the tenant header X-Scope-OrgID; otherwise they belong to the tenant \"fake\"",
        get: |c| c.auth_required.to_string(),
        set: |c, text| set(&mut c.auth_required, parse_bool(text)),
    },
    Setting {
        name: "log_level",
        flag: "log-level",
        value_name: "LEVEL",
        help: "What the server says about itself on standard error: error, warn, info, debug or trace",
        get: |c| c.log_level.clone(),
        set: |c, text| set(&mut c.log_level, parse_level(text)),
    },
    Setting {
        name: "head_max_bytes",
        flag: "head-max-bytes",
        value_name: "SIZE",
        help: "Entries in memory are written to a data object when they take this much",
        get: |c| exact_bytes(c.head_max_bytes),
        set: |c, text| set(&mut c.head_max_bytes, positive(parse_bytes(text))),
    },
    Setting {
        name: "head_max_age",
        flag: "head-max-age",
        value_name: "DURATION",
        help: "Entries in memory are written to a data object when the first of them arrived this long ago",
        get: |c| exact_duration(c.head_max_age),
        set: |c, text| set(&mut c.head_max_age, parse_duration(text)),
    },
    Setting {
        name: "max_unflushed_bytes",
        flag: "max-unflushed-bytes",
        value_name: "SIZE",
        help: "Pushes are refused with 503 while this much waits to be written to data objects",
        get: |c| exact_bytes(c.max_unflushed_bytes),
        set: |c, text| set(&mut c.max_unflushed_bytes, positive(parse_bytes(text))),
    },
    Setting {
        name: "max_request_bytes",
        flag: "max-request-bytes",
        value_name: "SIZE",
        help: "Largest body of a push after decompression; larger ones are refused with 413",
        get: |c| exact_bytes(c.max_request_bytes),
        set: |c, text| set(&mut c.max_request_bytes, positive(parse_bytes(text))),
    },
    Setting {
        name: "max_line_bytes",
        flag: "max-line-bytes",
        value_name: "SIZE",
        help: "Longest line; longer ones are refused with 400, the other entries of the request are kept",
        get: |c| exact_bytes(c.max_line_bytes),
        set: |c, text| set(&mut c.max_line_bytes, positive(parse_bytes(text))),
    },
    Setting {
        name: "max_streams_per_tenant",
        flag: "max-streams-per-tenant",
        value_name: "N",
        help: "Most streams of a tenant in memory; entries of further ones are refused with 429",
        get: |c| c.max_streams_per_tenant.to_string(),
        set: |c, text| set(&mut c.max_streams_per_tenant, positive(parse_number(text))),
    },
    Setting {
        name: "max_entries_per_query",
        flag: "max-entries-per-query",
        value_name: "N",
        help: "Largest limit= that a log query may ask for",
        get: |c| c.max_entries_per_query.to_string(),
        set: |c, text| set(&mut c.max_entries_per_query, positive(parse_number(text))),
    },
    Setting {
        name: "max_series_per_query",
        flag: "max-series-per-query",
        value_name: "N",
        help: "Most series of a metric query, also before they are summed up or the largest are taken",
        get: |c| c.max_series_per_query.to_string(),
        set: |c, text| set(&mut c.max_series_per_query, positive(parse_number(text))),
    },
    Setting {
        name: "max_query_memory_bytes",
        flag: "max-query-memory-bytes",
        value_name: "BYTES",
        help: "Most memory that one query may hold: labels, states, points, lines",
        get: |c| exact_bytes(c.max_query_memory_bytes),
        set: |c, text| set(&mut c.max_query_memory_bytes, positive(parse_bytes(text))),
    },
    Setting {
        name: "max_query_length",
        flag: "max-query-length",
        value_name: "DURATION",
        help: "Longest time range that a request may ask for; 0s for no limit",
        get: |c| exact_duration(c.max_query_length),
        set: |c, text| set(&mut c.max_query_length, parse_duration(text)),
    },
    Setting {
        name: "max_query_range",
        flag: "max-query-range",
        value_name: "DURATION",
        help: "Longest [range] in a metric query; 0s for no limit",
        get: |c| exact_duration(c.max_query_range),
        set: |c, text| set(&mut c.max_query_range, parse_duration(text)),
    },
    Setting {
        name: "max_query_lookback",
        flag: "max-query-lookback",
        value_name: "DURATION",
        help: "Queries find nothing older than this, without an error; 0s for no limit",
        get: |c| exact_duration(c.max_query_lookback),
        set: |c, text| set(&mut c.max_query_lookback, parse_duration(text)),
    },
    Setting {
        name: "max_streams_matchers_per_query",
        flag: "max-streams-matchers-per-query",
        value_name: "N",
        help: "Most matchers in the selectors of a query together; 0 for no limit",
        get: |c| c.max_streams_matchers_per_query.to_string(),
        set: |c, text| set(&mut c.max_streams_matchers_per_query, parse_number(text)),
    },
    Setting {
        name: "required_labels",
        flag: "required-labels",
        value_name: "NAMES",
        help: "Labels that each selector of a query must have a matcher for, separated by commas",
        get: |c| c.required_labels.join(","),
        set: |c, text| set(&mut c.required_labels, parse_names(text)),
    },
    Setting {
        name: "minimum_labels_number",
        flag: "minimum-labels-number",
        value_name: "N",
        help: "Labels that each selector of a query must have matchers for, whichever they are",
        get: |c| c.minimum_labels_number.to_string(),
        set: |c, text| set(&mut c.minimum_labels_number, parse_number(text)),
    },
    Setting {
        name: "max_query_bytes_read",
        flag: "max-query-bytes-read",
        value_name: "SIZE",
        help: "Queries that would read more bytes of lines and metadata than this are refused, as far as can be told beforehand; 0 for no limit",
        get: |c| exact_bytes(c.max_query_bytes_read),
        set: |c, text| set(&mut c.max_query_bytes_read, parse_bytes(text)),
    },
    Setting {
        name: "max_concurrent_queries",
        flag: "max-concurrent-queries",
        value_name: "N",
        help: "Queries that run at once; further ones wait, and are refused with 429 when too many wait",
        get: |c| c.max_concurrent_queries.to_string(),
        set: |c, text| set(&mut c.max_concurrent_queries, positive(parse_number(text))),
    },
    Setting {
        name: "query_timeout",
        flag: "query-timeout",
        value_name: "DURATION",
        help: "A query that takes longer is ended with 504",
        get: |c| exact_duration(c.query_timeout),
        set: |c, text| set(&mut c.query_timeout, parse_duration(text)),
    },
];

/// What is shown in place of a secret.
const HIDDEN: &str = "(hidden)";

/// The configuration as it is printed does not hold secrets, so it can't be read back.
fn not_hidden(text: &str) -> Result<String, String> {
    if text == HIDDEN {
        return Err("the value was hidden when the configuration was printed".to_owned());
    }
    Ok(text.to_owned())
}

fn parse_fsync(text: &str) -> Result<String, String> {
    match text {
        "always" | "everysec" | "no" => Ok(text.to_owned()),
        _ => Err(format!("{text:?} is none of always, everysec, no")),
    }
}

fn set<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

fn parse_bool(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("{text:?} is neither true nor false"))
}

fn parse_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a whole number"))
}

/// Names of labels, separated by commas.
fn parse_names(text: &str) -> Result<Vec<String>, String> {
    let is_start = |c: char| c == '_' || c.is_ascii_alphabetic();
    let is_name = |name: &str| name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit());
    let mut names = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if !is_name(name) {
            return Err(format!("{name:?} is not the name of a label"));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn parse_level(text: &str) -> Result<String, String> {
    match text {
        "error" | "warn" | "info" | "debug" | "trace" => Ok(text.to_owned()),
        _ => Err(format!("{text:?} is none of error, warn, info, debug, trace")),
    }
}

fn positive(value: Result<u64, String>) -> Result<u64, String> {
    match value {
        Ok(0) => Err("0 is not allowed, the least is 1".to_owned()),
        other => other,
    }
}
