//! Objects of Loki and of our writers verify without errors; any bytes give a report.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;
#[path = "common/model.rs"]
mod model;

use common::*;
use model::*;
use proptest::prelude::*;
use timberline_dataobj::*;

#[test]
fn every_fixture_is_sound() {
    // The only fixture that is not a whole object of Loki: a hand-made one, with a column from the future and without streams.
    let notes_of_edge_cases = [Check::ColumnUnknown, Check::StreamsMissing];
    for stem in FIXTURES {
        let object = fixture_object(stem);
        let report = verify(&object);
        let found: Vec<Check> = report.findings.iter().map(|finding| finding.check).collect();
        let want: &[Check] = if stem == "edge-cases" {
            &notes_of_edge_cases
        } else {
            &[]
        };
        assert_eq!(found, want, "{stem}: {:#?}", report.findings);

        let sections = decode_object(&object).unwrap();
        let pages: Vec<&PageMeta> = sections
            .iter()
            .flat_map(|s| &s.meta.columns)
            .flat_map(|column| &column.pages)
            .collect();
        let counted = (report.checked.sections, report.checked.pages, report.checked.page_bytes);
        let bytes = pages.iter().map(|page| page.range.end - page.range.start).sum();
        assert_eq!(counted, (sections.len() as u64, pages.len() as u64, bytes), "{stem}");
    }
}

#[test]
fn index_objects_and_tables_of_contents_are_sound() {
    for stems in [
        &["logs-one-record"][..],
        &["logs-stream-asc", "logs-other-ids"],
        &["logs-schema-sorted"],
    ] {
        for section_bytes in [1000, 16 << 20] {
            let mut builder = IndexBuilder::new(IndexOptions {
                section_bytes,
                ..IndexOptions::default()
            });
            for stem in stems {
                let object = fixture_object(stem);
                builder.add_log_object(&log_object_path(&object), &object).unwrap();
            }
            let index = builder.finish().unwrap().unwrap();
            let report = verify(&index.bytes);
            assert!(report.checked.pages > 0);
            assert_eq!(report.findings, [], "{stems:?}");

            let mut toc = TableOfContents::new();
            for span in &index.spans {
                let entry = TocEntry {
                    path: index_object_path(&index.bytes),
                    min_timestamp_ns: span.min_timestamp_ns,
                    max_timestamp_ns: span.max_timestamp_ns,
                    file_bytes: index.bytes.len() as i64,
                    uncompressed_logs_bytes: 0,
                };
                toc.add(&span.tenant, entry);
            }
            assert_eq!(verify(&toc.encode().unwrap().unwrap()).findings, [], "{stems:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whatever_the_writers_make_is_sound(
        labels in labels(), records in records(), by_time in any::<bool>(), options in options(), per_section in 1usize..130,
    ) {
        let sort = if by_time { SortOrder::TimestampDescending } else { SortOrder::StreamAscending };
        let mut records = records;
        sort_records(&mut records, &sort);
        let sections: Vec<&[Record]> = records.chunks(per_section).collect();
        for object in [write_object(&labels, &records, &sort, &options), write_sections(&labels, &sections, &sort, &options)] {
            let mut findings = verify(&object).findings;
            // Two streams may have been invented with equal labels.
            findings.retain(|finding| finding.check != Check::StreamTwice);
            prop_assert_eq!(findings, []);
        }
    }

    #[test]
    fn any_bytes_are_safe(stem in 0..FIXTURES.len(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), end in any::<prop::sample::Index>()) {
        let mut object = fixture_object(FIXTURES[stem]);
        for (at, value) in changes {
            let at = at.index(object.len());
            object[at] = value;
        }
        let _ = verify(&object);
        let _ = verify(&object[..end.index(object.len())]);
    }
}
