//! What can go wrong below the query engine and the write path.

/// An error of the object store, the catalog or an object. Cheap to clone, so that one failure can be told to all that wait for it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes on the store are not what was written, or were never right. Retrying doesn't help.
    #[error("corrupt: object {object}, {section}, offset {offset}: {message}")]
    Corrupt {
        /// Key of the object.
        object: String,
        /// Which part of it: `header`, `logs section 1`, ...
        section: String,
        /// Byte in the object, 0 where no closer place is known.
        offset: u64,
        /// What is wrong.
        message: String,
    },
    /// No object has this key.
    #[error("object {0} does not exist")]
    NotFound(String),
    /// The disk under a local store is full. Goes away when space returns.
    #[error("no space left on the store while writing {0}")]
    OutOfSpace(String),
    /// Another writer changed the catalog at the same time, again and again.
    #[error("{key} was changed by other writers {attempts} times in a row")]
    Conflict {
        /// Key that could not be replaced.
        key: String,
        /// Attempts made.
        attempts: usize,
    },
    /// Written by a later version of this program.
    #[error("{key} has format {found}, this version reads format {known}")]
    UnknownFormat {
        /// Key of the file.
        key: String,
        /// Format it names.
        found: u64,
        /// Format that is understood.
        known: u64,
    },
    /// An object that is well-formed but uses what this version can't read.
    #[error("object {object}: {message}")]
    Unsupported {
        /// Key of the object.
        object: String,
        /// What it uses.
        message: String,
    },
    /// A key or tenant that the store's rules forbid.
    #[error("{0}")]
    Invalid(String),
    /// The store failed; may go away by itself.
    #[error("{action} {key}: {message}")]
    Io {
        /// What was tried: `read`, `write`, ...
        action: &'static str,
        /// On which object.
        key: String,
        /// What the store said.
        message: String,
    },
}

impl Error {
    /// An error of the format's reader, met in an object.
    pub fn in_object(key: &str, error: timberline_dataobj::Error) -> Self {
        let object = key.to_owned();
        match error {
            timberline_dataobj::Error::Corrupt(damage) => Self::Corrupt {
                object,
                section: damage
                    .section
                    .map_or("header".into(), |section| format!("section {section}")),
                offset: damage.offset,
                message: damage.reason,
            },
            other => Self::Unsupported {
                object,
                message: other.to_string(),
            },
        }
    }

    /// An input or output error; a full disk becomes [`Error::OutOfSpace`], an absent file [`Error::NotFound`].
    pub fn io(action: &'static str, key: &str, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::OutOfSpace(key.to_owned()),
            std::io::ErrorKind::NotFound => Self::NotFound(key.to_owned()),
            _ => Self::Io {
                action,
                key: key.to_owned(),
                message: error.to_string(),
            },
        }
    }
}
