//! Compression of a page's values (specification chapter 4): none, Snappy in its framing format, or Zstandard.

use crate::error::{Damage, Error};
use std::fmt;
use std::io::{Read, Write};
use zstd::zstd_safe::{self, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

/// How all pages of a column are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Stored as they are.
    None,
    /// Snappy framing format.
    Snappy,
    /// Zstandard frames.
    Zstd,
    /// A codec this build doesn't know, by its number; such a column can't be decoded.
    Other(i32),
}

impl Compression {
    pub(crate) fn from_number(number: i32) -> Compression {
        match number {
            0 | 1 => Compression::None,
            2 => Compression::Snappy,
            3 => Compression::Zstd,
            other => Compression::Other(other),
        }
    }

    pub(crate) fn number(self) -> i32 {
        match self {
            Compression::None => 1,
            Compression::Snappy => 2,
            Compression::Zstd => 3,
            Compression::Other(other) => other,
        }
    }
}

/// What a page of nothing but nulls holds under Zstandard: the frame that Loki writes, with neither checksum nor blocks.
const ZSTD_EMPTY_FRAME: [u8; 9] = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];

/// Upper bounds of raw bytes per stored byte, used before a buffer is allocated for a size that came from outside. A
/// Zstandard block of 4 bytes can repeat one byte 128 Ki times; Snappy copies at most 11 bytes with 2, or 64 with 3.
const ZSTD_MAX_RATIO: usize = 128 * 1024 / 4;
const SNAPPY_MAX_RATIO: usize = 32;

/// Compresses pages; its context and buffers serve all pages of a section.
pub(crate) struct Compressor {
    zstd_level: i32,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    buffer: Vec<u8>,
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor")
            .field("zstd_level", &self.zstd_level)
            .finish_non_exhaustive()
    }
}

impl Compressor {
    pub(crate) fn new(zstd_level: i32) -> Compressor {
        Compressor {
            zstd_level,
            zstd: None,
            buffer: Vec::new(),
        }
    }

    /// The stored form of `raw`.
    pub(crate) fn compress<'a>(&'a mut self, compression: Compression, raw: &'a [u8]) -> Result<&'a [u8], Error> {
        match compression {
            Compression::None => Ok(raw),
            Compression::Snappy if raw.is_empty() => Ok(raw),
            Compression::Snappy => {
                self.buffer.clear();
                let mut encoder = snap::write::FrameEncoder::new(&mut self.buffer);
                encoder.write_all(raw)?;
                encoder.flush()?;
                drop(encoder);
                Ok(&self.buffer)
            }
            Compression::Zstd if raw.is_empty() => Ok(&ZSTD_EMPTY_FRAME),
            Compression::Zstd => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => {
                        let mut zstd = zstd::bulk::Compressor::new(self.zstd_level)?;
                        zstd.include_checksum(true)?;
                        none.insert(zstd)
                    }
                };
                self.buffer.clear();
                self.buffer.reserve(zstd::zstd_safe::compress_bound(raw.len()));
                zstd.compress_to_buffer(raw, &mut self.buffer)?;
                Ok(&self.buffer)
            }
            Compression::Other(number) => Err(Error::Unsupported(format!("compression {number}"))),
        }
    }
}

/// Decompresses pages; its context serves any number of pages.
#[derive(Default)]
pub(crate) struct Decompressor {
    zstd: Option<DCtx<'static>>,
    checks_content: bool,
}

/// Larger values are decompressed or checked in steps of about this size, so that what reads them finds each step in the processor's cache.
pub(crate) const STEP_BYTES: usize = 128 << 10;

/// Largest window of a Zstandard frame, as a power of two: more than a page may have.
const MAX_WINDOW_LOG: u32 = 31;

/// Refuses a raw size that no codec could reach, before memory is set aside for it.
pub(crate) fn check_ratio(compression: Compression, stored_bytes: usize, raw_bytes: usize) -> Result<(), Damage> {
    let max_ratio = match compression {
        Compression::Zstd => ZSTD_MAX_RATIO,
        Compression::Snappy => SNAPPY_MAX_RATIO,
        Compression::None => 1,
        Compression::Other(number) => return Err(unknown(number)),
    };
    if raw_bytes / max_ratio > stored_bytes {
        return Err(Damage::new(format!(
            "{stored_bytes} compressed bytes can't hold {raw_bytes}"
        )));
    }
    Ok(())
}

impl Decompressor {
    /// One that also verifies the checksums in Zstandard frames. Readers need not: the page's own checksum over the stored bytes
    /// has been verified, and another one over the raw bytes would find no damage that came later.
    pub(crate) fn checking_content() -> Decompressor {
        Decompressor {
            checks_content: true,
            ..Decompressor::default()
        }
    }

    /// Decompresses `stored`, which must come to exactly the size of `raw`. Now and then and at the end, `read` gets what there
    /// is so far.
    pub(crate) fn decompress(
        &mut self,
        compression: Compression,
        stored: &[u8],
        raw: &mut [u8],
        mut read: impl FnMut(&[u8]),
    ) -> Result<(), Damage> {
        match compression {
            Compression::None if stored.len() == raw.len() => raw.copy_from_slice(stored),
            Compression::None => return Err(wrong_size(stored.len(), raw.len())),
            Compression::Snappy | Compression::Zstd if stored.is_empty() && raw.is_empty() => {}
            Compression::Snappy => {
                let failed = |error| Damage::new(format!("snappy: {error}"));
                let mut decoder = snap::read::FrameDecoder::new(stored);
                decoder.read_exact(raw).map_err(failed)?;
                if decoder.read(&mut [0]).map_err(failed)? > 0 {
                    return Err(wrong_size(raw.len() + 1, raw.len()));
                }
            }
            Compression::Zstd if raw.len() > STEP_BYTES => return self.zstd_in_steps(stored, raw, read),
            Compression::Zstd => {
                let bytes = self.zstd()?.decompress(raw, stored).map_err(zstd_failed)?;
                if bytes != raw.len() {
                    return Err(wrong_size(bytes, raw.len()));
                }
            }
            Compression::Other(number) => return Err(unknown(number)),
        }
        read(raw);
        Ok(())
    }

    fn zstd_in_steps(&mut self, stored: &[u8], raw: &mut [u8], mut read: impl FnMut(&[u8])) -> Result<(), Damage> {
        let zstd = self.zstd()?;
        zstd.reset(ResetDirective::SessionOnly).map_err(zstd_failed)?;
        let steps = raw.len().div_ceil(STEP_BYTES);
        let step = stored.len().div_ceil(steps).max(1);
        let (mut consumed, mut done) = (0, 0);
        let mut is_complete = false;
        while consumed < stored.len() {
            let mut input = InBuffer::around(&stored[..(consumed + step).min(stored.len())]);
            input.set_pos(consumed);
            let mut output = OutBuffer::around_pos(raw, done);
            let hint = zstd.decompress_stream(&mut output, &mut input).map_err(zstd_failed)?;
            let is_stuck = (input.pos(), output.pos()) == (consumed, done);
            (consumed, done) = (input.pos(), output.pos());
            is_complete = hint == 0;
            if is_stuck {
                return Err(Damage::new(format!(
                    "zstd: more than the {} bytes that the page entry says",
                    raw.len()
                )));
            }
            read(&raw[..done]);
        }
        if done != raw.len() {
            return Err(wrong_size(done, raw.len()));
        }
        if !is_complete {
            return Err(Damage::new("zstd: frame is cut short"));
        }
        Ok(())
    }

    fn zstd(&mut self) -> Result<&mut DCtx<'static>, Damage> {
        if self.zstd.is_none() {
            let mut zstd = DCtx::try_create().ok_or_else(|| Damage::new("zstd: no memory for a context"))?;
            let parameters = [
                DParameter::ForceIgnoreChecksum(!self.checks_content),
                DParameter::StableOutBuffer(true),
                DParameter::WindowLogMax(MAX_WINDOW_LOG),
            ];
            for parameter in parameters {
                zstd.set_parameter(parameter).map_err(zstd_failed)?;
            }
            self.zstd = Some(zstd);
        }
        self.zstd.as_mut().ok_or_else(|| Damage::new("zstd: no context"))
    }
}

fn zstd_failed(code: zstd_safe::ErrorCode) -> Damage {
    Damage::new(format!("zstd: {}", zstd_safe::get_error_name(code)))
}

fn unknown(number: i32) -> Damage {
    Damage::new(format!("unknown compression {number}"))
}

fn wrong_size(found: usize, wanted: usize) -> Damage {
    Damage::new(format!(
        "values of {found} or more bytes where the page entry says {wanted}"
    ))
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    const ALL: [Compression; 3] = [Compression::None, Compression::Snappy, Compression::Zstd];

    fn decompress(
        decompressor: &mut Decompressor,
        compression: Compression,
        stored: &[u8],
        raw: usize,
    ) -> Result<Vec<u8>, Damage> {
        check_ratio(compression, stored.len(), raw)?;
        let mut out = vec![0; raw];
        let mut read = Vec::new();
        decompressor.decompress(compression, stored, &mut out, |so_far| {
            assert_eq!(read, so_far[..read.len()]);
            read = so_far.to_vec();
        })?;
        assert_eq!(read, out);
        Ok(out)
    }

    proptest! {
        #[test]
        fn round_trip(bytes in proptest::collection::vec(0u8..4, 0..3000)) {
            let (mut compressor, mut decompressor) = (Compressor::new(3), Decompressor::default());
            for compression in ALL {
                let stored = compressor.compress(compression, &bytes).unwrap().to_vec();
                prop_assert_eq!(&decompress(&mut decompressor, compression, &stored, bytes.len()).unwrap(), &bytes);
                prop_assert!(decompress(&mut decompressor, compression, &stored, bytes.len() + 1).is_err());
                if !bytes.is_empty() {
                    prop_assert!(decompress(&mut decompressor, compression, &stored, bytes.len() - 1).is_err());
                }
            }
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..100), raw in 0usize..1000) {
            for compression in ALL {
                let _ = decompress(&mut Decompressor::default(), compression, &bytes, raw);
            }
        }
    }

    /// What stands in the place of one frame.
    #[derive(Clone, Debug)]
    enum Part {
        Frame {
            length: usize,
            window_log: u32,
            has_size: bool,
            has_checksum: bool,
        },
        Skippable {
            length: usize,
        },
        Garbage(Vec<u8>),
    }

    fn part() -> impl Strategy<Value = Part> {
        let length = prop_oneof![Just(0), 1usize..2000, STEP_BYTES - 10..3 * STEP_BYTES];
        let frame = (length, 10u32..20, any::<bool>(), any::<bool>());
        prop_oneof![
            8 => frame.prop_map(|(length, window_log, has_size, has_checksum)| Part::Frame {
                length, window_log, has_size, has_checksum
            }),
            2 => (0usize..3000).prop_map(|length| Part::Skippable { length }),
            1 => proptest::collection::vec(any::<u8>(), 1..20).prop_map(Part::Garbage),
        ]
    }

    /// Lines with numbers in them, other ones for each part.
    fn lines(length: usize, part: usize) -> &'static [u8] {
        static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let line = |i: usize| format!("line {} of {}\n", i * 7919 % 1009, i * i % 4093).into_bytes();
            (0..40_000).flat_map(line).collect()
        });
        &TEXT[part * 1000..][..length]
    }

    /// The parts as stored, and their raw size.
    fn store(parts: &[Part]) -> (Vec<u8>, usize) {
        let (mut stored, mut raw) = (Vec::new(), 0);
        for (number, part) in parts.iter().enumerate() {
            match part {
                Part::Garbage(bytes) => stored.extend(bytes),
                Part::Skippable { length } => {
                    stored.extend(0x184d_2a53u32.to_le_bytes());
                    stored.extend((*length as u32).to_le_bytes());
                    stored.extend(lines(*length, number));
                }
                Part::Frame {
                    length,
                    window_log,
                    has_size,
                    has_checksum,
                } => {
                    let mut zstd = zstd::bulk::Compressor::new(1).unwrap();
                    zstd.window_log(*window_log).unwrap();
                    zstd.include_contentsize(*has_size).unwrap();
                    zstd.include_checksum(*has_checksum).unwrap();
                    stored.extend(zstd.compress(lines(*length, number)).unwrap());
                    raw += length;
                }
            }
        }
        (stored, raw)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn steps_end_as_one_shot_does(
            parts in proptest::collection::vec(part(), 1..4),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 0..4),
            cut in prop_oneof![4 => Just(0usize), 1 => 1usize..20],
            lie in prop_oneof![4 => Just(0isize), 1 => -20isize..20],
        ) {
            let (mut stored, raw) = store(&parts);
            for (at, byte, near_the_start) in damage {
                let among = if near_the_start { stored.len().min(20) } else { stored.len() };
                if among > 0 {
                    stored[at.index(among)] = byte;
                }
            }
            stored.truncate(stored.len() - cut.min(stored.len()));
            let raw = raw.saturating_add_signed(lie).max(1);

            let mut decompressor = Decompressor::default();
            let mut at_once = vec![0; raw];
            let want = decompressor.zstd().unwrap().decompress(&mut at_once, &stored);
            let mut in_steps = vec![0; raw];
            let mut seen = Vec::new();
            let found = decompressor.zstd_in_steps(&stored, &mut in_steps, |so_far| {
                assert!(so_far.starts_with(&seen), "what was there stays as it is");
                seen = so_far.to_vec();
            });
            // Only a stream heeds the limit on windows.
            let is_too_wide = |damage: &Damage| damage.0.contains("too much memory");
            prop_assert!(
                found.is_ok() == (want == Ok(raw)) || found.as_ref().is_err_and(is_too_wide),
                "{:?} {:?}", found, want
            );
            if found.is_ok() {
                prop_assert!(in_steps == at_once);
                prop_assert!(stored.is_empty() || seen == at_once);
            }
            for length in [100, STEP_BYTES + 1] {
                let (stored, _) = store(&[Part::Frame { length, window_log: 15, has_size: true, has_checksum: true }]);
                let again = decompress(&mut decompressor, Compression::Zstd, &stored, length);
                prop_assert!(again.unwrap() == lines(length, 0), "nothing is left behind");
            }
        }
    }

    #[test]
    fn checksums_within_frames_are_checked_where_asked() {
        for length in [100, 3 * STEP_BYTES] {
            let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let mut stored = Compressor::new(3).compress(Compression::Zstd, &bytes).unwrap().to_vec();
            *stored.last_mut().unwrap() ^= 1;
            let check = |mut decompressor: Decompressor| {
                decompress(&mut decompressor, Compression::Zstd, &stored, bytes.len()).is_ok()
            };
            assert!(check(Decompressor::default()));
            assert!(!check(Decompressor::checking_content()), "{length}");
        }
    }

    #[test]
    fn large_values_in_steps() {
        let bytes: Vec<u8> = (0..500_000u32).flat_map(|i| (i / 7 % 1000).to_le_bytes()).collect();
        let (mut compressor, mut decompressor) = (Compressor::new(3), Decompressor::default());
        for length in [STEP_BYTES, STEP_BYTES + 1, bytes.len()] {
            let stored = compressor
                .compress(Compression::Zstd, &bytes[..length])
                .unwrap()
                .to_vec();
            let mut check = |stored: &[u8], raw: usize| decompress(&mut decompressor, Compression::Zstd, stored, raw);
            assert!(check(&stored, length).unwrap() == bytes[..length]);
            for wrong in [length - 1, length + 1, length * 2] {
                assert!(check(&stored, wrong).is_err());
            }
            for cut in [1, 4, 5, stored.len() / 2, stored.len() - 9] {
                assert!(check(&stored[..stored.len() - cut], length).is_err(), "{length} {cut}");
            }
            let twice = [stored.clone(), stored.clone()].concat();
            assert!(check(&twice, length).is_err());
            assert!(check(&twice, length * 2).unwrap() == bytes[..length].repeat(2));
            assert!(
                check(&stored, length).unwrap() == bytes[..length],
                "errors leave nothing behind"
            );
        }
    }

    #[test]
    fn sizes_no_codec_can_reach_are_refused_before_allocation() {
        let bytes = Compressor::new(3).compress(Compression::Zstd, b"x").unwrap().to_vec();
        let error = check_ratio(Compression::Zstd, bytes.len(), 1 << 40).unwrap_err();
        assert!(error.0.contains("can't hold"), "{error:?}");
    }
}
