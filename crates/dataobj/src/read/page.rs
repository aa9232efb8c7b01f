//! Opening of pages: sizes, checksum, presence, compression (specification chapter 4).
// hot path: no locks, no logging, no allocation per row, none per page in steady state.

use super::section::{ColumnMeta, Encoding, PageMeta};
use crate::compression::{self, Compression, Decompressor, STEP_BYTES};
use crate::encoding::bitmap;
use crate::error::Damage;
use crate::limits::{MAX_PAGE_BYTES, MAX_PAGE_ROWS};
use crate::pool::{BufferPool, PooledBuffer};
use crate::stats::Physical;
use crate::varint::read_uvarint;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use std::fmt;
use std::sync::Arc;

/// What one thread needs to decode one page after another: a decompression context, and a pool for the decoded values.
///
/// Arrays give their memory back when they are dropped, so a thread that decodes, uses and drops page after page allocates
/// nothing once the pool has the sizes that occur. (Snappy, which no section kind uses, allocates for each page.)
///
/// Buffers that views pointed into, given by the caller or decompressed, are let go of with the next call of
/// [`decode_binary_view`](crate::decode_binary_view), or with the scratch.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) pool: BufferPool,
    pub(super) decompressor: Decompressor,
    pub(super) buffer_lists: BufferLists,
}

impl Scratch {
    /// With a pool of its own, see [`BufferPool::default`].
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// Arrays get their memory from that pool.
    pub fn with_pool(pool: BufferPool) -> Scratch {
        Scratch {
            pool,
            ..Scratch::default()
        }
    }

    /// Also verifies the checksums within compressed values, as other readers may.
    pub(crate) fn checking_content() -> Scratch {
        Scratch {
            decompressor: Decompressor::checking_content(),
            ..Scratch::default()
        }
    }

    /// Where arrays get their memory from.
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }
}

/// A page whose presence has been decoded. The number of values agrees with the presence, and is at most that of their raw bytes,
/// which are no more than the stored bytes can hold.
/// Values come out of it only if the page's checksum is right.
pub(super) struct OpenPage<'a> {
    pub(super) presence: Presence,
    pub(super) compression: Compression,
    /// The values as they are stored.
    pub(super) stored: &'a [u8],
    checksum: Checksum,
    /// Size of the values uncompressed.
    pub(super) raw_bytes: usize,
    pub(super) rows: usize,
    pub(super) values: usize,
}

/// What is known of a page's checksum.
enum Checksum {
    /// It is right.
    Checked,
    /// That of the bytes before the values is `before`; the values are checked while they are read for the first time.
    Pending { before: u32, expected: u32 },
}

/// Which rows of a page have a value.
pub(super) enum Presence {
    /// Every row.
    All,
    /// The rows that are not null.
    Some(NullBuffer),
}

impl Presence {
    /// As Arrow has it.
    pub(super) fn into_nulls(self) -> Option<NullBuffer> {
        match self {
            Presence::All => None,
            Presence::Some(nulls) => Some(nulls),
        }
    }
}

/// Raw values of a page: the stored ones, or a buffer of the pool.
pub(super) enum RawValues<'a> {
    Stored(&'a [u8]),
    Pooled(PooledBuffer),
}

impl RawValues<'_> {
    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            RawValues::Stored(bytes) => bytes,
            RawValues::Pooled(buffer) => buffer,
        }
    }
}

/// Opens a page that should be of that type and encoding.
pub(super) fn open<'a>(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &'a [u8],
    codec: (Physical, Encoding),
    pool: &BufferPool,
) -> Result<OpenPage<'a>, Damage> {
    check_codec(column, page, codec)?;
    check_sizes(page, bytes)?;
    if column.compression == Compression::None {
        // Whatever is wrong with damaged bytes, the first thing to say is that they are damaged.
        let checked = |damage| check_crc(crc32c::crc32c(bytes), page.crc).err().unwrap_or(damage);
        return open_unchecked(column, page, bytes, pool).map_err(checked);
    }
    check_crc(crc32c::crc32c(bytes), page.crc)?;
    let page = open_unchecked(column, page, bytes, pool)?;
    Ok(OpenPage {
        checksum: Checksum::Checked,
        ..page
    })
}

fn open_unchecked<'a>(
    column: &ColumnMeta,
    page: &PageMeta,
    bytes: &'a [u8],
    pool: &BufferPool,
) -> Result<OpenPage<'a>, Damage> {
    let (length, prefix) =
        read_uvarint(bytes).ok_or_else(|| Damage::new("length of presence is cut short or too long"))?;
    let presence_bytes = usize::try_from(length).ok();
    let rest = bytes.get(prefix..).unwrap_or_default();
    let Some((presence, stored)) = presence_bytes.and_then(|length| rest.split_at_checked(length)) else {
        return Err(Damage::new(format!(
            "presence of {length} bytes in a page of {}",
            bytes.len()
        )));
    };
    let before_values = (prefix + presence.len()) as u64;
    let Some(raw_bytes) = page.raw_bytes.checked_sub(before_values) else {
        return Err(Damage::new(format!(
            "page of {} raw bytes has {before_values} before its values",
            page.raw_bytes
        )));
    };
    if page.values > raw_bytes {
        return Err(Damage::new(format!("{} values in {raw_bytes} bytes", page.values)));
    }
    let raw_bytes = raw_bytes as usize;
    if column.compression == Compression::None && stored.len() != raw_bytes {
        return Err(Damage::new(format!(
            "values of {} bytes where the page entry says {raw_bytes}",
            stored.len()
        )));
    }
    compression::check_ratio(column.compression, stored.len(), raw_bytes)?;
    Ok(OpenPage {
        presence: decode_presence(presence, page, pool)?,
        compression: column.compression,
        stored,
        checksum: Checksum::Pending {
            before: crc32c::crc32c(&bytes[..bytes.len() - stored.len()]),
            expected: page.crc,
        },
        raw_bytes,
        rows: page.rows as usize,
        values: page.values as usize,
    })
}

impl<'a> OpenPage<'a> {
    /// The values uncompressed.
    pub(super) fn raw(&self, decompressor: &mut Decompressor, pool: &BufferPool) -> Result<RawValues<'a>, Damage> {
        self.raw_in_steps(decompressor, pool, |_| ())
    }

    /// The values uncompressed. `read` gets what there is so far, step by step, while it is in the processor's cache. That may be
    /// before the checksum is known to be wrong.
    pub(super) fn raw_in_steps(
        &self,
        decompressor: &mut Decompressor,
        pool: &BufferPool,
        mut read: impl FnMut(&[u8]),
    ) -> Result<RawValues<'a>, Damage> {
        if let Checksum::Pending { before, expected } = self.checksum {
            let mut crc = before;
            let mut done = 0;
            for step in self.stored.chunks(STEP_BYTES) {
                crc = crc32c::crc32c_append(crc, step);
                done += step.len();
                read(&self.stored[..done]);
            }
            check_crc(crc, expected)?;
        }
        if self.compression == Compression::None {
            return Ok(RawValues::Stored(self.stored));
        }
        let mut raw = pool.take(self.raw_bytes);
        decompressor.decompress(self.compression, self.stored, &mut raw, read)?;
        Ok(RawValues::Pooled(raw))
    }
}

fn check_codec(column: &ColumnMeta, page: &PageMeta, codec: (Physical, Encoding)) -> Result<(), Damage> {
    if (column.physical, page.encoding) == codec {
        return Ok(());
    }
    let ColumnMeta {
        physical: found,
        logical,
        tag,
        ..
    } = column;
    Err(Damage::new(format!(
        "no codec for column {logical} {tag:?} of {found:?}, {:?} read as {:?}",
        page.encoding, codec.0
    )))
}

fn check_sizes(page: &PageMeta, bytes: &[u8]) -> Result<(), Damage> {
    let stored = page.range.end.saturating_sub(page.range.start);
    if bytes.len() as u64 != stored {
        return Err(Damage::new(format!(
            "page of {} bytes where its entry says {stored}",
            bytes.len()
        )));
    }
    if page.rows > MAX_PAGE_ROWS || page.raw_bytes > MAX_PAGE_BYTES {
        return Err(Damage::new(format!(
            "page of {} rows and {} raw bytes is too large",
            page.rows, page.raw_bytes
        )));
    }
    Ok(())
}

fn check_crc(found: u32, expected: u32) -> Result<(), Damage> {
    if found == expected {
        return Ok(());
    }
    Err(Damage::new(format!(
        "page checksum is {found:08x}, its entry says {expected:08x}"
    )))
}

fn decode_presence(bytes: &[u8], page: &PageMeta, pool: &BufferPool) -> Result<Presence, Damage> {
    let rows = page.rows as usize;
    let mut decoder = bitmap::Decoder::new(bytes, rows);
    let (presence, present) = if decoder.take_if_all_present()? {
        (Presence::All, page.rows)
    } else {
        let mut bits = pool.take(rows.div_ceil(64) * 8);
        decoder.fill(rows, bits.as_mut_values())?;
        let bits = bits.freeze(rows.div_ceil(8));
        let nulls = NullBuffer::new(BooleanBuffer::new(bits, 0, rows));
        match nulls.null_count() {
            0 => (Presence::All, page.rows),
            null_count => (Presence::Some(nulls), page.rows - null_count as u64),
        }
    };
    decoder.finish()?;
    if present != page.values {
        return Err(Damage::new(format!(
            "presence has {present} values, the page entry {}",
            page.values
        )));
    }
    Ok(presence)
}

/// Lists of one buffer, as arrays of views want them, used again once no array has them any more.
#[derive(Default)]
pub(super) struct BufferLists {
    lists: Vec<Arc<[Buffer]>>,
    empty: Buffer,
}

/// Most lists kept. Arrays beyond that, all held at once by their reader, get lists of their own.
const MAX_BUFFER_LISTS: usize = 256;

impl fmt::Debug for BufferLists {
    /// Without what is in the buffers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferLists")
            .field("lists", &self.lists.len())
            .finish_non_exhaustive()
    }
}

impl BufferLists {
    /// Lets go of the buffers in lists that no array has any more, so that they are free in their pool.
    pub(super) fn release(&mut self) {
        for list in &mut self.lists {
            if let Some([buffer]) = Arc::get_mut(list)
                && !buffer.is_empty()
            {
                *buffer = self.empty.clone();
            }
        }
    }

    /// A list of that buffer.
    pub(super) fn take(&mut self, buffer: Buffer) -> Arc<[Buffer]> {
        for list in &mut self.lists {
            if let Some([place]) = Arc::get_mut(list) {
                *place = buffer;
                return list.clone();
            }
        }
        let list: Arc<[Buffer]> = Arc::new([buffer]);
        if self.lists.len() < MAX_BUFFER_LISTS {
            self.lists.push(list.clone());
        }
        list
    }
}
