//! Header, regions and trailer (specification chapter 2).

use super::{Check, Place, Verifier};
use crate::read::{MAGIC, ObjectLayout, Parsed, Section};
use std::collections::HashSet;
use std::ops::Range;

/// Checks what surrounds the sections, and returns those whose regions exist and belong to nothing else: otherwise a small object
/// could have pages that are decoded over and over.
pub(super) fn check(verifier: &mut Verifier<'_>) -> Vec<Section> {
    let object = verifier.object;
    let layout = match ObjectLayout::parse(object) {
        Ok(Parsed::Complete(layout)) => layout,
        Ok(Parsed::NeedBytes(needed)) => {
            let what = format!("the object ends at byte {}, its header at byte {needed}", object.len());
            verifier.find(Check::Header, Place::default(), what);
            return Vec::new();
        }
        Err(error) => {
            verifier.find_error(Check::Header, Place::default(), &error);
            return Vec::new();
        }
    };
    let body_end = object.len().saturating_sub(MAGIC.len()).max(layout.body_start as usize) as u64;
    if object.get(body_end as usize..) != Some(&MAGIC) {
        let place = Place {
            offset: body_end,
            ..Place::default()
        };
        verifier.find(Check::Trailer, place, "the object doesn't end with its magic");
    }
    if layout.sections().is_empty() {
        verifier.find(Check::NoSections, Place::default(), "there are no sections");
    }
    if layout.strings.first().is_some_and(|string| !string.is_empty()) {
        let what = "the string table doesn't start with the empty string";
        verifier.find(Check::RegionLayout, Place::default(), what);
    }

    let mut regions = Vec::new();
    let mut inside = Vec::new();
    for section in layout.sections() {
        let mut is_inside = true;
        for (name, region) in [("metadata", &section.metadata), ("data", &section.data)] {
            if region.start < layout.body_start || region.end > body_end {
                is_inside = false;
                let what = format!(
                    "{name} of {} bytes is not inside of the body, bytes {} to {body_end}",
                    region.end - region.start,
                    layout.body_start
                );
                verifier.find(Check::Region, at(section, region), what);
            }
        }
        regions.push((section, "metadata", &section.metadata));
        if is_inside {
            inside.push(section.clone());
        }
    }
    regions.extend(layout.sections().iter().map(|section| (section, "data", &section.data)));
    let overlapping = check_tiling(verifier, layout.body_start..body_end, regions);
    inside.retain(|section| !overlapping.contains(&section.index));
    inside
}

/// `regions` stand in the usual order. Returns the sections that share bytes with one before.
fn check_tiling(
    verifier: &mut Verifier<'_>,
    body: Range<u64>,
    mut regions: Vec<(&Section, &str, &Range<u64>)>,
) -> HashSet<usize> {
    let mut overlapping = HashSet::new();
    regions.retain(|(_, _, region)| !region.is_empty());
    if !regions.is_sorted_by_key(|(_, _, region)| region.start) {
        verifier.find(
            Check::RegionLayout,
            Place::default(),
            "regions don't stand in the usual order",
        );
    }
    regions.sort_by_key(|(_, _, region)| (region.start, region.end));
    let mut end = body.start;
    for (section, name, region) in regions {
        if region.start < end {
            let what = format!("{name} starts before the region ahead of it ends at {end}");
            verifier.find(Check::Region, at(section, region), what);
            overlapping.insert(section.index);
        } else if region.start > end {
            let what = format!("{} bytes before the {name} belong to no region", region.start - end);
            verifier.find(Check::RegionLayout, at(section, region), what);
        }
        end = end.max(region.end);
    }
    if end < body.end {
        let place = Place {
            offset: end,
            ..Place::default()
        };
        let what = format!("{} bytes behind the last region belong to none", body.end - end);
        verifier.find(Check::RegionLayout, place, what);
    }
    overlapping
}

fn at(section: &Section, region: &Range<u64>) -> Place {
    Place {
        section: Some(section.index),
        offset: region.start,
        ..Place::default()
    }
}
