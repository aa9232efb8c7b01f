//! The timberline program.
fn main() {}
