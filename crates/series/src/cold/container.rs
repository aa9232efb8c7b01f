//! Objects of chunks: data objects with one section of kind `series_chunks` (docs/extension-sections.md, chapter 8).

use crate::codec::Chunk;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use timberline_dataobj::{
    ColumnId, ColumnSpec, Compression, Error, ObjectWriter, Physical, SectionKind, SectionWriter, WholeObject,
    WriterOptions,
};

/// The kind of the section.
const KIND: &str = "series_chunks";
const VERSION: u32 = 1;
/// The tenant of all objects of chunks: the RESP server has none.
const TENANT: &str = "series";

const CHUNK: &str = "chunk";

/// A chunk to be stored.
pub(super) struct Row<'a> {
    /// The number of the series.
    pub(super) id: u64,
    /// Its key at this time.
    pub(super) key: &'a [u8],
    pub(super) chunk: &'a Arc<Chunk>,
}

/// Writes an object. Gives its bytes, and where in it each chunk is, behind its checksum.
pub(super) fn write(rows: &[Row<'_>]) -> io::Result<(Vec<u8>, Vec<Range<u64>>)> {
    let (object, pieces) = write_object(rows).map_err(io::Error::other)?;
    let places = find(&object, &pieces).map_err(io::Error::other)?;
    Ok((object, places))
}

fn write_object(rows: &[Row<'_>]) -> Result<(Vec<u8>, Vec<Vec<u8>>), Error> {
    let kind = SectionKind::Unknown {
        namespace: timberline_dataobj::extension::NAMESPACE.to_owned(),
        kind: KIND.to_owned(),
    };
    let mut section = SectionWriter::new(kind, VERSION, TENANT, &WriterOptions::default());
    let spec = |name: &str, physical| ColumnSpec {
        physical,
        logical: name.to_owned(),
        tag: String::new(),
        compression: Compression::None,
        range: false,
        cardinality: false,
    };
    let [id, first, last, samples] = ["series", "first_timestamp", "last_timestamp", "samples"]
        .map(|name| section.add_column(spec(name, Physical::Int64)));
    let key = section.add_column(spec("key", Physical::Binary));
    // A page for each chunk, so that one can be fetched alone.
    let chunk = section.add_column_with_pages(spec(CHUNK, Physical::Binary), 0, 1);
    let mut pieces = Vec::with_capacity(rows.len());
    for (row, number) in rows.iter().zip(0u64..) {
        let integers: [(ColumnId, i64); 4] = [
            (id, row.id as i64),
            (first, row.chunk.first_timestamp()),
            (last, row.chunk.last_timestamp()),
            (samples, row.chunk.len() as i64),
        ];
        for (column, value) in integers {
            section.append_int64(column, number, value)?;
        }
        section.append_binary(key, number, row.key)?;
        let piece = piece(row.chunk);
        section.append_binary(chunk, number, &piece)?;
        pieces.push(piece);
    }
    let mut object = ObjectWriter::new();
    object.push_section(section.finish(&[id, key, first, last, samples, chunk], None)?);
    Ok((object.finish()?, pieces))
}

/// The bytes of a chunk behind their checksum.
fn piece(chunk: &Chunk) -> Vec<u8> {
    let mut piece = vec![0; 4];
    chunk.append_bytes(&mut piece);
    let checksum = crc32c::crc32c(&piece[4..]);
    piece[..4].copy_from_slice(&checksum.to_le_bytes());
    piece
}

/// Where the pieces are: each stands at the end of its page.
fn find(object: &[u8], pieces: &[Vec<u8>]) -> Result<Vec<Range<u64>>, Error> {
    let whole = WholeObject::parse(object)?;
    let meta = whole.meta(&whole.sections()[0])?;
    let column = meta
        .column(CHUNK, "")
        .expect("bug: a column that was written is missing");
    assert_eq!(column.pages.len(), pieces.len(), "bug: pages of one row");
    let places = column.pages.iter().zip(pieces).map(|(page, piece)| {
        let place = page.range.end - piece.len() as u64..page.range.end;
        assert!(
            object[place.start as usize..place.end as usize] == piece[..],
            "bug: a value stands at the end of its page"
        );
        place
    });
    Ok(places.collect())
}
