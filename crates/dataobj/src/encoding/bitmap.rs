//! Which rows of a page have a value: runs of equal bits, and groups of eight bits where runs are short.
// hot path: no locks, no logging, no allocation per row.

use crate::error::Damage;
use crate::varint::{append_uvarint, take_uvarint};

/// Largest number of groups in one packed run (specification 6.3, rule 5). Other writers cut the same way, which keeps
/// presence bytes identical.
const MAX_GROUPS: usize = 4096;

/// Bits of a header below the number of groups: six for the width less one, one that tells packed from repeated.
const GROUPS_SHIFT: u32 = 7;

/// The writer's state machine (specification 6.3).
///
/// ```text
/// idle --v--> run(v,1) --same--> run(v,n)
///   ^            |  other, n >= 8: emit the run, start run(v,1)
///   |            |  other, n < 8
///   |            v
///   +--8 bits-- partial group
/// ```
#[derive(Debug, Default)]
pub struct Encoder {
    out: Vec<u8>,
    groups: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Idle,
    Run {
        value: bool,
        count: u64,
    },
    Partial {
        bits: u8,
        count: u8,
    },
}

impl Encoder {
    /// Bytes emitted so far, without what the state machine still holds back.
    pub fn emitted_bytes(&self) -> usize {
        self.out.len()
    }

    /// Appends one row.
    #[inline]
    pub fn append(&mut self, value: bool) {
        match self.state {
            State::Idle => self.state = State::Run { value, count: 1 },
            State::Run { value: current, count } if current == value => {
                self.state = State::Run {
                    value,
                    count: count + 1,
                }
            }
            State::Run { value: current, count } if count >= 8 => {
                self.emit_run(current, count);
                self.state = State::Run { value, count: 1 };
            }
            State::Run { value: current, count } => {
                let bits = if current { (1u8 << count) - 1 } else { 0 };
                self.append_to_group(bits, count as u8, value);
            }
            State::Partial { bits, count } => self.append_to_group(bits, count, value),
        }
    }

    /// Appends `count` rows of one value.
    pub fn append_n(&mut self, value: bool, count: u64) {
        for done in 0..count {
            self.append(value);
            if let State::Run { count: run, .. } = &mut self.state {
                *run += count - done - 1;
                return;
            }
        }
    }

    /// The encoded rows; [`Encoder::clear`] before the next page.
    pub fn finish(&mut self) -> &[u8] {
        self.emit_groups();
        match self.state {
            State::Idle => {}
            State::Run { value, count } => self.emit_run(value, count),
            State::Partial { bits, count } => {
                let mut start = 0;
                while start < count {
                    let value = bits >> start & 1;
                    let length = (start..count).take_while(|&i| bits >> i & 1 == value).count() as u8;
                    self.emit_run(value == 1, u64::from(length));
                    start += length;
                }
            }
        }
        self.state = State::Idle;
        &self.out
    }

    /// Starts anew.
    pub fn clear(&mut self) {
        self.out.clear();
        self.groups.clear();
        self.state = State::Idle;
    }

    fn append_to_group(&mut self, bits: u8, count: u8, value: bool) {
        let bits = bits | u8::from(value) << count;
        if count < 7 {
            self.state = State::Partial { bits, count: count + 1 };
            return;
        }
        if self.groups.len() == MAX_GROUPS {
            self.emit_groups();
        }
        self.groups.push(bits);
        self.state = State::Idle;
    }

    fn emit_run(&mut self, value: bool, count: u64) {
        self.emit_groups();
        append_uvarint(&mut self.out, count << 1);
        self.out.push(u8::from(value));
    }

    fn emit_groups(&mut self) {
        if !self.groups.is_empty() {
            append_uvarint(&mut self.out, (self.groups.len() as u64) << GROUPS_SHIFT | 1);
            self.out.append(&mut self.groups);
        }
    }
}

/// Decodes rows in batches of any size.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    /// Rows behind the current run.
    rows_left: usize,
    run: Run<'a>,
}

/// What is left of the current run.
#[derive(Clone, Copy, Debug)]
enum Run<'a> {
    Repeat { value: bool, rows: usize },
    Packed { groups: &'a [u8], first_bit: usize },
}

impl Run<'_> {
    fn rows(&self) -> usize {
        match self {
            Run::Repeat { rows, .. } => *rows,
            Run::Packed { groups, first_bit } => groups.len() * 8 - first_bit,
        }
    }
}

impl<'a> Decoder<'a> {
    /// Starts at the first of `rows` rows.
    pub fn new(bytes: &'a [u8], rows: usize) -> Decoder<'a> {
        Decoder {
            rest: bytes,
            rows_left: rows,
            run: Run::Repeat { value: false, rows: 0 },
        }
    }

    /// If all of the remaining rows have a value and stand in one run, passes over them.
    pub fn take_if_all_present(&mut self) -> Result<bool, Damage> {
        if self.run.rows() == 0 && self.rows_left > 0 {
            self.next_run()?;
        }
        let all = self.rows_left == 0 && matches!(self.run, Run::Repeat { value: true, .. } if self.rest.is_empty());
        if all {
            self.run = Run::Repeat { value: false, rows: 0 };
        }
        Ok(all)
    }

    /// Decodes the next `rows` rows into the low bits of `out`, first row first. Bits behind them are left undefined.
    ///
    /// # Panics
    /// If `out` has fewer than `rows` bits.
    pub fn fill(&mut self, rows: usize, out: &mut [u64]) -> Result<(), Damage> {
        let mut bits = BitWriter { words: out, at: 0 };
        while bits.at < rows {
            let wanted = rows - bits.at;
            match &mut self.run {
                Run::Repeat { rows: 0, .. } => {
                    if self.rows_left == 0 {
                        return Err(Damage::new(format!("{wanted} rows more than the page has")));
                    }
                    self.next_run()?;
                }
                Run::Repeat { value, rows } => {
                    let count = wanted.min(*rows);
                    bits.repeat(*value, count);
                    *rows -= count;
                }
                Run::Packed { groups, first_bit } => {
                    let count = wanted.min(groups.len() * 8 - *first_bit);
                    bits.append_groups(groups, *first_bit, count);
                    let behind = *first_bit + count;
                    *groups = &groups[behind / 8..];
                    *first_bit = behind % 8;
                    if groups.is_empty() {
                        self.run = Run::Repeat { value: false, rows: 0 };
                    }
                }
            }
        }
        Ok(())
    }

    /// An error unless all rows and all bytes were decoded.
    pub fn finish(self) -> Result<(), Damage> {
        let left = self.rows_left + self.run.rows();
        if left > 0 {
            Err(Damage::new(format!("{left} rows were not decoded")))
        } else if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Damage::new("bytes behind the last presence run"))
        }
    }

    fn next_run(&mut self) -> Result<(), Damage> {
        let header = take_uvarint(&mut self.rest)?;
        let left = self.rows_left;
        if header & 1 == 0 {
            let value = take_uvarint(&mut self.rest)?;
            if value > 1 {
                return Err(Damage::new(format!("presence value {value} is neither 0 nor 1")));
            }
            let rows = usize::try_from(header >> 1)
                .ok()
                .filter(|rows| (1..=left).contains(rows));
            let Some(rows) = rows else {
                return Err(Damage::new(format!(
                    "presence run of {} where {left} rows are left",
                    header >> 1
                )));
            };
            self.run = Run::Repeat {
                value: value == 1,
                rows,
            };
            self.rows_left -= rows;
            return Ok(());
        }
        let width = (header >> 1 & 0x3f) + 1;
        if width != 1 {
            return Err(Damage::new(format!("presence group of width {width}, not 1")));
        }
        let count = usize::try_from(header >> GROUPS_SHIFT)
            .ok()
            .filter(|groups| (1..=left / 8).contains(groups));
        let Some((groups, behind)) = count.and_then(|groups| self.rest.split_at_checked(groups)) else {
            return Err(Damage::new(format!(
                "{} presence groups where {left} rows are left",
                header >> GROUPS_SHIFT
            )));
        };
        self.run = Run::Packed { groups, first_bit: 0 };
        self.rows_left -= groups.len() * 8;
        self.rest = behind;
        Ok(())
    }
}

/// Appends bits to words. What a word holds behind the last bit is of no meaning.
struct BitWriter<'a> {
    words: &'a mut [u64],
    at: usize,
}

impl BitWriter<'_> {
    fn repeat(&mut self, value: bool, count: usize) {
        let fill = if value { u64::MAX } else { 0 };
        let end = self.at + count;
        let mut first = self.at / 64;
        if !self.at.is_multiple_of(64) {
            self.put(fill);
            first += 1;
        }
        if let Some(words) = self.words.get_mut(first..end.div_ceil(64)) {
            words.fill(fill);
        }
        self.at = end;
    }

    /// Appends `count` rows of packed groups from bit `first` of the first group on.
    fn append_groups(&mut self, groups: &[u8], first: usize, count: usize) {
        if first > 0 {
            let head = count.min(8 - first);
            self.append_bits(u64::from(groups[0] >> first), head);
            if head < count {
                self.append_groups(&groups[1..], 0, count - head);
            }
            return;
        }
        let (whole, tail) = groups[..count.div_ceil(8)].as_chunks::<8>();
        let mut left = count;
        for eight in whole {
            let bits = left.min(64);
            self.append_bits(u64::from_le_bytes(*eight), bits);
            left -= bits;
        }
        if left > 0 {
            let mut last = [0; 8];
            last[..tail.len()].copy_from_slice(tail);
            self.append_bits(u64::from_le_bytes(last), left);
        }
    }

    /// Appends the low `count` bits, 1 to 64.
    #[inline]
    fn append_bits(&mut self, bits: u64, count: usize) {
        let offset = self.at % 64;
        self.put(bits << offset);
        self.at += count;
        if offset + count > 64 {
            self.words[self.at / 64] = bits >> (64 - offset);
        }
    }

    /// Puts bits that are shifted to their place into the current word, from the current bit on.
    #[inline]
    fn put(&mut self, bits: u64) {
        let below = (1u64 << (self.at % 64)) - 1;
        let word = &mut self.words[self.at / 64];
        *word = *word & below | bits & !below;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(runs: &[(u8, u64)]) -> Vec<u8> {
        let mut encoder = Encoder::default();
        for &(value, count) in runs {
            encoder.append_n(value == 1, count);
        }
        encoder.finish().to_vec()
    }

    fn expand(runs: &[(u8, u64)]) -> Vec<bool> {
        runs.iter()
            .flat_map(|&(value, count)| std::iter::repeat_n(value == 1, count as usize))
            .collect()
    }

    fn decode(bytes: &[u8], rows: usize, batch: usize) -> Result<Vec<bool>, Damage> {
        let mut decoder = Decoder::new(bytes, rows);
        let mut decoded = Vec::new();
        while decoded.len() < rows {
            let count = batch.min(rows - decoded.len());
            let mut words = vec![0x5555_5555_5555_5555; count.div_ceil(64)];
            decoder.fill(count, &mut words)?;
            decoded.extend((0..count).map(|row| words[row / 64] >> (row % 64) & 1 == 1));
        }
        decoder.finish()?;
        Ok(decoded)
    }

    #[test]
    fn examples_of_the_specification() {
        let check = |runs: &[(u8, u64)], want: &[u8]| {
            assert_eq!(encode(runs), want, "{runs:?}");
            let bits = expand(runs);
            assert_eq!(decode(want, bits.len(), 5).unwrap(), bits);
        };
        check(&[(1, 5)], &[0x0a, 1]);
        check(&[(1, 1), (0, 1), (1, 1)], &[2, 1, 2, 0, 2, 1]);
        check(&[(1, 1), (0, 2), (1, 2), (0, 1), (1, 1), (0, 1)], &[0x81, 1, 0x59]);
        check(&[(1, 1), (0, 1)].repeat(8), &[0x81, 2, 0x55, 0x55]);
        check(&[(1, 20), (0, 4), (1, 4)], &[0x28, 1, 0x81, 1, 0xf0]);
        check(&[(0, 10), (1, 1)], &[0x14, 0, 2, 1]);
        check(&[(1, 7), (0, 9)], &[0x81, 1, 0x7f, 0x10, 0]);
        check(&[(1, 3), (0, 5), (1, 8), (0, 2)], &[0x81, 1, 7, 0x10, 1, 4, 0]);
    }

    #[test]
    fn no_rows() {
        assert!(encode(&[]).is_empty());
        assert!(decode(&[], 0, 1).unwrap().is_empty());
        assert!(decode(&[2, 1], 0, 1).is_err());
        assert!(!Decoder::new(&[], 0).take_if_all_present().unwrap(), "there is no run");
    }

    #[test]
    fn wide_groups_are_refused() {
        assert!(decode(&[0x85, 1, 0x88, 0xc6, 0xfa], 8, 8).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn round_trip(runs in proptest::collection::vec((0u8..2, 1u64..40), 0..60), long in 0u64..70_000, batch in 1usize..5000) {
            let mut runs = runs;
            runs.extend([(1, 1), (0, 1)].repeat(long as usize % 700 * 60));
            let bits = expand(&runs);
            let encoded = encode(&runs);
            let mut one_by_one = Encoder::default();
            bits.iter().for_each(|&bit| one_by_one.append(bit));
            prop_assert_eq!(one_by_one.finish(), encoded.as_slice());
            prop_assert_eq!(&decode(&encoded, bits.len(), batch).unwrap(), &bits);
            prop_assert!(decode(&encoded, bits.len() + 1, batch).is_err());
            prop_assert!(bits.is_empty() || decode(&encoded, bits.len() - 1, batch).is_err());
            let is_one_run = bits.iter().all(|bit| *bit) && !bits.is_empty();
            prop_assert_eq!(Decoder::new(&encoded, bits.len()).take_if_all_present().unwrap(), is_one_run);
        }

        #[test]
        fn any_bytes_end_alike_whatever_the_batch(bytes in proptest::collection::vec(any::<u8>(), 0..60), rows in 0usize..500, batch in 1usize..200) {
            prop_assert_eq!(decode(&bytes, rows, batch).ok(), decode(&bytes, rows, 500).ok());
        }
    }
}
