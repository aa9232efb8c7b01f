//! Bounds on what a reader allocates for sizes that come from outside. The writer keeps within them, so nothing it writes
//! is refused.

use crate::error::{Damage, Error};

/// Largest page with its values uncompressed: 1 GiB, well above any page hint plus one huge line, and small enough for
/// 32-bit string offsets.
pub const MAX_PAGE_BYTES: u64 = 1 << 30;

/// Most rows of a page. Writers cap pages at some 10 000 rows, but a gap of nulls is never split, so a page may have as many
/// rows as a section: a section of 512 MiB holds at most 60 million records of 9 bytes.
pub const MAX_PAGE_ROWS: u64 = 1 << 26;

/// Largest object header. A header takes some 100 bytes per section.
pub const MAX_HEADER_BYTES: u64 = 1 << 24;

/// Names are stored once and referred to by number, so a small file could name a large string very often. Each reference
/// takes some 20 bytes of the file; names longer than ten times that are not what anybody writes everywhere.
const MAX_NAME_RATIO: usize = 16;

/// An error if `value` is above the limit.
pub(crate) fn check_limit(what: &'static str, value: u64, limit: u64) -> Result<(), Error> {
    if value <= limit {
        Ok(())
    } else {
        Err(Error::TooLarge { what, value, limit })
    }
}

/// An error if a reader would refuse that many bytes of names, each counted wherever it is referred to from `bytes` bytes of file.
pub(crate) fn check_names(what: &'static str, names_bytes: usize, bytes: usize) -> Result<(), Error> {
    check_limit(what, names_bytes as u64, NameBudget::new(bytes).left as u64)
}

/// Bounds the bytes of names copied out of a string table.
#[derive(Debug)]
pub(crate) struct NameBudget {
    left: usize,
}

impl NameBudget {
    /// For names referred to from `bytes` bytes of file.
    pub(crate) fn new(bytes: usize) -> NameBudget {
        NameBudget {
            left: bytes.saturating_mul(MAX_NAME_RATIO),
        }
    }

    /// The string with that number in a table.
    pub(crate) fn name(&mut self, strings: &[String], reference: u32) -> Result<String, Damage> {
        let Some(name) = strings.get(reference as usize) else {
            return Err(Damage::new(format!(
                "name {reference} is not in the string table of {}",
                strings.len()
            )));
        };
        let Some(left) = self.left.checked_sub(name.len()) else {
            return Err(Damage::new(format!(
                "name {reference} of {} bytes is used too often",
                name.len()
            )));
        };
        self.left = left;
        Ok(name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_name_can_be_used_only_so_often() {
        let strings = [String::new(), "x".repeat(100)];
        let mut budget = NameBudget::new(20);
        let reasons: Vec<String> = [0, 1, 1, 1, 1, 0, 2]
            .map(|reference| {
                budget
                    .name(&strings, reference)
                    .err()
                    .map_or(String::new(), |damage| damage.0.into_owned())
            })
            .to_vec();
        let refused = "name 1 of 100 bytes is used too often";
        assert_eq!(
            reasons,
            ["", "", "", "", refused, "", "name 2 is not in the string table of 2"]
        );
    }
}
