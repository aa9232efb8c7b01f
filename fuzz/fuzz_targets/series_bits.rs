//! Values as bits: any bytes give an error, or what slow code reads from them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::series;

fuzz_target!(|input: &[u8]| {
    let Some((head, column)) = input.split_first_chunk() else {
        return;
    };
    let len = series::samples(*head);
    let bytes = series::chunk_bytes(len, [series::REGULAR, series::BITS], [7, 6 + len as i64], &[], column);
    if let Some(chunk) = series::parse(&bytes) {
        let want: Vec<u64> = series::packed(&column[1..], len)
            .iter()
            .map(|number| (*number as u64) << column[0])
            .collect();
        assert_eq!(series::columns(&chunk).1, want);
    }
});
