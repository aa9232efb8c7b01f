//! What commands do, as bits.

/// A set of flags.
pub type Flags = u32;

/// Changes keys.
pub const WRITE: Flags = 1;
/// Reads keys and changes none.
pub const READONLY: Flags = 1 << 1;
/// Needs memory: refused above `maxmemory`.
pub const DENYOOM: Flags = 1 << 2;
/// For administrators.
pub const ADMIN: Flags = 1 << 3;
/// Belongs to publishing and subscribing.
pub const PUBSUB: Flags = 1 << 4;
/// Refused in scripts.
pub const NOSCRIPT: Flags = 1 << 5;
/// May wait.
pub const BLOCKING: Flags = 1 << 6;
/// Takes a time that does not depend on the data.
pub const FAST: Flags = 1 << 7;
/// Allowed before the client has told who it is.
pub const NO_AUTH: Flags = 1 << 8;
/// Refused in transactions.
pub const NO_MULTI: Flags = 1 << 9;
/// Needs care: category `dangerous`.
pub const DANGEROUS: Flags = 1 << 10;
/// Where the keys stand depends on the words.
pub const MOVABLE_KEYS: Flags = 1 << 11;
/// Runs alone: under an exclusive access.
pub const EXCLUSIVE: Flags = 1 << 12;
/// Writes samples to one series and shares the open writer with the commands before and after ([`crate::context::Context::writer`]).
pub const RUN: Flags = 1 << 13;
/// Is made of subcommands, which stand in the table under its name.
pub const CONTAINER: Flags = 1 << 14;
/// Is run at once also between MULTI and EXEC.
pub const NEVER_QUEUED: Flags = 1 << 15;
/// Allowed while a client of RESP2 is subscribed.
pub const SUBSCRIBED: Flags = 1 << 16;
/// Belongs to the category `keyspace`.
pub const KEYSPACE: Flags = 1 << 17;
/// Takes long with many keys or samples: run where it does not hold up other connections.
pub const HEAVY: Flags = 1 << 18;
/// Changes keys and tells of what they held: needs the right to read them too.
pub const ACCESS: Flags = 1 << 19;
