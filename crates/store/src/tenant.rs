//! The name of a tenant.

use crate::Error;
use std::fmt;
use std::sync::Arc;

/// Longest tenant name, in bytes (http-api.md 2).
const MAX_BYTES: usize = 150;

/// The name of a tenant, known to be valid. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(Arc<str>);

impl TenantId {
    /// Checks a name by the rules of http-api.md chapter 2; the error's text is what Loki answers.
    pub fn new(name: &str) -> Result<Self, Error> {
        if name.is_empty() {
            return Err(Error::Invalid("no org id".into()));
        }
        if let Some(bad) = name.chars().find(|c| !is_allowed(*c)) {
            return Err(Error::Invalid(format!(
                "tenant ID '{name}' contains unsupported character '{bad}'"
            )));
        }
        if name.len() > MAX_BYTES {
            return Err(Error::Invalid(format!(
                "tenant ID is too long: max {MAX_BYTES} characters"
            )));
        }
        if name == "." || name == ".." {
            return Err(Error::Invalid("tenant ID is '.' or '..'".into()));
        }
        Ok(Self(name.into()))
    }

    /// The tenant that owns everything where tenancy is off.
    pub fn single() -> Self {
        Self("fake".into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!-_.*'()".contains(c)
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules() {
        let f = |name: &str, want: Result<(), &str>| {
            let got = TenantId::new(name)
                .map(|t| assert_eq!(t.as_str(), name))
                .map_err(|e| e.to_string());
            assert_eq!(got, want.map_err(str::to_owned), "{name}");
        };
        f("fake", Ok(()));
        f("Team-1_!.*'()", Ok(()));
        f("...", Ok(()));
        f(&"x".repeat(150), Ok(()));
        f(&"x".repeat(151), Err("tenant ID is too long: max 150 characters"));
        f("", Err("no org id"));
        f(".", Err("tenant ID is '.' or '..'"));
        f("..", Err("tenant ID is '.' or '..'"));
        f("a/b", Err("tenant ID 'a/b' contains unsupported character '/'"));
        f("ä", Err("tenant ID 'ä' contains unsupported character 'ä'"));
    }
}
