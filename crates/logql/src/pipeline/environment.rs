//! What templates know of the world outside of the entry.

use jiff::tz::TimeZone;

/// Time and place of a query, for the functions `now`, `date` and `toDate` of templates (logql.md 9.2). The crate has no clock,
/// so the caller says what time it is. The default is 1970 in UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// What `now` answers: nanoseconds since 1970. One value for the whole query, so that all its lines agree.
    pub now_ns: i64,
    /// The server's zone, in which times are printed and texts without a zone are read.
    pub zone: TimeZone,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            now_ns: 0,
            zone: TimeZone::UTC,
        }
    }
}
