//! The bodies of the catalog's two kinds of file, the root and the tables, and their keys.

use super::window::Window;
use crate::source::TimeSpan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::BuildHasher;

/// Key of the root.
pub(crate) const ROOT_KEY: &str = "catalog/root.json";
/// Folder of the tables.
pub(crate) const TABLES_FOLDER: &str = "catalog/tables";

/// What the catalog knows of one tenant's rows in one object. An object with rows of several tenants has one of these for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectMeta {
    /// Key in the store. A key is never used again for other rows.
    pub key: String,
    /// Earliest entry, nanoseconds since 1970.
    pub min_ns: i64,
    /// Latest entry, nanoseconds since 1970.
    pub max_ns: i64,
    /// Entries.
    pub rows: u64,
    /// Size of the whole object in bytes.
    pub size_bytes: u64,
    /// Bytes of lines and metadata values.
    pub uncompressed_bytes: u64,
}

impl ObjectMeta {
    /// From the earliest to the latest entry.
    pub fn span(&self) -> TimeSpan {
        TimeSpan {
            min_ns: self.min_ns,
            max_ns: self.max_ns,
        }
    }
}

/// The one file that changes: which version of each table is current.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Root {
    /// Number of commits so far.
    pub(crate) generation: u64,
    /// Sequence number of the next object.
    pub(crate) next_sequence: u64,
    /// Per writer, the last segment of its log whose entries are all published.
    pub(crate) watermarks: BTreeMap<String, u64>,
    /// Per tenant, the current tables.
    pub(crate) tenants: BTreeMap<String, TenantTables>,
    /// Tables that are no longer current but that a reader may still hold.
    pub(crate) superseded: Vec<Superseded>,
}

impl Root {
    /// Keys of all current tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tenants
            .values()
            .flat_map(|tables| tables.newest_first().map(|(_, key)| key.as_str()))
    }
}

/// The current tables of one tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TenantTables {
    /// Key of the table of objects that touch many windows.
    pub(crate) wide: Option<String>,
    /// Key of the table of each window.
    pub(crate) windows: BTreeMap<Window, String>,
}

/// A table that waits for its deletion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Superseded {
    /// Key of the table.
    pub(crate) key: String,
    /// When it was replaced, milliseconds since 1970 by the clock of the writer.
    pub(crate) at_ms: i64,
}

/// Which table of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TableId {
    /// Objects that touch more than eight windows.
    Wide,
    /// Objects that touch this window.
    Window(Window),
}

impl TenantTables {
    pub(crate) fn get(&self, id: TableId) -> Option<&String> {
        match id {
            TableId::Wide => self.wide.as_ref(),
            TableId::Window(window) => self.windows.get(&window),
        }
    }

    /// Names the current version of a table (`None`: it is empty), returns the former one.
    pub(crate) fn set(&mut self, id: TableId, key: Option<String>) -> Option<String> {
        match (id, key) {
            (TableId::Wide, key) => std::mem::replace(&mut self.wide, key),
            (TableId::Window(window), Some(key)) => self.windows.insert(window, key),
            (TableId::Window(window), None) => self.windows.remove(&window),
        }
    }

    /// All tables, the wide one first, then the newest windows, where a lookup is most likely to end.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = (TableId, &String)> {
        let windows = self
            .windows
            .iter()
            .rev()
            .map(|(window, key)| (TableId::Window(*window), key));
        self.wide.iter().map(|key| (TableId::Wide, key)).chain(windows)
    }
}

/// A table of contents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// The objects, by ascending sequence number.
    pub(crate) objects: Vec<TableEntry>,
}

/// An object in a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableEntry {
    /// Place in the order of commits; the same in all tables that list the object.
    pub(crate) sequence: u64,
    /// The object.
    #[serde(flatten)]
    pub(crate) meta: ObjectMeta,
}

/// Objects that touch more windows are listed in the wide table only.
const MAX_WINDOWS: i64 = 8;

/// The tables that list an object of this span.
pub(crate) fn tables_of(span: TimeSpan) -> Vec<TableId> {
    let (first, last) = (Window::of_ns(span.min_ns), Window::of_ns(span.max_ns));
    if last.0 - first.0 >= MAX_WINDOWS {
        return vec![TableId::Wide];
    }
    (first.0..=last.0)
        .map(|number| TableId::Window(Window(number)))
        .collect()
}

/// A key that no other version of any table has.
pub(crate) fn new_table_key(tenant: &str, id: TableId, generation: u64) -> String {
    let folder = match id {
        TableId::Wide => "wide".to_owned(),
        TableId::Window(window) => window.to_string(),
    };
    format!(
        "{TABLES_FOLDER}/{tenant}/{folder}/{generation:08}-{}.json",
        random_name()
    )
}

/// 64 random bits, in hexadecimal.
fn random_name() -> String {
    // Each hasher state has fresh keys, seeded by the operating system.
    let random = std::collections::hash_map::RandomState::new().hash_one(std::process::id());
    format!("{random:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_listed_in_its_windows_or_in_the_wide_table() {
        let hour_ns = 3_600_000_000_000;
        let f = |min_hour: i64, max_hour: i64, want: &[i64]| {
            let span = TimeSpan {
                min_ns: min_hour * hour_ns,
                max_ns: max_hour * hour_ns,
            };
            let want: Vec<_> = want.iter().map(|w| TableId::Window(Window(*w))).collect();
            assert_eq!(
                tables_of(span),
                if want.is_empty() { vec![TableId::Wide] } else { want }
            );
        };
        f(0, 11, &[0]);
        f(0, 12, &[0, 1]);
        f(-1, 0, &[-1, 0]);
        f(0, 95, &[0, 1, 2, 3, 4, 5, 6, 7]);
        f(0, 96, &[]);
        assert_eq!(
            tables_of(TimeSpan {
                min_ns: i64::MIN,
                max_ns: i64::MAX
            }),
            [TableId::Wide]
        );
    }

    #[test]
    fn random_names_differ() {
        let names: std::collections::HashSet<_> = (0..1000).map(|_| random_name()).collect();
        assert_eq!(names.len(), 1000);
    }
}
