//! Sections of all kinds read as rows, bloom filters, tables of contents: any bytes give an error or rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_dataobj::*;
use timberline_fuzz::page;

fuzz_target!(|object: &[u8]| {
    check_bloom(object);
    let Ok(whole) = WholeObject::parse(object) else { return };
    let mut scratch = Scratch::new();
    let mut is_small = true;
    for section in whole.sections() {
        let (Ok(mut meta), Ok(data)) = (whole.meta(section), whole.data(section)) else {
            continue;
        };
        if !page::is_small(&meta) {
            is_small = false;
            continue;
        }
        page::forge_checksums(&mut meta, object);
        read(section, &meta, data, &mut scratch);
    }
    if is_small && let Ok(toc) = TableOfContents::parse(object) {
        let again = toc.encode().expect("what was read can be written");
        let again = again.map(|bytes| TableOfContents::parse(&bytes).expect("what was written can be read"));
        let entries = |toc: &TableOfContents| toc.tenants().map(|(_, entries)| entries.len()).sum::<usize>();
        assert_eq!(again.as_ref().map_or(0, entries), entries(&toc));
    }
});

fn read(section: &Section, meta: &SectionMeta, data: &[u8], scratch: &mut Scratch) {
    let opened = match section.kind {
        SectionKind::Streams => StreamsReader::open(section, meta, data, scratch)
            .map(|reader| reader.rows().map(|row| row.labels().count()).count()),
        SectionKind::Logs => LogsReader::open(section, meta, data, scratch)
            .map(|reader| reader.rows().map(|row| row.metadata().count()).count()),
        SectionKind::Pointers => PointersReader::open(section, meta, data, scratch).map(|reader| reader.rows().count()),
        SectionKind::IndexPointers => {
            IndexPointersReader::open(section, meta, data, scratch).map(|reader| reader.rows().count())
        }
        SectionKind::Postings => PostingsReader::open(section, meta, data, scratch).map(|reader| reader.rows().count()),
        SectionKind::Stats => StatsReader::open(section, meta, data, scratch)
            .map(|reader| reader.rows().map(|row| row.labels().count()).count()),
        // Extension sections have a target of their own.
        _ => return,
    };
    if let Ok(rows) = opened {
        assert_eq!(rows as u64, meta.rows);
    }
}

fn check_bloom(bytes: &[u8]) {
    if let Ok(filter) = BloomFilter::parse(bytes) {
        assert_eq!(filter.to_bytes(), bytes);
        let _ = filter.contains(bytes);
    }
    let values: Vec<&[u8]> = bytes.chunks(5).take(50).collect();
    let mut filter = BloomFilter::for_values(values.len() as u64);
    values.iter().for_each(|value| filter.insert(value));
    let filter = BloomFilter::parse(&filter.to_bytes()).expect("what was written can be read");
    assert!(values.iter().all(|value| filter.contains(value)), "no value is lost");
}
