//! Sections of index objects and tables of contents: which values are allowed (specification chapters 8.3 to 8.6, 10.3).

use super::cells::{Cell, Cells, Decoded};
use super::section::place;
use super::streams::Tenants;
use super::{Check, Tally, Verifier, order};
use crate::schema::{SectionKind, column};

/// Rows of `pointers`: streams, and columns.
const POINTER_OF_STREAM: i64 = 1;
const POINTER_OF_COLUMN: i64 = 2;
/// Rows of `postings`: blooms, and label values.
const POSTING_OF_BLOOM: i64 = 0;
const POSTING_OF_LABEL: i64 = 1;

/// Bytes of a bloom filter before its words.
const BLOOM_HEADER_BYTES: usize = 24;
/// Most hash functions of a bloom filter; more would take for ever.
const MAX_BLOOM_HASHES: u64 = 64;

/// Checks the rows of a section of an index object.
pub(super) fn check(verifier: &mut Verifier<'_>, tenants: &Tenants<'_>, decoded: &Decoded<'_>) {
    order::check_rows(verifier, decoded);
    check_times(verifier, decoded);
    match decoded.section.kind {
        SectionKind::Pointers => check_pointers(verifier, tenants, decoded),
        SectionKind::Postings => {
            check_values(verifier, decoded, "kind", |cell| match cell {
                Cell::Int64(POSTING_OF_BLOOM | POSTING_OF_LABEL) | Cell::Null => None,
                other => Some(format!("kind {:?}", other.int64())),
            });
            check_values(verifier, decoded, "bloom_filter", bloom_problem);
            check_values(verifier, decoded, "stream_id_bitmap", |cell| {
                let is_trimmed = cell.bytes().last() != Some(&0);
                (!is_trimmed).then(|| "a bitmap ends with a zero byte".to_owned())
            });
        }
        _ => {}
    }
    for name in ["section", "section_index"] {
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
    let Some(mut kinds) = decoded.cells("pointer_kind") else {
        return;
    };
    let mut numbers = decoded.cells(column::STREAM_ID);
    let tenant = tenants.get(&decoded.section.tenant);
    let (mut wrong, mut unknown) = (Tally::default(), Tally::default());
    let next = |cells: &mut Option<Cells<'_>>| cells.as_mut().and_then(|cells| cells.next_cell().int64());
    for row in 0..decoded.meta.rows {
        let (kind, number) = (kinds.next_cell().int64(), next(&mut numbers));
        match (kind, number) {
            (Some(POINTER_OF_STREAM), Some(number)) => {
                if tenant.is_some_and(|tenant| tenant.stream(number).is_none()) {
                    unknown.add(row, || format!("stream {number} is not in the streams section"));
                }
            }
            (Some(POINTER_OF_STREAM), None) if numbers.is_some() => {
                wrong.add(row, || "a pointer to a stream without its number".to_owned());
            }
            (Some(POINTER_OF_STREAM | POINTER_OF_COLUMN) | None, _) => {}
            (Some(other), _) => wrong.add(row, || format!("pointer_kind {other}")),
        }
    }
    let at = || place(decoded.section, decoded.section.data.start);
    wrong.report(verifier, Check::Value, at());
    unknown.report(verifier, Check::StreamReference, at());
    check_values(verifier, decoded, "values_bloom_filter", bloom_problem);
}

fn bloom_problem(cell: Cell<'_>) -> Option<String> {
    let Cell::Binary(bytes) = cell else { return None };
    let word = |at: usize| {
        bytes
            .get(at..at + 8)
            .and_then(|word| Some(u64::from_be_bytes(word.try_into().ok()?)))
    };
    let (Some(bits), Some(hashes), Some(bits_again)) = (word(0), word(8), word(16)) else {
        return Some(format!("a bloom filter of {} bytes", bytes.len()));
    };
    let words = ((bytes.len() - BLOOM_HEADER_BYTES) / 8) as u64;
    let is_whole = bytes.len() % 8 == 0 && bits.div_ceil(64) == words;
    let is_sane = bits >= 1 && bits == bits_again && (1..=MAX_BLOOM_HASHES).contains(&hashes);
    (!is_whole || !is_sane).then(|| format!("a bloom filter of {bits} bits, {hashes} hashes and {words} words"))
}
