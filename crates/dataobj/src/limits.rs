//! Bounds on what a reader allocates for sizes that come from outside. The writer keeps within them, so nothing it writes
//! is refused.

/// Largest page with its values uncompressed: 1 GiB, well above any page hint plus one huge line, and small enough for
/// 32-bit string offsets.
pub const MAX_PAGE_BYTES: u64 = 1 << 30;

/// Most rows of a page. Writers cap pages at some 10 000 rows, but a gap of nulls is never split, so a page may have as many
/// rows as a section: a section of 512 MiB holds at most 60 million records of 9 bytes.
pub const MAX_PAGE_ROWS: u64 = 1 << 26;

/// Largest object header. A header takes some 100 bytes per section.
pub const MAX_HEADER_BYTES: u64 = 1 << 26;
