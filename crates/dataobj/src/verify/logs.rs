//! Logs sections (specification chapters 8.2 and 16.2).

use super::cells::{Cell, Decoded};
use super::section::place;
use super::streams::{Tenant, Tenants};
use super::{Check, Tally, Verifier, kinds, order};
use crate::read::SortInfo;
use crate::schema::column;

/// What rows are sorted by: values of labels, then columns; with how the section is sorted.
pub(super) struct Key {
    sort: SortInfo,
    labels: Vec<u8>,
    columns: Vec<Option<i64>>,
}

/// Checks the rows of a logs section.
pub(super) fn check(verifier: &mut Verifier<'_>, tenants: &mut Tenants<'_>, decoded: &Decoded<'_>) {
    let section = decoded.section;
    let mut tenant = tenants.get_mut(&section.tenant);
    check_rows(verifier, &mut tenant, decoded);
    check_order(verifier, tenant, decoded);
    let known = kinds::columns(&section.kind);
    let first_two: Vec<&str> = decoded
        .meta
        .columns
        .iter()
        .map(|column| column.logical.as_str())
        .filter(|logical| known.iter().any(|known| known.logical == *logical))
        .take(2)
        .collect();
    if decoded.meta.rows > 0 && first_two != [column::STREAM_ID, column::TIMESTAMP] {
        let what = format!("the first columns are {first_two:?}, not stream_id and timestamp");
        verifier.find(Check::ColumnMissing, place(section, section.metadata.start), what);
    }
}

fn check_rows(verifier: &mut Verifier<'_>, tenant: &mut Option<&mut Tenant<'_>>, decoded: &Decoded<'_>) {
    let section = decoded.section;
    let (Some(mut numbers), Some(mut times)) = (decoded.cells(column::STREAM_ID), decoded.cells(column::TIMESTAMP))
    else {
        return;
    };
    // Without a streams section all of them would be wrong; that is found elsewhere.
    let Some(tenant) = tenant else { return };
    let (mut unknown, mut outside) = (Tally::default(), Tally::default());
    for row in 0..decoded.meta.rows {
        let (Some(number), Some(time_ns)) = (numbers.next_cell().int64(), times.next_cell().int64()) else {
            continue;
        };
        let Some(stream) = tenant.stream_mut(number) else {
            unknown.add(row, || format!("stream {number} is not in the streams section"));
            continue;
        };
        stream.seen_rows += 1;
        let (min, max) = (stream.min_timestamp_ns, stream.max_timestamp_ns);
        if !(min..=max).contains(&time_ns) {
            outside.add(row, || {
                format!("time {time_ns} of stream {number}, which lasts from {min} to {max}")
            });
        }
    }
    unknown.report(verifier, Check::StreamReference, place(section, section.data.start));
    outside.report(verifier, Check::StreamTimes, place(section, section.data.start));
}

fn check_order(verifier: &mut Verifier<'_>, tenant: Option<&mut Tenant<'_>>, decoded: &Decoded<'_>) {
    let section = decoded.section;
    let (Some(sort), Some(mut columns), Some(mut numbers)) = (
        &decoded.meta.sort,
        order::sort_columns(decoded),
        decoded.cells(column::STREAM_ID),
    ) else {
        return;
    };
    let labels_of = |number: Cell<'_>| match (&tenant, number.int64()) {
        (Some(tenant), Some(number)) if !sort.schema_keys.is_empty() => tenant.label_values(number, &sort.schema_keys),
        _ => Vec::new(),
    };
    let mut tally = Tally::default();
    let mut before: Option<(Cell<'_>, Vec<u8>, Vec<Cell<'_>>)> = None;
    let mut before_section = true;
    for row in 0..decoded.meta.rows {
        let number = numbers.next_cell();
        let cells: Vec<Cell<'_>> = columns.iter_mut().map(|(cells, _)| cells.next_cell()).collect();
        let labels = match &before {
            Some((same, labels, _)) if *same == number => labels.clone(),
            _ => labels_of(number),
        };
        if let Some((_, labels_before, cells_before)) = &before {
            let order = labels_before
                .cmp(&labels)
                .then_with(|| order::compare(sort, cells_before, &cells));
            if order.is_gt() {
                tally.add(row, || "stands behind a row that comes after it".to_owned());
            }
        } else if let Some(last) = tenant.as_ref().and_then(|tenant| tenant.last_logs.as_ref())
            && last.sort == *sort
        {
            let cells_before: Vec<Cell<'_>> = last.columns.iter().map(|v| v.map_or(Cell::Null, Cell::Int64)).collect();
            let order = last
                .labels
                .cmp(&labels)
                .then_with(|| order::compare(sort, &cells_before, &cells));
            before_section = !order.is_gt();
        }
        before = Some((number, labels, cells));
    }
    tally.report(verifier, Check::Order, place(section, section.data.start));
    if !before_section {
        let what = "starts before the end of the tenant's logs section ahead of it";
        verifier.find(Check::OrderLoose, place(section, section.data.start), what);
    }
    if let (Some(tenant), Some((_, labels, cells))) = (tenant, before) {
        tenant.last_logs = Some(Key {
            sort: sort.clone(),
            labels,
            columns: cells.iter().map(|cell| cell.int64()).collect(),
        });
    }
}
