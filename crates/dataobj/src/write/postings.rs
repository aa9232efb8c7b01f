//! The `postings` section: which streams of a logs section have a metadata key or a label value (specification chapter 8.5).

use super::WriterOptions;
use super::column::ColumnSpec;
use super::compressor::PageCompressor;
use super::section::{ColumnId, FinishedSection, SectionWriter};
use crate::compression::Compression;
use crate::error::Error;
use crate::read::{Direction, OrderBy, SortInfo};
use crate::schema::{SectionKind, column};

/// Version of `postings` sections.
const VERSION: u32 = 2;

/// Values of the column `kind`.
pub(crate) const KIND_BLOOM: i64 = 0;
pub(crate) const KIND_LABEL: i64 = 1;

/// Number of hash buckets that streams are sorted into, see [`super::shard_bucket`].
pub const SHARD_BUCKETS: i64 = 32;

/// Positions of the columns by which rows are ordered: kind, column name, label value, times, object, section.
const ORDER_BY: [u32; 7] = [0, 4, 5, 9, 10, 1, 3];

/// The streams of one logs section that have a metadata key or a label value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostingRow<'a> {
    /// Key of the log object, see [`crate::log_object_path`].
    pub object_path: &'a str,
    /// Number of hash buckets, [`SHARD_BUCKETS`].
    pub shard_buckets: i64,
    /// Position among the logs sections of the object, in file order, counting all tenants.
    pub section_index: i64,
    /// Metadata key or label name.
    pub column_name: &'a str,
    /// Which of the two it is.
    pub entry: PostingEntry<'a>,
    /// Streams of the log object: bit i, counted from the least significant one of the first byte, stands for number i.
    /// Zero bytes at the end are left out.
    pub stream_id_bitmap: &'a [u8],
    /// Bytes of the matching records: of their lines only for a metadata key, of metadata values too for a label value.
    pub uncompressed_bytes: i64,
    /// Earliest matching record, nanoseconds.
    pub min_timestamp_ns: i64,
    /// Latest matching record, nanoseconds.
    pub max_timestamp_ns: i64,
}

/// What a posting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostingEntry<'a> {
    /// All values of a metadata key.
    Bloom {
        /// Bloom filter over them, see [`crate::BloomFilter`].
        filter: &'a [u8],
    },
    /// One value of a label.
    Label {
        /// The value.
        value: &'a str,
        /// Lowest hash bucket of the streams. Loki leaves it 0, so nothing may be concluded from it.
        min_shard_bucket: i64,
        /// Highest hash bucket of the streams, with the same reservation.
        max_shard_bucket: i64,
    },
}

impl PostingRow<'_> {
    /// Numbers of the streams, ascending.
    pub fn stream_ids(&self) -> impl Iterator<Item = i64> {
        let bytes = (0i64..).step_by(8).zip(self.stream_id_bitmap);
        bytes.flat_map(|(first, byte)| {
            (0..8)
                .filter(move |bit| byte >> bit & 1 == 1)
                .map(move |bit| first + bit)
        })
    }

    fn kind(&self) -> i64 {
        match self.entry {
            PostingEntry::Bloom { .. } => KIND_BLOOM,
            PostingEntry::Label { .. } => KIND_LABEL,
        }
    }

    fn sort_key(&self) -> SortKey {
        let value = match self.entry {
            PostingEntry::Bloom { .. } => "",
            PostingEntry::Label { value, .. } => value,
        };
        (
            self.kind(),
            [self.column_name.to_owned(), value.to_owned()],
            [self.min_timestamp_ns, self.max_timestamp_ns],
            self.object_path.to_owned(),
            self.section_index,
        )
    }
}

/// Rows ascend by kind, column name and label value, times, object, section.
type SortKey = (i64, [String; 2], [i64; 2], String, i64);

/// Writes a `postings` section of a tenant. By convention each holds only one kind of entries, and an index object has those
/// with blooms before those with labels.
#[derive(Debug)]
pub struct PostingsWriter {
    section: SectionWriter,
    rows: u64,
    /// Of the row before; kept only where assertions are.
    last: Option<SortKey>,
    kind: ColumnId,
    object_path: ColumnId,
    shard_buckets: ColumnId,
    section_index: ColumnId,
    column_name: ColumnId,
    label_value: ColumnId,
    bloom_filter: ColumnId,
    stream_id_bitmap: ColumnId,
    uncompressed_size: ColumnId,
    min_timestamp: ColumnId,
    max_timestamp: ColumnId,
    min_shard_bucket: ColumnId,
    max_shard_bucket: ColumnId,
}

impl PostingsWriter {
    /// A section without postings. Pages are always cut per column.
    pub fn new(tenant: &str, options: &WriterOptions) -> PostingsWriter {
        let mut section = SectionWriter::new(SectionKind::Postings, VERSION, tenant, options);
        let mut add = |spec| section.add_column(spec);
        let integers = |logical| ColumnSpec::int64(logical, "", false);
        let strings = |logical, range| ColumnSpec::binary(logical, "", range);
        PostingsWriter {
            kind: add(ColumnSpec::int64(column::KIND, "", true).compressed(Compression::Zstd)),
            object_path: add(strings(column::OBJECT_PATH, false)),
            shard_buckets: add(integers(column::SHARD_BUCKETS)),
            section_index: add(integers(column::SECTION_INDEX)),
            column_name: add(strings(column::COLUMN_NAME, true)),
            label_value: add(strings(column::LABEL_VALUE, true)),
            bloom_filter: add(strings(column::BLOOM_FILTER, false).compressed(Compression::None)),
            stream_id_bitmap: add(strings(column::STREAM_ID_BITMAP, false)),
            uncompressed_size: add(integers(column::UNCOMPRESSED_SIZE)),
            min_timestamp: add(integers(column::MIN_TIMESTAMP)),
            max_timestamp: add(integers(column::MAX_TIMESTAMP)),
            min_shard_bucket: add(integers(column::MIN_SHARD_BUCKET)),
            max_shard_bucket: add(integers(column::MAX_SHARD_BUCKET)),
            section,
            rows: 0,
            last: None,
        }
    }

    /// Pages are compressed by `compressor` instead of this crate's own codecs.
    #[must_use]
    pub fn with_compressor(mut self, compressor: Box<dyn PageCompressor>) -> PostingsWriter {
        self.section = self.section.with_compressor(compressor);
        self
    }

    /// Postings so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a posting. They ascend by kind (blooms first), column name, label value, times, object path and section, and no
    /// two are the same in all of these.
    pub fn append(&mut self, posting: &PostingRow<'_>) -> Result<(), Error> {
        if cfg!(debug_assertions) {
            let key = Some(posting.sort_key());
            debug_assert!(self.last < key, "posting out of order: {key:?} after {:?}", self.last);
            self.last = key;
        }
        let (row, section) = (self.rows, &mut self.section);
        section.append_int64(self.kind, row, posting.kind())?;
        section.append_binary(self.object_path, row, posting.object_path.as_bytes())?;
        section.append_int64(self.shard_buckets, row, posting.shard_buckets)?;
        section.append_int64(self.section_index, row, posting.section_index)?;
        section.append_binary(self.column_name, row, posting.column_name.as_bytes())?;
        match posting.entry {
            PostingEntry::Bloom { filter } => {
                section.append_null(self.label_value, row)?;
                section.append_binary(self.bloom_filter, row, filter)?;
                section.append_null(self.min_shard_bucket, row)?;
                section.append_null(self.max_shard_bucket, row)?;
            }
            PostingEntry::Label {
                value,
                min_shard_bucket,
                max_shard_bucket,
            } => {
                section.append_binary(self.label_value, row, value.as_bytes())?;
                section.append_null(self.bloom_filter, row)?;
                section.append_int64(self.min_shard_bucket, row, min_shard_bucket)?;
                section.append_int64(self.max_shard_bucket, row, max_shard_bucket)?;
            }
        }
        section.append_binary(self.stream_id_bitmap, row, without_zeros(posting.stream_id_bitmap))?;
        section.append_int64(self.uncompressed_size, row, posting.uncompressed_bytes)?;
        section.append_int64(self.min_timestamp, row, posting.min_timestamp_ns)?;
        section.append_int64(self.max_timestamp, row, posting.max_timestamp_ns)?;
        self.rows += 1;
        Ok(())
    }

    /// Closes the section.
    pub fn finish(self) -> Result<FinishedSection, Error> {
        let order = [
            self.kind,
            self.object_path,
            self.shard_buckets,
            self.section_index,
            self.column_name,
            self.label_value,
            self.bloom_filter,
            self.stream_id_bitmap,
            self.uncompressed_size,
            self.min_timestamp,
            self.max_timestamp,
            self.min_shard_bucket,
            self.max_shard_bucket,
        ];
        let ascending = |column| OrderBy {
            column,
            direction: Direction::Ascending,
        };
        let sort = SortInfo {
            columns: ORDER_BY.map(ascending).to_vec(),
            schema_keys: Vec::new(),
        };
        self.section.finish(&order, Some(sort))
    }
}

fn without_zeros(bitmap: &[u8]) -> &[u8] {
    let length = bitmap.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bitmap.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_streams() {
        let row = PostingRow {
            object_path: "",
            shard_buckets: SHARD_BUCKETS,
            section_index: 0,
            column_name: "",
            entry: PostingEntry::Bloom { filter: &[] },
            stream_id_bitmap: &[0x12, 0, 0x81],
            uncompressed_bytes: 0,
            min_timestamp_ns: 0,
            max_timestamp_ns: 0,
        };
        assert_eq!(row.stream_ids().collect::<Vec<_>>(), [1, 4, 16, 23]);
    }

    #[test]
    fn zero_bytes_at_the_end_of_bitmaps_are_left_out() {
        let check = |bitmap: &[u8], want: &[u8]| assert_eq!(without_zeros(bitmap), want);
        check(&[], &[]);
        check(&[0, 0], &[]);
        check(&[0, 1, 0, 0], &[0, 1]);
        check(&[8], &[8]);
    }
}
