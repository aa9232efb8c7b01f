//! Tables of contents: which index objects hold records of a window of time (specification chapter 11.2).
//!
//! All functions are pure. To change a stored table, read it whole, parse, add or replace, encode, and store the result on
//! condition that nobody else has stored one meanwhile.

use super::builder::TenantSpan;
use super::window::TocWindow;
use crate::error::Error;
use crate::limits::check_limit;
use crate::read::Scratch;
use crate::schema::SectionKind;
use crate::sections::{IndexPointersReader, WholeObject};
use crate::write::{IndexPointerRow, IndexPointersWriter, ObjectWriter, PageCut, WriterOptions};

/// How tables of contents are written (specification chapter 9.4).
const OPTIONS: WriterOptions = WriterOptions {
    page_bytes: 4 << 20,
    page_rows: 0,
    zstd_level: 3,
    cut: PageCut::Independent,
};

/// Most memory for the entries of a table that is read, 1 GiB: some ten million.
const MAX_TABLE_BYTES: u64 = 1 << 30;

/// The index objects of one window, by tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOfContents {
    /// In the order of the sections.
    tenants: Vec<(String, Vec<TocEntry>)>,
}

/// One index object, as far as it concerns one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TocEntry {
    /// Key of the index object, see [`crate::index_object_path`].
    pub path: String,
    /// Earliest of the tenant's records behind it, nanoseconds.
    pub min_timestamp_ns: i64,
    /// Latest of them, nanoseconds.
    pub max_timestamp_ns: i64,
    /// Stored size of the index object; 0 if unknown.
    pub file_bytes: i64,
    /// Sum of the sizes of the streams behind it; 0 if unknown.
    pub uncompressed_logs_bytes: i64,
}

impl TableOfContents {
    /// A table without entries, which is what a missing one stands for.
    pub fn new() -> TableOfContents {
        TableOfContents::default()
    }

    /// Reads a table; sections of other kinds are passed over. A table whose entries take more than 1 GiB is refused.
    pub fn parse(object: &[u8]) -> Result<TableOfContents, Error> {
        TableOfContents::parse_within(object, MAX_TABLE_BYTES)
    }

    fn parse_within(object: &[u8], max_bytes: u64) -> Result<TableOfContents, Error> {
        let object = WholeObject::parse(object)?;
        let mut table = TableOfContents::default();
        let mut bytes = 0u64;
        let mut scratch = Scratch::new();
        for section in object.sections() {
            if section.kind != SectionKind::IndexPointers {
                continue;
            }
            let meta = object.meta(section)?;
            let pointers = IndexPointersReader::open(section, &meta, object.data(section)?, &mut scratch)?;
            let entry_bytes = |row: IndexPointerRow<'_>| (size_of::<TocEntry>() + row.path.len()) as u64;
            bytes += pointers.rows().map(entry_bytes).sum::<u64>();
            check_limit("table of contents", bytes, max_bytes)?;
            table
                .entries_mut(&section.tenant)
                .extend(pointers.rows().map(TocEntry::from));
        }
        Ok(table)
    }

    /// Tenants and their entries.
    pub fn tenants(&self) -> impl Iterator<Item = (&str, &[TocEntry])> {
        self.tenants
            .iter()
            .map(|(tenant, entries)| (tenant.as_str(), entries.as_slice()))
    }

    /// Index objects that may hold records of a tenant in a span of time, both ends included.
    pub fn lookup(&self, tenant: &str, start_ns: i64, end_ns: i64) -> impl Iterator<Item = &TocEntry> {
        let of_tenant = self.tenants.iter().filter(move |(name, _)| name == tenant);
        of_tenant
            .flat_map(|(_, entries)| entries)
            .filter(move |entry| entry.max_timestamp_ns >= start_ns && entry.min_timestamp_ns <= end_ns)
    }

    /// Adds an entry: at the end, but before entries that begin after it ends.
    pub fn add(&mut self, tenant: &str, entry: TocEntry) {
        let entries = self.entries_mut(tenant);
        let is_before = |other: &TocEntry| entry.max_timestamp_ns < other.min_timestamp_ns;
        let position = entries
            .iter()
            .rposition(|other| !is_before(other))
            .map_or(0, |last| last + 1);
        entries.insert(position, entry);
    }

    /// What compaction does: entries of a tenant with one of the paths `old` give way to `new`. False, and nothing is
    /// changed, if there is none.
    pub fn replace(&mut self, tenant: &str, old: &[&str], new: Vec<TocEntry>) -> bool {
        let is_old = |entry: &TocEntry| old.contains(&entry.path.as_str());
        let mut of_tenant = self.tenants.iter().filter(|(name, _)| name == tenant);
        if !of_tenant.any(|(_, entries)| entries.iter().any(is_old)) {
            return false;
        }
        self.entries_mut(tenant).retain(|entry| !is_old(entry));
        new.into_iter().for_each(|entry| self.add(tenant, entry));
        true
    }

    /// The table as an object; `None` if it has no entries, for there are no objects without sections.
    pub fn encode(&self) -> Result<Option<Vec<u8>>, Error> {
        let mut object = ObjectWriter::new();
        for (tenant, entries) in self.tenants().filter(|(_, entries)| !entries.is_empty()) {
            let mut section = IndexPointersWriter::new(tenant, &OPTIONS);
            entries.iter().try_for_each(|entry| section.append(&entry.row()))?;
            object.push_section(section.finish()?);
        }
        if object.is_empty() {
            return Ok(None);
        }
        object.finish().map(Some)
    }

    fn entries_mut(&mut self, tenant: &str) -> &mut Vec<TocEntry> {
        let position = self.tenants.iter().position(|(name, _)| name == tenant);
        let position = position.unwrap_or_else(|| {
            self.tenants.push((tenant.to_owned(), Vec::new()));
            self.tenants.len() - 1
        });
        &mut self.tenants[position].1
    }
}

impl From<IndexPointerRow<'_>> for TocEntry {
    fn from(row: IndexPointerRow<'_>) -> TocEntry {
        TocEntry {
            path: row.path.to_owned(),
            min_timestamp_ns: row.min_timestamp_ns,
            max_timestamp_ns: row.max_timestamp_ns,
            file_bytes: row.file_bytes,
            uncompressed_logs_bytes: row.uncompressed_logs_bytes,
        }
    }
}

impl TocEntry {
    fn row(&self) -> IndexPointerRow<'_> {
        IndexPointerRow {
            path: &self.path,
            min_timestamp_ns: self.min_timestamp_ns,
            max_timestamp_ns: self.max_timestamp_ns,
            file_bytes: self.file_bytes,
            uncompressed_logs_bytes: self.uncompressed_logs_bytes,
        }
    }
}

/// Which tables a new index object has to be added to, and with which entries: a tenant is listed in every window that its
/// records touch.
pub fn toc_updates<'a>(
    path: &str,
    file_bytes: i64,
    spans: &'a [TenantSpan],
) -> impl Iterator<Item = (TocWindow, Vec<(&'a str, TocEntry)>)> {
    let min = spans.iter().map(|span| span.min_timestamp_ns).min();
    let max = spans.iter().map(|span| span.max_timestamp_ns).max();
    let windows = min.zip(max).map(|(min, max)| TocWindow::covering(min, max));
    windows.into_iter().flatten().filter_map(move |window| {
        let touching = spans
            .iter()
            .filter(|span| window.touches(span.min_timestamp_ns, span.max_timestamp_ns));
        let entry = |span: &'a TenantSpan| {
            let entry = TocEntry {
                path: path.to_owned(),
                min_timestamp_ns: span.min_timestamp_ns,
                max_timestamp_ns: span.max_timestamp_ns,
                file_bytes,
                uncompressed_logs_bytes: span.uncompressed_logs_bytes,
            };
            (span.tenant.as_str(), entry)
        };
        let entries: Vec<_> = touching.map(entry).collect();
        (!entries.is_empty()).then_some((window, entries))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, min_timestamp_ns: i64, max_timestamp_ns: i64) -> TocEntry {
        TocEntry {
            path: path.to_owned(),
            min_timestamp_ns,
            max_timestamp_ns,
            file_bytes: 1,
            uncompressed_logs_bytes: 2,
        }
    }

    fn paths(table: &TableOfContents, tenant: &str) -> Vec<String> {
        table
            .lookup(tenant, i64::MIN, i64::MAX)
            .map(|entry| entry.path.clone())
            .collect()
    }

    #[test]
    fn entries_move_only_before_those_that_begin_after_they_end() {
        let mut table = TableOfContents::new();
        for (path, min, max) in [("b", 10, 20), ("d", 30, 40), ("a", 0, 9), ("c", 15, 29), ("e", 25, 50)] {
            table.add("t", entry(path, min, max));
        }
        assert_eq!(paths(&table, "t"), ["a", "b", "c", "d", "e"]);
        let found = |start, end| -> Vec<&str> { table.lookup("t", start, end).map(|e| e.path.as_str()).collect() };
        assert_eq!(found(20, 25), ["b", "c", "e"]);
        assert_eq!(found(51, 60), [""; 0]);
        assert_eq!(table.lookup("other", 0, 100).count(), 0);
    }

    #[test]
    fn the_memory_for_a_table_is_bounded() {
        let mut table = TableOfContents::new();
        for tenant in ["t", "u"] {
            (0..10).for_each(|i| table.add(tenant, entry("indexes/a", i, i)));
        }
        let object = table.encode().unwrap().unwrap();
        let bytes = 20 * (size_of::<TocEntry>() + "indexes/a".len()) as u64;
        assert_eq!(TableOfContents::parse_within(&object, bytes).unwrap(), table);
        let error = TableOfContents::parse_within(&object, bytes - 1).unwrap_err();
        let want = format!("table of contents of {bytes} exceeds the limit of {}", bytes - 1);
        assert_eq!(error.to_string(), want);
    }

    #[test]
    fn replacing() {
        let mut table = TableOfContents::new();
        assert_eq!(table.encode().unwrap(), None);
        table.add("t", entry("a", 0, 1));
        table.add("u", entry("a", 0, 1));
        table.add("t", entry("b", 5, 6));
        assert!(!table.replace("t", &["c"], vec![entry("d", 0, 6)]));
        assert!(!table.replace("v", &["a"], vec![entry("d", 0, 6)]));
        assert!(table.replace("t", &["a", "b", "c"], vec![entry("d", 0, 6)]));
        assert_eq!(
            (paths(&table, "t"), paths(&table, "u")),
            (vec!["d".into()], vec!["a".into()])
        );
        let object = table.encode().unwrap().unwrap();
        assert_eq!(TableOfContents::parse(&object).unwrap(), table);
        assert!(table.replace("t", &["d"], Vec::new()));
        let object = table.encode().unwrap().unwrap();
        assert_eq!(TableOfContents::parse(&object).unwrap().tenants().count(), 1);
    }

    #[test]
    fn a_new_index_object_is_listed_in_every_window_it_touches() {
        let span = |tenant: &str, min_timestamp_ns, max_timestamp_ns| TenantSpan {
            tenant: tenant.to_owned(),
            min_timestamp_ns,
            max_timestamp_ns,
            uncompressed_logs_bytes: 7,
        };
        let hour = 3_600_000_000_000;
        let spans = [
            span("a", 2 * hour, 12 * hour),
            span("b", 0, 12 * hour - 1),
            span("c", 36 * hour, 37 * hour),
        ];
        let updates: Vec<(String, Vec<&str>)> = toc_updates("indexes/x", 9, &spans)
            .map(|(window, entries)| {
                assert!(
                    entries
                        .iter()
                        .all(|(_, entry)| entry.path == "indexes/x" && entry.file_bytes == 9)
                );
                (
                    window.to_string(),
                    entries.into_iter().map(|(tenant, _)| tenant).collect(),
                )
            })
            .collect();
        let want = [
            ("1970-01-01T00_00_00Z".to_owned(), vec!["a", "b"]),
            ("1970-01-01T12_00_00Z".to_owned(), vec!["a"]),
            ("1970-01-02T12_00_00Z".to_owned(), vec!["c"]),
        ];
        assert_eq!(updates, want);
        assert_eq!(toc_updates("indexes/x", 9, &[]).count(), 0);
    }
}
