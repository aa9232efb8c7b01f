//! Objects written by Loki (and one by an independent writer) decode to exactly what Loki's own readers report.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use arrow_array::BinaryViewArray;
use arrow_buffer::Buffer;
use common::*;
use timberline_dataobj::*;

#[test]
fn every_fixture_decodes_to_its_description() {
    for stem in FIXTURES {
        let got = object_json(&fixture_object(stem)).unwrap();
        let mut want = fixture_json(stem);
        let keys: Vec<String> = got.as_object().unwrap().keys().cloned().collect();
        want.as_object_mut().unwrap().retain(|key, _| keys.contains(key));
        assert_same(&got, &want, stem);
    }
}

#[test]
fn object_keys_are_those_of_the_bucket() {
    for stem in FIXTURES {
        let json = fixture_json(stem);
        let Some(key) = json.get("object_key").and_then(|key| key.as_str()) else {
            continue;
        };
        if let Some(digest) = key.strip_prefix("objects/").or(key.strip_prefix("indexes/")) {
            assert_eq!(object_key(&fixture_object(stem)), digest.replace('/', ""), "{stem}");
        }
    }
}

#[test]
fn the_header_can_be_read_in_steps() {
    let object = fixture_object("logs-one-record");
    let needs = |prefix: usize| match ObjectLayout::parse(&object[..prefix]).unwrap() {
        Parsed::NeedBytes(bytes) => Some(bytes),
        Parsed::Complete(_) => None,
    };
    assert_eq!(needs(0), Some(8));
    assert_eq!(needs(7), Some(8));
    assert_eq!(needs(8), Some(137));
    assert_eq!(needs(136), Some(137));
    assert_eq!(needs(137), None);
}

#[test]
fn flipping_any_byte_of_a_page_is_noticed() {
    let mut scratch = Scratch::new();
    for stem in ["logs-stream-asc", "edge-cases", "index-postings-shards"] {
        let object = fixture_object(stem);
        for section in decode_object(&object).unwrap() {
            for column in &section.meta.columns {
                for page in &column.pages {
                    let mut bytes = slice(&object, &page.range).to_vec();
                    for i in 0..bytes.len() {
                        bytes[i] ^= 1 << (i % 8);
                        let error = decode_page(column, page, &bytes, &mut scratch).unwrap_err().to_string();
                        assert!(error.contains("page checksum"), "{error}");
                        bytes[i] ^= 1 << (i % 8);
                    }
                }
            }
        }
    }
}

/// Every page of every fixture, with the values of the whole page.
fn each_page(mut check: impl FnMut(&ColumnMeta, &PageMeta, &Buffer, &[Cell])) {
    let mut scratch = Scratch::new();
    for stem in FIXTURES {
        let object = fixture_object(stem);
        for section in decode_object(&object).unwrap() {
            for column in &section.meta.columns {
                for page in &column.pages {
                    let bytes = Buffer::from(slice(&object, &page.range));
                    let cells = decode_page(column, page, &bytes, &mut scratch).unwrap();
                    check(column, page, &bytes, &cells);
                }
            }
        }
    }
}

#[test]
fn selected_rows_are_the_rows_of_the_whole_page() {
    let mut scratch = Scratch::new();
    each_page(|column, page, bytes, cells| {
        let mut decode = |rows: &[u32]| match column.physical {
            Physical::Int64 => decode_int64_rows(column, page, bytes, rows, &mut scratch).map(|a| int64_cells(&a)),
            _ => decode_binary_rows(column, page, bytes, rows, &mut scratch).map(|a| binary_cells(&a)),
        };
        for step in 1..5 {
            let rows: Vec<u32> = (step as u32 - 1..page.rows as u32).step_by(step).collect();
            let want: Vec<Cell> = rows.iter().map(|row| cells[*row as usize].clone()).collect();
            assert_eq!(decode(&rows).unwrap(), want);
        }
        assert!(decode(&[]).unwrap().is_empty());
        for rows in [&[page.rows as u32][..], &[0, 0]] {
            assert!(matches!(decode(rows), Err(Error::Selection { .. })));
        }
    });
}

#[test]
fn views_are_the_values() {
    let mut scratch = Scratch::new();
    each_page(|column, page, bytes, cells| {
        if column.physical == Physical::Binary {
            let views = decode_binary_view(column, page, bytes, &mut scratch).unwrap();
            let (views, buffers, nulls) = views.into_parts();
            let checked = BinaryViewArray::try_new(views, buffers, nulls).expect("what Arrow asks of views");
            let got: Vec<Cell> = checked
                .iter()
                .map(|v| v.map_or(Cell::Null, |v| Cell::Binary(v.to_vec())))
                .collect();
            assert_eq!(got, cells);
        }
    });
}
