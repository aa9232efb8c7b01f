//! Damaged objects give errors, never panics, and never silently other rows in pages.

mod common;

use common::*;
use proptest::prelude::*;

fn fixture_with_object() -> impl Strategy<Value = Vec<u8>> {
    (0..FIXTURES.len()).prop_map(|i| fixture_object(FIXTURES[i]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn changed_bytes(object in fixture_with_object(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut object = object;
        for (at, value) in changes {
            let at = at.index(object.len());
            object[at] = value;
        }
        let _ = decode_object(&object);
    }

    /// Metadata takes most damage there: the checksum covers pages only.
    #[test]
    fn changed_bytes_before_the_pages(object in fixture_with_object(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut object = object;
        let end = layout(&object).unwrap().sections().iter().map(|section| section.metadata.end).max().unwrap();
        object[at.index(end as usize)] ^= 1 << bit;
        let _ = decode_object(&object);
    }

    #[test]
    fn cut_short(object in fixture_with_object(), at in any::<prop::sample::Index>()) {
        let length = at.index(object.len());
        // The trailer is never read: everything else is needed.
        prop_assert_eq!(decode_object(&object[..length]).is_ok(), length >= object.len() - 4);
    }

    #[test]
    fn pages_with_forged_checksums(object in fixture_with_object(), at in any::<prop::sample::Index>(), bit in 0u8..8, rows in 0u64..100) {
        let mut scratch = timberline_dataobj::Scratch::new();
        for section in decode_object(&object).unwrap() {
            for column in &section.meta.columns {
                for page in &column.pages {
                    let mut bytes = slice(&object, &page.range).to_vec();
                    let i = at.index(bytes.len());
                    bytes[i] ^= 1 << bit;
                    let mut forged = page.clone();
                    forged.crc = crc32c::crc32c(&bytes);
                    let _ = decode_page(column, &forged, &bytes, &mut scratch);
                    forged.rows = rows;
                    let _ = decode_page(column, &forged, &bytes, &mut scratch);
                    forged.raw_bytes = 1 << 40;
                    prop_assert!(decode_page(column, &forged, &bytes, &mut scratch).is_err());
                }
            }
        }
    }
}
