//! Reading of planned ranges into pooled buffers, so that pages which are read, decoded and dropped again and again need no new memory.
// hot path: no locks but the pool's, no logging, no allocation of the size of what is read.

use crate::Error;
use arrow_buffer::Buffer;
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::{GetResult, Result};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use timberline_dataobj::{BufferPool, PooledBuffer};

/// Reads ranges of a file. One that ends behind the file is `None`.
pub(crate) fn read_file(
    path: &Path,
    key: &str,
    ranges: &[Range<u64>],
    pool: &BufferPool,
) -> Result<Option<Vec<Bytes>>, Error> {
    let failed = |e: std::io::Error| Error::io("read", key, &e);
    let mut file = File::open(path).map_err(failed)?;
    // Before memory is taken for ranges that nobody has.
    let size = file.metadata().map_err(failed)?.len();
    if ranges.iter().any(|range| range.end > size) {
        return Ok(None);
    }
    let mut fetched = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut buffer = pool.take((range.end - range.start) as usize);
        let read = file
            .seek(SeekFrom::Start(range.start))
            .and_then(|_| file.read_exact(&mut buffer));
        match read {
            Ok(()) => fetched.push(shared(buffer)),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(e) => return Err(failed(e)),
        }
    }
    Ok(Some(fetched))
}

/// The body of an answer that should have `length` bytes. What comes in one piece is passed on; what comes in many is put together in
/// a pooled buffer.
pub(crate) async fn collect(answer: GetResult, length: u64, pool: &BufferPool) -> Result<Bytes> {
    let mut pieces = answer.into_stream();
    let Some(first) = pieces.try_next().await? else {
        return Ok(Bytes::new());
    };
    if first.len() as u64 == length {
        return Ok(first);
    }
    let mut buffer = pool.take(length as usize);
    let mut rest: &mut [u8] = &mut buffer;
    let mut piece = Some(first);
    while let Some(bytes) = piece {
        let Some((target, behind)) = rest.split_at_mut_checked(bytes.len()) else {
            return Err(wrong_length(length));
        };
        target.copy_from_slice(&bytes);
        rest = behind;
        piece = pieces.try_next().await?;
    }
    if rest.is_empty() {
        Ok(shared(buffer))
    } else {
        Err(wrong_length(length))
    }
}

fn wrong_length(length: u64) -> object_store::Error {
    object_store::Error::Generic {
        store: "range",
        source: format!("answer to a request for {length} bytes has another length").into(),
    }
}

/// The memory goes back to the pool when the last slice of it is dropped.
fn shared(buffer: PooledBuffer) -> Bytes {
    struct Owner(Buffer);

    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            self.0.as_slice()
        }
    }

    let length = buffer.len();
    Bytes::from_owner(Owner(buffer.freeze(length)))
}
