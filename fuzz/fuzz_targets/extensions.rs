//! Extension sections: filters never lose a text or a value, volumes count all rows, any bytes are safe.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_dataobj::extension::{
    FuseFilter, LogsPage, TEXT_FILTER, TextFilters, TextNeedle, VALUE_FILTER, VOLUME, ValueFilters, Volume,
    find_section,
};
use timberline_dataobj::*;
use timberline_fuzz::{memory, page};

/// Bytes that one byte of a data region may cost (chapter "Limits" of `docs/format.md`).
const PER_DATA_BYTE: usize = 100;

fuzz_target!(|input: &[u8]| {
    if let Some(filter) = FuseFilter::from_bytes(input) {
        for key in 0..50 {
            let _ = filter.contains(key * 0x0123_4567);
        }
    }
    match WholeObject::parse(input) {
        Ok(object) => read(input, object.sections()),
        Err(_) => check_written(input),
    }
});

fn slice<'a>(object: &'a [u8], range: &std::ops::Range<u64>) -> Option<&'a [u8]> {
    object.get(range.start as usize..range.end as usize)
}

fn read(object: &[u8], sections: &[Section]) {
    for section in sections {
        let (Some(metadata), Some(data)) = (slice(object, &section.metadata), slice(object, &section.data)) else {
            continue;
        };
        if SectionMeta::parse(section, metadata).is_ok_and(|meta| !page::is_small(&meta)) {
            continue;
        }
        let most_bytes = memory::of_metadata(metadata.len()) + PER_DATA_BYTE * data.len();
        memory::bounded(most_bytes, || match section.kind {
            SectionKind::TextFilter => drop(TextFilters::parse(section, metadata, data)),
            SectionKind::ValueFilter => drop(ValueFilters::parse(section, metadata, data)),
            SectionKind::Volume => drop(Volume::parse(section, metadata, data)),
            _ => {}
        });
    }
}

/// Writes the input as lines, the first bytes of each as metadata too, and looks for parts of them.
fn check_written(input: &[u8]) {
    let Some(([rows, from, length], text)) = input.split_first_chunk() else {
        return;
    };
    let options = WriterOptions {
        page_rows: usize::from(*rows) + 1,
        ..WriterOptions::default()
    };
    let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options).with_extensions();
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    for (row, line) in lines.iter().enumerate() {
        let value = &line[..line.len().min(20)];
        let metadata = [("key", value)];
        let timestamp_ns = -(row as i64) * 1_000_000_000;
        logs.append(&LogRow {
            stream_id: 1,
            timestamp_ns,
            line,
            metadata: &metadata,
        })
        .expect("record fits");
    }
    let mut object = ObjectWriter::new();
    object.push_section(logs.finish().expect("section fits"));
    let object = object.finish().expect("object fits");
    let report = verify(&object);
    assert!(
        report.is_sound() && !report.has(Check::Extension),
        "{:?}",
        report.findings
    );

    let whole = WholeObject::parse(&object).expect("what was written can be read");
    let meta = whole.meta(&whole.sections()[0]).expect("what was written can be read");
    let open = |kind| {
        let section = find_section(whole.layout(), "t", kind)?;
        Some((
            section,
            slice(&object, &section.metadata)?,
            slice(&object, &section.data)?,
        ))
    };
    if let Some((section, metadata, data)) = open(TEXT_FILTER) {
        let filters = TextFilters::parse(section, metadata, data).expect("what was written can be read");
        for_each_row(&meta, column::MESSAGE, "", &lines, |page, line| {
            let start = usize::from(*from).min(line.len());
            let part = &line[start..][..usize::from(*length).min(line.len() - start)];
            for needle in [part.to_vec(), part.to_ascii_uppercase(), line.to_vec()] {
                assert!(
                    filters.may_contain(page, &TextNeedle::new(&needle)),
                    "{needle:?} is lost"
                );
            }
        });
    }
    if let Some((section, metadata, data)) = open(VALUE_FILTER) {
        let filters = ValueFilters::parse(section, metadata, data).expect("what was written can be read");
        for_each_row(&meta, column::METADATA, "key", &lines, |page, line| {
            assert!(
                filters.may_equal("key", page, &line[..line.len().min(20)]),
                "{line:?} is lost"
            );
        });
    }
    if let Some((section, metadata, data)) = open(VOLUME) {
        let volume = Volume::parse(section, metadata, data).expect("what was written can be read");
        let bytes: usize = lines.iter().map(|line| line.len()).sum();
        let sum = |of: fn(extension::VolumeCell<'_>) -> u64| volume.cells().map(of).sum::<u64>();
        assert_eq!(
            (sum(|cell| cell.rows), sum(|cell| cell.line_bytes)),
            (lines.len() as u64, bytes as u64)
        );
    }
}

fn for_each_row(meta: &SectionMeta, logical: &str, tag: &str, lines: &[&[u8]], f: impl Fn(LogsPage<'_>, &[u8])) {
    let Some(column) = meta.column(logical, tag) else {
        return;
    };
    let mut lines = lines.iter();
    for (number, page) in column.pages.iter().enumerate() {
        for line in lines.by_ref().take(page.rows as usize) {
            f(
                LogsPage {
                    section: 0,
                    page: number,
                    meta: page,
                },
                line,
            );
        }
    }
}
