//! The nearest numbers around a time.

use super::source::Source;
use crate::sample::Sample;
use crate::view::{ReadError, View};

/// The newest sample before a time whose value is a number.
pub fn number_before(view: &View, timestamp: i64) -> Result<Option<Sample>, ReadError> {
    Source::of_view(view).nearest_before(timestamp, false)
}

/// The oldest sample at a time or later whose value is a number.
pub fn number_after(view: &View, timestamp: i64) -> Result<Option<Sample>, ReadError> {
    Source::of_view(view).nearest_after(timestamp.saturating_sub(1), false)
}
