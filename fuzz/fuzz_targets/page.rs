//! Pages behind their checksum: whole and in part, the decoders agree with a slow one on any bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_dataobj::*;
use timberline_fuzz::{memory, naive, page};

fuzz_target!(|input: &[u8]| {
    let Some(page::Case {
        column,
        page,
        bytes,
        selection,
    }) = page::case(input)
    else {
        return;
    };
    let most_bytes = memory::of_page(page.rows, page.raw_bytes);
    let want = naive_page(&column, &page, bytes);
    let rows: Vec<u32> = (0..page.rows as u32)
        .filter(|row| selection >> (row % 16) & 1 == 1)
        .collect();
    let want_rows = want
        .as_ref()
        .map(|want| rows.iter().map(|row| want[*row as usize].clone()).collect::<Vec<_>>());
    // Twice with the same buffers: what the first round leaves in them must not show.
    let mut scratch = Scratch::new();
    for _ in 0..2 {
        if column.physical == Physical::Int64 {
            let whole = memory::bounded(most_bytes, || decode_int64(&column, &page, bytes, &mut scratch));
            assert_eq!(whole.ok().map(|array| integers(&array)), want);
            let some = memory::bounded(2 * most_bytes, || {
                decode_int64_rows(&column, &page, bytes, &rows, &mut scratch)
            });
            assert_eq!(some.ok().map(|array| integers(&array)), want_rows);
            continue;
        }
        let whole = memory::bounded(most_bytes, || decode_binary(&column, &page, bytes, &mut scratch));
        assert_eq!(whole.ok().map(|array| strings(array.iter())), want);
        let buffer = arrow_buffer::Buffer::from(bytes);
        let views = memory::bounded(most_bytes, || decode_binary_view(&column, &page, &buffer, &mut scratch));
        assert_eq!(views.ok().map(|array| strings(array.iter())), want);
        let some = memory::bounded(most_bytes, || {
            decode_binary_rows(&column, &page, bytes, &rows, &mut scratch)
        });
        // A selection need not read the end of the page, where the whole page may be damaged.
        if want_rows.is_some() {
            assert_eq!(some.ok().map(|array| strings(array.iter())), want_rows);
        }
    }
});

#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Int64(i64),
    Binary(Vec<u8>),
}

fn integers(array: &arrow_array::Int64Array) -> Vec<Option<Cell>> {
    array.iter().map(|value| value.map(Cell::Int64)).collect()
}

fn strings<'a>(array: impl Iterator<Item = Option<&'a [u8]>>) -> Vec<Option<Cell>> {
    array
        .map(|value| value.map(|value| Cell::Binary(value.to_vec())))
        .collect()
}

fn naive_page(column: &ColumnMeta, page: &PageMeta, bytes: &[u8]) -> Option<Vec<Option<Cell>>> {
    let (presence, stored) = naive::split_page(bytes, page.rows as usize)?;
    let raw_bytes = page.raw_bytes.checked_sub((bytes.len() - stored.len()) as u64)?;
    let count = page.values as usize;
    if presence.iter().filter(|present| **present).count() != count {
        return None;
    }
    let raw = fuzzing::decompress(column.compression, stored, raw_bytes as usize)?;
    let values: Vec<Cell> = if column.physical == Physical::Int64 {
        naive::delta(&raw, count)?.into_iter().map(Cell::Int64).collect()
    } else {
        naive::plain(&raw, count)?.into_iter().map(Cell::Binary).collect()
    };
    Some(naive::spread(&presence, values))
}
