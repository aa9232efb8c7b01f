//! The time-series commands, one file each.

use super::flags::{BLOCKING, DENYOOM, EXCLUSIVE, FAST, HEAVY, MOVABLE_KEYS, READONLY, RUN, WRITE};
use super::{Command, Group, Keys};

/// The rows of the table of commands (arity and keys: specification, chapter 17).
pub(crate) const COMMANDS: &[Command] = &[];
