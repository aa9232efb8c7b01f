//! From the bytes on the wire to the bytes of the body: content encodings, undone with a limit on what comes out.

use super::DecodeError;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::Read;

/// A compressed block of snappy can't grow by more than this: the densest element stands for 64 bytes and takes 3.
const MAX_SNAPPY_RATIO: usize = 22;

/// The same of deflate: the densest element stands for 258 bytes and takes two bits.
const MAX_DEFLATE_RATIO: usize = 1032;

/// How a body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// As it is.
    Identity,
    /// `gzip`.
    Gzip,
    /// `deflate`, with or without the zlib frame: clients do both.
    Deflate,
    /// One snappy block.
    Snappy,
}

impl Encoding {
    /// The encoding named by a `Content-Encoding` header, in any case (RFC 9110 8.4.1).
    pub(crate) fn named(name: &str) -> Result<Self, DecodeError> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            "deflate" => Ok(Self::Deflate),
            "snappy" => Ok(Self::Snappy),
            _ => Err(DecodeError::Encoding(name.trim().to_owned())),
        }
    }

    /// What a body says it unpacks to, as far as that is possible for its length. Only a gzip of several members has more.
    pub(crate) fn claimed_bytes(self, body: &[u8]) -> usize {
        let most = |ratio: usize| body.len().saturating_mul(ratio);
        match self {
            Self::Identity => body.len(),
            Self::Gzip => {
                // RFC 1952 2.3.1: the last four bytes.
                let claimed = body.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                usize::try_from(claimed)
                    .unwrap_or(usize::MAX)
                    .min(most(MAX_DEFLATE_RATIO))
            }
            Self::Deflate => most(MAX_DEFLATE_RATIO),
            Self::Snappy => snap::raw::decompress_len(body).unwrap_or(0).min(most(MAX_SNAPPY_RATIO)),
        }
    }

    /// Unpacks a body of at most `limit` bytes; stops at the limit, however much more would come.
    pub(crate) fn unpack(self, body: &[u8], limit: usize) -> Result<Vec<u8>, DecodeError> {
        match self {
            Self::Identity if body.len() > limit => Err(DecodeError::TooLarge {
                bytes: body.len(),
                limit,
            }),
            Self::Identity => Ok(body.to_vec()),
            Self::Gzip => read_limited(MultiGzDecoder::new(body), "gzip", limit),
            Self::Deflate if is_zlib(body) => read_limited(ZlibDecoder::new(body), "deflate", limit),
            Self::Deflate => read_limited(DeflateDecoder::new(body), "deflate", limit),
            Self::Snappy => unpack_snappy(body, limit),
        }
    }
}

fn read_limited(reader: impl Read, name: &'static str, limit: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let read = reader.take(most).read_to_end(&mut out);
    read.map_err(|error| DecodeError::Compressed {
        encoding: name,
        message: error.to_string(),
    })?;
    if out.len() > limit {
        return Err(DecodeError::TooLarge {
            bytes: out.len(),
            limit,
        });
    }
    Ok(out)
}

fn unpack_snappy(body: &[u8], limit: usize) -> Result<Vec<u8>, DecodeError> {
    let damaged = |error: snap::Error| DecodeError::Compressed {
        encoding: "snappy",
        message: error.to_string(),
    };
    let bytes = snap::raw::decompress_len(body).map_err(damaged)?;
    if bytes > limit {
        return Err(DecodeError::TooLarge { bytes, limit });
    }
    if bytes / MAX_SNAPPY_RATIO > body.len() {
        let message = format!("{} bytes can't hold the {bytes} bytes they claim", body.len());
        return Err(DecodeError::Compressed {
            encoding: "snappy",
            message,
        });
    }
    snap::raw::Decoder::new().decompress_vec(body).map_err(damaged)
}

/// True if the body begins with the two bytes of a zlib frame (RFC 1950 2.2).
fn is_zlib(body: &[u8]) -> bool {
    let [method, flags, ..] = body else { return false };
    method & 0x0f == 8 && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0
}
