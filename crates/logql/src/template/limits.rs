//! Bounds of templates: what one expansion may cost, whatever template and line are.

/// Bytes of one text, the expansion itself included. Templates that repeat a label would otherwise double the memory with each
/// stage.
pub(super) const MAX_TEXT_BYTES: usize = 16 << 20;

/// Bytes of all values that one expansion makes.
pub(super) const MAX_VALUE_BYTES: usize = 64 << 20;

/// Steps of one expansion: nodes visited, arguments passed, and a step for each [`BYTES_PER_STEP`] bytes that a function reads.
/// Loops within loops would otherwise run for hours.
pub(super) const MAX_STEPS: u64 = 2_000_000;

/// See [`MAX_STEPS`].
pub(super) const BYTES_PER_STEP: usize = 64;

/// How deep actions and parentheses may nest in a template. Each level is a few frames of the stack.
pub(super) const MAX_NESTING: usize = 100;

/// How deep `{{template}}` may call itself.
pub(super) const MAX_CALLS: usize = 50;

/// How deep the values of `fromJson` may nest.
pub(super) const MAX_JSON_DEPTH: usize = 200;

/// Regular expressions that a runner keeps compiled.
pub(super) const MAX_CACHED_REGEXES: usize = 32;
