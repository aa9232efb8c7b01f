//! The envelope around sections (specification chapter 2).

use crate::error::{Damage, Error};
use crate::limits::{MAX_HEADER_BYTES, NameBudget};
use crate::proto::{Extent, FileIndex, KindName, SectionEntry, decode_framed};
use crate::schema::SectionKind;
use crate::varint::take_uvarint;
use std::ops::Range;

/// First and last four bytes of an object.
pub(crate) const MAGIC: [u8; 4] = *b"DOBJ";

/// First four bytes of the format's predecessor, which kept its metadata at the end.
const RETIRED_MAGIC: [u8; 4] = *b"THOR";

/// The only version of the envelope.
pub(crate) const FORMAT_VERSION: u8 = 1;

/// Magic and length: what comes before the header.
const PREAMBLE_BYTES: usize = 8;

/// What an object holds and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectLayout {
    /// File offset at which the body starts: the size of everything before it.
    pub body_start: u64,
    /// The object's string table: names of kinds and tenants.
    pub strings: Vec<String>,
    sections: Vec<Section>,
}

/// A section of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Position in the object, from 0.
    pub index: usize,
    /// What it holds.
    pub kind: SectionKind,
    /// Version of the kind.
    pub version: u32,
    /// Who owns it; empty if not one tenant.
    pub tenant: String,
    /// File offsets of the metadata region; empty if there is none.
    pub metadata: Range<u64>,
    /// File offsets of the data region; empty if there is none.
    pub data: Range<u64>,
    /// The section's own part of the header; for columnar sections where its table is.
    pub extension: Vec<u8>,
}

/// What came of parsing the start of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The whole header was there.
    Complete(ObjectLayout),
    /// The header needs this many bytes from the start of the object.
    NeedBytes(usize),
}

impl ObjectLayout {
    /// Parses the header at the start of an object. `prefix` may hold any part of the object; fetching 16 KiB first is
    /// nearly always enough.
    pub fn parse(prefix: &[u8]) -> Result<Parsed, Error> {
        let Some((magic, rest)) = prefix.split_first_chunk::<4>() else {
            return Ok(Parsed::NeedBytes(PREAMBLE_BYTES));
        };
        if *magic == RETIRED_MAGIC {
            return Err(Error::Unsupported(
                "object with magic THOR: a retired format that kept its metadata at the end".into(),
            ));
        }
        if *magic != MAGIC {
            return Err(
                Damage::new(format!("starts with {magic:02x?}, not with the magic of a data object")).at(None, 0),
            );
        }
        let Some((length, rest)) = rest.split_first_chunk::<4>() else {
            return Ok(Parsed::NeedBytes(PREAMBLE_BYTES));
        };
        let length = u32::from_le_bytes(*length);
        if u64::from(length) > MAX_HEADER_BYTES {
            let reason = format!("header of {length} bytes is larger than the limit of {MAX_HEADER_BYTES}");
            return Err(Damage::new(reason).at(None, MAGIC.len() as u64));
        }
        let Some(header) = rest.get(..length as usize) else {
            return Ok(Parsed::NeedBytes(PREAMBLE_BYTES + length as usize));
        };
        parse_header(header).map(Parsed::Complete)
    }

    /// All sections, in file order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }
}

fn parse_header(header: &[u8]) -> Result<ObjectLayout, Error> {
    let at_header = |damage: Damage| damage.at(None, PREAMBLE_BYTES as u64);
    let mut rest = header;
    let version = take_uvarint(&mut rest).map_err(at_header)?;
    if version != u64::from(FORMAT_VERSION) {
        return Err(Error::Unsupported(format!(
            "object of format version {version}; this build reads {FORMAT_VERSION}"
        )));
    }
    let index: FileIndex = decode_framed(rest).map_err(at_header)?;
    let body_start = (PREAMBLE_BYTES + header.len()) as u64;
    let mut names = NameBudget::new(header.len());
    let mut sections = Vec::with_capacity(index.sections.len());
    for (position, entry) in index.sections.iter().enumerate() {
        let section = read_section(&index, position, entry, body_start, &mut names)
            .map_err(|damage| damage.at(Some(position), PREAMBLE_BYTES as u64))?;
        if !section.kind.reads_version(section.version) {
            return Err(Error::Unsupported(format!(
                "section {position}: {} of version {}",
                section.kind, section.version
            )));
        }
        sections.push(section);
    }
    Ok(ObjectLayout {
        body_start,
        strings: index.strings,
        sections,
    })
}

fn read_section(
    index: &FileIndex,
    position: usize,
    entry: &SectionEntry,
    body_start: u64,
    names: &mut NameBudget,
) -> Result<Section, Damage> {
    let kind = index.kinds.get(entry.kind_ref as usize).filter(|_| entry.kind_ref >= 1);
    let Some((KindName { namespace, kind }, version)) = kind.and_then(|kind| Some((kind.name?, kind.version))) else {
        return Err(Damage::new(format!("kind {} is not in the kind table", entry.kind_ref)));
    };
    if namespace == 0 || kind == 0 {
        return Err(Damage::new(format!("kind {} has no name", entry.kind_ref)));
    }
    let kind = SectionKind::from_names(
        &names.name(&index.strings, namespace)?,
        &names.name(&index.strings, kind)?,
    );
    let tenant = match entry.tenant_ref {
        0 => String::new(),
        reference => names.name(&index.strings, reference)?,
    };
    let range = |extent: Option<Extent>| -> Result<Range<u64>, Damage> {
        let Some(Extent { offset, length }) = extent else {
            return Ok(body_start..body_start);
        };
        let start = body_start.checked_add(offset);
        let range = start.and_then(|start| Some(start..start.checked_add(length)?));
        range.ok_or_else(|| Damage::new(format!("region of {length} bytes at body offset {offset} overflows")))
    };
    let placement = entry.placement.unwrap_or_default();
    Ok(Section {
        index: position,
        kind,
        version,
        tenant,
        metadata: range(placement.metadata)?,
        data: range(placement.data)?,
        extension: entry.extension.clone(),
    })
}
