//! Tables without lines: columns two blanks apart, so that they can be read and cut.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt;
use std::ops::Range;

/// Blanks between two columns.
const GAP: u16 = 2;

/// A table that is written as it is, however wide.
pub(crate) struct PlainTable(Table);

impl PlainTable {
    /// A table with these headings.
    pub(crate) fn new<T: Into<String>>(headings: impl IntoIterator<Item = T>) -> Self {
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(headings.into_iter().map(Into::into).collect::<Vec<String>>());
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        Self(table)
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.0.add_row(cells);
    }

    /// Aligns columns of numbers.
    pub(crate) fn align_right(&mut self, columns: Range<usize>) {
        for index in columns {
            if let Some(column) = self.0.column_mut(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
}

impl fmt::Display for PlainTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, line) in self.0.lines().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            write!(f, "{end}{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = PlainTable::new(["name", "count"]);
        table.row(vec!["a".to_owned(), "10".to_owned()]);
        table.row(vec!["longer".to_owned(), String::new()]);
        table.align_right(1..2);
        assert_eq!(
            table.to_string(),
            ["name    count", "a          10", "longer"].join("\n")
        );
    }
}
