//! Pages, sums and statistics of a column (specification chapters 3.1, 4 and 5).

use super::cells::{Cell, Page};
use super::kinds;
use super::section::place_of_column;
use super::{Check, Place, Verifier};
use crate::compression::Compression;
use crate::read::{ColumnMeta, Encoding, PageMeta, Section, decode_binary, decode_int64};
use crate::schema::column;
use crate::stats::{Physical, Stats, Value};
use std::cmp::Ordering;

/// Smallest and largest value seen.
#[derive(Default)]
struct Range {
    min: Option<Value>,
    max: Option<Value>,
    has_nonempty: bool,
}

/// Checks a column and returns its pages if later checks need them and none is damaged.
pub(super) fn check(verifier: &mut Verifier<'_>, section: &Section, column: &ColumnMeta) -> Option<Vec<Page>> {
    verifier.report.checked.columns += 1;
    check_sums(verifier, section, column);
    let known = kinds::columns(&section.kind)
        .iter()
        .find(|known| known.logical == column.logical);
    let has_codec = !matches!(column.compression, Compression::Other(_))
        && column.pages.iter().all(|page| {
            let codec = (column.physical, page.encoding);
            [(Physical::Int64, Encoding::Delta), (Physical::Binary, Encoding::Plain)].contains(&codec)
        });
    if known.is_none() && !has_codec {
        // Readers pass over it, and so do we.
        return None;
    }
    let keep = known.is_some_and(|known| known.keep);
    let mut kept = keep.then(Vec::new);
    let mut whole = Some(Range::default());
    for (number, page) in column.pages.iter().enumerate() {
        let place = Place {
            page: Some(number),
            offset: page.range.start,
            ..place_of_column(section, column)
        };
        let Some((decoded, range)) = check_page(verifier, column, page, place) else {
            (kept, whole) = (None, None);
            continue;
        };
        if let Some(whole) = &mut whole {
            whole.add_range(range);
        }
        let Some(pages) = &mut kept else { continue };
        verifier.kept_bytes = verifier.kept_bytes.saturating_add(decoded.bytes());
        if verifier.kept_bytes <= verifier.max_kept_bytes {
            pages.push(decoded);
        } else {
            let limit = verifier.max_kept_bytes;
            let what = format!("columns to be compared need more than {limit} bytes; rows are not compared");
            verifier.find(Check::NotChecked, place_of_column(section, column), what);
            kept = None;
        }
    }
    if let Some(whole) = whole {
        check_column_stats(verifier, section, column, &whole);
    }
    kept
}

fn check_sums(verifier: &mut Verifier<'_>, section: &Section, column: &ColumnMeta) {
    let raw: u64 = column.pages.iter().map(|page| page.raw_bytes).sum();
    let stored: u64 = column.pages.iter().map(|page| page.range.end - page.range.start).sum();
    if (raw, stored) != (column.raw_bytes, column.stored_bytes) {
        let what = format!(
            "says {} raw and {} stored bytes; its pages have {raw} and {stored}",
            column.raw_bytes, column.stored_bytes
        );
        verifier.find(Check::ColumnSums, place_of_column(section, column), what);
    }
}

fn check_page(
    verifier: &mut Verifier<'_>,
    column: &ColumnMeta,
    page: &PageMeta,
    place: Place,
) -> Option<(Page, Range)> {
    let bytes = verifier.slice(&page.range);
    let decoded = match column.physical {
        Physical::Int64 => decode_int64(column, page, bytes, &mut verifier.scratch).map(Page::Int64),
        _ => decode_binary(column, page, bytes, &mut verifier.scratch).map(Page::Binary),
    };
    let decoded = match decoded {
        Ok(decoded) => decoded,
        Err(error) => {
            verifier.find_error(Check::Page, place, &error);
            return None;
        }
    };
    let checked = &mut verifier.report.checked;
    checked.pages += 1;
    checked.page_bytes += bytes.len() as u64;
    checked.rows += page.rows;
    checked.values += page.values;
    if page.rows == 0 {
        verifier.find(Check::PageEmpty, place.clone(), "the page has no rows");
    }
    let range = Range::of(&decoded);
    if let Some(stats) = &page.stats {
        check_range(verifier, stats, &range, place, true);
    }
    Some((decoded, range))
}

/// A column's range may lack an end (specification chapter 5.3); a page's range has both or, if all is null, none.
fn check_range(verifier: &mut Verifier<'_>, stats: &Stats, range: &Range, place: Place, is_page: bool) {
    let too_large = compare(stats.min.as_ref(), range.min.as_ref()) == Some(Ordering::Greater);
    let too_small = compare(stats.max.as_ref(), range.max.as_ref()) == Some(Ordering::Less);
    if too_large || too_small {
        let end = if too_large { "smallest" } else { "largest" };
        let what = format!("a value lies outside of the statistics: the {end} value is wrong");
        verifier.find(Check::StatsWrong, place, what);
        return;
    }
    let differs = |stated: &Option<Value>, seen: &Option<Value>| stated != seen && (is_page || stated.is_some());
    if differs(&stats.min, &range.min) || differs(&stats.max, &range.max) {
        let what = "smallest or largest value of the statistics is not among the values";
        verifier.find(Check::StatsLoose, place, what);
    }
}

fn check_column_stats(verifier: &mut Verifier<'_>, section: &Section, column: &ColumnMeta, range: &Range) {
    let place = place_of_column(section, column);
    if let Some(stats) = &column.stats {
        check_range(verifier, stats, range, place.clone(), false);
    }
    let cardinality = column.stats.as_ref().map_or(0, |stats| stats.cardinality);
    if column.logical == column::METADATA && range.has_nonempty && cardinality == 0 {
        let what = "has values that are not empty, and a number of distinct values of 0";
        verifier.find(Check::Cardinality, place, what);
    }
}

impl Range {
    fn of(page: &Page) -> Range {
        let mut ends: Option<(Cell<'_>, Cell<'_>)> = None;
        for row in 0..page.rows() {
            let cell = page.cell(row);
            if cell == Cell::Null {
                continue;
            }
            ends = Some(match ends {
                None => (cell, cell),
                Some((min, max)) if cell.compare(min).is_lt() => (cell, max),
                Some((min, max)) if cell.compare(max).is_gt() => (min, cell),
                Some(ends) => ends,
            });
        }
        let value = |cell: Cell<'_>| match cell {
            Cell::Int64(value) => Value::Int64(value),
            other => Value::Binary(other.bytes().to_vec()),
        };
        Range {
            has_nonempty: ends.is_some_and(|(_, max)| !max.bytes().is_empty()),
            min: ends.map(|(min, _)| value(min)),
            max: ends.map(|(_, max)| value(max)),
        }
    }

    fn add_range(&mut self, other: Range) {
        self.has_nonempty |= other.has_nonempty;
        if self.min.is_none() || compare(other.min.as_ref(), self.min.as_ref()) == Some(Ordering::Less) {
            self.min = other.min;
        }
        if self.max.is_none() || compare(other.max.as_ref(), self.max.as_ref()) == Some(Ordering::Greater) {
            self.max = other.max;
        }
    }
}

/// `None` if one is unknown.
fn compare(a: Option<&Value>, b: Option<&Value>) -> Option<Ordering> {
    match (a?, b?) {
        (Value::Int64(a), Value::Int64(b)) => Some(a.cmp(b)),
        (Value::Uint64(a), Value::Uint64(b)) => Some(a.cmp(b)),
        (Value::Binary(a), Value::Binary(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
