//! Databases of keys. A key holds a series or a text and may expire; each database has an index of its series' labels.

mod scan;
mod shard;

pub(crate) use shard::{Database, Entry};

use crate::series::Series;
use std::sync::Arc;

/// How many databases there are; SELECT takes 0 to 15.
pub const DATABASES: usize = 16;

/// What a key holds.
#[derive(Clone, Debug)]
pub enum Value {
    /// A time series.
    Series(Arc<Series>),
    /// A string.
    Text(Arc<[u8]>),
}

/// What a write does to the time at which a key expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing.
    Keep,
    /// The key stays for ever.
    Clear,
    /// The key goes at this time, in milliseconds since 1970.
    At(i64),
}
