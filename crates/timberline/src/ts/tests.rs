//! Whole runs against servers in this process.
