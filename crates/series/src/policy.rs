//! Duplicate policies (specification, 4.2 and 4.4).

use crate::error::AddError;

/// What happens to a sample on a timestamp that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// The sample is refused.
    Block,
    /// The old value stays.
    First,
    /// The new value replaces the old one.
    Last,
    /// The smaller value stays.
    Min,
    /// The larger value stays.
    Max,
    /// The values are added.
    Sum,
}

/// All policies with their names, at their number in logs and snapshots.
const NAMES: [(DuplicatePolicy, &str); 6] = [
    (DuplicatePolicy::Block, "block"),
    (DuplicatePolicy::First, "first"),
    (DuplicatePolicy::Last, "last"),
    (DuplicatePolicy::Min, "min"),
    (DuplicatePolicy::Max, "max"),
    (DuplicatePolicy::Sum, "sum"),
];

impl DuplicatePolicy {
    /// The policy of a name in any case.
    pub fn parse(name: &[u8]) -> Option<DuplicatePolicy> {
        let found = NAMES
            .iter()
            .find(|(_, known)| known.as_bytes().eq_ignore_ascii_case(name))?;
        Some(found.0)
    }

    /// The name in small letters.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The number that stands for the policy in logs and snapshots.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The policy of a number.
    pub fn from_number(number: u8) -> Option<DuplicatePolicy> {
        NAMES.get(usize::from(number)).map(|(policy, _)| *policy)
    }

    /// Whether the outcome can be told without the old value.
    pub(crate) fn ignores_old_value(self, new: f64) -> bool {
        match self {
            DuplicatePolicy::Block => true,
            DuplicatePolicy::Last => !new.is_nan(),
            _ => false,
        }
    }

    /// The value that stays when `new` meets `old`.
    pub(crate) fn resolve(self, old: f64, new: f64) -> Result<f64, AddError> {
        match (self, old.is_nan(), new.is_nan()) {
            (DuplicatePolicy::Block, _, _) => Err(AddError::Blocked),
            (DuplicatePolicy::First, true, false) => Ok(new),
            (DuplicatePolicy::First, _, _) => Ok(old),
            (DuplicatePolicy::Last, false, true) => Ok(old),
            (DuplicatePolicy::Last, _, _) => Ok(new),
            (_, true, true) => Ok(new),
            (_, true, false) | (_, false, true) => Err(AddError::Blocked),
            (DuplicatePolicy::Min, _, _) => Ok(if new < old { new } else { old }),
            (DuplicatePolicy::Max, _, _) => Ok(if new > old { new } else { old }),
            (DuplicatePolicy::Sum, _, _) => Ok(old + new),
        }
    }
}
