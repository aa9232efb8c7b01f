//! Whole objects: any bytes give an error or values, from the header to the last page.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_dataobj::*;
use timberline_fuzz::{memory, page};

fuzz_target!(|object: &[u8]| {
    let parsed = memory::bounded(memory::of_metadata(object.len()), || ObjectLayout::parse(object));
    let Ok(Parsed::Complete(layout)) = parsed else { return };
    let slice = |range: &std::ops::Range<u64>| object.get(range.start as usize..range.end as usize);
    let mut scratch = Scratch::new();
    let mut is_small = true;
    for section in layout.sections() {
        let Some(region) = slice(&section.metadata) else {
            continue;
        };
        let meta = memory::bounded(memory::of_metadata(section.extension.len() + region.len()), || {
            SectionMeta::parse(section, region)
        });
        let Ok(meta) = meta else { continue };
        is_small &= page::is_small(&meta);
        for column in &meta.columns {
            for page in &column.pages {
                let Some(bytes) = slice(&page.range) else { continue };
                if page.rows > page::MAX_ROWS || page.raw_bytes > page::MAX_RAW_BYTES {
                    continue;
                }
                // Otherwise no change of a page would ever get past its checksum.
                let mut page = page.clone();
                page.crc = crc32c::crc32c(bytes);
                memory::bounded(memory::of_page(page.rows, page.raw_bytes), || match column.physical {
                    Physical::Int64 => drop(decode_int64(column, &page, bytes, &mut scratch)),
                    _ => drop(decode_binary(column, &page, bytes, &mut scratch)),
                });
            }
        }
    }
    if is_small {
        let report = verify(object);
        assert!(report.errors + report.notes >= report.findings.len() as u64);
    }
});
