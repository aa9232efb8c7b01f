//! Results side by side with those of the peer.

use crate::Speed;
use std::fmt;

/// A measured workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which workload, `A1` and so on.
    pub id: &'static str,
    /// What is done, on which data.
    pub name: String,
    /// What is counted, such as `GB/s`.
    pub unit: &'static str,
    /// Our figure.
    pub ours: Speed,
    /// The peer's, where there is one: other rows tell what bounds ours.
    pub peer: Option<f64>,
    /// What we want to reach.
    pub goal: Option<f64>,
}

/// A table of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The results, in the order measured.
    pub rows: Vec<Row>,
    /// What the reader should know about the data.
    pub notes: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .rows
            .iter()
            .map(|row| row.name.len())
            .max()
            .unwrap_or(0)
            .max("workload".len());
        writeln!(
            f,
            "{:<3} {:<width$} {:>10} {:>10} {:>10} {:>8} {:>10}  unit",
            "", "workload", "ours", "median", "peer", "ratio", "goal"
        )?;
        for row in &self.rows {
            let ratio = row
                .peer
                .map_or("".to_owned(), |peer| format!("{:.1}x", row.ours.best / peer));
            writeln!(
                f,
                "{:<3} {:<width$} {:>10} {:>10} {:>10} {ratio:>8} {:>10}  {}",
                row.id,
                row.name,
                number(Some(row.ours.best)),
                number(Some(row.ours.median)),
                number(row.peer),
                number(row.goal),
                row.unit
            )?;
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        Ok(())
    }
}

/// Three significant digits.
fn number(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}
