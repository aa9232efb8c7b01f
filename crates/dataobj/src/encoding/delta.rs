//! 64-bit integers as zigzag varints of the difference to the value before, starting from 0. Differences wrap.
// hot path: no locks, no logging, no allocation per value.

use crate::error::Damage;
use crate::varint::{append_uvarint, is_eight_singles, read_uvarint, unzigzag, zigzag};

#[cfg(target_arch = "x86_64")]
#[path = "delta_avx2.rs"]
mod avx2;

/// Appends `value`, which follows `previous` (0 at the start of a page).
#[inline]
pub fn append(out: &mut Vec<u8>, previous: i64, value: i64) {
    append_uvarint(out, zigzag(value.wrapping_sub(previous)));
}

/// Decodes values in batches.
///
/// ```
/// # use timberline_dataobj::encoding::delta::Decoder;
/// let mut values = [0; 2];
/// let mut decoder = Decoder::new(&[0xd0, 0x0f, 0x06, 0x00, 0x19]);
/// decoder.fill(&mut values)?;
/// assert_eq!(values, [1000, 1003]);
/// decoder.fill(&mut values)?;
/// assert_eq!(values, [1003, 990]);
/// decoder.finish()?;
/// # Ok::<(), timberline_dataobj::encoding::Damage>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    previous: i64,
}

impl<'a> Decoder<'a> {
    /// Starts at the first value of a page.
    pub fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder {
            rest: bytes,
            previous: 0,
        }
    }

    /// Decodes exactly as many values as `out` holds. On an error `out` holds nothing of use.
    pub fn fill(&mut self, out: &mut [i64]) -> Result<(), Damage> {
        #[cfg(target_arch = "x86_64")]
        if avx2::is_available() {
            let done = avx2::fill(self, out);
            return self.fill_portably(out.get_mut(done..).unwrap_or_default());
        }
        self.fill_portably(out)
    }

    /// An error unless all bytes were decoded.
    pub fn finish(self) -> Result<(), Damage> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Damage::new("bytes behind the last integer"))
        }
    }

    /// [`Decoder::fill`] without instructions that not every machine has.
    #[doc(hidden)]
    pub fn fill_portably(&mut self, out: &mut [i64]) -> Result<(), Damage> {
        let mut rest = self.rest;
        let mut previous = self.previous;
        let mut out = out.iter_mut();
        while out.len() > 0 {
            if let Some((eight, behind)) = rest.split_first_chunk::<8>()
                && out.len() >= 8
                && is_eight_singles(u64::from_le_bytes(*eight))
            {
                for (byte, slot) in eight.iter().zip(out.by_ref()) {
                    previous = previous.wrapping_add(unzigzag(u64::from(*byte)));
                    *slot = previous;
                }
                rest = behind;
                continue;
            }
            let Some((difference, length)) = read_uvarint(rest) else {
                return Err(Damage::new("integer is cut short or too long"));
            };
            rest = rest.get(length..).unwrap_or_default();
            previous = previous.wrapping_add(unzigzag(difference));
            if let Some(slot) = out.next() {
                *slot = previous;
            }
        }
        self.rest = rest;
        self.previous = previous;
        Ok(())
    }
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

    fn decode(bytes: &[u8], count: usize, batch: usize) -> Result<Vec<i64>, Damage> {
        let mut decoder = Decoder::new(bytes);
        let mut values = vec![0; count];
        values.chunks_mut(batch).try_for_each(|batch| decoder.fill(batch))?;
        decoder.finish()?;
        Ok(values)
    }

    fn decode_portably(bytes: &[u8], count: usize) -> Result<Vec<i64>, Damage> {
        let mut decoder = Decoder::new(bytes);
        let mut values = vec![0; count];
        decoder.fill_portably(&mut values)?;
        decoder.finish()?;
        Ok(values)
    }

    #[test]
    fn examples_of_the_specification() {
        let check = |values: &[i64], want: &[u8]| {
            assert_eq!(encode(values), want);
            assert_eq!(decode(want, values.len(), 2).unwrap(), values);
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

    /// Steps of one size class, so that whole blocks of short, medium and long varints occur, and some of any size.
    fn steps() -> impl Strategy<Value = Vec<i64>> {
        let stretch = (0u32..64, proptest::collection::vec(any::<i64>(), 0..150))
            .prop_map(|(shift, steps)| steps.into_iter().map(|step| step >> shift).collect::<Vec<_>>());
        let mixed = proptest::collection::vec((any::<i64>(), 0u32..64).prop_map(|(step, shift)| step >> shift), 0..150);
        proptest::collection::vec(prop_oneof![stretch, mixed], 0..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn round_trip(steps in steps(), batch in 1usize..200) {
            let values: Vec<i64> = steps.iter().scan(0i64, |v, step| { *v = v.wrapping_add(*step); Some(*v) }).collect();
            let bytes = encode(&values);
            prop_assert_eq!(&decode(&bytes, values.len(), batch).unwrap(), &values);
            prop_assert_eq!(&decode_portably(&bytes, values.len()).unwrap(), &values);
            // One too few or too many is noticed.
            prop_assert!(decode(&bytes, values.len() + 1, batch).is_err());
            prop_assert!(values.is_empty() || decode(&bytes, values.len() - 1, batch).is_err());
        }

        #[test]
        fn damaged_bytes_end_alike_however_they_are_decoded(
            steps in steps(), damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), batch in 1usize..200,
        ) {
            let mut bytes = encode(&steps);
            for (at, byte) in damage {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
            }
            prop_assert_eq!(decode(&bytes, steps.len(), batch), decode_portably(&bytes, steps.len()));
        }

        #[test]
        fn any_bytes_end_alike_however_they_are_decoded(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(0xff)], 0..300), count in 0usize..300, batch in 1usize..100,
        ) {
            prop_assert_eq!(decode(&bytes, count, batch), decode_portably(&bytes, count));
        }
    }
}
