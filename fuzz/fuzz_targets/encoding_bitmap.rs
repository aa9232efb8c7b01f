//! Presence: the fast decoder agrees with the slow one on any bytes, and gives back what was encoded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::{fast, naive, page::MAX_ROWS};

/// Most runs that are encoded: enough for all states of the encoder.
const MAX_RUNS: usize = 500;

fuzz_target!(|input: &[u8]| {
    let Some(([low, high, batch], bytes)) = input.split_first_chunk() else {
        return;
    };
    let rows = usize::from(u16::from_le_bytes([*low, *high])) % (MAX_ROWS as usize + 1);
    let batch = usize::from(*batch) * 2 + 1;
    assert_eq!(fast::bitmap(bytes, rows, batch), naive::bitmap(bytes, rows));

    // The bytes once more, as lengths of runs.
    let runs = bytes
        .iter()
        .take(MAX_RUNS)
        .map(|byte| (byte & 1 == 1, u64::from(byte >> 1)));
    let runs: Vec<(bool, u64)> = runs.collect();
    let bits: Vec<bool> = runs
        .iter()
        .flat_map(|&(value, count)| (0..count).map(move |_| value))
        .collect();
    let encoded = fast::encode_bitmap(&runs);
    assert_eq!(naive::bitmap(&encoded, bits.len()).as_ref(), Some(&bits));
    assert_eq!(fast::bitmap(&encoded, bits.len(), batch), Some(bits));
});
