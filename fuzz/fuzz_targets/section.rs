//! Metadata of a section: any bytes give an error or columns whose pages lie inside of the data region.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_dataobj::{Section, SectionKind, SectionMeta};
use timberline_fuzz::memory;

fuzz_target!(|input: &[u8]| {
    let Some((length, rest)) = input.split_first() else {
        return;
    };
    let Some((extension, region)) = rest.split_at_checked(usize::from(*length)) else {
        return;
    };
    let start = 1 << 20;
    let section = Section {
        index: 3,
        kind: SectionKind::Logs,
        version: 2,
        tenant: "t".to_owned(),
        metadata: start..start + region.len() as u64,
        data: 1 << 21..1 << 22,
        extension: extension.to_vec(),
    };
    let Ok(meta) = memory::bounded(memory::of_metadata(input.len()), || {
        SectionMeta::parse(&section, region)
    }) else {
        return;
    };
    for column in &meta.columns {
        assert!(column.rows <= meta.rows && column.values <= column.rows);
        assert!(section.metadata.start <= column.metadata.start && column.metadata.end <= section.metadata.end);
        for page in &column.pages {
            assert!(section.data.start <= page.range.start && page.range.end <= section.data.end);
        }
    }
});
