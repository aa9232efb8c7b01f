//! Which runs can't hold what a reader wants, by the filters of their pages and by columns that have no values there.
// hot path: no locks, no logging, no allocation per page.

use super::filters::Filters;
use super::open::LogsSection;
use crate::source::{Exclusion, Wanted, WantedValue};
use std::ops::Range;
use timberline_dataobj::PageMeta;
use timberline_dataobj::extension::{LogsPage, TextCondition, TextFilters};

/// Why no row of a run can be wanted; `None` if one may be.
pub(super) fn exclusion(
    section: &LogsSection,
    rows: &Range<u64>,
    wanted: &Wanted,
    filters: &Filters,
) -> Option<Exclusion> {
    let may_have_value = |group: &Vec<WantedValue>| group.iter().any(|value| may_equal(section, rows, value, filters));
    if !wanted.values.iter().all(may_have_value) {
        return Some(Exclusion::Value);
    }
    let text = filters.text()?;
    let may_hold = |condition: &TextCondition| may_meet(section, rows, condition, text);
    (!wanted.texts.iter().all(may_hold)).then_some(Exclusion::Text)
}

/// False only if no row of the run has the value.
fn may_equal(section: &LogsSection, rows: &Range<u64>, wanted: &WantedValue, filters: &Filters) -> bool {
    if wanted.value.is_empty() {
        return true;
    }
    let in_page = |number: usize, page: &PageMeta| {
        // The filters can't tell a page of nulls, but its entry does.
        let may_equal = |page| {
            filters
                .values()
                .is_none_or(|f| f.may_equal(&wanted.name, page, &wanted.value))
        };
        page.values > 0 && may_equal(logs_page(section, number, page))
    };
    let mut columns = section.metadata.iter().filter(|(name, _)| **name == *wanted.name);
    columns.any(|(_, column)| {
        let mut pages = column.numbered_pages_in(rows.clone());
        pages.any(|(number, _, page)| in_page(number, page))
    })
}

/// False only if no line of the run meets the condition.
fn may_meet(section: &LogsSection, rows: &Range<u64>, condition: &TextCondition, filters: &TextFilters) -> bool {
    let Some(message) = &section.message else {
        return true;
    };
    // Rows behind the last page of lines are in no page; their run is one of its own (`open::append_runs`).
    let mut pages = message.numbered_pages_in(rows.clone()).peekable();
    let in_page = |(number, _, page): (usize, u64, &PageMeta)| {
        condition.may_hold(|needle| filters.may_contain(logs_page(section, number, page), needle))
    };
    pages.peek().is_none() || pages.any(in_page)
}

fn logs_page<'a>(section: &LogsSection, number: usize, page: &'a PageMeta) -> LogsPage<'a> {
    LogsPage {
        section: section.index,
        page: number,
        meta: page,
    }
}
