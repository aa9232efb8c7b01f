//! MurmurHash3 in its variant of 128 bits for 64-bit machines, seed 0: what bloom filters hash with (specification chapter
//! 10.3). The algorithm is Austin Appleby's, in the public domain.
// hot path: no locks, no logging, no allocation.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// Bytes that are mixed in at a time.
const BLOCK: usize = 16;

/// The hash of `bytes` followed by `suffix`, which saves callers from joining the two.
pub(crate) fn murmur3(bytes: &[u8], suffix: &[u8]) -> [u64; 2] {
    debug_assert!(suffix.len() < BLOCK, "the suffix fits into one block with any rest");
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut state = State::default();
    blocks.iter().for_each(|block| state.mix(block));

    // What is left of both: less than two blocks.
    let mut tail = [[0u8; BLOCK]; 2];
    let left = rest.iter().chain(suffix);
    tail.as_flattened_mut()
        .iter_mut()
        .zip(left)
        .for_each(|(slot, byte)| *slot = *byte);
    let [first, second] = &tail;
    let last = if rest.len() + suffix.len() >= BLOCK {
        state.mix(first);
        second
    } else {
        first
    };
    state.finish(last, (bytes.len() + suffix.len()) as u64)
}

#[derive(Default)]
struct State {
    h1: u64,
    h2: u64,
}

impl State {
    fn mix(&mut self, block: &[u8; BLOCK]) {
        let (k1, k2) = words(block);
        self.h1 ^= scramble1(k1);
        self.h1 = self
            .h1
            .rotate_left(27)
            .wrapping_add(self.h2)
            .wrapping_mul(5)
            .wrapping_add(0x52dc_e729);
        self.h2 ^= scramble2(k2);
        self.h2 = self
            .h2
            .rotate_left(31)
            .wrapping_add(self.h1)
            .wrapping_mul(5)
            .wrapping_add(0x3849_5ab5);
    }

    /// Mixes in an incomplete block, filled up with zeros, which scramble to nothing.
    fn finish(self, rest: &[u8; BLOCK], length: u64) -> [u64; 2] {
        let (k1, k2) = words(rest);
        let h1 = self.h1 ^ scramble1(k1) ^ length;
        let h2 = self.h2 ^ scramble2(k2) ^ length;
        let h1 = h1.wrapping_add(h2);
        let h2 = h2.wrapping_add(h1);
        let (h1, h2) = (avalanche(h1), avalanche(h2));
        let h1 = h1.wrapping_add(h2);
        [h1, h2.wrapping_add(h1)]
    }
}

fn words(block: &[u8; BLOCK]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

fn scramble1(k1: u64) -> u64 {
    k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble2(k2: u64) -> u64 {
    k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn avalanche(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes() {
        let check = |bytes: &[u8], want: [u64; 2]| assert_eq!(murmur3(bytes, b""), want);
        check(b"", [0, 0]);
        check(b"hello", [0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19]);
        check(b"alpha", [0xffe5_3dd0_983e_1695, 0xd9bb_0498_2603_e41e]);
        check(
            b"The quick brown fox jumps over the lazy dog.",
            [0xcd99_481f_9ee9_02c9, 0x695d_a1a3_8987_b6e7],
        );
    }

    #[test]
    fn a_suffix_counts_as_if_it_were_joined() {
        let bytes: Vec<u8> = (0..70).collect();
        for length in 0..69 {
            let (head, tail) = (&bytes[..length], &bytes[length..=length]);
            assert_eq!(murmur3(head, tail), murmur3(&bytes[..=length], b""), "{length}");
        }
    }
}
