//! Damaged objects give errors, never panics, and never silently other values in pages.
//!
//! The format has a checksum for each page, and none for header and metadata (readers who need one have the object's key,
//! which is the SHA-224 of all bytes). Damage is *harmless* if everything still decodes, and each page that is decoded is a
//! page of the undamaged object, at its place and with its values. Then names, statistics, orders, or which pages make up a
//! column may be others; values are not.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use timberline_dataobj::*;

/// What an undamaged object holds.
struct Original {
    object: Vec<u8>,
    sections: Vec<DecodedSection>,
    /// By place: the page's column and entry.
    pages: HashMap<Range<u64>, (ColumnMeta, PageMeta)>,
    scratch: Scratch,
}

/// What a damage has done.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Error,
    Harmless,
}

impl Original {
    fn new(stem: &str) -> Original {
        let object = fixture_object(stem);
        let sections = decode_object(&object).unwrap();
        let mut pages = HashMap::new();
        for column in sections.iter().flat_map(|section| &section.meta.columns) {
            for page in &column.pages {
                pages.insert(page.range.clone(), (column.clone(), page.clone()));
            }
        }
        Original {
            object,
            sections,
            pages,
            scratch: Scratch::new(),
        }
    }

    /// Reads a damaged header. Only sections that it describes differently have to be looked at.
    fn header_outcome(&mut self, damaged: &[u8]) -> Outcome {
        let Ok(layout) = layout(damaged) else {
            return Outcome::Error;
        };
        for section in layout.sections() {
            let is_same = self
                .sections
                .get(section.index)
                .is_some_and(|original| original.section == *section);
            if !is_same && self.section_outcome(section, damaged) == Outcome::Error {
                return Outcome::Error;
            }
        }
        Outcome::Harmless
    }

    /// Reads a section with damaged metadata. Only pages that it describes differently have to be decoded.
    fn section_outcome(&mut self, section: &Section, damaged: &[u8]) -> Outcome {
        let Ok(meta) = SectionMeta::parse(section, slice(damaged, &section.metadata)) else {
            return Outcome::Error;
        };
        for column in &meta.columns {
            for page in &column.pages {
                let original = self.pages.get(&page.range);
                let is_same = original.is_some_and(|(original_column, original_page)| {
                    let codec = |column: &ColumnMeta| (column.physical, column.compression);
                    let of_page = |page: &PageMeta| (page.rows, page.values, page.encoding, page.crc, page.raw_bytes);
                    codec(original_column) == codec(column) && of_page(original_page) == of_page(page)
                });
                if is_same {
                    continue;
                }
                let bytes = slice(damaged, &page.range);
                let Ok(cells) = decode_page(column, page, bytes, &mut self.scratch) else {
                    return Outcome::Error;
                };
                let (column, page) = original.expect("no bytes but those of a page have its checksum");
                let want = decode_page(column, page, slice(&self.object, &page.range), &mut self.scratch).unwrap();
                assert_eq!(cells, want, "other values of column {}", column.logical);
            }
        }
        Outcome::Harmless
    }
}

/// Metadata of objects larger than this is damaged in one bit of each byte, to save a minute; all else in each bit.
const ALL_BITS_BELOW_BYTES: usize = 8 << 10;

#[test]
fn every_flipped_bit_is_an_error_or_harmless() {
    let (mut errors, mut harmless) = (0, 0);
    for stem in FIXTURES {
        let mut original = Original::new(stem);
        let mut damaged = original.object.clone();
        let body_start = layout(&damaged).unwrap().body_start;
        let sections: Vec<Section> = original
            .sections
            .iter()
            .map(|decoded| decoded.section.clone())
            .collect();
        let mut pages: Vec<(ColumnMeta, PageMeta)> = original.pages.values().cloned().collect();
        pages.sort_by_key(|(_, page)| page.range.start);
        for bit in 0..damaged.len() * 8 {
            let at = bit as u64 / 8;
            let section = sections.iter().find(|section| section.metadata.contains(&at));
            if section.is_some() && damaged.len() > ALL_BITS_BELOW_BYTES && bit % 8 != bit / 8 % 8 {
                continue;
            }
            damaged[bit / 8] ^= 1 << (bit % 8);
            let page = pages.partition_point(|(_, page)| page.range.end <= at);
            let page = pages.get(page).filter(|(_, page)| page.range.contains(&at));
            let outcome = if at < body_start {
                original.header_outcome(&damaged)
            } else if let Some(section) = section {
                original.section_outcome(section, &damaged)
            } else if let Some((column, page)) = page {
                let decoded = decode_page(column, page, slice(&damaged, &page.range), &mut original.scratch);
                assert!(decoded.is_err(), "{stem}: bit {bit} of a page is not noticed");
                Outcome::Error
            } else {
                assert!(at >= damaged.len() as u64 - 4, "{stem}: byte {at} belongs to nothing");
                assert!(verify(&damaged).has(Check::Trailer));
                Outcome::Harmless
            };
            match outcome {
                Outcome::Error => errors += 1,
                Outcome::Harmless => harmless += 1,
            }
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
    }
    eprintln!("{errors} flipped bits are errors, {harmless} are harmless");
    assert!(errors > 0 && harmless > 0);
}

#[test]
fn every_truncation_is_an_error() {
    for stem in FIXTURES {
        let original = Original::new(stem);
        let object = &original.object;
        let mut scratch = Scratch::new();
        // The trailer is never read: everything else is needed.
        for length in 0..object.len() - 4 {
            let cut = &object[..length];
            let Ok(layout) = layout(cut) else { continue };
            let is_metadata_cut = |section: &Section| section.metadata.end > length as u64;
            if let Some(section) = layout.sections().iter().find(|section| is_metadata_cut(section)) {
                assert!(
                    SectionMeta::parse(section, slice(cut, &section.metadata)).is_err(),
                    "{stem}: cut to {length}"
                );
                continue;
            }
            let is_cut = |page: &Range<u64>| page.start <= length as u64 && page.end > length as u64;
            let (_, (column, page)) = original.pages.iter().find(|(range, _)| is_cut(range)).unwrap();
            let decoded = decode_page(column, page, slice(cut, &page.range), &mut scratch);
            assert!(decoded.is_err(), "{stem}: cut to {length}");
        }
    }
}

fn fixture_with_object() -> impl Strategy<Value = Vec<u8>> {
    (0..FIXTURES.len()).prop_map(|i| fixture_object(FIXTURES[i]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn changed_bytes(object in fixture_with_object(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut object = object;
        for (at, value) in changes {
            let at = at.index(object.len());
            object[at] = value;
        }
        let _ = decode_object(&object);
    }

    /// Metadata takes most damage there: the checksum covers pages only.
    #[test]
    fn changed_bytes_before_the_pages(object in fixture_with_object(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut object = object;
        let end = layout(&object).unwrap().sections().iter().map(|section| section.metadata.end).max().unwrap();
        object[at.index(end as usize)] ^= 1 << bit;
        let _ = decode_object(&object);
    }

    #[test]
    fn cut_short(object in fixture_with_object(), at in any::<prop::sample::Index>()) {
        let length = at.index(object.len());
        // The trailer is never read: everything else is needed.
        prop_assert_eq!(decode_object(&object[..length]).is_ok(), length >= object.len() - 4);
    }

    #[test]
    fn pages_with_forged_checksums(object in fixture_with_object(), at in any::<prop::sample::Index>(), bit in 0u8..8, rows in 0u64..100) {
        let mut scratch = Scratch::new();
        for section in decode_object(&object).unwrap() {
            for column in &section.meta.columns {
                for page in &column.pages {
                    let mut bytes = slice(&object, &page.range).to_vec();
                    let i = at.index(bytes.len());
                    bytes[i] ^= 1 << bit;
                    let mut forged = page.clone();
                    forged.crc = crc32c::crc32c(&bytes);
                    let _ = decode_page(column, &forged, &bytes, &mut scratch);
                    forged.rows = rows;
                    let _ = decode_page(column, &forged, &bytes, &mut scratch);
                    forged.raw_bytes = 1 << 40;
                    prop_assert!(decode_page(column, &forged, &bytes, &mut scratch).is_err());
                }
            }
        }
    }
}
