//! From the tree back to text: `Display` writes canonical text on one line, [`format`] breaks long queries over several
//! (logql.md 20). Both read back as the same tree.

mod log;
mod metric;
mod pretty;

pub use pretty::format;

use std::fmt;

use crate::ast::Expr;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(log) => log.fmt(f),
            Self::Metric(metric) => metric.fmt(f),
        }
    }
}

/// Writes the items with a separator between them.
fn join<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            f.write_str(separator)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}
