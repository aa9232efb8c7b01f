//! Why the engine refuses something. The server turns these into the texts of the specification's chapter 15.

use crate::view::ReadError;

/// Why a key is not the series that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no such key.
    #[error("the key does not exist")]
    Missing,
    /// The key holds something else.
    #[error("the key holds another kind of value")]
    WrongType,
}

/// A series can't be made where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key already exists")]
pub struct KeyExists;

/// Why a sample is not taken.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AddError {
    /// The timestamp exists and the duplicate policy refuses the new value (4.2, 4.4).
    #[error("the timestamp exists and the duplicate policy does not allow the update")]
    Blocked,
    /// The sample is late and outside of the retention (4.5).
    #[error("the timestamp is older than the retention")]
    OlderThanRetention,
    /// The chunk that holds the neighbourhood of the sample can't be fetched.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why TS.INCRBY or TS.DECRBY is refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IncrementError {
    /// The timestamp is older than the newest sample.
    #[error("the timestamp must be equal to or higher than the maximum existing timestamp")]
    Older,
    /// The newest value is NaN.
    #[error("cannot increment or decrement a NaN value")]
    Nan,
    /// The chunk that holds the newest sample can't be fetched.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why TS.DEL is refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeleteError {
    /// A series with rules and retention can't lose samples of buckets that are partly outside of the retention (7.5).
    #[error("when a series has compactions, deleting beyond its retention period is not possible")]
    BeyondRetention,
    /// A chunk can't be fetched.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why a rule is not made or ended (chapter 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Source and destination are one key.
    #[error("the source key and destination key should be different")]
    SameKey,
    /// There is no source.
    #[error("the source does not exist")]
    SourceMissing,
    /// The source is not a series.
    #[error("the source is not a series")]
    SourceWrongType,
    /// The source is a destination of another rule.
    #[error("the source is the destination of a rule")]
    SourceIsDestination,
    /// There is no destination.
    #[error("the destination does not exist")]
    DestinationMissing,
    /// The destination is not a series.
    #[error("the destination is not a series")]
    DestinationWrongType,
    /// The destination is a source of rules.
    #[error("the destination has rules of its own")]
    DestinationHasRules,
    /// The destination has a source.
    #[error("the destination has a source already")]
    DestinationHasSource,
    /// There is no rule between the two.
    #[error("the rule does not exist")]
    NoSuchRule,
}

/// Why a payload of DUMP is not restored.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RestoreError {
    /// The key exists and is not to be replaced.
    #[error("the key exists")]
    KeyExists,
    /// The payload is not one of this server's, or is damaged.
    #[error("the payload's version or checksum is wrong")]
    BadPayload,
}

/// Why label filters are not understood (chapter 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// One of the expressions is not of any form.
    #[error("a filter expression can't be read")]
    Unparsable,
    /// None of the expressions says what a label is equal to.
    #[error("at least one filter must name a value that a label has")]
    NoMatcher,
}
