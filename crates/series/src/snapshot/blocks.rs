//! Items in blocks with checksums.

use std::io::{self, Read, Write};

const HEADER: [u8; 16] = *b"TMBRTSS\n\x01\0\0\0\0\0\0\0";

/// A block is ended by the item that makes it so long.
const BLOCK_BYTES: usize = 256 << 10;

/// Writes items.
pub(super) struct BlockWriter<W> {
    out: W,
    block: Vec<u8>,
    written: u64,
}

impl<W: Write> BlockWriter<W> {
    pub(super) fn new(mut out: W) -> io::Result<BlockWriter<W>> {
        out.write_all(&HEADER)?;
        Ok(BlockWriter {
            out,
            block: Vec::new(),
            written: HEADER.len() as u64,
        })
    }

    /// Writes an item, which `append` appends to the buffer that it is given.
    pub(super) fn item(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        append(&mut self.block);
        if self.block.len() >= BLOCK_BYTES {
            self.end_block()
        } else {
            Ok(())
        }
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(self.block.len()).map_err(|_| io::Error::other("an item is longer than 4 GiB"))?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&crc32c::crc32c(&self.block).to_le_bytes())?;
        self.out.write_all(&self.block)?;
        self.written += 8 + u64::from(length);
        self.block.clear();
        Ok(())
    }

    /// Writes what is left; gives the writer back, and how many bytes were written.
    pub(super) fn finish(mut self) -> io::Result<(W, u64)> {
        self.end_block()?;
        Ok((self.out, self.written))
    }
}

/// Reads blocks.
pub(super) struct BlockReader<R> {
    input: R,
    offset: u64,
    block: Vec<u8>,
}

/// Why there is no next block.
#[derive(Debug)]
pub(super) enum BlockError {
    Io(io::Error),
    /// What is wrong at this offset.
    Corrupt(u64, &'static str),
}

impl From<io::Error> for BlockError {
    fn from(error: io::Error) -> BlockError {
        BlockError::Io(error)
    }
}

impl<R: Read> BlockReader<R> {
    pub(super) fn new(mut input: R) -> Result<BlockReader<R>, BlockError> {
        let mut header = [0; HEADER.len()];
        match input.read_exact(&mut header) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error.into()),
            Ok(()) if header == HEADER => Ok(BlockReader {
                input,
                offset: HEADER.len() as u64,
                block: Vec::new(),
            }),
            Ok(()) if header[..8] == HEADER[..8] => Err(BlockError::Corrupt(
                8,
                "it was written by another version of this program",
            )),
            _ => Err(BlockError::Corrupt(0, "it is not a snapshot")),
        }
    }

    /// The offset of the block that is read next.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The items of the next block; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, BlockError> {
        let corrupt = BlockError::Corrupt(self.offset, "a block is damaged");
        let mut header = Vec::new();
        self.input.by_ref().take(8).read_to_end(&mut header)?;
        if header.is_empty() {
            return Ok(None);
        }
        let Some((length, checksum)) = header
            .split_first_chunk::<4>()
            .filter(|(_, checksum)| checksum.len() == 4)
        else {
            return Err(corrupt);
        };
        let length = u32::from_le_bytes(*length);
        // The buffer grows with what is there, not with what the length claims.
        self.block.clear();
        self.input
            .by_ref()
            .take(u64::from(length))
            .read_to_end(&mut self.block)?;
        if self.block.len() != length as usize || crc32c::crc32c(&self.block).to_le_bytes() != checksum {
            return Err(corrupt);
        }
        self.offset += 8 + u64::from(length);
        Ok(Some(&self.block))
    }
}
