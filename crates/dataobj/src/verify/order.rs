//! The order that a section declares (specification chapters 3.1 and 8).

use super::cells::{Cell, Cells, Decoded};
use super::section::place;
use super::{Check, Tally, Verifier};
use crate::read::{Direction, SortInfo};
use crate::schema::SectionKind;
use std::cmp::Ordering;

/// Checks that the declared order can be meant.
pub(super) fn check_columns(verifier: &mut Verifier<'_>, decoded: &Decoded<'_>) {
    let Some(sort) = &decoded.meta.sort else { return };
    for by in &sort.columns {
        let exists = (by.column as usize) < decoded.meta.columns.len();
        if !exists || matches!(by.direction, Direction::Other(_)) {
            let what = format!("ordered by column {} in direction {:?}", by.column, by.direction);
            verifier.find(
                Check::OrderColumns,
                place(decoded.section, decoded.section.metadata.start),
                what,
            );
        }
    }
}

/// The columns by which a section is ordered; `None` if it declares no order, or a column couldn't be decoded.
pub(super) fn sort_columns<'a>(decoded: &'a Decoded<'_>) -> Option<Vec<(Cells<'a>, Direction)>> {
    let sort = decoded.meta.sort.as_ref().filter(|sort| !sort.columns.is_empty())?;
    let cells = |by: &crate::read::OrderBy| Some((decoded.cells_at(by.column as usize)?, by.direction));
    sort.columns.iter().map(cells).collect()
}

/// Compares two rows by their sort columns.
pub(super) fn compare(sort: &SortInfo, before: &[Cell<'_>], after: &[Cell<'_>]) -> Ordering {
    let mut columns = sort.columns.iter().zip(before.iter().zip(after));
    let unequal = columns.find_map(|(by, (before, after))| {
        let order = match by.direction {
            Direction::Ascending => before.compare(*after),
            Direction::Descending => after.compare(*before),
            Direction::Other(_) => Ordering::Equal,
        };
        order.is_ne().then_some(order)
    });
    unequal.unwrap_or(Ordering::Equal)
}

/// Checks the order of all rows, of kinds where nothing but columns of the section determines it.
pub(super) fn check_rows(verifier: &mut Verifier<'_>, decoded: &Decoded<'_>) {
    let (Some(sort), Some(mut columns)) = (&decoded.meta.sort, sort_columns(decoded)) else {
        return;
    };
    let mut tally = Tally::default();
    let mut before: Option<Vec<Cell<'_>>> = None;
    for row in 0..decoded.meta.rows {
        let cells: Vec<Cell<'_>> = columns.iter_mut().map(|(cells, _)| cells.next_cell()).collect();
        if before.is_some_and(|before| compare(sort, &before, &cells).is_gt()) {
            tally.add(row, || "stands behind a row that comes after it".to_owned());
        }
        before = Some(cells);
    }
    let check = match decoded.section.kind {
        // Declared, but not kept by Loki's own writer (specification chapter 8.4).
        SectionKind::IndexPointers => Check::OrderLoose,
        _ => Check::Order,
    };
    tally.report(verifier, check, place(decoded.section, decoded.section.data.start));
}
