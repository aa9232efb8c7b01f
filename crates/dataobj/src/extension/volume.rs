//! Rows and bytes per stream, level and minute (docs/extension-sections.md chapter 6).
// hot path: no locks, no logging, no allocation per row.

use super::VOLUME_VERSION;
use super::table::{Column, TableReader, TableWriter};
use crate::error::Error;
use crate::read::Section;
use crate::schema::SectionKind;
use crate::write::{FinishedSection, LogRow};

/// The structured metadata that names an entry's level.
const LEVEL_KEY: &str = "detected_level";

/// Nanoseconds of a minute.
const MINUTE_NS: i64 = 60_000_000_000;

/// Cells are merged whenever there are so many more than after the last merge; rows ordered by time would make one each.
const MERGE_AFTER: usize = 1 << 16;

/// With more levels than this the metadata is something else than a level: no section is written.
const MAX_LEVELS: usize = 64;

/// With fewer rows per cell than this, reading timestamps costs no more than reading cells: no section is written.
const MIN_ROWS_PER_CELL: u64 = 2;

const STREAM_ID: Column = Column::integers("stream_id");
const LEVEL: Column = Column::bytes("level");
const MINUTE: Column = Column::integers("minute");
const ROWS: Column = Column::integers("rows");
const LINE_BYTES: Column = Column::integers("line_bytes");
const METADATA_BYTES: Column = Column::integers("metadata_bytes");

/// Rows and bytes of one stream, level and minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeCell<'a> {
    /// Number of the stream in the tenant's streams section.
    pub stream_id: i64,
    /// The value of the structured metadata `detected_level`; empty for entries without.
    pub level: &'a [u8],
    /// Minutes since 1970, rounded down.
    pub minute: i64,
    /// Entries.
    pub rows: u64,
    /// Bytes of their lines.
    pub line_bytes: u64,
    /// Bytes of their structured metadata's values, all keys, `detected_level` included.
    pub metadata_bytes: u64,
}

/// The volume of a tenant's entries in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    levels: Vec<Box<[u8]>>,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CellKey {
    stream_id: i64,
    level: u32,
    minute: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    key: CellKey,
    rows: u64,
    line_bytes: u64,
    metadata_bytes: u64,
}

/// Adds entries up.
#[derive(Debug, Default)]
pub(crate) struct VolumeBuilder {
    levels: Vec<Box<[u8]>>,
    cells: Vec<Cell>,
    /// From here on cells are of the current stream and minute, one per level.
    current: usize,
    merge_at: usize,
    /// There were too many levels.
    has_given_up: bool,
}

impl VolumeBuilder {
    pub(crate) fn add(&mut self, record: &LogRow<'_>) {
        if self.has_given_up {
            return;
        }
        let mut level: &[u8] = &[];
        let mut metadata_bytes = 0;
        for (key, value) in record.metadata {
            metadata_bytes += value.len() as u64;
            if *key == LEVEL_KEY {
                level = value;
            }
        }
        let Some(level) = self.level(level) else {
            *self = VolumeBuilder {
                has_given_up: true,
                ..VolumeBuilder::default()
            };
            return;
        };
        let key = CellKey {
            stream_id: record.stream_id,
            level,
            minute: record.timestamp_ns.div_euclid(MINUTE_NS),
        };
        let is_current = |cell: &Cell| (cell.key.stream_id, cell.key.minute) == (key.stream_id, key.minute);
        if !self.cells.get(self.current).is_some_and(is_current) {
            if self.cells.len() >= self.merge_at {
                merge(&mut self.cells);
                self.merge_at = self.cells.len() + MERGE_AFTER;
            }
            self.current = self.cells.len();
        }
        let cells = self.cells.get_mut(self.current..).unwrap_or_default();
        match cells.iter_mut().find(|cell| cell.key == key) {
            Some(cell) => {
                cell.rows += 1;
                cell.line_bytes += record.line.len() as u64;
                cell.metadata_bytes += metadata_bytes;
            }
            None => self.cells.push(Cell {
                key,
                rows: 1,
                line_bytes: record.line.len() as u64,
                metadata_bytes,
            }),
        }
    }

    /// The level's number; `None` if there are too many.
    fn level(&mut self, level: &[u8]) -> Option<u32> {
        // Nearly always there are a handful.
        let found = self.levels.iter().position(|known| **known == *level);
        if found.is_none() && self.levels.len() < MAX_LEVELS {
            self.levels.push(level.into());
            return Some(self.levels.len() as u32 - 1);
        }
        found.map(|number| number as u32)
    }

    /// All cells, by stream, level as bytes, and minute; `None` if there were too many levels.
    pub(crate) fn finish(self) -> Option<Volume> {
        if self.has_given_up {
            return None;
        }
        let mut levels: Vec<(Box<[u8]>, u32)> = self.levels.into_iter().zip(0..).collect();
        levels.sort_unstable();
        let mut numbers = vec![0; levels.len()];
        for (number, (_, before)) in levels.iter().enumerate() {
            numbers[*before as usize] = number as u32;
        }
        let mut cells = self.cells;
        for cell in &mut cells {
            cell.key.level = numbers[cell.key.level as usize];
        }
        merge(&mut cells);
        Some(Volume {
            levels: levels.into_iter().map(|(level, _)| level).collect(),
            cells,
        })
    }
}

/// Sorts cells and joins those of one key.
fn merge(cells: &mut Vec<Cell>) {
    cells.sort_unstable_by_key(|cell| cell.key);
    cells.dedup_by(|from, into| {
        let is_same = from.key == into.key;
        if is_same {
            into.rows += from.rows;
            into.line_bytes += from.line_bytes;
            into.metadata_bytes += from.metadata_bytes;
        }
        is_same
    });
}

impl Volume {
    /// All cells, by stream number, level and minute.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = VolumeCell<'_>> {
        self.cells.iter().map(|cell| VolumeCell {
            stream_id: cell.key.stream_id,
            level: self.levels.get(cell.key.level as usize).map_or(&[], |level| level),
            minute: cell.key.minute,
            rows: cell.rows,
            line_bytes: cell.line_bytes,
            metadata_bytes: cell.metadata_bytes,
        })
    }

    /// Cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// True if there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The volume of both; a tenant's logs sections of one object are added up.
    #[must_use]
    pub(crate) fn join(parts: &[&Volume]) -> Volume {
        if let [one] = parts {
            return (*one).clone();
        }
        let mut levels: Vec<Box<[u8]>> = parts.iter().flat_map(|part| part.levels.iter().cloned()).collect();
        levels.sort_unstable();
        levels.dedup();
        let mut cells = Vec::with_capacity(parts.iter().map(|part| part.cells.len()).sum());
        for part in parts {
            let number = |level| levels.binary_search(level).map_or(0, |number| number as u32);
            let numbers: Vec<u32> = part.levels.iter().map(number).collect();
            cells.extend(part.cells.iter().map(|cell| {
                let mut cell = *cell;
                cell.key.level = numbers[cell.key.level as usize];
                cell
            }));
        }
        merge(&mut cells);
        Volume { levels, cells }
    }

    /// The section; `None` if it would save nothing.
    pub(crate) fn write(&self, tenant: &str) -> Result<Option<FinishedSection>, Error> {
        let rows: u64 = self.cells.iter().map(|cell| cell.rows).sum();
        let saves_little = rows < MIN_ROWS_PER_CELL * self.cells.len() as u64;
        if self.cells.is_empty() || saves_little || self.levels.len() > MAX_LEVELS {
            return Ok(None);
        }
        let columns = [STREAM_ID, LEVEL, MINUTE, ROWS, LINE_BYTES, METADATA_BYTES];
        let mut table = TableWriter::new(SectionKind::Volume, VOLUME_VERSION, tenant, &columns);
        let (mut stream_id, mut level) = (None, None);
        for (row, cell) in self.cells().enumerate() {
            let row = row as u64;
            // Only where it changes; null stands for the one above.
            if stream_id.replace(cell.stream_id) != Some(cell.stream_id) {
                table.integer(STREAM_ID, row, cell.stream_id)?;
                level = None;
            }
            if level.replace(cell.level) != Some(cell.level) {
                table.bytes(LEVEL, row, cell.level)?;
            }
            table.integer(MINUTE, row, cell.minute)?;
            table.integer(ROWS, row, cell.rows.cast_signed())?;
            table.integer(LINE_BYTES, row, cell.line_bytes.cast_signed())?;
            table.integer(METADATA_BYTES, row, cell.metadata_bytes.cast_signed())?;
        }
        table.finish().map(Some)
    }

    /// Reads a section of kind `volume`, of which `metadata` and `data` are the two regions, fetched whole. Takes memory for
    /// at most a hundred times the bytes of `data`, and usually for some ten times. Each of the three numbers adds up to at
    /// most `i64::MAX` over all cells.
    pub fn parse(section: &Section, metadata: &[u8], data: &[u8]) -> Result<Volume, Error> {
        let table = TableReader::open(section, &SectionKind::Volume, VOLUME_VERSION, metadata, data)?;
        let streams = table.nullable_integers(STREAM_ID)?;
        let levels = table.bytes(LEVEL)?;
        let minutes = table.integers(MINUTE)?;
        let counts = [ROWS, LINE_BYTES, METADATA_BYTES];
        let [rows, line_bytes, metadata_bytes] = counts.map(|column| table.counts(column));
        let (rows, line_bytes, metadata_bytes) = (rows?, line_bytes?, metadata_bytes?);

        let mut names: Vec<Box<[u8]>> = Vec::new();
        let (mut stream_id, mut level) = (None, None);
        let mut totals = [0u64; 3];
        let mut cells: Vec<Cell> = Vec::with_capacity(table.rows());
        for row in 0..table.rows() {
            if let Some(Some(next)) = streams.get(row).copied() {
                (stream_id, level) = (Some(next), None);
            }
            if let Some(name) = levels.get(row) {
                let known = names.iter().position(|known| **known == *name);
                if known.is_none() && names.len() == MAX_LEVELS {
                    return Err(table.damaged(format!("more than {MAX_LEVELS} levels")));
                }
                level = Some(known.unwrap_or_else(|| {
                    names.push(name.into());
                    names.len() - 1
                }));
            }
            let (Some(stream_id), Some(level)) = (stream_id, level) else {
                return Err(table.damaged(format!("row {row} has no stream or level, nor one above")));
            };
            let cell = Cell {
                key: CellKey {
                    stream_id,
                    level: level as u32,
                    minute: minutes[row],
                },
                rows: rows[row],
                line_bytes: line_bytes[row],
                metadata_bytes: metadata_bytes[row],
            };
            let order = |cell: &Cell| (cell.key.stream_id, &names[cell.key.level as usize], cell.key.minute);
            if cells.last().is_some_and(|last| order(last) >= order(&cell)) {
                return Err(table.damaged(format!("row {row} does not come behind the one above")));
            }
            for (total, number) in totals.iter_mut().zip([cell.rows, cell.line_bytes, cell.metadata_bytes]) {
                *total = total.saturating_add(number);
            }
            if totals.iter().any(|total| *total > i64::MAX.cast_unsigned()) {
                return Err(table.damaged(format!("numbers of row {row} and those above add up to too much")));
            }
            cells.push(cell);
        }
        Ok(Volume { levels: names, cells })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{ObjectLayout, Parsed};
    use crate::write::ObjectWriter;

    /// What a reader says of rows, each with stream, level, minute and a number of entries and bytes.
    fn read(rows: &[(Option<i64>, Option<&str>, i64, i64)]) -> String {
        let columns = [STREAM_ID, LEVEL, MINUTE, ROWS, LINE_BYTES, METADATA_BYTES];
        let mut table = TableWriter::new(SectionKind::Volume, VOLUME_VERSION, "t", &columns);
        for (row, (stream_id, level, minute, count)) in (0..).zip(rows) {
            if let Some(stream_id) = stream_id {
                table.integer(STREAM_ID, row, *stream_id).unwrap();
            }
            if let Some(level) = level {
                table.bytes(LEVEL, row, level.as_bytes()).unwrap();
            }
            table.integer(MINUTE, row, *minute).unwrap();
            for column in [ROWS, LINE_BYTES, METADATA_BYTES] {
                table.integer(column, row, *count).unwrap();
            }
        }
        let mut object = ObjectWriter::new();
        object.push_section(table.finish().unwrap());
        let object = object.finish().unwrap();
        let Parsed::Complete(layout) = ObjectLayout::parse(&object).unwrap() else {
            unreachable!()
        };
        let section = &layout.sections()[0];
        let slice = |range: &std::ops::Range<u64>| &object[range.start as usize..range.end as usize];
        match Volume::parse(section, slice(&section.metadata), slice(&section.data)) {
            Ok(volume) => format!("{} cells", volume.len()),
            Err(error) => error.to_string().rsplit_once(": ").unwrap().1.to_owned(),
        }
    }

    #[test]
    fn rows_that_no_writer_makes_are_refused() {
        let (one, error, info) = (Some(1), Some("error"), Some("info"));
        let f = |rows: &[_], want: &str| assert_eq!(read(rows), want);
        f(&[(one, error, 5, 1), (None, None, 6, 1), (None, info, 0, 1)], "3 cells");
        f(&[(one, info, 5, 1), (Some(2), error, 0, 1)], "2 cells");
        f(&[(one, Some(""), i64::MIN, 1), (None, None, i64::MAX, 1)], "2 cells");
        let above = "row 1 does not come behind the one above";
        f(&[(one, error, 5, 1), (None, None, 5, 1)], above);
        f(&[(one, error, 5, 1), (None, None, 4, 1)], above);
        f(&[(one, info, 5, 1), (None, error, 6, 1)], above);
        f(&[(Some(2), error, 5, 1), (one, error, 6, 1)], above);
        f(&[(one, None, 5, 1)], "row 0 has no stream or level, nor one above");
        f(
            &[(one, error, 5, 1), (Some(2), None, 5, 1)],
            "row 1 has no stream or level, nor one above",
        );
        f(&[(one, error, 5, -1)], "negative number in column rows");
        let most = i64::MAX;
        f(&[(one, error, 5, most - 1), (None, None, 6, 1)], "2 cells");
        f(
            &[(one, error, 5, most), (None, None, 6, 1)],
            "numbers of row 1 and those above add up to too much",
        );
    }
}
