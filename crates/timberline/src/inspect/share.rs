//! Where the bytes of an object are.

use super::object::Object;
use super::text::title;
use crate::plain_table::PlainTable;
use crate::units::about_bytes;
use std::collections::BTreeMap;

/// Most lines; what is smaller is summed up in the last one.
const MAX_LINES: usize = 16;
/// Characters of the longest bar.
const BAR_CHARS: u64 = 32;
/// Blocks of one to seven eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// One line for the header, for metadata of all sections of a kind, and for each column over all sections of a kind; largest first.
pub(super) fn table(object: &Object) -> PlainTable {
    let mut table = PlainTable::new(["where the bytes are", "stored", "share", ""]);
    for (name, bytes) in parts(object) {
        let share = bytes as f64 / object.size_bytes.max(1) as f64;
        table.row(vec![
            name,
            about_bytes(bytes),
            format!("{:.1} %", share * 100.0),
            bar(bytes, object.size_bytes),
        ]);
    }
    table.align_right(1..3);
    table
}

fn parts(object: &Object) -> Vec<(String, u64)> {
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    let mut add = |name: String, bytes: u64| *sizes.entry(name).or_default() += bytes;
    add("header".to_owned(), object.header_bytes);
    for part in &object.sections {
        let section = &part.section;
        let metadata = section.metadata.end - section.metadata.start;
        let mut data = section.data.end - section.data.start;
        add(format!("{}, metadata of the section", section.kind), metadata);
        for column in part.meta.iter().flat_map(|meta| &meta.columns) {
            add(format!("{}, {}", section.kind, title(column)), column.stored_bytes);
            data = data.saturating_sub(column.stored_bytes);
        }
        if data > 0 {
            add(format!("{}, data", section.kind), data);
        }
    }
    let mut sizes: Vec<(String, u64)> = sizes.into_iter().collect();
    sizes.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    if sizes.len() > MAX_LINES {
        let rest = sizes.split_off(MAX_LINES - 1);
        let bytes = rest.iter().map(|(_, bytes)| bytes).sum();
        sizes.push((format!("{} more", rest.len()), bytes));
    }
    sizes
}

fn bar(bytes: u64, of: u64) -> String {
    let eighths =
        (u128::from(bytes) * u128::from(BAR_CHARS) * 8 / u128::from(of.max(1))).min(u128::from(BAR_CHARS) * 8);
    let (whole, part) = (eighths as usize / 8, eighths as usize % 8);
    "█".repeat(whole) + EIGHTHS.get(part).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        let f = |bytes, of, want: &str| assert_eq!(bar(bytes, of), want);
        f(0, 0, "");
        f(0, 100, "");
        f(100, 100, &"█".repeat(32));
        f(200, 100, &"█".repeat(32));
        f(50, 100, &"█".repeat(16));
        f(1, 256, "▏");
        f(9, 256, "█▏");
    }
}
