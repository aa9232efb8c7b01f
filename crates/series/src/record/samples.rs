// hot path: no locks shared between cores, no logging above debug, no allocation per sample.
//! Runs of samples of one series, the records that nearly all of the journal consists of.
//!
//! ```text
//! run     := kind:u8=3 id:varint sample* end:u8=7
//! sample  := control:u8 [delta:zigzag varint] [value]
//! control := bits 0-2: policy of the sample by number, 6: the value of the newest sample is set whatever the policy
//!            bit  3:   no delta follows: it is that of the sample before
//!            bits 4-5: value follows as 0: double, 1: zigzag varint of a whole number, 2: single, 3: nothing, it is the one before
//! ```
//!
//! Deltas are to the timestamp before, modulo 2^64; the first sample's is to zero. So a sample of a steady series takes a byte or two.

use super::kind;
use crate::policy::DuplicatePolicy;
use crate::wire::{Reader, append_varint, unzigzag, zigzag};

/// How a sample was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Under this policy.
    Add(DuplicatePolicy),
    /// As the newest sample, whatever the policy (TS.INCRBY).
    Overwrite,
}

const OVERWRITE: u8 = 6;
const END: u8 = 7;
const SAME_DELTA: u8 = 1 << 3;
const WHOLE: u8 = 1 << 4;
const SINGLE: u8 = 2 << 4;
const SAME_VALUE: u8 = 3 << 4;
const VALUE_FORM: u8 = 3 << 4;

/// Whole numbers below this take fewer bytes as varint than as single or double.
const WHOLE_BOUND: f64 = (1u64 << 34) as f64;

/// What the next sample is told by.
#[derive(Clone, Copy, Debug, Default)]
struct Previous {
    timestamp: i64,
    delta: i64,
    value_bits: u64,
}

/// A run of samples of one series, encoded while they come.
#[derive(Debug)]
pub struct SamplesRecord {
    id: u64,
    bytes: Vec<u8>,
    previous: Previous,
    /// Whether `bytes` holds a run that was not taken.
    open: bool,
}

impl SamplesRecord {
    /// An empty run; `buffer` gives its memory.
    pub fn new(id: u64, buffer: Vec<u8>) -> SamplesRecord {
        SamplesRecord {
            id,
            bytes: buffer,
            previous: Previous::default(),
            open: false,
        }
    }

    fn begin(&mut self) {
        self.bytes.clear();
        self.bytes.push(kind::SAMPLES);
        append_varint(self.id, &mut self.bytes);
        self.previous = Previous::default();
        self.open = true;
    }

    /// Adds a sample.
    pub fn push(&mut self, timestamp: i64, value: f64, kind: WriteKind) {
        if !self.open {
            self.begin();
        }
        let Previous {
            timestamp: before,
            delta: same,
            value_bits,
        } = self.previous;
        let delta = timestamp.wrapping_sub(before);
        let bits = value.to_bits();
        let mut control = match kind {
            WriteKind::Add(policy) => policy.number(),
            WriteKind::Overwrite => OVERWRITE,
        };
        let whole = value as i64;
        if delta == same {
            control |= SAME_DELTA;
        }
        control |= if bits == value_bits {
            SAME_VALUE
        } else if value.abs() < WHOLE_BOUND && (whole as f64).to_bits() == bits {
            WHOLE
        } else if f64::from(value as f32).to_bits() == bits {
            SINGLE
        } else {
            0
        };
        self.bytes.push(control);
        if delta != same {
            append_varint(zigzag(delta), &mut self.bytes);
        }
        match control & VALUE_FORM {
            SAME_VALUE => {}
            WHOLE => append_varint(zigzag(whole), &mut self.bytes),
            SINGLE => self.bytes.extend_from_slice(&(value as f32).to_bits().to_le_bytes()),
            _ => self.bytes.extend_from_slice(&bits.to_le_bytes()),
        }
        self.previous = Previous {
            timestamp,
            delta,
            value_bits: bits,
        };
    }

    /// The run so far, once: the next sample begins a new run. Nothing if there is none.
    pub fn take_frame(&mut self) -> Option<&[u8]> {
        if !self.open {
            return None;
        }
        self.open = false;
        self.bytes.push(END);
        Some(&self.bytes)
    }

    /// The memory back.
    pub fn take_buffer(&mut self) -> Vec<u8> {
        self.open = false;
        std::mem::take(&mut self.bytes)
    }
}

/// The samples of a record in the order of writing: timestamp, value, how it was written.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Checked: read to the end it gives samples only.
    reader: Reader<'a>,
    previous: Previous,
}

impl<'a> Run<'a> {
    /// Reads a run up to its end mark.
    pub(super) fn read(reader: &mut Reader<'a>) -> Option<Run<'a>> {
        let run = *reader;
        let mut previous = Previous::default();
        while reader.rest().first()? != &END {
            read_sample(reader, &mut previous)?;
        }
        reader.byte();
        Some(Run {
            reader: run,
            previous: Previous::default(),
        })
    }
}

impl Iterator for Run<'_> {
    type Item = (i64, f64, WriteKind);

    fn next(&mut self) -> Option<(i64, f64, WriteKind)> {
        read_sample(&mut self.reader, &mut self.previous)
    }
}

/// Reads one sample; nothing at the end mark or if the bytes are not a sample.
fn read_sample(reader: &mut Reader<'_>, previous: &mut Previous) -> Option<(i64, f64, WriteKind)> {
    let control = reader.byte()?;
    let kind = match control & 7 {
        END => return None,
        OVERWRITE => WriteKind::Overwrite,
        number => WriteKind::Add(DuplicatePolicy::from_number(number)?),
    };
    if control & SAME_DELTA == 0 {
        previous.delta = unzigzag(reader.varint()?);
    }
    previous.timestamp = previous.timestamp.wrapping_add(previous.delta);
    let value = match control & VALUE_FORM {
        SAME_VALUE => f64::from_bits(previous.value_bits),
        WHOLE => unzigzag(reader.varint()?) as f64,
        SINGLE => f64::from(f32::from_bits(reader.u32()?)),
        _ => reader.double()?,
    };
    previous.value_bits = value.to_bits();
    Some((previous.timestamp, value, kind))
}
