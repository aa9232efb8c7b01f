//! Results side by side with those of the peer.

use crate::Speed;
use std::fmt;

/// Which of two figures is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The larger, as with speeds.
    More,
    /// The smaller, as with times.
    Less,
}

/// A measured workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which workload, `A1` and so on.
    pub id: &'static str,
    /// What is done, on which data.
    pub name: String,
    /// What is counted, such as `GB/s`.
    pub unit: &'static str,
    /// What counts as better.
    pub better: Better,
    /// Our figure.
    pub ours: Speed,
    /// The peer's, where there is one: other rows tell what bounds ours.
    pub peer: Option<f64>,
    /// What we want to reach.
    pub goal: Option<f64>,
    /// Allocations for each thing in steady state, where they were counted.
    pub allocations: Option<f64>,
}

impl Row {
    /// How many times better than the peer.
    fn ratio(&self) -> Option<f64> {
        self.peer.map(|peer| match self.better {
            Better::More => self.ours.best / peer,
            Better::Less => peer / self.ours.best,
        })
    }
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
        let counts = self.rows.iter().any(|row| row.allocations.is_some());
        writeln!(
            f,
            "{:<3} {:<width$} {:>10} {:>10} {:>10} {:>8} {:>10}  unit{}",
            "",
            "workload",
            "ours",
            "median",
            "peer",
            "ratio",
            "goal",
            if counts { "     allocations" } else { "" }
        )?;
        for row in &self.rows {
            let ratio = row.ratio().map_or("".to_owned(), |ratio| format!("{ratio:.1}x"));
            let allocations = row
                .allocations
                .map_or("".to_owned(), |count| format!("  {count:>10.2}"));
            writeln!(
                f,
                "{:<3} {:<width$} {:>10} {:>10} {:>10} {ratio:>8} {:>10}  {}{allocations}",
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
