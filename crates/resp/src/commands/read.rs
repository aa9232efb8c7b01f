//! Reads the words of commands: numbers, databases, times.

use crate::context::CommandError;
pub(crate) use crate::protocol::strict_integer;
use timberline_series::keyspace::DATABASES;

/// A whole number of 64 bits.
pub(crate) fn integer(word: &[u8]) -> Result<i64, CommandError> {
    strict_integer(word).ok_or(CommandError::NOT_AN_INTEGER)
}

/// A count: a whole number that is not negative.
pub(crate) fn count(word: &[u8]) -> Result<usize, CommandError> {
    usize::try_from(integer(word)?).map_err(|_| CommandError::text("ERR value is out of range, must be positive"))
}

/// A double as the server reads them: also `+5`, `.5`, `inf`; not NaN.
pub(crate) fn float(word: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(word).ok()?;
    let value: f64 = text.parse().ok()?;
    // Overflow to infinity is not what was written.
    let says_infinity = text
        .trim_start_matches(['+', '-'])
        .get(..3)
        .is_some_and(|word| word.eq_ignore_ascii_case("inf"));
    (!value.is_nan() && (value.is_finite() || says_infinity)).then_some(value)
}

/// The number of a database.
pub(crate) fn database(word: &[u8]) -> Result<u8, CommandError> {
    let number = integer(word)?;
    u8::try_from(number)
        .ok()
        .filter(|number| usize::from(*number) < DATABASES)
        .ok_or(CommandError::text("ERR DB index is out of range"))
}

/// What is after a word that needs it.
pub(crate) fn text(word: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(word)
}
