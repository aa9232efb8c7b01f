//! Tests of the whole program: the real binary, real sockets, real files, real signals.
//!
//! `cargo test -p timberline --test system crash` runs those of one module.

#![expect(clippy::unwrap_used, reason = "a test that meets an error is to fail")]

mod cancel;
mod commands;
mod conformance;
mod crash;
mod cuts;
mod decoder;
mod edges;
mod full_disk;
mod group_commit;
mod inspect;
mod numbered;
mod series;
mod server;
mod sql;
mod start;
