//! What the fuzz targets share: the crate's decoders and slow ones that are obviously right, both with plain types; a count of
//! allocated bytes; pages to decode.

pub mod fast;
pub mod memory;
pub mod naive;
pub mod page;
pub mod series;
