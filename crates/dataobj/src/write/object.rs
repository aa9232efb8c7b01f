//! The envelope around sections (specification chapter 2).

use super::section::{FinishedSection, StringTable};
use crate::error::Error;
use crate::extension::{self, LogsExtension};
use crate::limits::{MAX_HEADER_BYTES, check_limit, check_names};
use crate::proto::{Extent, FileIndex, KindEntry, KindName, Placement, SectionEntry, append_framed};
use crate::read::{FORMAT_VERSION, MAGIC};
use crate::schema::SectionKind;
use std::collections::HashMap;

/// Collects sections and lays them out as an object: header, metadata of all sections, data of all sections, trailer.
#[derive(Debug, Default)]
pub struct ObjectWriter {
    sections: Vec<FinishedSection>,
}

impl ObjectWriter {
    /// An object without sections.
    pub fn new() -> ObjectWriter {
        ObjectWriter::default()
    }

    /// Adds a section behind the others. A log object has, per tenant, one streams section followed by its logs sections.
    pub fn push_section(&mut self, section: FinishedSection) {
        self.sections.push(section);
    }

    /// True if no section was pushed. Such an object must not be stored: the format has none without sections.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// Bytes of the sections pushed so far.
    pub fn stored_bytes(&self) -> u64 {
        self.sections.iter().map(FinishedSection::stored_bytes).sum()
    }

    /// The complete object.
    pub fn finish(mut self) -> Result<Vec<u8>, Error> {
        debug_assert!(!self.is_empty(), "an object without sections is not written");
        self.push_extensions()?;
        let mut header = vec![FORMAT_VERSION];
        append_framed(&mut header, &self.index());
        check_limit("object header size", header.len() as u64, MAX_HEADER_BYTES)?;
        let names = |section: &FinishedSection| {
            section.kind.namespace().len() + section.kind.name().len() + section.tenant.len()
        };
        let names_bytes = self.sections.iter().map(names).sum();
        check_names("names in the object header", names_bytes, header.len())?;

        let size = 2 * MAGIC.len() + 4 + header.len() + self.stored_bytes() as usize;
        let mut object = Vec::with_capacity(size);
        object.extend_from_slice(&MAGIC);
        object.extend_from_slice(&(header.len() as u32).to_le_bytes());
        object.extend_from_slice(&header);
        for section in &self.sections {
            object.extend_from_slice(&section.metadata);
        }
        for piece in self.sections.into_iter().flat_map(|section| section.data) {
            object.extend_from_slice(&piece);
        }
        object.extend_from_slice(&MAGIC);
        debug_assert_eq!(object.len(), size);
        Ok(object)
    }

    /// Adds the extension sections of the tenants all of whose logs sections contribute to them.
    fn push_extensions(&mut self) -> Result<(), Error> {
        let mut tenants = Vec::new();
        let mut logs: HashMap<&str, Option<Vec<(usize, &LogsExtension)>>> = HashMap::new();
        for (position, section) in self.sections.iter().enumerate() {
            if section.kind != SectionKind::Logs {
                continue;
            }
            let of_tenant = logs.entry(&section.tenant).or_insert_with(|| {
                tenants.push(section.tenant.as_str());
                Some(Vec::new())
            });
            match (of_tenant.as_mut(), &section.logs_extension) {
                (Some(of_tenant), Some(extension)) => of_tenant.push((position, extension)),
                _ => *of_tenant = None,
            }
        }
        let mut finished = Vec::new();
        for tenant in tenants {
            if let Some(Some(logs)) = logs.get(tenant) {
                finished.extend(extension::write_sections(tenant, logs)?);
            }
        }
        self.sections.append(&mut finished);
        Ok(())
    }

    fn index(&self) -> FileIndex {
        let mut strings = StringTable::default();
        let mut kinds = vec![KindEntry::default()];
        let mut metadata_offset = 0;
        let mut data_offset = self.sections.iter().map(|section| section.metadata.len() as u64).sum();
        let mut entries = Vec::with_capacity(self.sections.len());
        for section in &self.sections {
            let kind_ref = kind_reference(&mut strings, &mut kinds, section);
            let metadata = Extent {
                offset: metadata_offset,
                length: section.metadata.len() as u64,
            };
            let data = Extent {
                offset: data_offset,
                length: section.data_bytes(),
            };
            metadata_offset += metadata.length;
            data_offset += data.length;
            entries.push(SectionEntry {
                placement: Some(Placement {
                    data: Some(data),
                    metadata: Some(metadata),
                }),
                kind_ref,
                extension: section.extension.clone(),
                tenant_ref: strings.intern(&section.tenant),
            });
        }
        FileIndex {
            sections: entries,
            strings: strings.into_strings(),
            kinds,
        }
    }
}

fn kind_reference(strings: &mut StringTable, kinds: &mut Vec<KindEntry>, section: &FinishedSection) -> u32 {
    let namespace = strings.intern(section.kind.namespace());
    let kind = strings.intern(section.kind.name());
    let entry = KindEntry {
        name: Some(KindName { namespace, kind }),
        version: section.version,
    };
    let position = kinds.iter().position(|known| *known == entry).unwrap_or_else(|| {
        kinds.push(entry);
        kinds.len() - 1
    });
    position as u32
}
