//! What this crate doesn't read it refuses by name: other formats, versions, types and codecs.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::*;
use timberline_dataobj::*;

/// The annotated object of specification chapter 15 with other bytes in the one place where `pattern` stands.
fn patched(pattern: &[u8], replacement: &[u8]) -> String {
    let mut object = fixture_object("logs-one-record");
    let places: Vec<usize> = (0..object.len())
        .filter(|&at| object[at..].starts_with(pattern))
        .collect();
    let [place] = places.as_slice() else {
        panic!("{pattern:02x?} stands at {places:?}");
    };
    object[*place..place + replacement.len()].copy_from_slice(replacement);
    match decode_object(&object) {
        Ok(_) => "reads".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// The start of a column entry, up to the number of its type; of the line column.
const LINE_TYPE: &[u8] = &[0x0a, 0x18, 0x0a, 0x04, 0x08, 3];
/// Rows and values of that entry, and its compression.
const LINE_COMPRESSION: &[u8] = &[0x28, 1, 0x30, 3, 0x38, 6, 0x40, 0x13];
/// The page entry of the line column, from its number of rows to its encoding, and on to its offset.
const LINE_ENCODING: &[u8] = &[0x20, 1, 0x28, 1, 0x30, 1, 0x38, 0x10];

#[test]
fn types_and_codecs_of_columns() {
    let check = |pattern: &[u8], at: usize, value: u8, want: &str| {
        let mut replacement = pattern.to_vec();
        replacement[at] = value;
        let got = patched(pattern, &replacement);
        let place = "corrupt: section 1, offset ";
        let reason = got
            .strip_prefix(place)
            .map_or(got.as_str(), |rest| rest.split_once(": ").unwrap().1);
        assert_eq!(reason, want);
    };
    check(LINE_TYPE, 5, 3, "reads");
    let line = "no codec for column message \"\" of";
    check(LINE_TYPE, 5, 2, &format!("{line} Uint64, Plain read as Binary"));
    check(LINE_TYPE, 5, 0, &format!("{line} Other(0), Plain read as Binary"));
    check(LINE_TYPE, 5, 9, &format!("{line} Other(9), Plain read as Binary"));
    check(LINE_TYPE, 5, 1, &format!("{line} Int64, Plain read as Int64"));

    check(LINE_ENCODING, 5, 0, &format!("{line} Binary, Other(0) read as Binary"));
    check(LINE_ENCODING, 5, 2, &format!("{line} Binary, Delta read as Binary"));
    check(LINE_ENCODING, 5, 3, &format!("{line} Binary, Bitmap read as Binary"));
    check(LINE_ENCODING, 5, 9, &format!("{line} Binary, Other(9) read as Binary"));

    check(LINE_COMPRESSION, 3, 9, "unknown compression 9");
    // Unset means none, and these values are compressed.
    check(LINE_COMPRESSION, 3, 0, "values of 16 bytes where the page entry says 3");
}

#[test]
fn versions_of_the_kinds() {
    let check = |kind: SectionKind, version: u32, want: &str| {
        let mut object = ObjectWriter::new();
        let section = SectionWriter::new(kind, version, "t", &WriterOptions::default());
        object.push_section(section.finish(&[], None).unwrap());
        let got = match ObjectLayout::parse(&object.finish().unwrap()) {
            Ok(_) => "reads".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, want);
    };
    let kinds = [
        SectionKind::Streams,
        SectionKind::Logs,
        SectionKind::Pointers,
        SectionKind::IndexPointers,
        SectionKind::Postings,
        SectionKind::Stats,
    ];
    for kind in kinds {
        let refused = |version| format!("unsupported: section 0: {kind} of version {version}");
        let of_three = if kind == SectionKind::Logs {
            "reads".to_owned()
        } else {
            refused(3)
        };
        check(kind.clone(), 0, &refused(0));
        check(kind.clone(), 1, &refused(1));
        check(kind.clone(), 2, "reads");
        check(kind.clone(), 3, &of_three);
        check(kind.clone(), 4, &refused(4));
    }
    let unknown = |namespace: &str, kind: &str| SectionKind::Unknown {
        namespace: namespace.to_owned(),
        kind: kind.to_owned(),
    };
    check(unknown("github.com/grafana/loki", "dreams"), 9, "reads");
    check(unknown("example.org", "logs"), 9, "reads");
    // What readers can do without is no reason to refuse an object.
    for kind in [SectionKind::TextFilter, SectionKind::ValueFilter, SectionKind::Volume] {
        (0..3).for_each(|version| check(kind.clone(), version, "reads"));
    }
}

/// Readers bound the names that they copy; what they would refuse is not written.
#[test]
fn long_names_are_used_only_so_often() {
    let written = |tenant_bytes: usize, sections: usize| {
        let mut object = ObjectWriter::new();
        for _ in 0..sections {
            let tenant = "x".repeat(tenant_bytes);
            let section = SectionWriter::new(SectionKind::Logs, 2, &tenant, &WriterOptions::default());
            object.push_section(section.finish(&[], None).unwrap());
        }
        object.finish()
    };
    for (tenant_bytes, sections) in [(150, 5000), (2000, 20), (100_000, 1)] {
        let object = written(tenant_bytes, sections).unwrap();
        assert!(
            ObjectLayout::parse(&object).is_ok(),
            "{tenant_bytes} bytes, {sections} sections"
        );
    }
    let error = written(2000, 30).unwrap_err().to_string();
    assert!(
        error.starts_with("names in the object header of 60810 exceeds the limit of "),
        "{error}"
    );

    let columns = |tag_bytes: usize, columns: usize| {
        let mut section = SectionWriter::new(SectionKind::Logs, 2, "t", &WriterOptions::default());
        let mut order = Vec::new();
        for column in 0..columns {
            let id = section.add_column(ColumnSpec {
                physical: Physical::Int64,
                logical: format!("column{column}"),
                tag: "x".repeat(tag_bytes),
                compression: Compression::None,
                range: false,
                cardinality: false,
            });
            section.append_int64(id, 0, 1).unwrap();
            order.push(id);
        }
        section.finish(&order, None)
    };
    assert!(columns(150, 1000).is_ok());
    let error = columns(2000, 100).unwrap_err().to_string();
    assert!(
        error.starts_with("names in section metadata of 200790 exceeds the limit of "),
        "{error}"
    );
}

#[test]
fn files_that_are_none() {
    let check = |at: usize, bytes: &[u8], want: &str| {
        let mut object = fixture_object("logs-one-record");
        object[at..at + bytes.len()].copy_from_slice(bytes);
        let error = ObjectLayout::parse(&object).unwrap_err().to_string();
        assert_eq!(error, want);
    };
    check(
        0,
        b"THOR",
        "unsupported: object with magic THOR: a retired format that kept its metadata at the end",
    );
    check(
        0,
        b"PAR1",
        "corrupt: header, offset 0: starts with [50, 41, 52, 31], not with the magic of a data object",
    );
    check(8, &[2], "unsupported: object of format version 2; this build reads 1");
    check(8, &[0], "unsupported: object of format version 0; this build reads 1");
    check(
        4,
        &[0xff; 4],
        "corrupt: header, offset 4: header of 4294967295 bytes is larger than the limit of 16777216",
    );
}
