//! The wire: requests out of bytes, replies into bytes (specification, chapter 14).

mod arguments;
mod error;
mod inline;
mod limits;
mod number;
mod reply;
mod request;
#[cfg(test)]
mod tests;

pub use arguments::{Arguments, OwnedArguments};
pub use error::ProtocolError;
pub use limits::Limits;
pub use number::{append_resp2_number, append_resp3_number};
pub use reply::{Protocol, Reply};
pub use request::RequestParser;

pub(crate) use request::strict_integer;
