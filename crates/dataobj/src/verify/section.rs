//! A columnar section: its metadata region, its pages in the data region, its columns (specification chapters 3 and 8).

use super::cells::Decoded;
use super::kinds::{self, Need};
use super::{Check, Place, Verifier, column, order};
use crate::extension::NAMESPACE;
use crate::proto::{Extent, decode_framed};
use crate::read::{ColumnMeta, Section, SectionMeta};
use crate::schema::SectionKind;
use crate::write::COLUMNAR_VERSION;
use std::collections::HashSet;
use std::ops::Range;

/// Checks a section by itself. `None` if nothing can be said about its rows.
pub(super) fn check<'a>(verifier: &mut Verifier<'_>, section: &'a Section) -> Option<Decoded<'a>> {
    let is_known = !matches!(section.kind, SectionKind::Unknown { .. });
    let meta = match SectionMeta::parse(section, verifier.slice(&section.metadata)) {
        Ok(meta) => meta,
        // Sections of other kinds need not be columnar.
        Err(_) if !is_known => {
            verifier.report.checked.opaque_sections += 1;
            return None;
        }
        Err(error) => {
            let place = place(section, section.metadata.start);
            let check = if section.kind.namespace() == NAMESPACE {
                Check::Extension
            } else {
                Check::SectionMetadata
            };
            verifier.find_error(check, place, &error);
            return None;
        }
    };
    verifier.report.checked.sections += 1;
    check_metadata_layout(verifier, section, &meta);
    check_columns(verifier, section, &meta);
    // Pages that share bytes would be decoded over and over.
    if !check_page_layout(verifier, section, &meta) {
        return None;
    }
    let columns = meta
        .columns
        .iter()
        .map(|column| column::check(verifier, section, column))
        .collect();
    let decoded = Decoded { section, meta, columns };
    check_nulls(verifier, &decoded);
    order::check_columns(verifier, &decoded);
    Some(decoded)
}

pub(super) fn place(section: &Section, offset: u64) -> Place {
    Place {
        section: Some(section.index),
        offset,
        ..Place::default()
    }
}

pub(super) fn place_of_column(section: &Section, column: &ColumnMeta) -> Place {
    let name = match column.tag.as_str() {
        "" => column.logical.clone(),
        tag => format!("{}/{tag}", column.logical),
    };
    Place {
        section: Some(section.index),
        column: Some(name),
        page: None,
        offset: column.metadata.start,
    }
}

fn check_metadata_layout(verifier: &mut Verifier<'_>, section: &Section, meta: &SectionMeta) {
    let region = verifier.slice(&section.metadata);
    if region.first() != Some(&COLUMNAR_VERSION) {
        let what = format!("the metadata region doesn't start with byte {COLUMNAR_VERSION}");
        verifier.find(Check::MetadataLayout, place(section, section.metadata.start), what);
    }
    let Ok(table) = decode_framed::<Extent>(&section.extension) else {
        return;
    };
    let start = section.metadata.start;
    let mut parts: Vec<Range<u64>> = meta.columns.iter().map(|column| column.metadata.clone()).collect();
    parts.push(start.saturating_add(table.offset)..start.saturating_add(table.offset.saturating_add(table.length)));
    for (at, what) in tiling(start.saturating_add(1)..section.metadata.end, parts).1 {
        verifier.find(Check::MetadataLayout, place(section, at), what);
    }
}

/// False if pages overlap.
fn check_page_layout(verifier: &mut Verifier<'_>, section: &Section, meta: &SectionMeta) -> bool {
    let pages = meta
        .columns
        .iter()
        .flat_map(|column| column.pages.iter().map(|page| page.range.clone()));
    let (overlap, gaps) = tiling(section.data.clone(), pages.collect());
    if let Some(at) = overlap {
        verifier.find(Check::PageOverlap, place(section, at), "two pages share bytes");
        return false;
    }
    for (at, what) in gaps {
        verifier.find(Check::PageLayout, place(section, at), what);
    }
    true
}

/// Where two parts first overlap, and what is wrong with how the parts cover the whole.
fn tiling(whole: Range<u64>, mut parts: Vec<Range<u64>>) -> (Option<u64>, Vec<(u64, String)>) {
    let (mut overlap, mut found) = (None, Vec::new());
    if !parts.is_sorted_by_key(|part| part.start) {
        found.push((whole.start, "parts don't stand in the order of columns".to_owned()));
    }
    parts.sort_by_key(|part| (part.start, part.end));
    let mut end = whole.start;
    for part in parts {
        if part.start < end {
            overlap = overlap.or(Some(part.start));
            found.push((part.start, format!("starts before what is ahead of it ends at {end}")));
        } else if part.start > end {
            found.push((end, format!("{} bytes belong to nothing", part.start - end)));
        }
        end = end.max(part.end);
    }
    if end < whole.end {
        found.push((end, format!("{} bytes belong to nothing", whole.end - end)));
    }
    (overlap, found)
}

fn check_columns(verifier: &mut Verifier<'_>, section: &Section, meta: &SectionMeta) {
    let mut seen = HashSet::new();
    let known = kinds::columns(&section.kind);
    for column in &meta.columns {
        if !seen.insert((&column.logical, &column.tag)) {
            let what = "there is another column of that name";
            verifier.find(Check::ColumnTwice, place_of_column(section, column), what);
        }
        match known.iter().find(|known| known.logical == column.logical) {
            None if known.is_empty() => {}
            None => {
                let what = format!("{} sections have no such column", section.kind);
                verifier.find(Check::ColumnUnknown, place_of_column(section, column), what);
            }
            Some(known) if known.physical != column.physical => {
                let what = format!("is of type {:?}, not {:?}", column.physical, known.physical);
                verifier.find(Check::ColumnMissing, place_of_column(section, column), what);
            }
            Some(_) => {}
        }
    }
    if meta.rows == 0 {
        return;
    }
    for known in known.iter().filter(|known| known.need == Need::Always) {
        if !meta.columns.iter().any(|column| column.logical == known.logical) {
            let what = format!("a section with rows has no column {}", known.logical);
            verifier.find(Check::ColumnMissing, place(section, section.metadata.start), what);
        }
    }
}

fn check_nulls(verifier: &mut Verifier<'_>, decoded: &Decoded<'_>) {
    let known = kinds::columns(&decoded.section.kind);
    for column in &decoded.meta.columns {
        let is_always = |known: &kinds::KindColumn| known.logical == column.logical && known.need == Need::Always;
        if column.values < decoded.meta.rows && known.iter().any(is_always) {
            let what = format!("{} values in {} rows", column.values, decoded.meta.rows);
            verifier.find(Check::Null, place_of_column(decoded.section, column), what);
        }
    }
}
