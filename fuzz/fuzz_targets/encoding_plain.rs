//! Byte strings: all fast decoders agree with the slow one on any bytes, and give back what was encoded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::{fast, naive};

fuzz_target!(|input: &[u8]| {
    let Some(([count, batch, more], bytes)) = input.split_first_chunk() else {
        return;
    };
    let (batch, more) = (usize::from(*batch) + 1, usize::from(*more));
    // Two counts: the given one, and the one that fits if the lengths are well-formed.
    let mut rest = bytes;
    let mut fitting = 0;
    while let Some(length) = naive::take_varint(&mut rest).and_then(|length| usize::try_from(length).ok()) {
        let Some(behind) = rest.get(length..) else { break };
        rest = behind;
        fitting += 1;
    }
    for count in [usize::from(*count), fitting] {
        let values = fast::plain(bytes, count);
        assert_eq!(values, naive::plain(bytes, count));
        assert_eq!(values, fast::copied_plain(bytes, count, batch, more));
        assert_eq!(values, fast::viewed_plain(bytes, count, batch));
        if let Some(values) = values {
            let encoded = fast::encode_plain(&values);
            assert!(encoded.len() <= bytes.len(), "no shorter form exists");
            assert_eq!(naive::plain(&encoded, count), Some(values));
        }
    }
});
