//! Writes the rows of an answer for people.

use crate::plain_table::PlainTable;
use anyhow::Context;
use std::io::Write;

/// Writes CSV with names in its first line as a table.
pub(super) fn write_table(body: &[u8], out: &mut impl Write) -> anyhow::Result<()> {
    let mut reader = csv::Reader::from_reader(body);
    let header = reader.headers().context("the server's answer")?.clone();
    let mut table = PlainTable::new(header.iter());
    let mut numbers = vec![true; header.len()];
    for row in reader.records() {
        let row = row.context("the server's answer")?;
        for (is_number, cell) in numbers.iter_mut().zip(&row) {
            *is_number &= cell.is_empty() || cell.parse::<f64>().is_ok();
        }
        table.row(row.iter().map(on_one_line).collect());
    }
    for (index, _) in numbers.iter().enumerate().filter(|(_, is_number)| **is_number) {
        table.align_right(index..index + 1);
    }
    writeln!(out, "{table}")?;
    Ok(())
}

/// A cell without control characters, but for a plan, which is drawn in lines.
fn on_one_line(cell: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    cell.chars().map(shown).collect()
}

/// Whether an answer has rows.
pub(super) fn has_rows(body: &[u8], is_csv: bool) -> bool {
    if is_csv {
        csv::Reader::from_reader(body).records().next().is_some()
    } else {
        !body.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_a_table() {
        let shown = |body: &str| {
            let mut out = Vec::new();
            write_table(body.as_bytes(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            shown("key,value,note\na,1.5,\"x,y\"\nlonger,10.25,\u{1b}[2J\n"),
            "key     value  note\na         1.5  x,y\nlonger  10.25  \u{fffd}[2J\n"
        );
        assert_eq!(shown("key,value\n"), "key  value\n");
    }

    #[test]
    fn an_answer_without_rows_is_told() {
        assert!(has_rows(b"a\n1\n", true) && !has_rows(b"a\n", true));
        assert!(has_rows(b"{}\n", false) && !has_rows(b"", false));
    }
}
