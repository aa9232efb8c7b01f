//! The time-series commands, one file each.

use super::Command;

/// The rows of the table of commands (arity and keys: specification, chapter 17).
pub(crate) const COMMANDS: &[Command] = &[];
