//! The data-object format: encodings, pages, columns, sections, reader and writer.
