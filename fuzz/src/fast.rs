//! The crate's own encoders and decoders, in batches of a given size. `None` where the bytes are not valid.

use timberline_dataobj::encoding::{bitmap, delta, plain};

/// `count` integers that fill `bytes`.
pub fn delta(bytes: &[u8], count: usize, batch: usize) -> Option<Vec<i64>> {
    let mut values = vec![0; count];
    let mut decoder = delta::Decoder::new(bytes);
    for batch in values.chunks_mut(batch) {
        decoder.fill(batch).ok()?;
    }
    decoder.finish().ok()?;
    Some(values)
}

/// As [`delta()`], without instructions that not every machine has.
pub fn portable_delta(bytes: &[u8], count: usize) -> Option<Vec<i64>> {
    let mut values = vec![0; count];
    let mut decoder = delta::Decoder::new(bytes);
    decoder.fill_portably(&mut values).ok()?;
    decoder.finish().ok()?;
    Some(values)
}

/// Encoded integers.
pub fn encode_delta(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut previous = 0;
    for &value in values {
        delta::append(&mut out, previous, value);
        previous = value;
    }
    out
}

/// `count` byte strings that fill `bytes`.
pub fn plain(bytes: &[u8], count: usize) -> Option<Vec<Vec<u8>>> {
    let mut values = plain::Values::new(bytes);
    let decoded = (0..count).map(|_| values.next_value().map(<[u8]>::to_vec));
    let decoded = decoded.collect::<Result<Vec<_>, _>>().ok()?;
    values.finish().ok()?;
    Some(decoded)
}

/// As [`plain()`], copied in batches into a buffer with `more` bytes than needed.
pub fn copied_plain(bytes: &[u8], count: usize, batch: usize, more: usize) -> Option<Vec<Vec<u8>>> {
    let mut values = plain::Values::new(bytes);
    let mut data = vec![0; bytes.len().saturating_sub(count) + more];
    let mut ends = vec![0; count];
    let mut start = 0;
    for batch in ends.chunks_mut(batch) {
        start = values.copy_into(&mut data, start, batch).ok()?;
    }
    values.finish().ok()?;
    let mut start = 0;
    let mut decoded = Vec::new();
    for end in ends {
        decoded.push(data[start..end as usize].to_vec());
        start = end as usize;
    }
    Some(decoded)
}

/// As [`plain()`], through Arrow's views.
pub fn viewed_plain(bytes: &[u8], count: usize, batch: usize) -> Option<Vec<Vec<u8>>> {
    let mut values = plain::Values::new(bytes);
    let mut views = vec![0; count];
    for batch in views.chunks_mut(batch) {
        values.view_into(batch).ok()?;
    }
    values.finish().ok()?;
    let value = |view: &u128| {
        let view = view.to_le_bytes();
        let part = |at: usize| u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
        let (length, start) = (part(0), part(12));
        if length <= 12 {
            assert!(
                view[4 + length..].iter().all(|byte| *byte == 0),
                "what is behind a short value is zero"
            );
            return view[4..4 + length].to_vec();
        }
        assert_eq!((part(8), view[4..8].to_vec()), (0, bytes[start..start + 4].to_vec()));
        bytes[start..start + length].to_vec()
    };
    Some(views.iter().map(value).collect())
}

/// Encoded byte strings.
pub fn encode_plain(values: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        plain::append(&mut out, value);
    }
    out
}

/// Presence of `rows` rows that fills `bytes`.
pub fn bitmap(bytes: &[u8], rows: usize, batch: usize) -> Option<Vec<bool>> {
    let mut decoder = bitmap::Decoder::new(bytes, rows);
    if decoder.take_if_all_present().ok()? {
        decoder.finish().ok()?;
        return Some(vec![true; rows]);
    }
    let mut bits = Vec::new();
    let mut words = vec![u64::MAX; batch.div_ceil(64)];
    while bits.len() < rows {
        let count = batch.min(rows - bits.len());
        decoder.fill(count, &mut words).ok()?;
        bits.extend((0..count).map(|bit| words[bit / 64] >> (bit % 64) & 1 == 1));
    }
    decoder.finish().ok()?;
    Some(bits)
}

/// Encoded presence, given as runs of equal bits.
pub fn encode_bitmap(runs: &[(bool, u64)]) -> Vec<u8> {
    let mut encoder = bitmap::Encoder::default();
    for &(value, count) in runs {
        encoder.append_n(value, count);
    }
    encoder.finish().to_vec()
}
