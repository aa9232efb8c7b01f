//! Decoding of push requests: media type, content encoding, and the two body formats, into one [`PushBatch`].
//!
//! A request is decoded as a whole before anything of it is stored, so that a bad end never leaves a stored beginning.

mod body;
mod json;
mod json_reader;
mod pairs;
mod protobuf;
mod wire;

#[cfg(test)]
mod tests;

use body::Encoding;
use json_reader::JsonError;
use timberline_ingest::{PushBatch, StreamLabels};

/// Why a push body can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodeError {
    /// No media type, or none that can be parsed.
    #[error("{0}")]
    MediaType(String),
    /// A content encoding we don't have.
    #[error("Content-Encoding {0:?} not supported")]
    Encoding(String),
    /// A compressed body is damaged.
    #[error("{encoding} body is damaged: {message}")]
    Compressed {
        /// The encoding.
        encoding: &'static str,
        /// What the decoder says.
        message: String,
    },
    /// The body is above the limit, compressed or not.
    #[error("request body too large: {bytes} bytes, limit: {limit} bytes")]
    TooLarge {
        /// Bytes seen before giving up, or claimed by the body.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// JSON that is damaged or has another shape.
    #[error("invalid JSON push body: {0}")]
    Json(#[from] JsonError),
    /// Protobuf that is damaged.
    #[error("invalid protobuf push body: {0}")]
    Protobuf(String),
    /// A body that is something else than its headers say.
    #[error("{error}; the body looks like {looks_like}, which needs the header \"{header}\"")]
    WrongHeader {
        /// What came of believing the headers.
        error: Box<DecodeError>,
        /// What the body looks like.
        looks_like: &'static str,
        /// The header that would say so.
        header: &'static str,
    },
}

impl DecodeError {
    /// The reason under which the refusal is counted (http-api.md 16 has the first).
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "request_body_too_large",
            _ => "undecodable_body",
        }
    }
}

/// How to read a body, from its headers (http-api.md 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyFormat {
    json: bool,
    encoding: Encoding,
}

impl BodyFormat {
    /// Reads the two headers; `None` stands for an absent one.
    pub(crate) fn from_headers(media_type: Option<&str>, encoding: Option<&str>) -> Result<Self, DecodeError> {
        let essence = media_type_essence(media_type.unwrap_or_default())?;
        let encoding = Encoding::named(encoding.unwrap_or_default())?;
        let json = essence == "application/json";
        // Protobuf is always in a snappy block unless it is in something else; clients seldom send the header.
        let encoding = if !json && encoding == Encoding::Identity {
            Encoding::Snappy
        } else {
            encoding
        };
        Ok(Self { json, encoding })
    }

    /// What a body says it unpacks to; see [`Encoding::claimed_bytes`].
    pub(crate) fn claimed_bytes(self, body: &[u8]) -> usize {
        self.encoding.claimed_bytes(body)
    }

    /// Unpacks and decodes a body. `limit`: most bytes it may have when unpacked.
    pub(crate) fn decode(self, body: &[u8], limit: usize) -> Result<PushBatch, DecodeError> {
        self.decode_as_told(body, limit)
            .map_err(|error| self.with_hint(error, body))
    }

    /// Adds to an error which header is missing, if the body tells: `curl -d` and many scripts leave them out, and what is
    /// wrong with a JSON text as a snappy block helps nobody.
    fn with_hint(self, error: DecodeError, body: &[u8]) -> DecodeError {
        let is_damage = !matches!(error, DecodeError::TooLarge { .. });
        let (looks_like, header) = match body.trim_ascii_start() {
            [0x1f, 0x8b, ..] if is_damage && self.encoding != Encoding::Gzip => ("gzip", "Content-Encoding: gzip"),
            [b'{', ..] if is_damage && !self.json => ("JSON", "Content-Type: application/json"),
            _ => return error,
        };
        DecodeError::WrongHeader {
            error: Box::new(error),
            looks_like,
            header,
        }
    }

    fn decode_as_told(self, body: &[u8], limit: usize) -> Result<PushBatch, DecodeError> {
        if self.json && self.encoding == Encoding::Identity && body.len() <= limit {
            return json::decode(body);
        }
        let body = self.encoding.unpack(body, limit)?;
        if self.json {
            json::decode(&body)
        } else {
            protobuf::decode(&body)
        }
    }
}

/// The lower-case `type/subtype` of a media type.
fn media_type_essence(text: &str) -> Result<String, DecodeError> {
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.is_empty() {
        return Err(DecodeError::MediaType("mime: no media type".into()));
    }
    let is_token_byte = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let is_token = |part: &str| !part.is_empty() && part.bytes().all(is_token_byte);
    let good = match essence.split_once('/') {
        Some((kind, subtype)) => is_token(kind) && is_token(subtype),
        None => is_token(essence),
    };
    if !good {
        return Err(DecodeError::MediaType(format!("mime: invalid media type {essence:?}")));
    }
    Ok(essence.to_ascii_lowercase())
}

/// Begins a stream whose labels come as text in selector syntax. Labels that can't be read refuse this stream only.
fn begin_stream_of_text(batch: &mut PushBatch, text: &str) {
    match timberline_logql::parse_labels(text) {
        Ok(labels) => batch.begin_stream(labels),
        Err(error) => batch.begin_stream(StreamLabels::Unreadable {
            text: text.to_owned(),
            error: error.to_string(),
        }),
    }
}
