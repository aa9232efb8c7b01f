//! Ways to choose stretches of text and to store them.

use timberline_dataobj::extension::{FuseBuilder, FuseFilter, sort_keys};

/// Chooses stretches of a text; with `false` only those that any text around would leave chosen.
type Sampler = Box<dyn Fn(&[u8], bool, &mut Vec<u32>)>;

pub(crate) struct Tier {
    sampler: Sampler,
    /// Bits of a fuse filter's fingerprints; 0 for a Bloom filter of one hash and 1.44 bits a key, negative for such one with more hashes.
    width: i8,
}

pub(crate) struct Candidate {
    pub(crate) name: String,
    tiers: Vec<Tier>,
}

pub(crate) enum Structure {
    Fuse(Vec<u8>),
    Bloom(Vec<u64>, u32),
}

impl Structure {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Structure::Fuse(bytes) => bytes.len(),
            Structure::Bloom(words, _) => words.len() * 8,
        }
    }

    pub(crate) fn contains(&self, key: u32) -> bool {
        match self {
            Structure::Fuse(bytes) => FuseFilter::from_bytes(bytes).unwrap().contains(key),
            Structure::Bloom(words, hashes) => (0..*hashes).all(|i| {
                let bit = bloom_bit(words.len(), key, i);
                words[bit / 64] & 1 << (bit % 64) != 0
            }),
        }
    }
}

fn bloom_bit(words: usize, key: u32, i: u32) -> usize {
    let hash = (u64::from(key) ^ u64::from(i) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((u128::from(hash) * (words as u128 * 64)) >> 64) as usize
}

impl Candidate {
    pub(crate) fn build(&self, lines: &[Vec<u8>]) -> Vec<Structure> {
        let mut builder = FuseBuilder::default();
        self.tiers
            .iter()
            .map(|tier| {
                let mut keys = Vec::new();
                for line in lines {
                    (tier.sampler)(line, true, &mut keys);
                }
                sort_keys(&mut keys, &mut Vec::new());
                if tier.width <= 0 {
                    let hashes = u32::from(tier.width.unsigned_abs()).max(1);
                    let mut words = vec![0u64; (keys.len() * hashes as usize * 144 / 100).div_ceil(64).max(1)];
                    for key in keys {
                        for i in 0..hashes {
                            let bit = bloom_bit(words.len(), key, i);
                            words[bit / 64] |= 1 << (bit % 64);
                        }
                    }
                    return Structure::Bloom(words, hashes);
                }
                let mut bytes = Vec::new();
                assert!(builder.append(&mut bytes, &keys, tier.width as u8));
                Structure::Fuse(bytes)
            })
            .collect()
    }

    pub(crate) fn needle(&self, text: &[u8]) -> Vec<Vec<u32>> {
        self.tiers
            .iter()
            .map(|tier| {
                let mut keys = Vec::new();
                (tier.sampler)(text, false, &mut keys);
                keys
            })
            .collect()
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut value = 0u64;
    for byte in bytes {
        value = value << 8 | u64::from(byte.to_ascii_lowercase());
    }
    let value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (value ^ value >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

fn key(hash: u64) -> u32 {
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 & !0xff
}

/// In every window of `w` stretches of `k` bytes the one with the smallest hash.
fn winnow(k: usize, w: usize) -> Sampler {
    Box::new(move |text, _, out| {
        let hashes: Vec<u64> = text.windows(k).map(hash).collect();
        let mut last = usize::MAX;
        for (start, window) in hashes.windows(w).enumerate() {
            let at = start + (0..w).rev().min_by_key(|i| window[*i]).unwrap();
            if at != last {
                out.push(key(hashes[at]));
                last = at;
            }
        }
    })
}

/// Every `k` bytes without a digit.
fn words(k: usize) -> Sampler {
    Box::new(move |text, _, out| {
        out.extend(
            text.windows(k)
                .filter(|gram| !gram.iter().any(u8::is_ascii_digit))
                .map(|gram| key(hash(gram)) >> 12 << 12),
        );
    })
}

/// As the library: of `k` bytes with a digit those whose hash is smaller than that of the stretch before; where all are digits, than that of the one behind too if `sparse`.
fn falling_ids(k: usize, sparse: bool) -> Sampler {
    Box::new(move |text, whole, out| {
        let is_run = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
        let mut start = 0;
        while start < text.len() {
            if !is_run(text[start]) {
                start += 1;
                continue;
            }
            let end = (start..text.len()).find(|at| !is_run(text[*at])).unwrap_or(text.len());
            let grams: Vec<&[u8]> = text[start..end].windows(k).collect();
            let order = |gram: &[u8]| {
                if gram.iter().any(u8::is_ascii_digit) {
                    hash(gram)
                } else {
                    u64::MAX
                }
            };
            for (at, gram) in grams.iter().enumerate() {
                let unknown = |at_edge: bool| if at_edge && !whole { 0 } else { u64::MAX };
                let before = if at == 0 {
                    unknown(start == 0)
                } else {
                    order(grams[at - 1])
                };
                let behind = grams
                    .get(at + 1)
                    .map_or_else(|| unknown(end == text.len()), |gram| order(gram));
                let is_sparse = sparse && gram.iter().all(u8::is_ascii_digit);
                if order(gram) < before && (!is_sparse || order(gram) < behind) {
                    out.push(key(order(gram)));
                }
            }
            start = end;
        }
    })
}

/// In runs of letters, digits, dots and hyphens, of `k` bytes with a digit those whose hash is smaller than the `radius`
/// before and behind.
fn ids(k: usize, radius: usize) -> Sampler {
    Box::new(move |text, whole, out| {
        let is_run = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
        let mut start = 0;
        while start < text.len() {
            if !is_run(text[start]) {
                start += 1;
                continue;
            }
            let end = (start..text.len()).find(|at| !is_run(text[*at])).unwrap_or(text.len());
            let order: Vec<u64> = text[start..end]
                .windows(k)
                .map(|gram| {
                    if gram.iter().any(u8::is_ascii_digit) {
                        hash(gram)
                    } else {
                        u64::MAX
                    }
                })
                .collect();
            let edge = |at: isize| {
                if at < 0 && start == 0 && !whole || at >= order.len() as isize && end == text.len() && !whole {
                    0
                } else {
                    order.get(at as usize).copied().unwrap_or(u64::MAX)
                }
            };
            for at in 0..order.len() as isize {
                let smallest = (1..=radius as isize)
                    .map(|i| edge(at - i).min(edge(at + i)))
                    .min()
                    .unwrap_or(u64::MAX);
                if order[at as usize] < smallest {
                    out.push(key(order[at as usize]));
                }
            }
            start = end;
        }
    })
}

pub(crate) fn candidates() -> Vec<Candidate> {
    let one = |name: String, sampler, width| Candidate {
        name,
        tiers: vec![Tier { sampler, width }],
    };
    let mut all = vec![];
    for (k, w) in [(3, 4), (4, 4), (6, 20), (6, 12)] {
        all.push(one(format!("winnow k={k} w={w}, fuse 8"), winnow(k, w), 8));
    }
    all.push(one("winnow k=6 w=4, fuse 2".into(), winnow(6, 4), 2));
    for (k, width) in [(3, 4), (3, 8), (4, 2), (4, 3), (4, 4), (4, 8), (5, 4)] {
        all.push(one(format!("words k={k}, fuse {width}"), words(k), width));
    }
    for width in [1, 2, 3] {
        all.push(one(format!("ids k=6 smallest of 3, fuse {width}"), ids(6, 1), width));
    }
    all.push(one("ids k=6 smallest of 5, fuse 4".into(), ids(6, 2), 4));
    all.push(one("ids k=6 all, fuse 1".into(), ids(6, 0), 1));
    all.push(one("ids k=6 all, Bloom 1".into(), ids(6, 0), 0));
    for k in [5, 6, 7, 8] {
        all.push(one(format!("ids k={k} falling, fuse 2"), falling_ids(k, false), 2));
    }
    for width in [1, 2, 3] {
        all.push(one(
            format!("ids k=6 falling, digits fewer, fuse {width}"),
            falling_ids(6, true),
            width,
        ));
    }
    all.push(one(
        "ids k=6 falling, digits fewer, Bloom 1".into(),
        falling_ids(6, true),
        0,
    ));
    all.push(one(
        "ids k=6 falling, digits fewer, Bloom 2".into(),
        falling_ids(6, true),
        -2,
    ));
    all
}
