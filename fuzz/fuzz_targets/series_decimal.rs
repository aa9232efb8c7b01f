//! Values as decimals: any bytes give an error, or what slow code reads from them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::series;

fuzz_target!(|input: &[u8]| {
    let Some((head, column)) = input.split_first_chunk() else {
        return;
    };
    let len = series::samples(*head);
    let bytes = series::chunk_bytes(
        len,
        [series::REGULAR, series::DECIMAL],
        [7, 6 + len as i64],
        &[],
        column,
    );
    let Some(chunk) = series::parse(&bytes) else { return };
    let (_, values) = series::columns(&chunk);
    let count = series::unsigned(&column[1..3]) as usize;
    let (indexes, rest) = column[3..].split_at(count * 2);
    let (exceptions, numbers) = rest.split_at(count * 8);
    let exception_at = |index: usize| {
        let place = indexes
            .chunks(2)
            .position(|bytes| series::unsigned(bytes) as usize == index)?;
        Some(series::unsigned(&exceptions[place * 8..place * 8 + 8]))
    };
    for (index, number) in series::packed(numbers, len).into_iter().enumerate() {
        match exception_at(index) {
            Some(exception) => assert_eq!(values[index], exception),
            // What an encoder writes; other numbers are no integers of a double.
            None if number.unsigned_abs() < 1 << 51 => {
                let want = number as f64 / 10f64.powi(i32::from(column[0]));
                assert_eq!(values[index], want.to_bits());
            }
            None => (),
        }
    }
});
