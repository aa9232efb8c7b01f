//! How values are laid out inside a page (specification chapter 6). Each encoding has its file with the same two halves:
//! encode, then decode.
//!
//! | encoding | holds | file |
//! |---|---|---|
//! | plain | byte strings | `plain.rs` |
//! | delta | 64-bit integers | `delta.rs` |
//! | bitmap | which rows of a page have a value | `bitmap.rs` |

pub(crate) mod bitmap;
pub(crate) mod delta;
pub(crate) mod plain;
