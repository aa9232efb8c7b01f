//! What an engine holds after it was closed, killed or reloaded is what it held before.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod cold;
mod contents;
mod damage;
mod operations;
mod reopening;
mod traffic;
