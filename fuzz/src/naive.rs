//! Decoders written down from the specification (chapters 1, 4 and 6), one value at a time, to compare the fast ones with.
//! `None` where the bytes are not valid.

/// A varint of at most 64 bits, cut off the front of `bytes`.
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u128;
    for position in 0..10 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u128::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            return u64::try_from(value).ok();
        }
    }
    None
}

/// `count` integers that fill `bytes`.
pub fn delta(mut bytes: &[u8], count: usize) -> Option<Vec<i64>> {
    let mut values = Vec::new();
    let mut previous = 0i64;
    for _ in 0..count {
        let zigzag = take_varint(&mut bytes)?;
        let half = (zigzag / 2) as i64;
        let difference = if zigzag % 2 == 0 { half } else { -half - 1 };
        previous = previous.wrapping_add(difference);
        values.push(previous);
    }
    bytes.is_empty().then_some(values)
}

/// `count` byte strings that fill `bytes`.
pub fn plain(mut bytes: &[u8], count: usize) -> Option<Vec<Vec<u8>>> {
    let mut values = Vec::new();
    for _ in 0..count {
        let length = usize::try_from(take_varint(&mut bytes)?).ok()?;
        let (value, rest) = bytes.split_at_checked(length)?;
        values.push(value.to_vec());
        bytes = rest;
    }
    bytes.is_empty().then_some(values)
}

/// Presence of `rows` rows that fills `bytes`.
pub fn bitmap(mut bytes: &[u8], rows: usize) -> Option<Vec<bool>> {
    let mut bits = Vec::new();
    while bits.len() < rows {
        let header = take_varint(&mut bytes)?;
        if header % 2 == 0 {
            let count = header / 2;
            let value = take_varint(&mut bytes)?;
            if value > 1 || count == 0 || count > (rows - bits.len()) as u64 {
                return None;
            }
            bits.extend((0..count).map(|_| value == 1));
        } else {
            let width = header / 2 % 64 + 1;
            let groups = header / 128;
            if width != 1 || groups == 0 || groups > ((rows - bits.len()) / 8) as u64 {
                return None;
            }
            for _ in 0..groups {
                let (group, rest) = bytes.split_first()?;
                bytes = rest;
                bits.extend((0..8).map(|bit| group >> bit & 1 == 1));
            }
        }
    }
    bytes.is_empty().then_some(bits)
}

/// The parts of a page: presence of `rows` rows, and the stored values.
pub fn split_page(mut page: &[u8], rows: usize) -> Option<(Vec<bool>, &[u8])> {
    let length = usize::try_from(take_varint(&mut page)?).ok()?;
    let (presence, values) = page.split_at_checked(length)?;
    Some((bitmap(presence, rows)?, values))
}

/// Puts values where the rows have one.
pub fn spread<T>(presence: &[bool], values: Vec<T>) -> Vec<Option<T>> {
    let mut values = values.into_iter();
    presence
        .iter()
        .map(|&present| if present { values.next() } else { None })
        .collect()
}
