//! Delta decoding with AVX2 and BMI2, chosen at run time.
//!
//! A loop that reads one varint after another waits for each length before it can begin with the next. Here the last bytes of all
//! varints in the next 64 bytes are found at once, as the bits of one word; walking over these bits costs a cycle each, so that the
//! processor works on several varints side by side:
//!
//! ```text
//! bytes    96 01 | 03 | ff ff 7f | 02 | 80 ...
//! ends      0  1    1    0  0  1    1    0 ...
//! ```
//!
//! `pext` then takes the seven bits out of each byte. Blocks of nothing but single bytes, the usual case of sorted columns, are
//! unpacked and summed up eight at a time.
// hot path: no locks, no logging, no allocation per value.

use super::Decoder;
use std::arch::x86_64::*;

/// Bytes looked at together.
const BLOCK: usize = 64;

/// How far the loads of a block may reach: the last varint starts within the block, and 16 bytes are read from there.
const REACH: usize = BLOCK + 16;

/// The low seven bits of eight bytes.
const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// Whether this machine has the instructions.
#[inline]
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Decodes as many values as whole blocks give; the decoder stands behind them afterwards. Stops before anything that isn't a
/// varint.
///
/// # Panics
/// If the instructions are not available.
pub(super) fn fill(decoder: &mut Decoder<'_>, out: &mut [i64]) -> usize {
    assert!(is_available(), "bug: called without the instructions");
    // SAFETY: just checked.
    unsafe { fill_blocks(decoder, out) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn fill_blocks(decoder: &mut Decoder<'_>, out: &mut [i64]) -> usize {
    let mut rest = decoder.rest;
    let mut previous = decoder.previous;
    let mut done = 0;
    while let (Some(window), true) = (rest.first_chunk::<REACH>(), done < out.len()) {
        let ends = ends_of_varints(window);
        if ends == u64::MAX
            && let Some(target) = out.get_mut(done..).and_then(|out| out.first_chunk_mut::<BLOCK>())
        {
            previous = sum_singles(window, previous, target);
            done += BLOCK;
            rest = &rest[BLOCK..];
            continue;
        }
        let left = &mut out[done..];
        let (ended, used) = match ends.count_ones() as usize {
            0 => break,
            // Known before the values are decoded, so that the next block can begin meanwhile.
            ended if ended <= left.len() => (ended, BLOCK - ends.leading_zeros() as usize),
            _ => (left.len(), end_of(ends, left.len())),
        };
        let target = &mut left[..ended];
        previous = match lengths(window, ends) {
            Lengths::UpTo8 => sum_short(window, ends, previous, target),
            Lengths::From8To10 => sum_long(window, ends, previous, target),
            Lengths::UpTo10 => sum_mixed(window, ends, previous, target),
            Lengths::Invalid => break,
        };
        done += ended;
        rest = &rest[used..];
    }
    decoder.rest = rest;
    decoder.previous = previous;
    done
}

/// One bit for each byte of the block: set if a varint ends there.
#[inline]
#[target_feature(enable = "avx2")]
fn ends_of_varints(window: &[u8; REACH]) -> u64 {
    let (low, high) = halves(window);
    !join(_mm256_movemask_epi8(low), _mm256_movemask_epi8(high))
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(window: &[u8; REACH]) -> (__m256i, __m256i) {
    let start = window.as_ptr();
    // SAFETY: both loads lie within the window's 80 bytes.
    unsafe {
        (
            _mm256_loadu_si256(start.cast()),
            _mm256_loadu_si256(start.add(32).cast()),
        )
    }
}

#[inline]
fn join(low: i32, high: i32) -> u64 {
    u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
}

/// Behind which byte the varint with that number, counted from 1, ends.
#[inline]
#[target_feature(enable = "bmi1")]
fn end_of(mut ends: u64, number: usize) -> usize {
    for _ in 1..number {
        ends = _blsr_u64(ends);
    }
    ends.trailing_zeros() as usize + 1
}

/// How long the varints of a block are.
enum Lengths {
    UpTo8,
    From8To10,
    UpTo10,
    /// One is longer, or has more than 64 bits.
    Invalid,
}

#[inline]
#[target_feature(enable = "avx2")]
fn lengths(window: &[u8; REACH], ends: u64) -> Lengths {
    // A bit is set if a run of so many bytes that are continued starts there.
    let runs_of_1 = !ends;
    let runs_of_2 = runs_of_1 & runs_of_1 >> 1;
    let runs_of_4 = runs_of_2 & runs_of_2 >> 2;
    let runs_of_8 = runs_of_4 & runs_of_4 >> 4;
    if runs_of_8 == 0 {
        return Lengths::UpTo8;
    }
    let runs_of_9 = runs_of_8 & runs_of_1 >> 8;
    let runs_of_10 = runs_of_9 & runs_of_1 >> 9;
    let (low, high) = halves(window);
    let one = _mm256_set1_epi8(1);
    let above_1 = join(
        _mm256_movemask_epi8(_mm256_cmpgt_epi8(low, one)),
        _mm256_movemask_epi8(_mm256_cmpgt_epi8(high, one)),
    );
    // A tenth byte holds the last of 64 bits.
    if runs_of_10 | runs_of_9 << 9 & above_1 != 0 {
        return Lengths::Invalid;
    }
    // A bit is set if a varint starts there or up to six bytes before: one that ended there would have at most seven.
    let starts = ends << 1 | 1;
    let starts_in_2 = starts | starts << 1;
    let starts_in_4 = starts_in_2 | starts_in_2 << 2;
    let starts_in_7 = starts_in_4 | starts_in_4 << 3;
    if ends & starts_in_7 == 0 {
        Lengths::From8To10
    } else {
        Lengths::UpTo10
    }
}

/// Decodes varints of at most eight bytes; returns the last value.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn sum_short(window: &[u8; REACH], ends: u64, previous: i64, target: &mut [i64]) -> i64 {
    let varint = |start: usize, end: usize| {
        let groups = _bzhi_u64(load(window, start), (8 * (end - start)) as u32);
        _pext_u64(groups, LOW_BITS)
    };
    sum(ends, previous, target, varint)
}

/// Decodes varints of eight to ten bytes; returns the last value. The first eight bytes and the last eight, which overlap, need no
/// masks.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn sum_long(window: &[u8; REACH], ends: u64, previous: i64, target: &mut [i64]) -> i64 {
    let varint = |start: usize, end: usize| {
        let first = _pext_u64(load(window, start), LOW_BITS);
        let last = _pext_u64(load(window, end - 8), LOW_BITS);
        first | last.wrapping_shl(7 * (end - start - 8) as u32)
    };
    sum(ends, previous, target, varint)
}

/// Decodes varints of at most ten bytes; returns the last value.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn sum_mixed(window: &[u8; REACH], ends: u64, previous: i64, target: &mut [i64]) -> i64 {
    let varint = |start: usize, end: usize| {
        let bits = (8 * (end - start)) as u32;
        let low = _pext_u64(_bzhi_u64(load(window, start), bits), LOW_BITS);
        // The ninth and the tenth byte, if the varint has them.
        let high = _pext_u64(_bzhi_u64(load(window, start + 8), bits.max(64) - 64), LOW_BITS);
        low | high << 56
    };
    sum(ends, previous, target, varint)
}

/// Sums up the differences that `varint` takes out of the block, given where each starts and ends. Two a turn: a fifth faster.
#[inline(always)]
fn sum(mut ends: u64, mut previous: i64, target: &mut [i64], varint: impl Fn(usize, usize) -> u64) -> i64 {
    let mut start = 0;
    let mut next = |slot: &mut i64| {
        let end = ends.trailing_zeros() as usize + 1;
        ends &= ends.wrapping_sub(1);
        previous = previous.wrapping_add(crate::varint::unzigzag(varint(start, end)));
        *slot = previous;
        start = end;
    };
    let (pairs, odd) = target.as_chunks_mut::<2>();
    for [one, two] in pairs {
        next(one);
        next(two);
    }
    odd.iter_mut().for_each(next);
    previous
}

/// Eight bytes of the window. `start` is at most `BLOCK + 8`.
#[inline]
fn load(window: &[u8; REACH], start: usize) -> u64 {
    debug_assert!(start + 8 <= REACH);
    // SAFETY: varints start at most at the block's last byte; `start` is that or 8 more, or 8 bytes before an end that at least
    // 8 bytes come before, and 8 bytes from there lie within the window of 80.
    u64::from_le_bytes(unsafe { window.as_ptr().add(start).cast::<[u8; 8]>().read() })
}

/// Decodes a block of single bytes; returns the last value.
#[inline]
#[target_feature(enable = "avx2")]
fn sum_singles(window: &[u8; REACH], previous: i64, target: &mut [i64; BLOCK]) -> i64 {
    let mut base = _mm256_set1_epi64x(previous);
    for (eight, out) in window.as_chunks::<8>().0.iter().zip(target.as_chunks_mut::<8>().0) {
        let bytes = _mm_cvtsi64_si128(u64::from_le_bytes(*eight).cast_signed());
        let zigzag = _mm_cvtepu8_epi16(bytes);
        let sign = _mm_sub_epi16(_mm_setzero_si128(), _mm_and_si128(zigzag, _mm_set1_epi16(1)));
        let mut sums = _mm_xor_si128(_mm_srli_epi16::<1>(zigzag), sign);
        // Eight differences of -64 to 63 add up within 16 bits.
        sums = _mm_add_epi16(sums, _mm_slli_si128::<2>(sums));
        sums = _mm_add_epi16(sums, _mm_slli_si128::<4>(sums));
        sums = _mm_add_epi16(sums, _mm_slli_si128::<8>(sums));
        let low = _mm256_add_epi64(base, _mm256_cvtepi16_epi64(sums));
        let high = _mm256_add_epi64(base, _mm256_cvtepi16_epi64(_mm_srli_si128::<8>(sums)));
        // SAFETY: both stores lie within the eight values of `out`.
        unsafe {
            _mm256_storeu_si256(out.as_mut_ptr().cast(), low);
            _mm256_storeu_si256(out.as_mut_ptr().add(4).cast(), high);
        }
        base = _mm256_permute4x64_epi64::<0b11_11_11_11>(high);
    }
    target[BLOCK - 1]
}
