//! A server that speaks RESP2 and RESP3: the time-series commands (`docs/timeseries.md`), and what clients send besides.
//!
//! ```text
//!   bytes -> protocol::RequestParser -> dispatch (checks, transactions) -> commands::* -> protocol::Reply -> bytes
//!                                            |                                 |
//!                                     one Access of the engine          Context: session,
//!                                     for a batch of commands           access, open writer
//! ```
//!
//! Each connection is one task: it takes what the socket has, runs all complete commands in order under one shared access of the engine,
//! and sends their replies with one write. Nothing is handed to another thread but what takes long ([`context::Flow::Compute`], and commands
//! with the flag `HEAVY`). Transactions, scripts and the few commands that touch several keys at once run under an exclusive access.

mod acl;
mod client;
pub mod commands;
mod config;
mod connection;
pub mod context;
mod dispatch;
mod durability;
pub mod events;
pub mod glob;
pub mod protocol;
mod pubsub;
mod script;
mod server;
mod session;
mod slowlog;
pub mod stats;
mod watch;

pub use client::{Client, Clients};
pub use server::Server;
pub use session::Session;
