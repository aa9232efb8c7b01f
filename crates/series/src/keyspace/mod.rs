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
    /// A list of strings, packed by whoever keeps it; never empty.
    List(Arc<[u8]>),
}

/// The kinds of value that are plain bytes to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// A string.
    Text,
    /// A list, packed.
    List,
}

impl Plain {
    /// A value of this kind.
    pub(crate) fn value(self, bytes: &[u8]) -> Value {
        match self {
            Plain::Text => Value::Text(bytes.into()),
            Plain::List => Value::List(bytes.into()),
        }
    }
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
