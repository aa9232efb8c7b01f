//! Compressed values of an existing object, taken as given when it is written again: two compressors need not agree, so only
//! with the same compressed values can two objects be compared byte by byte.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common::{decode_object, slice};
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;
use timberline_dataobj::*;

/// Stored values of pages by codec and by what they hold.
#[derive(Clone, Debug)]
pub(crate) struct Payloads(Arc<HashMap<Key, Vec<u8>>>);

/// Name of the codec, and raw values.
type Key = (String, Vec<u8>);

impl Payloads {
    /// All compressed values of an object.
    pub(crate) fn of(object: &[u8]) -> Payloads {
        let mut payloads = HashMap::new();
        for section in decode_object(object).unwrap() {
            for column in &section.meta.columns {
                for page in &column.pages {
                    let stored = stored_values(slice(object, &page.range));
                    let raw = match column.compression {
                        Compression::Zstd => zstd::stream::decode_all(stored).unwrap(),
                        Compression::Snappy => {
                            let mut raw = Vec::new();
                            snap::read::FrameDecoder::new(stored).read_to_end(&mut raw).unwrap();
                            raw
                        }
                        _ => continue,
                    };
                    payloads.insert((format!("{:?}", column.compression), raw), stored.to_vec());
                }
            }
        }
        Payloads(Arc::new(payloads))
    }

    pub(crate) fn compressor(&self) -> Box<dyn PageCompressor> {
        Box::new(self.clone())
    }
}

impl PageCompressor for Payloads {
    fn compress(&mut self, compression: Compression, raw: &[u8], stored: &mut Vec<u8>) -> Result<(), Error> {
        let Some(payload) = self.0.get(&(format!("{compression:?}"), raw.to_vec())) else {
            return Err(Error::Unsupported(format!(
                "no page holds {:?}",
                String::from_utf8_lossy(raw)
            )));
        };
        stored.extend_from_slice(payload);
        Ok(())
    }
}

/// What stands behind the presence of a page.
fn stored_values(page: &[u8]) -> &[u8] {
    let prefix = 1 + page.iter().take_while(|byte| **byte >= 0x80).count();
    let length = page[..prefix]
        .iter()
        .rev()
        .fold(0, |length, byte| length << 7 | usize::from(byte & 0x7f));
    &page[prefix + length..]
}

/// Fails at the first byte that differs, naming what lies there.
pub(crate) fn assert_same_object(got: &[u8], want: &[u8], name: &str) {
    if got == want {
        return;
    }
    let same = got.iter().zip(want).take_while(|(a, b)| a == b).count();
    let place = |object: &[u8]| {
        let sections = decode_object(object).unwrap();
        let of = |section: &Section| {
            let what = format!("{} {} of {}", section.index, section.kind, section.tenant);
            let regions = [("metadata", &section.metadata), ("data", &section.data)];
            let region = regions.into_iter().find(|(_, range)| range.contains(&(same as u64)));
            region.map(|(region, _)| format!("{region} of section {what}"))
        };
        let place = sections.iter().find_map(|section| of(&section.section));
        place.unwrap_or("the envelope".into())
    };
    crate::common::assert_same(
        &crate::common::object_json(got).unwrap(),
        &crate::common::object_json(want).unwrap(),
        name,
    );
    panic!(
        "{name}: {} bytes, {} wanted; the first that differs is {same}, in {}",
        got.len(),
        want.len(),
        place(want)
    );
}
