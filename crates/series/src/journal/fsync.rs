//! When data of the journal are made durable.

/// The policy (`appendfsync`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Before a write is acknowledged; those that wait at the same time share one sync.
    Always,
    /// Once a second, beside the writing.
    EverySecond,
    /// When the operating system sees fit.
    No,
}

const NAMES: [(Fsync, &str); 3] = [
    (Fsync::Always, "always"),
    (Fsync::EverySecond, "everysec"),
    (Fsync::No, "no"),
];

impl Fsync {
    /// The policy of a name in any case.
    pub fn parse(name: &[u8]) -> Option<Fsync> {
        let found = NAMES
            .iter()
            .find(|(_, known)| known.as_bytes().eq_ignore_ascii_case(name))?;
        Some(found.0)
    }

    /// The name in small letters.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    pub(super) fn number(self) -> u8 {
        self as u8
    }

    pub(super) fn from_number(number: u8) -> Fsync {
        NAMES
            .get(usize::from(number))
            .map_or(Fsync::Always, |(fsync, _)| *fsync)
    }
}
