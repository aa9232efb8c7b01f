//! The write path: validation, write-ahead log, in-memory head, cutting and publishing objects.
