//! A server in this process, and clients that talk to it over sockets.

mod cases;
mod client;
mod compare;
mod recorded;
mod sequence;
mod server;
