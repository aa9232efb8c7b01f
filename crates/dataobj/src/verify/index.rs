//! Sections of index objects and tables of contents: which values are allowed (specification chapters 8.3 to 8.6, 10.3).

use super::cells::{Cell, Cells, Decoded};
use super::section::place;
use super::streams::Tenants;
use super::{Check, Tally, Verifier, order};
use crate::index::BloomFilter;
use crate::schema::{SectionKind, column};
use crate::write::{KIND_BLOOM, KIND_COLUMN, KIND_LABEL, KIND_STREAM};

/// Checks the rows of a section of an index object.
pub(super) fn check(verifier: &mut Verifier<'_>, tenants: &Tenants<'_>, decoded: &Decoded<'_>) {
    order::check_rows(verifier, decoded);
    check_times(verifier, decoded);
    match decoded.section.kind {
        SectionKind::Pointers => check_pointers(verifier, tenants, decoded),
        SectionKind::Postings => {
            check_values(verifier, decoded, column::KIND, |cell| match cell {
                Cell::Int64(KIND_BLOOM | KIND_LABEL) | Cell::Null => None,
                other => Some(format!("kind {:?}", other.int64())),
            });
            check_values(verifier, decoded, column::BLOOM_FILTER, bloom_problem);
            check_values(verifier, decoded, column::STREAM_ID_BITMAP, |cell| {
                let is_trimmed = cell.bytes().last() != Some(&0);
                (!is_trimmed).then(|| "a bitmap ends with a zero byte".to_owned())
            });
        }
        _ => {}
    }
    for name in [column::SECTION, column::SECTION_INDEX] {
        check_values(verifier, decoded, name, |cell| {
            let is_negative = cell.int64().is_some_and(|ordinal| ordinal < 0);
            is_negative.then(|| format!("section {:?}", cell.int64()))
        });
    }
}

fn check_values(
    verifier: &mut Verifier<'_>,
    decoded: &Decoded<'_>,
    name: &str,
    problem: impl Fn(Cell<'_>) -> Option<String>,
) {
    let Some(mut cells) = decoded.cells(name) else { return };
    let mut tally = Tally::default();
    for row in 0..decoded.meta.rows {
        if let Some(problem) = problem(cells.next_cell()) {
            tally.add(row, || format!("{name}: {problem}"));
        }
    }
    tally.report(
        verifier,
        Check::Value,
        place(decoded.section, decoded.section.data.start),
    );
}

fn check_times(verifier: &mut Verifier<'_>, decoded: &Decoded<'_>) {
    let (Some(mut starts), Some(mut ends)) = (
        decoded.cells(column::MIN_TIMESTAMP),
        decoded.cells(column::MAX_TIMESTAMP),
    ) else {
        return;
    };
    let mut tally = Tally::default();
    for row in 0..decoded.meta.rows {
        let (Some(start), Some(end)) = (starts.next_cell().int64(), ends.next_cell().int64()) else {
            continue;
        };
        // How Loki writes a bloom of a column in which nothing was observed (specification chapter 8.5).
        let is_unused = (start, end) == (i64::MAX, i64::MIN);
        if start > end && !is_unused {
            tally.add(row, || format!("starts at {start}, ends at {end}"));
        }
    }
    tally.report(
        verifier,
        Check::Value,
        place(decoded.section, decoded.section.data.start),
    );
}

fn check_pointers(verifier: &mut Verifier<'_>, tenants: &Tenants<'_>, decoded: &Decoded<'_>) {
    let Some(mut kinds) = decoded.cells(column::POINTER_KIND) else {
        return;
    };
    let mut numbers = decoded.cells(column::STREAM_ID);
    let tenant = tenants.get(&decoded.section.tenant);
    let (mut wrong, mut unknown) = (Tally::default(), Tally::default());
    let next = |cells: &mut Option<Cells<'_>>| cells.as_mut().and_then(|cells| cells.next_cell().int64());
    for row in 0..decoded.meta.rows {
        let (kind, number) = (kinds.next_cell().int64(), next(&mut numbers));
        match (kind, number) {
            (Some(KIND_STREAM), Some(number)) => {
                if tenant.is_some_and(|tenant| tenant.stream(number).is_none()) {
                    unknown.add(row, || format!("stream {number} is not in the streams section"));
                }
            }
            (Some(KIND_STREAM), None) if numbers.is_some() => {
                wrong.add(row, || "a pointer to a stream without its number".to_owned());
            }
            (Some(KIND_STREAM | KIND_COLUMN) | None, _) => {}
            (Some(other), _) => wrong.add(row, || format!("pointer_kind {other}")),
        }
    }
    let at = || place(decoded.section, decoded.section.data.start);
    wrong.report(verifier, Check::Value, at());
    unknown.report(verifier, Check::StreamReference, at());
    check_values(verifier, decoded, column::VALUES_BLOOM_FILTER, bloom_problem);
}

fn bloom_problem(cell: Cell<'_>) -> Option<String> {
    let Cell::Binary(bytes) = cell else { return None };
    Some(BloomFilter::parse(bytes).err()?.to_string())
}
