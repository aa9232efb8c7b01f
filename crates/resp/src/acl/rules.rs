//! Categories of commands.

use crate::commands::{Command, Group, flags};

/// All categories, in the order of ACL CAT.
pub(crate) const CATEGORIES: [&str; 24] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
    "timeseries",
    "module",
    "all",
];

/// Whether a command belongs to a category; nothing if there is no such category.
pub(crate) fn in_category(command: &Command, category: &str) -> Option<bool> {
    if !CATEGORIES.contains(&category) {
        return None;
    }
    Some(match category {
        "all" => true,
        "keyspace" => command.has(flags::KEYSPACE),
        "read" => command.has(flags::READONLY),
        "write" => command.has(flags::WRITE),
        "string" => command.group == Group::String,
        "list" => command.group == Group::List,
        "pubsub" => command.has(flags::PUBSUB),
        "admin" => command.has(flags::ADMIN),
        "fast" => command.has(flags::FAST),
        "slow" => !command.has(flags::FAST),
        "blocking" => command.has(flags::BLOCKING),
        "dangerous" => command.has(flags::ADMIN) || command.has(flags::DANGEROUS),
        "connection" => command.group == Group::Connection,
        "transaction" => command.group == Group::Transactions,
        "scripting" => command.group == Group::Scripting,
        "timeseries" | "module" => command.group == Group::TimeSeries,
        // Data types that this server does not have.
        _ => false,
    })
}
