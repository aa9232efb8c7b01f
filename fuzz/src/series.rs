//! Chunks of the time-series engine: their bytes put together, read by slow code that follows the description of the format, and held
//! against every reader of the crate.

use crate::memory;
use timberline_series::codec::{BLOCK, Chunk, MAX_CHUNK_SAMPLES};

/// Samples of a chunk whose encoding is fuzzed: a few blocks.
const MAX_SAMPLES: usize = 3 * BLOCK + 5;

/// Numbers of encodings of timestamps.
pub const REGULAR: u8 = 1;
pub const IRREGULAR: u8 = 2;

/// Numbers of encodings of values.
pub const RAW: u8 = 0;
pub const CONSTANT: u8 = 1;
pub const DECIMAL: u8 = 2;
pub const BITS: u8 = 3;

/// The number of samples of a fuzzed chunk.
pub fn samples(head: [u8; 2]) -> usize {
    1 + usize::from(u16::from_le_bytes(head)) % MAX_SAMPLES
}

/// Bytes of a chunk.
pub fn chunk_bytes(len: usize, kinds: [u8; 2], bounds: [i64; 2], timestamps: &[u8], values: &[u8]) -> Vec<u8> {
    let mut bytes = (len as u16).to_le_bytes().to_vec();
    bytes.extend(kinds);
    bytes.extend((timestamps.len() as u32).to_le_bytes());
    bytes.extend(bounds.iter().flat_map(|bound| bound.to_le_bytes()));
    bytes.extend(timestamps);
    bytes.extend(values);
    bytes
}

/// Reads a chunk within the bound on memory: a copy of its bytes.
pub fn parse(bytes: &[u8]) -> Option<Chunk> {
    memory::bounded(memory::of_page(0, bytes.len() as u64), || Chunk::from_bytes(bytes)).ok()
}

/// All samples of a chunk, the values as bits, after holding every reader against them.
pub fn columns(chunk: &Chunk) -> (Vec<i64>, Vec<u64>) {
    let len = chunk.len();
    assert!((1..=MAX_CHUNK_SAMPLES).contains(&len));
    let (mut timestamps, mut values) = (vec![], vec![]);
    chunk.append_timestamps(0..len, &mut timestamps);
    chunk.append_values(0..len, &mut values);
    let values: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
    assert!(timestamps.is_sorted_by(|left, right| left < right));
    assert_eq!(
        [chunk.first_timestamp(), chunk.last_timestamp()],
        [timestamps[0], timestamps[len - 1]]
    );
    if let Some((first, step)) = chunk.regular() {
        assert!(
            (0..len as i64)
                .map(|index| first.wrapping_add(step.wrapping_mul(index)))
                .eq(timestamps.iter().copied())
        );
    }
    for start in [0, len / 3, len / 2] {
        let mut at = start;
        chunk.for_each_samples(start..len, |some_timestamps, some_values| {
            let end = at + some_timestamps.len();
            assert_eq!(some_timestamps, &timestamps[at..end]);
            assert!(
                some_values
                    .iter()
                    .map(|value| value.to_bits())
                    .eq(values[at..end].iter().copied())
            );
            at = end;
        });
        assert_eq!(at, len);
    }
    // A sample costs as much as its block, so of long chunks not all are read by themselves.
    for index in (0..len).step_by(len / 100 + 1) {
        let timestamp = timestamps[index];
        assert_eq!(chunk.timestamp_at(index), timestamp);
        assert_eq!(chunk.value_at(index).to_bits(), values[index]);
        for near in [timestamp.saturating_sub(1), timestamp, timestamp.saturating_add(1)] {
            assert_eq!(chunk.find(near), timestamps.binary_search(&near));
        }
    }
    (timestamps, values)
}

/// A packed column, bit by bit. The bytes are valid.
pub fn packed(bytes: &[u8], len: usize) -> Vec<i64> {
    let [base_bytes, step_bytes] = [usize::from(bytes[0]), usize::from(bytes[1])];
    let reference = signed(&bytes[2..10]);
    let entry_bytes = base_bytes + step_bytes + 4;
    let blocks = len.div_ceil(BLOCK);
    let (directory, mut data) = bytes[10..].split_at(blocks * entry_bytes);
    let mut numbers = vec![];
    let mut before_end = 0;
    for (index, entry) in directory.chunks(entry_bytes).enumerate() {
        let (base, rest) = entry.split_at(base_bytes);
        let base = reference.wrapping_add(unsigned(base) as i64);
        let (step, rest) = rest.split_at(step_bytes);
        let (step, end) = (signed(step), unsigned(&rest[..2]) as usize);
        let (width, summed, patches) = (usize::from(rest[2] & 0x7f), rest[2] & 0x80 != 0, usize::from(rest[3]));
        let count = BLOCK.min(len - index * BLOCK);
        let (block, left) = data.split_at(end - before_end);
        let low_width = width.min(32);
        let high_at = (count.div_ceil(4) * low_width).div_ceil(32) * 16;
        let mut rests: Vec<u64> = (0..count)
            .map(|index| {
                lane_bits(block, low_width, index) | lane_bits(&block[high_at..], width - low_width, index) << 32
            })
            .collect();
        if patches > 0 {
            let high_bytes = (count.div_ceil(4) * (width - low_width)).div_ceil(32) * 16;
            let block = &block[high_at + high_bytes..];
            let patch_bytes = usize::from(block[0]);
            let (indexes, values) = block[1..].split_at(patches);
            for (index, value) in indexes.iter().zip(values.chunks(patch_bytes)) {
                rests[usize::from(*index)] = signed(value) as u64;
            }
        }
        let mut number = base;
        for (index, rest) in (0i64..).zip(&rests) {
            let rest = *rest as i64;
            if !summed {
                let distance = rest.wrapping_sub(rests[0] as i64);
                number = base.wrapping_add(step.wrapping_mul(index)).wrapping_add(distance);
            } else if index > 0 {
                number = number.wrapping_add(step).wrapping_add(rest);
            }
            numbers.push(number);
        }
        (before_end, data) = (end, left);
    }
    numbers
}

/// A number of one lane out of four.
fn lane_bits(bytes: &[u8], width: usize, index: usize) -> u64 {
    let bit = |position: usize| {
        let byte = position / 32 * 16 + index % 4 * 4 + position % 32 / 8;
        u64::from(bytes[byte] >> (position % 8) & 1)
    };
    (0..width).map(|at| bit(index / 4 * width + at) << at).sum()
}

/// A little-endian number of up to eight bytes.
pub fn unsigned(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len() as u32;
    let number = unsigned(bytes).checked_shl(unused).unwrap_or(0) as i64;
    number.checked_shr(unused).unwrap_or(0)
}
