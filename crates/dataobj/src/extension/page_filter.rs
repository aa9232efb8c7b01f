//! One filter as it is stored: a set of keys, thinned out where it would be too large (docs/extension-sections.md
//! chapter 3).
// hot path: no locks, no logging, no allocation per key.

use super::fuse::{FuseBuilder, FuseFilter, filter_bytes};
use crate::error::Damage;

/// A filter is left out when fewer than one key in 2^this could be kept: it would hardly skip anything.
const MAX_THINNING: u8 = 3;

/// How a filter is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilterShape {
    /// Bits of a fingerprint where there is room.
    pub(crate) width: u8,
    /// The lowest bit of keys that is not the same in all of them.
    pub(crate) lowest_bit: u32,
}

/// A stored filter over some page's grams or values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageFilter<'a> {
    /// Keys have these bits zero, or were dropped.
    dropped_bits: u32,
    set: FuseFilter<'a>,
}

impl FilterShape {
    /// The filter of `keys`, which ascend without repeats, in about `max_bytes` at most; `None` if it would hardly skip
    /// anything then.
    pub(crate) fn build(self, keys: &mut Vec<u32>, max_bytes: usize, builder: &mut FuseBuilder) -> Option<Vec<u8>> {
        let fits = |thinning: u8, width: u8| filter_bytes(keys.len() >> thinning, width) < max_bytes;
        let widths = (1..=self.width).rev().map(|width| (0, width));
        let mut shapes = widths.chain((1..=MAX_THINNING).map(|thinning| (thinning, 1)));
        let (thinning, width) = shapes.find(|(thinning, width)| fits(*thinning, *width))?;
        let dropped_bits = ((1u32 << thinning) - 1) << self.lowest_bit;
        keys.retain(|key| key & dropped_bits == 0);
        let mut stored = vec![thinning];
        builder.append(&mut stored, keys, width).then_some(stored)
    }

    /// Takes a stored filter, which must fill `bytes` exactly.
    pub(crate) fn parse(self, bytes: &[u8]) -> Result<PageFilter<'_>, Damage> {
        let Some((&thinning, set)) = bytes.split_first() else {
            return Err(Damage::new("filter without bytes"));
        };
        if thinning > MAX_THINNING {
            return Err(Damage::new(format!("filter that keeps one key in 2^{thinning}")));
        }
        Ok(PageFilter {
            dropped_bits: ((1 << thinning) - 1) << self.lowest_bit,
            set: FuseFilter::parse(set)?,
        })
    }
}

impl PageFilter<'_> {
    /// False only if one of the keys was not there.
    pub(crate) fn may_hold_all(&self, keys: &[u32]) -> bool {
        keys.iter()
            .all(|key| key & self.dropped_bits != 0 || self.set.contains(*key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: FilterShape = FilterShape {
        width: 4,
        lowest_bit: 12,
    };

    fn keys(count: u32) -> Vec<u32> {
        let mut keys: Vec<u32> = (0..count).map(|i| i.wrapping_mul(0x9e37_79b1) >> 12 << 12).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    #[test]
    fn a_filter_takes_its_share_at_most_and_loses_no_key() {
        let all = keys(10_000);
        let f = |max_bytes: usize, want_first_bytes: Option<[u8; 2]>| {
            let built = SHAPE.build(&mut all.clone(), max_bytes, &mut FuseBuilder::default());
            assert_eq!(
                built.as_ref().map(|bytes| [bytes[0], bytes[1]]),
                want_first_bytes,
                "{max_bytes}"
            );
            let Some(bytes) = built else { return };
            assert!(bytes.len() <= max_bytes * 11 / 10, "{} of {max_bytes}", bytes.len());
            let filter = SHAPE.parse(&bytes).unwrap();
            assert!(all.iter().all(|key| filter.may_hold_all(&[*key])));
            assert!(filter.may_hold_all(&all));
            assert!(!filter.may_hold_all(&(0..64).map(|i| i << 20 | 1 << 16).collect::<Vec<_>>()));
        };
        f(100_000, Some([0, 4]));
        f(3_400, Some([0, 2]));
        f(1_700, Some([0, 1]));
        f(1_500, Some([1, 1]));
        f(250, Some([3, 1]));
        f(100, None);
        f(0, None);
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = SHAPE.build(&mut keys(5), 10_000, &mut FuseBuilder::default()).unwrap();
        assert!(SHAPE.parse(&bytes).is_ok());
        assert!(SHAPE.parse(&[]).is_err());
        assert!(SHAPE.parse(&bytes[1..]).is_err());
        let mut thin = bytes;
        thin[0] = MAX_THINNING + 1;
        assert!(SHAPE.parse(&thin).is_err());
    }
}
