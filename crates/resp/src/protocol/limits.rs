//! How large requests may be.

/// Bounds of requests. They bound what is waited for; memory grows with the bytes that have come, never with what is announced.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Words of one command.
    pub max_words: usize,
    /// Bytes of one word (`proto-max-bulk-len`).
    pub max_word_bytes: usize,
    /// Whether the client has told who it is. Until then [`Limits::UNAUTHENTICATED_WORDS`] and
    /// [`Limits::UNAUTHENTICATED_WORD_BYTES`] hold.
    pub authenticated: bool,
}

impl Limits {
    /// Words of one command of a client that has not told who it is.
    pub const UNAUTHENTICATED_WORDS: usize = 10;
    /// Bytes of one word of a client that has not told who it is.
    pub const UNAUTHENTICATED_WORD_BYTES: usize = 16 * 1024;
    /// Bytes of a line: an inline command, a number of words, a length.
    pub const MAX_LINE_BYTES: usize = 64 * 1024;
    /// Bytes of one request, whatever its words: places within it are 32 bits wide.
    pub const MAX_REQUEST_BYTES: usize = 1 << 30;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_words: 1024 * 1024,
            max_word_bytes: 512 * 1024 * 1024,
            authenticated: true,
        }
    }
}
