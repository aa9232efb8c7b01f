//! 64-bit integers as zigzag varints of the difference to the value before, starting from 0. Differences wrap.
// hot path: no locks, no logging, no allocation per value.

use crate::error::Damage;
use crate::varint::{append_uvarint, is_eight_singles, read_uvarint, unzigzag, zigzag};

/// Appends `value`, which follows `previous` (0 at the start of a page).
pub(crate) fn append(out: &mut Vec<u8>, previous: i64, value: i64) {
    append_uvarint(out, zigzag(value.wrapping_sub(previous)));
}

/// Decodes exactly `count` values. `count` must be at most `bytes.len()`, which bounds what is allocated.
pub(crate) fn decode(bytes: &[u8], count: usize) -> Result<Vec<i64>, Damage> {
    debug_assert!(count <= bytes.len());
    let mut values = Vec::with_capacity(count);
    let mut rest = bytes;
    let mut previous = 0i64;
    while values.len() < count {
        if let Some((eight, behind)) = rest.split_first_chunk::<8>()
            && count - values.len() >= 8
            && is_eight_singles(u64::from_le_bytes(*eight))
        {
            values.extend_from_slice(&eight.map(|byte| {
                previous = previous.wrapping_add(unzigzag(u64::from(byte)));
                previous
            }));
            rest = behind;
            continue;
        }
        let Some((difference, length)) = read_uvarint(rest) else {
            return Err(Damage::new("integer is cut short or too long"));
        };
        previous = previous.wrapping_add(unzigzag(difference));
        values.push(previous);
        rest = rest.get(length..).unwrap_or_default();
    }
    if !rest.is_empty() {
        return Err(Damage::new("bytes behind the last integer"));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(values: &[i64]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut previous = 0;
        for &value in values {
            append(&mut out, previous, value);
            previous = value;
        }
        out
    }

    #[test]
    fn examples_of_the_specification() {
        let check = |values: &[i64], want: &[u8]| {
            assert_eq!(encode(values), want);
            assert_eq!(decode(want, values.len()).unwrap(), values);
        };
        check(&[1000, 1003, 1003, 990], &[0xd0, 0x0f, 6, 0, 0x19]);
        check(
            &[i64::MIN, i64::MAX, 0],
            &[
                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                0xff, 0xff, 1,
            ],
        );
        check(
            &[
                1_741_944_435_839_793_238,
                1_741_944_435_339_793_238,
                1_741_944_435_339_793_238,
            ],
            &[
                0xac, 0xe1, 0x97, 0xcb, 0x86, 0xcf, 0xd0, 0xac, 0x30, 0xff, 0x93, 0xeb, 0xdc, 3, 0,
            ],
        );
    }

    proptest! {
        #[test]
        fn round_trip(values in proptest::collection::vec((any::<i64>(), 0u32..64).prop_map(|(v, s)| v >> s), 0..100)) {
            prop_assert_eq!(decode(&encode(&values), values.len()).unwrap(), values);
        }

        #[test]
        fn round_trip_of_small_steps(start in any::<i64>(), steps in proptest::collection::vec(-64i64..64, 0..100)) {
            let values: Vec<i64> = steps.iter().scan(start, |v, step| { *v = v.wrapping_add(*step); Some(*v) }).collect();
            prop_assert_eq!(decode(&encode(&values), values.len()).unwrap(), values);
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..100), count in 0usize..100) {
            let _ = decode(&bytes, count.min(bytes.len()));
        }
    }
}
