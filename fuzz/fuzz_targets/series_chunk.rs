//! Chunks: any bytes give an error or samples on which all readers agree, and which come back when they are encoded anew.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::series;
use timberline_series::codec::{Chunk, Encoding};

fuzz_target!(|bytes: &[u8]| {
    let Some(chunk) = series::parse(bytes) else { return };
    let mut again = Vec::new();
    chunk.append_bytes(&mut again);
    assert_eq!(again, bytes);
    let (timestamps, values) = series::columns(&chunk);
    let numbers: Vec<f64> = values.iter().map(|value| f64::from_bits(*value)).collect();
    for encoding in [Encoding::Compressed, Encoding::Uncompressed] {
        let chunk = Chunk::encode(&timestamps, &numbers, encoding);
        assert_eq!(series::columns(&chunk), (timestamps.clone(), values.clone()));
    }
});
