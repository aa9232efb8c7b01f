//! Compression: any bytes give an error or exactly the size asked for, and what was compressed comes back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_dataobj::{Compression, fuzzing};
use timberline_fuzz::{memory, page::MAX_RAW_BYTES};

fuzz_target!(|input: &[u8]| {
    let Some((head, bytes)) = input.split_first_chunk::<4>() else {
        return;
    };
    let raw_bytes = u64::from(u32::from_le_bytes([head[1], head[2], head[3], 0])) % MAX_RAW_BYTES;
    let codec = [
        Compression::None,
        Compression::Snappy,
        Compression::Zstd,
        Compression::Other(9),
    ][usize::from(head[0]) % 4];
    let raw = memory::bounded(memory::of_page(0, raw_bytes), || {
        fuzzing::decompress(codec, bytes, raw_bytes as usize)
    });
    assert!(raw.is_none_or(|raw| raw.len() as u64 == raw_bytes));
    for codec in [Compression::Snappy, Compression::Zstd] {
        let stored = fuzzing::compress(codec, bytes).expect("compression works");
        assert_eq!(fuzzing::decompress(codec, &stored, bytes.len()).as_deref(), Some(bytes));
        if !bytes.is_empty() {
            assert_eq!(fuzzing::decompress(codec, &stored, bytes.len() - 1), None);
        }
    }
});
