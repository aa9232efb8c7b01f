//! Which pages can be passed over: the sections of text filters and of value filters (docs/extension-sections.md chapters
//! 4 and 5).

use super::FILTERS_VERSION;
use super::collect::{IDS, PageRecord, VALUES, WORDS, value_key};
use super::grams::TextNeedle;
use super::page_filter::FilterShape;
use super::table::{ByteColumn, Column, TableReader, TableWriter};
use crate::error::Error;
use crate::read::{PageMeta, Section};
use crate::schema::SectionKind;
use crate::write::FinishedSection;
use std::collections::HashMap;

const SECTION: Column = Column::integers("section");
const PAGE: Column = Column::integers("page");
const PAGE_ROWS: Column = Column::integers("page_rows");
const PAGE_CRC: Column = Column::integers("page_crc");
const KEY: Column = Column::bytes("key");
const WORD_SETS: Column = Column::bytes("words");
const ID_SETS: Column = Column::bytes("ids");
const VALUE_SETS: Column = Column::bytes("values");

/// A page of a logs section.
#[derive(Clone, Copy, Debug)]
pub struct LogsPage<'a> {
    /// Position of the logs section in the object.
    pub section: usize,
    /// Position of the page in its column.
    pub page: usize,
    /// The page itself: a filter that was made of another one doesn't count.
    pub meta: &'a PageMeta,
}

/// Filters for substrings of lines.
#[derive(Debug)]
pub struct TextFilters {
    pages: Pages,
    words: ByteColumn,
    ids: ByteColumn,
}

/// Filters for values of structured metadata.
#[derive(Debug)]
pub struct ValueFilters {
    keys: HashMap<Box<[u8]>, Pages>,
    values: ByteColumn,
}

/// Where the filters of a page are.
#[derive(Debug, Default)]
struct Pages {
    rows: HashMap<(u64, u64), PageRow>,
}

#[derive(Clone, Copy, Debug)]
struct PageRow {
    section: u64,
    page: u64,
    row: usize,
    page_rows: u64,
    crc: u64,
}

impl PageRow {
    fn by_position(self) -> ((u64, u64), PageRow) {
        ((self.section, self.page), self)
    }
}

impl Pages {
    fn row(&self, page: LogsPage<'_>) -> Option<usize> {
        let found = self.rows.get(&(page.section as u64, page.page as u64))?;
        (found.page_rows == page.meta.rows && found.crc == u64::from(page.meta.crc)).then_some(found.row)
    }
}

impl TextFilters {
    /// Reads a section of kind `text_filter`, of which `metadata` and `data` are the two regions, fetched whole. Takes
    /// memory for at most a hundred times the bytes of `data`, and usually for hardly more than them.
    pub fn parse(section: &Section, metadata: &[u8], data: &[u8]) -> Result<TextFilters, Error> {
        let table = TableReader::open(section, &SectionKind::TextFilter, FILTERS_VERSION, metadata, data)?;
        let pages = Pages {
            rows: read_pages(&table)?.into_iter().map(PageRow::by_position).collect(),
        };
        let (words, ids) = (table.bytes(WORD_SETS)?, table.bytes(ID_SETS)?);
        check_sets(&table, &words, WORDS)?;
        check_sets(&table, &ids, IDS)?;
        Ok(TextFilters { pages, words, ids })
    }

    /// False only if no line of the page contains the needle's text, in whatever case its ASCII letters are.
    pub fn may_contain(&self, page: LogsPage<'_>, needle: &TextNeedle) -> bool {
        let Some(row) = self.pages.row(page) else {
            return true;
        };
        let may = |sets: &ByteColumn, shape: FilterShape, keys: &[u32]| may_hold_all(sets, row, shape, keys);
        may(&self.words, WORDS, needle.words()) && may(&self.ids, IDS, needle.ids())
    }
}

impl ValueFilters {
    /// Reads a section of kind `value_filter`, of which `metadata` and `data` are the two regions, fetched whole. Takes
    /// memory for at most a hundred times the bytes of `data`, and usually for hardly more than them.
    pub fn parse(section: &Section, metadata: &[u8], data: &[u8]) -> Result<ValueFilters, Error> {
        let table = TableReader::open(section, &SectionKind::ValueFilter, FILTERS_VERSION, metadata, data)?;
        let mut filters = ValueFilters {
            keys: HashMap::new(),
            values: table.bytes(VALUE_SETS)?,
        };
        let keys = table.bytes(KEY)?;
        let mut key: Option<&[u8]> = None;
        let mut of_key = Pages::default();
        for page in read_pages(&table)? {
            let row = page.row;
            if let Some(next) = keys.get(row) {
                if let Some(key) = key {
                    filters.add(key, std::mem::take(&mut of_key));
                }
                key = Some(next);
            }
            if key.is_none() {
                return Err(table.damaged(format!("row {row} has no key, nor one above")));
            }
            let (position, page) = page.by_position();
            of_key.rows.insert(position, page);
        }
        if let Some(key) = key {
            filters.add(key, of_key);
        }
        check_sets(&table, &filters.values, VALUES)?;
        Ok(filters)
    }

    /// Adds the pages of a key; of several sections each lists its own.
    fn add(&mut self, key: &[u8], pages: Pages) {
        match self.keys.get_mut(key) {
            Some(known) => known.rows.extend(pages.rows),
            None => {
                self.keys.insert(key.into(), pages);
            }
        }
    }

    /// False only if no row of the page has that value. `page` is one of the metadata column `key`. An absent value is not
    /// told apart from an empty one, so that for `""` the answer is always true.
    pub fn may_equal(&self, key: &str, page: LogsPage<'_>, value: &[u8]) -> bool {
        if value.is_empty() {
            return true;
        }
        match self.keys.get(key.as_bytes()).and_then(|pages| pages.row(page)) {
            Some(row) => may_hold_all(&self.values, row, VALUES, &[value_key(value)]),
            None => true,
        }
    }
}

fn may_hold_all(sets: &ByteColumn, row: usize, shape: FilterShape, keys: &[u32]) -> bool {
    if keys.is_empty() {
        return true;
    }
    match sets.get(row).map(|set| shape.parse(set)) {
        Some(Ok(set)) => set.may_hold_all(keys),
        Some(Err(_)) | None => true,
    }
}

fn check_sets(table: &TableReader<'_>, sets: &ByteColumn, shape: FilterShape) -> Result<(), Error> {
    for set in (0..table.rows()).filter_map(|row| sets.get(row)) {
        shape
            .parse(set)
            .map_err(|damage| table.damaged(damage.0.into_owned()))?;
    }
    Ok(())
}

fn read_pages(table: &TableReader<'_>) -> Result<Vec<PageRow>, Error> {
    let columns = [SECTION, PAGE, PAGE_ROWS, PAGE_CRC].map(|column| table.counts(column));
    let [sections, pages, page_rows, crcs] = columns;
    let (sections, pages, page_rows, crcs) = (sections?, pages?, page_rows?, crcs?);
    let page = |row: usize| PageRow {
        section: sections[row],
        page: pages[row],
        row,
        page_rows: page_rows[row],
        crc: crcs[row],
    };
    Ok((0..table.rows()).map(page).collect())
}

/// The filters of a column, by the position of its section in the object.
pub(super) struct ColumnRecords<'a> {
    pub(super) section: usize,
    /// Empty for the line.
    pub(super) key: &'a str,
    pub(super) pages: &'a [PageRecord],
}

/// The section of text filters; `None` if there are none.
pub(super) fn write_text(tenant: &str, columns: &[ColumnRecords<'_>]) -> Result<Option<FinishedSection>, Error> {
    let names = [SECTION, PAGE, PAGE_ROWS, PAGE_CRC, WORD_SETS, ID_SETS];
    let mut table = TableWriter::new(SectionKind::TextFilter, FILTERS_VERSION, tenant, &names);
    let mut row = 0;
    for column in columns {
        for page in column.pages {
            write_page(&mut table, row, column.section, page)?;
            for (name, filter) in [WORD_SETS, ID_SETS].into_iter().zip(&page.filters) {
                if let Some(filter) = filter {
                    table.bytes(name, row, filter)?;
                }
            }
            row += 1;
        }
    }
    if row == 0 { Ok(None) } else { table.finish().map(Some) }
}

/// The section of value filters; `None` if there are none.
pub(super) fn write_values(tenant: &str, columns: &[ColumnRecords<'_>]) -> Result<Option<FinishedSection>, Error> {
    let names = [SECTION, PAGE, PAGE_ROWS, PAGE_CRC, KEY, VALUE_SETS];
    let mut table = TableWriter::new(SectionKind::ValueFilter, FILTERS_VERSION, tenant, &names);
    let mut row = 0;
    for column in columns {
        for (at, page) in column.pages.iter().enumerate() {
            write_page(&mut table, row, column.section, page)?;
            // Only where it changes; null stands for the one above.
            if at == 0 {
                table.bytes(KEY, row, column.key.as_bytes())?;
            }
            if let [Some(filter), _] = &page.filters {
                table.bytes(VALUE_SETS, row, filter)?;
            }
            row += 1;
        }
    }
    if row == 0 { Ok(None) } else { table.finish().map(Some) }
}

fn write_page(table: &mut TableWriter, row: u64, section: usize, page: &PageRecord) -> Result<(), Error> {
    table.integer(SECTION, row, section as i64)?;
    table.integer(PAGE, row, page.page.cast_signed())?;
    table.integer(PAGE_ROWS, row, page.rows.cast_signed())?;
    table.integer(PAGE_CRC, row, i64::from(page.crc))
}
