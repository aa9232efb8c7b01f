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
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
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

#[target_feature(enable = "avx2,bmi1,bmi2")]
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
        let count = left.len().min(ends.count_ones() as usize);
        let target = &mut left[..count];
        let (used, last) = match longest_run(!ends) {
            ..8 => sum_short(window, ends, previous, target),
            8..10 => match sum_long(window, ends, previous, target) {
                Some(ended) => ended,
                None => break,
            },
            _ => break,
        };
        if used == 0 {
            break;
        }
        previous = last;
        done += count;
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
    // SAFETY: both loads lie within the window's 80 bytes.
    let (low, high) = unsafe {
        let start = window.as_ptr();
        (
            _mm256_loadu_si256(start.cast()),
            _mm256_loadu_si256(start.add(32).cast()),
        )
    };
    let continued = u64::from(_mm256_movemask_epi8(low).cast_unsigned())
        | u64::from(_mm256_movemask_epi8(high).cast_unsigned()) << 32;
    !continued
}

/// How many bits in a row are set somewhere, told apart only as 0 to 7, 8 to 9, and 10 or more: varints of up to 8, up to 10, and
/// too many bytes.
#[inline]
fn longest_run(bits: u64) -> usize {
    let two = bits & bits >> 1;
    let four = two & two >> 2;
    let eight = four & four >> 4;
    match (eight != 0, eight & two >> 8 != 0) {
        (false, _) => 0,
        (true, false) => 8,
        (true, true) => 10,
    }
}

#[inline]
fn unzigzag(value: u64) -> i64 {
    crate::varint::unzigzag(value)
}

/// Decodes varints of at most eight bytes. Returns how many bytes they took, and the last value.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn sum_short(window: &[u8; REACH], mut ends: u64, mut previous: i64, target: &mut [i64]) -> (usize, i64) {
    let mut start = 0usize;
    for slot in target {
        let end = ends.trailing_zeros() as usize + 1;
        ends = _blsr_u64(ends);
        let groups = _bzhi_u64(load(window, start), (8 * (end - start)) as u32);
        previous = previous.wrapping_add(unzigzag(_pext_u64(groups, LOW_BITS)));
        *slot = previous;
        start = end;
    }
    (start, previous)
}

/// Decodes varints of at most ten bytes; `None` if one has more than 64 bits.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn sum_long(window: &[u8; REACH], mut ends: u64, mut previous: i64, target: &mut [i64]) -> Option<(usize, i64)> {
    let mut start = 0usize;
    let mut overflow = 0u64;
    for slot in target {
        let end = ends.trailing_zeros() as usize + 1;
        ends = _blsr_u64(ends);
        let bits = (8 * (end - start)) as u32;
        let low = _pext_u64(_bzhi_u64(load(window, start), bits), LOW_BITS);
        // The ninth and the tenth byte, if the varint has them.
        let high = _pext_u64(_bzhi_u64(load(window, start + 8), bits.max(64) - 64), LOW_BITS);
        overflow |= high >> 8;
        previous = previous.wrapping_add(unzigzag(low | high << 56));
        *slot = previous;
        start = end;
    }
    (overflow == 0).then_some((start, previous))
}

/// Eight bytes of the window. `start` is at most `BLOCK + 8`.
#[inline]
fn load(window: &[u8; REACH], start: usize) -> u64 {
    debug_assert!(start + 8 <= REACH);
    // SAFETY: varints start at most at the block's last byte, `start` is that or 8 more, and 8 bytes from there lie within
    // the window of 80.
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
