//! What was pushed and is not yet in a data object, in memory, in columns, ready to be read.

mod block;
mod segment;
mod source;
mod tenant;

pub(crate) use block::Block;
pub(crate) use segment::{ActiveSegment, FrozenSegment};
pub(crate) use source::HeadSource;
