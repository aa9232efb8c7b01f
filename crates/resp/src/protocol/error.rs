//! Requests that are no requests.

/// Why the bytes of a client are no request. The connection ends after the text is sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The number of words is not a number or too large.
    #[error("Protocol error: invalid multibulk length")]
    InvalidMultibulkLength,
    /// The line of a number of words does not end.
    #[error("Protocol error: too big mbulk count string")]
    TooBigMultibulkCount,
    /// The length of a word is not a number or too large.
    #[error("Protocol error: invalid bulk length")]
    InvalidBulkLength,
    /// The line of a length does not end.
    #[error("Protocol error: too big bulk count string")]
    TooBigBulkCount,
    /// A word does not begin as one.
    #[error("Protocol error: expected '$', got '{}'", shown(*.0))]
    ExpectedBulk(u8),
    /// A line of words does not end.
    #[error("Protocol error: too big inline request")]
    TooBigInline,
    /// A line of words has a quote without its partner.
    #[error("Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
    /// A client that has not yet told who it is sends a request of more words than it may.
    #[error("Protocol error: unauthenticated multibulk length")]
    UnauthenticatedMultibulkLength,
    /// A client that has not yet told who it is sends a longer word than it may.
    #[error("Protocol error: unauthenticated bulk length")]
    UnauthenticatedBulkLength,
    /// All words of one request are longer than a request may be.
    #[error("Protocol error: too big request")]
    TooBigRequest,
}

/// A byte as it can stand in a line of text.
fn shown(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' {
        char::from(byte)
    } else {
        '?'
    }
}
