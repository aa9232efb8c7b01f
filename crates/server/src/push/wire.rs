//! The protobuf wire format, as far as a push body needs it: tags, varints, and slices of the body itself.

// hot path: no locks, no logging, no allocation per row.

use super::DecodeError;

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// Field number.
    pub(crate) number: u32,
    /// Its value.
    pub(crate) value: Value<'a>,
}

/// A value by wire type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire types 1 and 5; no field of a push body has one.
    Fixed,
    /// Wire type 2: a string, bytes or a message.
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    /// The bytes of a string or message; an error if the field has another wire type.
    pub(crate) fn bytes(&self) -> Result<&'a [u8], DecodeError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.wrong_type()),
        }
    }

    /// The number; an error if the field has another wire type.
    pub(crate) fn varint(&self) -> Result<u64, DecodeError> {
        match self.value {
            Value::Varint(number) => Ok(number),
            _ => Err(self.wrong_type()),
        }
    }

    fn wrong_type(&self) -> DecodeError {
        DecodeError::Protobuf(format!("field {} has the wrong wire type", self.number))
    }
}

/// The fields of a message, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of this message.
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next field; `None` at the end of the message.
    pub(crate) fn next_field(&mut self) -> Result<Option<Field<'a>>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|n| (1..1 << 29).contains(n));
        let number = number.ok_or_else(|| DecodeError::Protobuf(format!("invalid tag {tag}")))?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            other => {
                return Err(DecodeError::Protobuf(format!(
                    "field {number} has unknown wire type {other}"
                )));
            }
        };
        Ok(Some(Field { number, value }))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], DecodeError> {
        let split = usize::try_from(length)
            .ok()
            .and_then(|length| self.rest.split_at_checked(length));
        let Some((taken, rest)) = split else {
            let have = self.rest.len();
            return Err(DecodeError::Protobuf(format!(
                "field of {length} bytes in a message with {have} left"
            )));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for (i, byte) in self.rest.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if i == 9 && bits > 1 {
                break;
            }
            value |= bits << (7 * i);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        Err(DecodeError::Protobuf("truncated or overlong varint".into()))
    }
}
