//! Extension sections: whether they can be read (docs/extension-sections.md).

use super::section::place;
use super::{Check, Verifier};
use crate::extension::{NAMESPACE, TEXT_FILTER, TextFilters, VALUE_FILTER, VOLUME, ValueFilters, Volume};
use crate::read::Section;

/// Checks a section of this project's own. One that can't be read costs speed, not answers.
pub(super) fn check(verifier: &mut Verifier<'_>, section: &Section) {
    if section.kind.namespace() != NAMESPACE {
        return;
    }
    let (metadata, data) = (verifier.slice(&section.metadata), verifier.slice(&section.data));
    let read = match section.kind.name() {
        TEXT_FILTER => TextFilters::parse(section, metadata, data).map(drop),
        VALUE_FILTER => ValueFilters::parse(section, metadata, data).map(drop),
        VOLUME => Volume::parse(section, metadata, data).map(drop),
        // Of a later version of this program.
        _ => return,
    };
    if let Err(error) = read {
        verifier.find_error(Check::Extension, place(section, section.metadata.start), &error);
    }
}
