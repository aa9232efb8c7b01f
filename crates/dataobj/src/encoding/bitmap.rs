//! Which rows of a page have a value: runs of equal bits, and groups of eight bits where runs are short.
// hot path: no locks, no logging, no allocation per row.

use crate::error::Damage;
use crate::varint::{append_uvarint, take_uvarint};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

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
pub(crate) struct Encoder {
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
    pub(crate) fn emitted_bytes(&self) -> usize {
        self.out.len()
    }

    /// Appends one row.
    #[inline]
    pub(crate) fn append(&mut self, value: bool) {
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
    pub(crate) fn append_n(&mut self, value: bool, count: u64) {
        for done in 0..count {
            self.append(value);
            if let State::Run { count: run, .. } = &mut self.state {
                *run += count - done - 1;
                return;
            }
        }
    }

    /// The encoded rows; [`Encoder::clear`] before the next page.
    pub(crate) fn finish(&mut self) -> &[u8] {
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

    pub(crate) fn clear(&mut self) {
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

/// Decoded presence of a page.
#[derive(Debug, PartialEq)]
pub(crate) enum Presence {
    /// Every row has a value.
    All,
    /// The rows whose bit is set have one.
    Some(BooleanBuffer),
}

/// Decodes the presence of exactly `rows` rows. The caller bounds `rows`, which bounds what is allocated.
pub(crate) fn decode(bytes: &[u8], rows: usize) -> Result<Presence, Damage> {
    let mut rest = bytes;
    let mut bits: Option<BooleanBufferBuilder> = None;
    let mut done = 0usize;
    while done < rows {
        let header = take_uvarint(&mut rest)?;
        let left = rows - done;
        if header & 1 == 0 {
            let value = take_uvarint(&mut rest)?;
            if value > 1 {
                return Err(Damage::new(format!("presence value {value} is neither 0 nor 1")));
            }
            let count = usize::try_from(header >> 1)
                .ok()
                .filter(|count| (1..=left).contains(count));
            let Some(count) = count else {
                return Err(Damage::new(format!(
                    "presence run of {} where {left} rows are left",
                    header >> 1
                )));
            };
            if done == 0 && value == 1 && count == rows && rest.is_empty() {
                return Ok(Presence::All);
            }
            bits.get_or_insert_with(|| BooleanBufferBuilder::new(rows))
                .append_n(count, value == 1);
            done += count;
        } else {
            let width = (header >> 1 & 0x3f) + 1;
            if width != 1 {
                return Err(Damage::new(format!("presence group of width {width}, not 1")));
            }
            let groups = usize::try_from(header >> GROUPS_SHIFT)
                .ok()
                .filter(|groups| (1..=left / 8).contains(groups));
            let Some((packed, behind)) = groups.and_then(|groups| rest.split_at_checked(groups)) else {
                return Err(Damage::new(format!(
                    "{} presence groups where {left} rows are left",
                    header >> GROUPS_SHIFT
                )));
            };
            let bits = bits.get_or_insert_with(|| BooleanBufferBuilder::new(rows));
            bits.append_packed_range(0..packed.len() * 8, packed);
            rest = behind;
            done += packed.len() * 8;
        }
    }
    if !rest.is_empty() {
        return Err(Damage::new("bytes behind the last presence run"));
    }
    let bits = bits.map_or_else(|| BooleanBuffer::new_unset(0), BooleanBufferBuilder::build);
    Ok(if bits.count_set_bits() == rows {
        Presence::All
    } else {
        Presence::Some(bits)
    })
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

    fn decode_bits(bytes: &[u8], rows: usize) -> Vec<bool> {
        match decode(bytes, rows).unwrap() {
            Presence::All => vec![true; rows],
            Presence::Some(bits) => bits.iter().collect(),
        }
    }

    #[test]
    fn examples_of_the_specification() {
        let check = |runs: &[(u8, u64)], want: &[u8]| {
            assert_eq!(encode(runs), want, "{runs:?}");
            let bits = expand(runs);
            assert_eq!(decode_bits(want, bits.len()), bits);
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
    fn wide_groups_are_refused() {
        assert!(decode(&[0x85, 1, 0x88, 0xc6, 0xfa], 8).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn round_trip(runs in proptest::collection::vec((0u8..2, 1u64..40), 0..60), long in 0u64..70_000) {
            let mut runs = runs;
            runs.extend([(1, 1), (0, 1)].repeat(long as usize % 700 * 60));
            let bits = expand(&runs);
            let encoded = encode(&runs);
            let mut one_by_one = Encoder::default();
            bits.iter().for_each(|&bit| one_by_one.append(bit));
            prop_assert_eq!(one_by_one.finish(), encoded.as_slice());
            prop_assert_eq!(decode_bits(&encoded, bits.len()), bits);
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..60), rows in 0usize..500) {
            let _ = decode(&bytes, rows);
        }
    }
}
