// hot path: no locks, no logging, no allocation per number.
//! A column of 64-bit integers in blocks of 128, each block with what its numbers have in common taken out:
//!
//! - direct: number `i` is `base + step * i + rest[i] - rest[0]`. Read at any index without the others.
//! - summed: number `i` is the one before it, plus `step + rest[i]`; `rest[0]` is 0. Few rests that are far from the others are
//!   stored beside the packed ones ("patches"), so that one gap does not widen all.
//!
//! Number 0 of a block is its base, so that the block of a number is found in the directory. All arithmetic wraps, so any integers are exact.
//!
//! ```text
//! base_bytes u8, step_bytes u8, reference i64
//! for each block: base - reference (base_bytes), step (step_bytes, signed), end of its data u16, width u8 (bit 7: summed), patches u8
//! for each block: packed rests (`bitpack`)
//!                 if it has patches: bytes of a patch u8, index u8 x patches, rest (so many bytes, signed) x patches
//! ```

use super::bitpack::{self, NARROW};
use super::column::{BLOCK, append_short, read_short, read_short_signed, read_u16, read_u64};
use super::column::{short_bytes, short_bytes_signed};
use super::{CodecError, MAX_CHUNK_SAMPLES, simd};
use std::cmp::Ordering;

const HEADER_BYTES: usize = 10;
/// Bytes of a directory entry behind base and step.
const ENTRY_BYTES: usize = 4;
/// The bit of the width that tells summed from direct.
const SUMMED: u8 = 0x80;
const MAX_WIDTH: usize = 64;
/// The widest rests of which the sum over a block fits into 32 bits.
const NARROW_SUMS: usize = 25;

/// What a direct block is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slope {
    /// One number.
    Flat,
    /// The line from the first number to the last.
    Line,
}

/// Collects blocks.
#[derive(Default)]
pub(crate) struct Writer {
    entries: Vec<Entry>,
    data: Vec<u8>,
}

struct Entry {
    base: i64,
    step: i64,
    end: usize,
    width: u8,
    patches: u8,
}

impl Writer {
    /// Room for so many numbers.
    pub(crate) fn with_capacity(len: usize) -> Writer {
        Writer {
            entries: Vec::with_capacity(len.div_ceil(BLOCK)),
            data: Vec::with_capacity(len),
        }
    }

    /// Appends a block of 128 numbers; only the last one may be shorter, and none is empty.
    pub(crate) fn push(&mut self, numbers: &[i64], slope: Slope) {
        let plan = Plan::new(numbers, slope);
        let mut rests = [0; BLOCK];
        plan.rests(numbers, &mut rests);
        bitpack::append(&rests, numbers.len(), plan.width, &mut self.data);
        let patches = self.append_patches(&plan, &rests[..numbers.len()]);
        self.entries.push(Entry {
            base: plan.base,
            step: plan.step,
            end: self.data.len(),
            width: plan.width as u8 | if plan.summed { SUMMED } else { 0 },
            patches,
        });
    }

    /// Appends the rests that are wider than the plan says, and tells how many.
    fn append_patches(&mut self, plan: &Plan, rests: &[u64]) -> u8 {
        if !plan.patched {
            return 0;
        }
        let is_patch = |rest: u64| plan.width < MAX_WIDTH && rest >> plan.width != 0;
        let patches = || (0u8..).zip(rests).filter(|(_, rest)| is_patch(**rest));
        let Some(bytes) = patches().map(|(_, rest)| short_bytes_signed(*rest as i64)).max() else {
            return 0;
        };
        self.data.push(bytes as u8);
        self.data.extend(patches().map(|(index, _)| index));
        patches().for_each(|(_, rest)| append_short(&mut self.data, *rest, bytes));
        patches().count() as u8
    }

    /// How many bytes the column takes, but for the sizes of bases and steps.
    pub(crate) fn bytes(&self) -> usize {
        HEADER_BYTES + self.entries.len() * ENTRY_BYTES + self.data.len()
    }

    /// Appends the column.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        let bases = || self.entries.iter().map(|entry| entry.base);
        let reference = bases().min().unwrap_or(0);
        let offset = |base: i64| base.wrapping_sub(reference) as u64;
        let base_bytes = bases().map(|base| short_bytes(offset(base))).max().unwrap_or(0);
        let steps = self.entries.iter().map(|entry| short_bytes_signed(entry.step));
        let step_bytes = steps.max().unwrap_or(0);
        out.extend_from_slice(&[base_bytes as u8, step_bytes as u8]);
        out.extend_from_slice(&reference.to_le_bytes());
        for entry in &self.entries {
            append_short(out, offset(entry.base), base_bytes);
            append_short(out, entry.step as u64, step_bytes);
            // A block takes at most 8 bytes a number and no more with patches, so this fits.
            debug_assert!(entry.end <= MAX_CHUNK_SAMPLES * 8);
            out.extend_from_slice(&(entry.end as u16).to_le_bytes());
            out.extend_from_slice(&[entry.width, entry.patches]);
        }
        out.extend_from_slice(&self.data);
    }
}

/// How a block is stored.
struct Plan {
    base: i64,
    /// The least distance of a number to the line of a direct block; at most 0.
    low: i64,
    step: i64,
    width: usize,
    summed: bool,
    patched: bool,
}

/// Neighbours looked at to see whether few of many differences are far from the others.
const PROBES: usize = 8;
/// So many bits must the differences of the probes be narrower than all differences for patches to be tried.
const PROBE_BITS: usize = 3;

impl Plan {
    fn new(numbers: &[i64], slope: Slope) -> Plan {
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        let step = match slope {
            Slope::Line if numbers.len() > 1 => last.wrapping_sub(first) / (numbers.len() as i64 - 1),
            _ => 0,
        };
        // Measured from the first number on, so that what is far from 0 does not wrap.
        let (mut low, mut high) = (0, 0);
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        let (mut before, mut line) = (first, first);
        for number in &numbers[1..] {
            line = line.wrapping_add(step);
            let distance = number.wrapping_sub(line);
            (low, high) = (distance.min(low), distance.max(high));
            let difference = number.wrapping_sub(before);
            (least, most) = (difference.min(least), difference.max(most));
            before = *number;
        }
        let direct = Plan {
            base: first,
            low,
            step,
            width: width(high.wrapping_sub(low) as u64),
            summed: false,
            patched: false,
        };
        if direct.width == 0 || numbers.len() < 2 {
            return direct;
        }
        let summed = Plan {
            base: first,
            low: 0,
            step: least,
            width: width(most.wrapping_sub(least) as u64),
            summed: true,
            patched: false,
        };
        let bytes = |plan: &Plan| bitpack::packed_bytes(numbers.len(), plan.width);
        let summed_width = summed.width;
        let best = if bytes(&direct) <= bytes(&summed) {
            direct
        } else {
            summed
        };
        match Plan::patched(numbers, summed_width, bytes(&best)) {
            Some(patched) => patched,
            None => best,
        }
    }

    /// A plan with patches that takes less than `limit` bytes.
    fn patched(numbers: &[i64], summed_width: usize, limit: usize) -> Option<Plan> {
        if summed_width < PROBE_BITS || numbers.len() < 2 * PROBES {
            return None;
        }
        let mut probes = [0; PROBES];
        let stride = (numbers.len() - 1) / PROBES;
        for (probe, pair) in probes.iter_mut().zip(numbers.windows(2).step_by(stride)) {
            *probe = pair[1].wrapping_sub(pair[0]);
        }
        probes.sort_unstable();
        // Without the outermost, which may be far from the others themselves.
        let spread = width(probes[PROBES - 2].wrapping_sub(probes[1]) as u64);
        if spread + PROBE_BITS > summed_width {
            return None;
        }
        let centre = probes[PROBES / 2];
        // Differences by the bits that their distance to the centre takes; four counters, since a counter is slow to add to again.
        let mut counters = [[0u16; MAX_WIDTH + 1]; 4];
        for (index, pair) in numbers.windows(2).enumerate() {
            let distance = pair[1].wrapping_sub(pair[0]).wrapping_sub(centre);
            counters[index % 4][width(zigzag(distance))] += 1;
        }
        let count = |width: usize| {
            counters
                .iter()
                .map(|counter| usize::from(counter[width]))
                .sum::<usize>()
        };
        let widest = (0..=MAX_WIDTH).rev().find(|width| count(*width) > 0).unwrap_or(0);
        let patch_bytes = (widest / 8 + 1).min(8) + 1;
        let (mut patches, mut best) = (0, None);
        let mut best_bytes = limit;
        for width in (0..=widest).rev() {
            let bytes = bitpack::packed_bytes(numbers.len(), width) + 1 + patches * patch_bytes;
            if bytes < best_bytes {
                (best, best_bytes) = (Some(width), bytes);
            }
            patches += count(width);
        }
        let width = best?;
        Some(Plan {
            base: numbers[0],
            low: 0,
            // The packed rests reach as far below the centre as above it.
            step: centre.wrapping_sub(if width == 0 { 0 } else { (1u64 << (width - 1)) as i64 }),
            width,
            summed: true,
            patched: true,
        })
    }

    fn rests(&self, numbers: &[i64], out: &mut bitpack::Wide) {
        if self.summed {
            let reduced = |pair: &[i64]| pair[1].wrapping_sub(pair[0]).wrapping_sub(self.step) as u64;
            for (out, pair) in out[1..].iter_mut().zip(numbers.windows(2)) {
                *out = reduced(pair);
            }
        } else {
            let mut line = self.base.wrapping_add(self.low);
            for (out, number) in out.iter_mut().zip(numbers) {
                *out = number.wrapping_sub(line) as u64;
                line = line.wrapping_add(self.step);
            }
        }
    }
}

#[inline]
fn width(number: u64) -> usize {
    (64 - number.leading_zeros()) as usize
}

#[inline]
fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

/// Checks the bytes of a column.
pub(crate) fn check(bytes: &[u8], len: usize) -> Result<(), CodecError> {
    let (Some(&base_bytes), Some(&step_bytes)) = (bytes.first(), bytes.get(1)) else {
        return Err(CodecError::Corrupt("packed column is cut off"));
    };
    if base_bytes > 8 || step_bytes > 8 {
        return Err(CodecError::Corrupt("packed column with numbers of more than 64 bits"));
    }
    let directory = usize::from(base_bytes + step_bytes) + ENTRY_BYTES;
    let data = HEADER_BYTES + directory * len.div_ceil(BLOCK);
    if bytes.len() < data {
        return Err(CodecError::Corrupt("packed column is cut off"));
    }
    let column = open(bytes, len);
    for index in 0..len.div_ceil(BLOCK) {
        let block = column.block(index);
        if block.width > MAX_WIDTH {
            return Err(CodecError::Corrupt("packed column with numbers of more than 64 bits"));
        }
        let mut end = block.start + bitpack::packed_bytes(block.len, block.width);
        if block.patches > 0 {
            let Some(patch_bytes) = bytes.get(end) else {
                return Err(CodecError::Corrupt("packed column is cut off"));
            };
            let indexes = bytes.get(end + 1..end + 1 + block.patches).unwrap_or(&[]);
            let is_wrong = |index: &u8| *index == 0 || usize::from(*index) >= block.len;
            if !(1..=8).contains(patch_bytes) || !block.summed || indexes.iter().any(is_wrong) {
                return Err(CodecError::Corrupt("packed column with wrong patches"));
            }
            end += 1 + block.patches * (1 + usize::from(*patch_bytes));
        }
        if end != block.end || end > bytes.len() {
            return Err(CodecError::Corrupt("packed block of another length"));
        }
        if block.summed && bitpack::get(&bytes[block.start..end], block.len, block.width, 0) != 0 {
            return Err(CodecError::Corrupt("packed block that does not start at its base"));
        }
    }
    if column.block(len.div_ceil(BLOCK) - 1).end != bytes.len() {
        return Err(CodecError::Corrupt("packed column of another length"));
    }
    Ok(())
}

/// A packed column.
pub(crate) struct Packed<'a> {
    bytes: &'a [u8],
    len: usize,
    reference: i64,
    base_bytes: usize,
    step_bytes: usize,
}

/// An entry of the directory.
struct BlockInfo {
    base: i64,
    step: i64,
    start: usize,
    end: usize,
    width: usize,
    summed: bool,
    patches: usize,
    len: usize,
}

/// Opens checked bytes.
#[inline]
pub(crate) fn open(bytes: &[u8], len: usize) -> Packed<'_> {
    Packed {
        bytes,
        len,
        reference: read_u64(bytes, 2) as i64,
        base_bytes: usize::from(bytes[0]),
        step_bytes: usize::from(bytes[1]),
    }
}

impl Packed<'_> {
    #[inline]
    fn block(&self, index: usize) -> BlockInfo {
        let size = self.base_bytes + self.step_bytes + ENTRY_BYTES;
        let data = HEADER_BYTES + size * self.len.div_ceil(BLOCK);
        let at = HEADER_BYTES + size * index;
        let fixed = at + self.base_bytes + self.step_bytes;
        let start = if index == 0 {
            0
        } else {
            read_u16(self.bytes, fixed - size)
        };
        let base = read_short(self.bytes, at, self.base_bytes);
        BlockInfo {
            base: self.reference.wrapping_add(base as i64),
            step: read_short_signed(self.bytes, at + self.base_bytes, self.step_bytes),
            start: data + usize::from(start),
            end: data + usize::from(read_u16(self.bytes, fixed)),
            width: usize::from(self.bytes[fixed + 2] & !SUMMED),
            summed: self.bytes[fixed + 2] & SUMMED != 0,
            patches: usize::from(self.bytes[fixed + 3]),
            len: BLOCK.min(self.len - index * BLOCK),
        }
    }

    /// Fills `out` with the numbers from an index on, converted.
    #[inline]
    pub(crate) fn fill<T: Copy + Default>(&self, start: usize, out: &mut [T], convert: impl Fn(i64) -> T + Copy) {
        simd::widest(|| self.fill_blocks(start, out, convert));
    }

    #[inline(always)]
    fn fill_blocks<T: Copy + Default>(&self, start: usize, out: &mut [T], convert: impl Fn(i64) -> T + Copy) {
        let (mut index, mut skipped) = (start / BLOCK, start % BLOCK);
        let mut rest = out;
        while !rest.is_empty() {
            let count = rest.len().min(BLOCK - skipped);
            let (part, left) = rest.split_at_mut(count);
            if let Ok(block) = <&mut [T; BLOCK]>::try_from(&mut *part) {
                self.decode(index, block, convert);
            } else {
                let mut block = [T::default(); BLOCK];
                self.decode(index, &mut block, convert);
                part.copy_from_slice(&block[skipped..skipped + count]);
            }
            (index, skipped) = (index + 1, 0);
            rest = left;
        }
    }

    /// Decodes a block. What stands behind the numbers of a shorter one is arbitrary.
    #[inline(always)]
    fn decode<T>(&self, index: usize, out: &mut [T; BLOCK], convert: impl Fn(i64) -> T) {
        let block = self.block(index);
        if block.width > NARROW_SUMS || block.patches > 0 {
            let mut rests = [0u64; BLOCK];
            self.unpack(&block, &mut rests);
            if block.summed {
                sum_up(&mut rests, u64::wrapping_add);
            }
            block.restore(&rests, out, convert);
        } else {
            let mut rests = [0u32; BLOCK];
            bitpack::unpack_narrow(&self.bytes[block.start..block.end], block.width, &mut rests);
            if block.summed {
                sum_up(&mut rests, u32::wrapping_add);
            }
            block.restore(&rests, out, convert);
        }
    }

    /// Unpacks the rests of a block of any width, patched.
    fn unpack(&self, block: &BlockInfo, rests: &mut bitpack::Wide) {
        let (packed, patches) =
            self.bytes[block.start..block.end].split_at(bitpack::packed_bytes(block.len, block.width));
        if block.width > NARROW {
            bitpack::unpack_wide(packed, block.len, block.width, rests);
        } else {
            let mut narrow = [0; BLOCK];
            bitpack::unpack_narrow(packed, block.width, &mut narrow);
            *rests = narrow.map(u64::from);
        }
        if block.patches > 0 {
            let patch_bytes = usize::from(patches[0]);
            let (indexes, values) = patches[1..].split_at(block.patches);
            for (patch, index) in indexes.iter().enumerate() {
                rests[usize::from(*index)] = read_short_signed(values, patch * patch_bytes, patch_bytes) as u64;
            }
        }
    }

    /// The number at an index. Costs as much as its block if that is summed.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> i64 {
        let block = self.block(index / BLOCK);
        self.at_within(&block, index % BLOCK)
    }

    #[inline]
    fn at_within(&self, block: &BlockInfo, within: usize) -> i64 {
        let line = block.base.wrapping_add(block.step.wrapping_mul(within as i64));
        if block.summed && block.width <= NARROW_SUMS && block.patches == 0 {
            let mut rests = [0; BLOCK];
            bitpack::unpack_narrow(&self.bytes[block.start..block.end], block.width, &mut rests);
            let sum = rests[..=within]
                .iter()
                .fold(0, |sum: u32, rest| sum.wrapping_add(*rest));
            return line.wrapping_add(i64::from(sum));
        }
        if block.summed {
            let mut rests = [0; BLOCK];
            self.unpack(block, &mut rests);
            let rests = &rests[..=within];
            return rests.iter().fold(line, |sum, rest| sum.wrapping_add(*rest as i64));
        }
        let rest = |index| bitpack::get(&self.bytes[block.start..block.end], block.len, block.width, index) as i64;
        line.wrapping_add(rest(within)).wrapping_sub(rest(0))
    }

    /// The number with which a block begins.
    #[inline]
    fn base_of(&self, index: usize) -> i64 {
        let size = self.base_bytes + self.step_bytes + ENTRY_BYTES;
        let base = read_short(self.bytes, HEADER_BYTES + size * index, self.base_bytes);
        self.reference.wrapping_add(base as i64)
    }

    /// The index of a number in an ascending column, at which it is or would be inserted; not below the first number.
    pub(crate) fn find(&self, number: i64) -> Result<usize, usize> {
        let (mut low, mut count) = (0, self.len.div_ceil(BLOCK));
        // Without branches that are hard to foresee.
        while count > 1 {
            let half = count / 2;
            low = if self.base_of(low + half) <= number {
                low + half
            } else {
                low
            };
            count -= half;
        }
        let block = self.block(low);
        let found = if block.summed {
            let mut numbers = [0; BLOCK];
            self.decode(low, &mut numbers, |number| number);
            numbers[..block.len].binary_search(&number)
        } else {
            self.find_direct(&block, number)
        };
        let start = low * BLOCK;
        found.map(|index| start + index).map_err(|index| start + index)
    }

    /// As [`Packed::find`] within a direct block that ascends: near the line, which no rest leaves by more than its width.
    fn find_direct(&self, block: &BlockInfo, number: i64) -> Result<usize, usize> {
        let (mut low, mut high) = (0, block.len);
        let beyond = number.wrapping_sub(block.base) as u64;
        let most = u64::MAX.checked_shr(64 - block.width as u32).unwrap_or(0);
        if let (Some(least), Some(reached)) = (beyond.checked_sub(most), beyond.checked_add(most))
            && let (Some(least), Some(reached)) = (
                least.checked_div(block.step as u64),
                reached.checked_div(block.step as u64),
            )
        {
            low = high.min(least as usize);
            high = high.min((reached as usize).saturating_add(1));
        }
        while low < high {
            let middle = (low + high) / 2;
            match self.at_within(block, middle).cmp(&number) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }
}

impl BlockInfo {
    /// Numbers of their rests, which are summed up if the block is.
    #[inline(always)]
    fn restore<R: Copy + Into<u64>, T>(&self, rests: &[R; BLOCK], out: &mut [T; BLOCK], convert: impl Fn(i64) -> T) {
        let first: u64 = rests[0].into();
        let start = self.base.wrapping_sub(first as i64);
        for (index, (out, rest)) in (0i64..).zip(out.iter_mut().zip(rests)) {
            let rest: u64 = (*rest).into();
            *out = convert(
                start
                    .wrapping_add(self.step.wrapping_mul(index))
                    .wrapping_add(rest as i64),
            );
        }
    }
}

/// Makes each rest the sum of all up to it. Four sums side by side, so that one addition in four waits for the one before.
#[inline(always)]
fn sum_up<R: Copy + Default>(rests: &mut [R; BLOCK], add: impl Fn(R, R) -> R) {
    let mut before = R::default();
    for rests in rests.as_chunks_mut::<4>().0 {
        let [first, second, third, fourth] = *rests;
        let half = add(first, second);
        let sums = [first, half, add(half, third), add(half, add(third, fourth))];
        *rests = sums.map(|sum| add(before, sum));
        before = rests[3];
    }
}
