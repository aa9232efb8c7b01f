//! Timestamps at any distances: bytes of a packed column give an error, or what slow code reads from them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::series;

fuzz_target!(|input: &[u8]| {
    let Some((head, column)) = input.split_first_chunk() else {
        return;
    };
    let len = series::samples(*head);
    // The bounds are those of the column, wherever it is valid; bytes that are no column are refused before they are looked at.
    let value = 1.5f64.to_bits().to_le_bytes();
    let bytes = series::chunk_bytes(
        len,
        [series::REGULAR, series::BITS],
        [0, len as i64 - 1],
        &[],
        &[&[0], column].concat(),
    );
    if series::parse(&bytes).is_none() {
        return;
    }
    let want = series::packed(column, len);
    let kinds = [series::IRREGULAR, series::CONSTANT];
    let bytes = series::chunk_bytes(len, kinds, [want[0], want[len - 1]], column, &value);
    let chunk = series::parse(&bytes);
    assert_eq!(chunk.is_some(), want.is_sorted_by(|left, right| left < right));
    if let Some(chunk) = chunk {
        assert_eq!(series::columns(&chunk).0, want);
    }
});
