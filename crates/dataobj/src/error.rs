//! The crate's errors.

use std::borrow::Cow;
use std::fmt;

/// What can go wrong when objects are written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Stored bytes contradict themselves or the format.
    #[error("{0}")]
    Corrupt(Box<Corruption>),

    /// Well-formed, but of a version, kind or codec that this build doesn't read.
    #[error("unsupported: {0}")]
    Unsupported(String),

    /// Something to be written doesn't fit the format's fields or this crate's limits.
    #[error("{what} of {value} exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        value: u64,
        /// The largest size allowed.
        limit: u64,
    },

    /// Rows were asked for that don't exist in the page, or not in ascending order.
    #[error("row {row} is not in ascending order below the page's {rows} rows")]
    Selection {
        /// The offending row.
        row: u32,
        /// Rows of the page.
        rows: u64,
    },

    /// A bloom filter contradicts itself.
    #[error("corrupt: bloom filter: {reason}")]
    BloomFilter {
        /// What is wrong with it.
        reason: String,
    },

    /// A predicate doesn't fit the columns that it names.
    #[error("predicate: {0}")]
    Predicate(String),

    /// A compressor refused to work.
    #[error("compression failed: {0}")]
    Compression(#[from] std::io::Error),
}

/// Where stored bytes are damaged, and how it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// Key of the object, once somebody who knows it has added it with [`Error::in_object`].
    pub object: Option<String>,
    /// Position of the section in the object; `None` for the object's header.
    pub section: Option<usize>,
    /// File offset of the damaged structure.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("corrupt: ")?;
        if let Some(object) = &self.object {
            write!(f, "object {object}, ")?;
        }
        match self.section {
            Some(section) => write!(f, "section {section}, ")?,
            None => f.write_str("header, ")?,
        }
        write!(f, "offset {}: {}", self.offset, self.reason)
    }
}

impl Error {
    /// Adds the object's key to a corruption; other errors pass unchanged.
    #[must_use]
    pub fn in_object(mut self, key: &str) -> Error {
        if let Error::Corrupt(corruption) = &mut self {
            corruption.object = Some(key.to_owned());
        }
        self
    }
}

/// Damage found by a decoder that doesn't know where its bytes came from: what is wrong with them.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Damage(pub(crate) Cow<'static, str>);

impl Damage {
    #[cold]
    pub(crate) fn new(reason: impl Into<Cow<'static, str>>) -> Damage {
        Damage(reason.into())
    }

    pub(crate) fn at(self, section: Option<usize>, offset: u64) -> Error {
        Error::Corrupt(Box::new(Corruption {
            object: None,
            section,
            offset,
            reason: self.0.into_owned(),
        }))
    }
}

impl From<prost::DecodeError> for Damage {
    fn from(error: prost::DecodeError) -> Damage {
        Damage::new(format!("protobuf: {error}"))
    }
}
