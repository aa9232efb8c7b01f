//! How values are laid out inside a page (specification chapter 6), without presence, compression and checksum. Each encoding has its
//! file with the same two halves: encode, then decode in batches.
//!
//! | encoding | holds | file |
//! |---|---|---|
//! | plain | byte strings | `plain.rs` |
//! | delta | 64-bit integers | `delta.rs`, with AVX2 and BMI2 `delta_avx2.rs` |
//! | bitmap | which rows of a page have a value | `bitmap.rs` |

pub mod bitmap;
pub mod delta;
pub mod plain;

pub use crate::error::Damage;
