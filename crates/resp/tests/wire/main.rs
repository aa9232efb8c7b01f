//! A server in this process, and clients that talk to it over sockets.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod cases;
mod client;
mod compare;
mod nonsense;
mod recorded;
mod sequence;
mod server;
