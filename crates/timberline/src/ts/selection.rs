//! Which series are meant.

use super::link::{Link, Trouble};
use super::reply::{self, unexpected};
use clap::{Arg, ArgAction, ArgMatches, Command};
use redis::{Value, cmd};

/// Keys that the server looks at for each answer.
const SCAN_COUNT: usize = 1000;

/// Series by key or by labels.
pub(super) enum Selection {
    /// Keys that match any of these.
    Patterns(Vec<String>),
    /// Series whose labels match all of these.
    Filters(Vec<String>),
}

/// Adds the flags.
pub(super) fn add_flags(command: Command) -> Command {
    command
        .arg(
            Arg::new("patterns")
                .value_name("PATTERN")
                .num_args(0..)
                .conflicts_with("filter")
                .help("Series whose key matches, with * ? [a-z] and \\ as KEYS has them; all if nothing is named"),
        )
        .arg(
            Arg::new("filter")
                .long("filter")
                .value_name("LABEL=VALUE")
                .num_args(1..)
                .action(ArgAction::Append)
                .help("Series by labels, as in TS.QUERYINDEX: a=b  a=(b,c)  a!=b  a=  a!=; all must hold"),
        )
}

impl Selection {
    /// What the flags say.
    pub(super) fn from_flags(arguments: &ArgMatches) -> Self {
        let texts = |name: &str| {
            arguments
                .get_many::<String>(name)
                .into_iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
        };
        let filters = texts("filter");
        if !filters.is_empty() {
            return Self::Filters(filters);
        }
        let patterns = texts("patterns");
        Self::Patterns(if patterns.is_empty() {
            vec!["*".to_owned()]
        } else {
            patterns
        })
    }

    /// The keys, in ascending order.
    pub(super) fn keys(&self, link: &mut Link) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut keys = Vec::new();
        match self {
            Self::Filters(filters) => {
                let answer = link.ask(cmd("TS.QUERYINDEX").arg(filters))?;
                keys = reply::keys(answer).ok_or_else(|| unexpected("TS.QUERYINDEX", &Value::Nil))?;
            }
            Self::Patterns(patterns) => {
                for pattern in patterns {
                    scan(link, pattern, &mut keys)?;
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }
}

/// Adds the keys of all series that match a pattern; some perhaps twice.
fn scan(link: &mut Link, pattern: &str, keys: &mut Vec<Vec<u8>>) -> Result<(), Trouble> {
    let mut cursor = b"0".to_vec();
    loop {
        let mut command = cmd("SCAN");
        command
            .arg(&cursor)
            .arg("MATCH")
            .arg(pattern)
            .arg("COUNT")
            .arg(SCAN_COUNT);
        command.arg("TYPE").arg("TSDB-TYPE");
        let answer = link.ask(&command)?;
        let Value::Array(parts) = answer else {
            return Err(unexpected("SCAN", &answer));
        };
        let Ok([next, found]) = <[Value; 2]>::try_from(parts) else {
            return Err(unexpected("SCAN", &Value::Nil));
        };
        let (Value::BulkString(next), Some(found)) = (next, reply::keys(found)) else {
            return Err(unexpected("SCAN", &Value::Nil));
        };
        keys.extend(found);
        if next == b"0" {
            return Ok(());
        }
        cursor = next;
    }
}
