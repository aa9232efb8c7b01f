//! Integers: fast, portable and slow decoders agree on any bytes, and give back what was encoded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_dataobj::fuzzing;
use timberline_fuzz::{fast, naive};

fuzz_target!(|input: &[u8]| {
    let mut rest = input;
    let want = naive::take_varint(&mut rest).map(|value| (value, input.len() - rest.len()));
    assert_eq!(fuzzing::varint(input), want);
    if let Some((value, length)) = want {
        assert!(fuzzing::encode_varint(value).len() <= length, "no shorter form exists");
    }

    let Some(([count, batch], bytes)) = input.split_first_chunk() else {
        return;
    };
    // Near the true number of values, which is the number of bytes that end a varint.
    let ends = bytes.iter().filter(|byte| **byte < 0x80).count();
    let count = (ends + usize::from(count & 3)).saturating_sub(usize::from(count >> 2 & 3));
    let values = fast::delta(bytes, count, usize::from(*batch) + 1);
    assert_eq!(values, naive::delta(bytes, count));
    assert_eq!(values, fast::portable_delta(bytes, count));
    if let Some(values) = values {
        let encoded = fast::encode_delta(&values);
        assert!(encoded.len() <= bytes.len(), "no shorter form exists");
        assert_eq!(fast::delta(&encoded, count, count.max(1)), Some(values));
    }
});
