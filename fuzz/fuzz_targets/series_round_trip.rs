//! Samples made of the input, some steps of which say how the next timestamps and values follow: encoded and read, they come back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::series;
use timberline_series::codec::{Chunk, Encoding, MAX_CHUNK_SAMPLES};

/// Bytes of a step: how often, a distance and its power of ten, a value, how the value is meant, its digits.
const STEP_BYTES: usize = 16;

fuzz_target!(|input: &[u8]| {
    let (mut timestamps, mut values) = (vec![], vec![]);
    let mut time = 0i64;
    let mut total = 0i64;
    for step in input.chunks_exact(STEP_BYTES) {
        let distance = i64::from(step[1]) * 10i64.pow(u32::from(step[2] % 17)) + 1;
        let bits = series::unsigned(&step[4..12]);
        for repeat in 0..=u64::from(step[0]) {
            let Some(next) = time.checked_add(distance + i64::from(step[3]) * (repeat as i64 % 3)) else {
                break;
            };
            if timestamps.len() == MAX_CHUNK_SAMPLES {
                break;
            }
            timestamps.push(time);
            time = next;
            let wobble = repeat.wrapping_mul(bits) >> (step[13] % 64);
            total = total.wrapping_add(wobble as i64 % 1000);
            values.push(match step[12] % 6 {
                0 => f64::from_bits(bits),
                1 => f64::from_bits(bits.wrapping_add(wobble)),
                2 => total as f64,
                3 => total as f64 / 10f64.powi(i32::from(step[13] % 20)),
                4 => f64::from(f32::from_bits((bits ^ wobble) as u32)),
                _ => (bits as i64 >> (step[13] % 64)) as f64,
            });
        }
    }
    if timestamps.is_empty() {
        return;
    }
    let want: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
    for encoding in [Encoding::Compressed, Encoding::Uncompressed] {
        let chunk = Chunk::encode(&timestamps, &values, encoding);
        assert_eq!(series::columns(&chunk), (timestamps.clone(), want.clone()));
        let mut bytes = Vec::new();
        chunk.append_bytes(&mut bytes);
        let again = series::parse(&bytes).expect("what was written can be read");
        assert_eq!(series::columns(&again), (timestamps.clone(), want.clone()));
    }
});
