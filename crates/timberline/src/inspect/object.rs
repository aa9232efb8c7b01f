//! The parts of an object that are shown.

use std::ops::Range;
use timberline_dataobj::{Error, ObjectLayout, Parsed, Section, SectionKind, SectionMeta};

/// An object taken apart.
pub(super) struct Object {
    pub(super) size_bytes: u64,
    pub(super) header_bytes: u64,
    pub(super) sections: Vec<Part>,
}

/// A section, with its columns if it is columnar.
pub(super) struct Part {
    pub(super) section: Section,
    pub(super) meta: Option<SectionMeta>,
}

impl Object {
    /// Takes an object apart.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let layout = match ObjectLayout::parse(bytes)? {
            Parsed::Complete(layout) => layout,
            Parsed::NeedBytes(needed) => {
                let reason = format!("the object ends at byte {}, its header at byte {needed}", bytes.len());
                return Err(corrupt(None, bytes.len() as u64, reason));
            }
        };
        let mut sections = Vec::new();
        for section in layout.sections() {
            let region = slice(bytes, &section.metadata, section.index)?;
            let meta = match SectionMeta::parse(section, region) {
                Ok(meta) => Some(meta),
                // Sections of other kinds need not be columnar, and without this project's own an object is still all there.
                Err(_) if is_optional(&section.kind) => None,
                Err(error) => return Err(error),
            };
            sections.push(Part {
                section: section.clone(),
                meta,
            });
        }
        Ok(Self {
            size_bytes: bytes.len() as u64,
            header_bytes: layout.body_start,
            sections,
        })
    }
}

fn is_optional(kind: &SectionKind) -> bool {
    matches!(
        kind,
        SectionKind::TextFilter | SectionKind::ValueFilter | SectionKind::Volume | SectionKind::Unknown { .. }
    )
}

/// The bytes of a range of the file; an error if the file is shorter.
pub(super) fn slice<'a>(bytes: &'a [u8], range: &Range<u64>, section: usize) -> Result<&'a [u8], Error> {
    let bounds = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    bounds.and_then(|(start, end)| bytes.get(start..end)).ok_or_else(|| {
        let reason = format!(
            "bytes {} to {} lie behind the end of the object at {}",
            range.start,
            range.end,
            bytes.len()
        );
        corrupt(Some(section), range.start, reason)
    })
}

fn corrupt(section: Option<usize>, offset: u64, reason: String) -> Error {
    Error::Corrupt(Box::new(timberline_dataobj::Corruption {
        object: None,
        section,
        offset,
        reason,
    }))
}
