//! Data and queries from a seed.
