//! An object that is in memory whole.

use crate::error::{Damage, Error};
use crate::read::{ObjectLayout, Parsed, Section, SectionMeta};
use std::ops::Range;

/// An object's bytes and its header.
#[derive(Clone, Debug)]
pub struct WholeObject<'a> {
    bytes: &'a [u8],
    layout: ObjectLayout,
}

impl<'a> WholeObject<'a> {
    /// Parses the header. Sections that share bytes are damage: a small object could have any number of them.
    pub fn parse(bytes: &'a [u8]) -> Result<WholeObject<'a>, Error> {
        let size = bytes.len() as u64;
        let layout = match ObjectLayout::parse(bytes)? {
            Parsed::Complete(layout) => layout,
            Parsed::NeedBytes(needed) => {
                let reason = format!("object of {size} bytes has a header of {needed}");
                return Err(Damage::new(reason).at(None, size));
            }
        };
        let regions = layout.sections().iter().flat_map(|s| [&s.metadata, &s.data]);
        let lengths = regions.map(|region| region.end.saturating_sub(region.start));
        let described = lengths.fold(layout.body_start, u64::saturating_add);
        if described > size {
            let reason = format!("header and regions of {described} bytes in an object of {size}");
            return Err(Damage::new(reason).at(None, layout.body_start));
        }
        Ok(WholeObject { bytes, layout })
    }

    /// The header.
    pub fn layout(&self) -> &ObjectLayout {
        &self.layout
    }

    /// All sections, in file order.
    pub fn sections(&self) -> &[Section] {
        self.layout.sections()
    }

    /// A section's columns and order.
    pub fn meta(&self, section: &Section) -> Result<SectionMeta, Error> {
        SectionMeta::parse(section, self.range(section, &section.metadata)?)
    }

    /// A section's data region.
    pub fn data(&self, section: &Section) -> Result<&'a [u8], Error> {
        self.range(section, &section.data)
    }

    fn range(&self, section: &Section, range: &Range<u64>) -> Result<&'a [u8], Error> {
        let indexes = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        indexes
            .and_then(|(start, end)| self.bytes.get(start..end))
            .ok_or_else(|| {
                let reason = format!(
                    "region up to byte {} in an object of {} bytes",
                    range.end,
                    self.bytes.len()
                );
                Damage::new(reason).at(Some(section.index), range.start)
            })
    }
}
