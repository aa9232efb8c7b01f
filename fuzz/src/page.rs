//! Pages of any bytes with a valid checksum, so that what lies behind the checksum is reached.

use timberline_dataobj::{ColumnMeta, Compression, Encoding, PageMeta, Physical, SectionMeta};

/// Most rows that a target gives to a page: enough for all paths, few enough to be fast.
pub const MAX_ROWS: u64 = 1 << 14;
/// Most raw bytes that a target gives to a page.
pub const MAX_RAW_BYTES: u64 = 1 << 18;

/// A column with one page, and the page's bytes.
#[derive(Debug)]
pub struct Case<'a> {
    /// Integers under delta or byte strings under plain.
    pub column: ColumnMeta,
    /// Its only page.
    pub page: PageMeta,
    /// The page as stored.
    pub bytes: &'a [u8],
    /// Row numbers are selected by its bits.
    pub selection: u16,
}

/// Takes an input apart: type; rows; values; raw bytes above and below the stored ones; selection; then the page.
pub fn case(input: &[u8]) -> Option<Case<'_>> {
    let (head, bytes) = input.split_first_chunk::<11>()?;
    let [kind, r0, r1, v0, v1, b0, b1, b2, minus, s0, s1] = *head;
    let is_integer = kind & 1 == 0;
    let compression = [Compression::None, Compression::Zstd, Compression::Snappy][usize::from(kind >> 1) % 3];
    let physical = if is_integer { Physical::Int64 } else { Physical::Binary };
    let rows = u64::from(u16::from_le_bytes([r0, r1])) % (MAX_ROWS + 1);
    let values = u64::from(u16::from_le_bytes([v0, v1])) % (MAX_ROWS + 1);
    let more = u64::from(u32::from_le_bytes([b0, b1, b2, 0])) % MAX_RAW_BYTES;
    let raw_bytes = (bytes.len() as u64 + more).saturating_sub(u64::from(minus));
    let page = PageMeta {
        range: 0..bytes.len() as u64,
        rows,
        values,
        encoding: if is_integer { Encoding::Delta } else { Encoding::Plain },
        crc: crc32c::crc32c(bytes),
        raw_bytes,
        stats: None,
    };
    let column = ColumnMeta {
        section: 0,
        physical,
        logical: "fuzzed".to_owned(),
        tag: String::new(),
        rows,
        values,
        compression,
        raw_bytes,
        stored_bytes: bytes.len() as u64,
        metadata: 0..0,
        stats: None,
        pages: vec![page.clone()],
    };
    Some(Case {
        column,
        page,
        bytes,
        selection: u16::from_le_bytes([s0, s1]),
    })
}

/// The input from which [`case`] makes that page.
pub fn input(column: &ColumnMeta, page: &PageMeta, bytes: &[u8]) -> Vec<u8> {
    let compression = match column.compression {
        Compression::Zstd => 1,
        Compression::Snappy => 2,
        _ => 0,
    };
    let kind = compression << 1 | u8::from(column.physical != Physical::Int64);
    let (more, minus) = if page.raw_bytes >= bytes.len() as u64 {
        (page.raw_bytes - bytes.len() as u64, 0)
    } else {
        (0, bytes.len() as u64 - page.raw_bytes)
    };
    let mut input = vec![kind];
    input.extend_from_slice(&(page.rows as u16).to_le_bytes());
    input.extend_from_slice(&(page.values as u16).to_le_bytes());
    input.extend_from_slice(&(more as u32).to_le_bytes()[..3]);
    input.push(minus as u8);
    input.extend_from_slice(&0xaaaa_u16.to_le_bytes());
    input.extend_from_slice(bytes);
    input
}

/// True if a section is small enough for a fuzz target, whatever it claims.
pub fn is_small(meta: &SectionMeta) -> bool {
    let pages = || meta.columns.iter().flat_map(|column| &column.pages);
    let sum = |of: fn(&PageMeta) -> u64| pages().map(of).fold(0u64, u64::saturating_add);
    sum(|page| page.rows) <= 4 * MAX_ROWS && sum(|page| page.raw_bytes) <= 2 * MAX_RAW_BYTES
}

/// Makes all checksums those of the bytes that are there, so that changed pages are read on.
pub fn forge_checksums(meta: &mut SectionMeta, object: &[u8]) {
    for page in meta.columns.iter_mut().flat_map(|column| &mut column.pages) {
        if let Some(bytes) = object.get(page.range.start as usize..page.range.end as usize) {
            page.crc = crc32c::crc32c(bytes);
        }
    }
}
