//! Extension sections: whether they can be read (docs/extension-sections.md).

use super::section::place;
use super::{Check, Verifier};
use crate::extension::{TextFilters, ValueFilters, Volume};
use crate::read::Section;
use crate::schema::SectionKind;

/// Checks a section of this project's own. One that can't be read costs speed, not answers.
pub(super) fn check(verifier: &mut Verifier<'_>, section: &Section) {
    let (metadata, data) = (verifier.slice(&section.metadata), verifier.slice(&section.data));
    let read = match section.kind {
        SectionKind::TextFilter => TextFilters::parse(section, metadata, data).map(drop),
        SectionKind::ValueFilter => ValueFilters::parse(section, metadata, data).map(drop),
        _ => Volume::parse(section, metadata, data).map(drop),
    };
    if let Err(error) = read {
        verifier.find_error(Check::Extension, place(section, section.metadata.start), &error);
    }
}
