//! Numbers and texts as the journal and snapshots write them: variable-length integers (seven bits a byte, lowest first), little
//! endian doubles, texts behind their length.

/// Appends a number in seven bits a byte.
pub(crate) fn append_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number, small ones of both signs in few bytes.
pub(crate) fn append_signed(number: i64, out: &mut Vec<u8>) {
    append_varint(zigzag(number), out);
}

/// Appends a text behind its length.
pub(crate) fn append_text(text: &[u8], out: &mut Vec<u8>) {
    append_varint(text.len() as u64, out);
    out.extend_from_slice(text);
}

/// Appends the bits of a double.
pub(crate) fn append_double(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_bits().to_le_bytes());
}

/// 0, -1, 1, -2 .. as 0, 1, 2, 3 ..
pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// The number that [`zigzag`] was given.
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Reads from the front of bytes. Every method gives nothing where the bytes end or are not what they should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*taken)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        self.varint().map(unzigzag)
    }

    /// A signed number that must not be negative.
    pub(crate) fn natural(&mut self) -> Option<i64> {
        self.signed().filter(|number| *number >= 0)
    }

    pub(crate) fn double(&mut self) -> Option<f64> {
        self.array().map(|bytes| f64::from_bits(u64::from_le_bytes(bytes)))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }

    /// How many things follow, each of which takes a byte at least.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.varint()?).ok()?;
        (count <= self.bytes.len()).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let check = |number: i64, bytes: usize| {
            let mut out = Vec::new();
            append_signed(number, &mut out);
            assert_eq!(out.len(), bytes, "{number}");
            assert_eq!(Reader::new(&out).signed(), Some(number));
            assert_eq!(Reader::new(&out[..bytes - 1]).signed(), None);
        };
        check(0, 1);
        check(-64, 1);
        check(64, 2);
        check(i64::MAX, 10);
        check(i64::MIN, 10);
        assert_eq!(Reader::new(&[0xff; 10]).varint(), None);
        assert_eq!(Reader::new(&[9, 1]).text(), None);
    }
}
