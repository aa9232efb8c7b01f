//! Reads a file, or standard input, as log lines with times.

use super::timestamps::Finder;
use flate2::bufread::MultiGzDecoder;
use jiff::tz::TimeZone;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::SystemTime;

/// The first bytes of a gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Where lines are read from.
pub(crate) trait Source: BufRead {
    /// What was read already and not yet taken.
    fn buffered(&self) -> &[u8];
}

impl<R: Read> Source for BufReader<R> {
    fn buffered(&self) -> &[u8] {
        self.buffer()
    }
}

impl Source for &[u8] {
    fn buffered(&self) -> &[u8] {
        self
    }
}

impl Source for Box<dyn Source> {
    fn buffered(&self) -> &[u8] {
        (**self).buffered()
    }
}

/// A file that is read line by line.
pub(crate) struct Lines<R> {
    reader: R,
    clock: Clock,
    buffer: Vec<u8>,
}

/// One line without its end.
pub(crate) struct Line<'a> {
    pub(crate) timestamp_ns: i64,
    pub(crate) text: &'a [u8],
}

impl Lines<Box<dyn Source>> {
    /// Opens a file, compressed with gzip or not. Each byte read from disk is counted by `count`.
    pub(crate) fn open(path: &Path, count: impl Fn(u64) + 'static) -> io::Result<Self> {
        let file = std::fs::File::open(path)?;
        let changed = file.metadata()?.modified().unwrap_or_else(|_| SystemTime::now());
        Self::from_reader(file, changed, count)
    }

    /// Reads from standard input; until a line has a time, lines get the time at which they are read.
    pub(crate) fn standard_input(count: impl Fn(u64) + 'static) -> io::Result<Self> {
        let mut lines = Self::from_reader(io::stdin(), SystemTime::now(), count)?;
        lines.clock.is_live = true;
        Ok(lines)
    }

    fn from_reader(
        reader: impl Read + 'static,
        changed: SystemTime,
        count: impl Fn(u64) + 'static,
    ) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(256 << 10, Counted { reader, count });
        let compressed = reader.fill_buf()?.starts_with(&GZIP_MAGIC);
        let reader: Box<dyn Source> = if compressed {
            Box::new(BufReader::new(MultiGzDecoder::new(reader)))
        } else {
            Box::new(reader)
        };
        Ok(Self::new(reader, unix_ns(changed), TimeZone::system()))
    }
}

/// Nanoseconds since 1970; 0 for times before.
fn unix_ns(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

impl<R: Source> Lines<R> {
    /// Reads lines that were written in `zone` until `changed_ns`.
    pub(crate) fn new(reader: R, changed_ns: i64, zone: TimeZone) -> Self {
        Self {
            reader,
            clock: Clock::new(zone, changed_ns),
            buffer: Vec::new(),
        }
    }

    /// True if the next line is not there yet, so that asking for it may wait.
    pub(crate) fn would_wait(&self) -> bool {
        !self.reader.buffered().contains(&b'\n')
    }

    /// The next line that holds something but blanks.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.buffer.clear();
            if self.reader.read_until(b'\n', &mut self.buffer)? == 0 {
                return Ok(None);
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        let text = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Ok(Some(Line {
            timestamp_ns: self.clock.next(text),
            text,
        }))
    }
}

/// Gives each line its time: its own, else that of the line before it, else that of the file. Where lines come in as they are written,
/// those before the first time get the present one.
///
/// Lines that follow each other with the same time are set apart by one nanosecond each. So their order is kept however
/// they travel, equal lines stay apart, and sending the same file again gives the same entries, which are stored once.
struct Clock {
    finder: Finder,
    last_found_ns: i64,
    last_given_ns: Option<i64>,
    is_live: bool,
}

impl Clock {
    fn new(zone: TimeZone, changed_ns: i64) -> Self {
        Self {
            finder: Finder::new(zone, changed_ns),
            last_found_ns: changed_ns,
            last_given_ns: None,
            is_live: false,
        }
    }

    fn next(&mut self, line: &[u8]) -> i64 {
        let own = self.finder.find(line);
        self.is_live &= own.is_none();
        let found = match own {
            Some(time_ns) => time_ns,
            None if self.is_live => unix_ns(SystemTime::now()),
            None => self.last_found_ns,
        };
        let given = match self.last_given_ns {
            Some(last) if found == self.last_found_ns => last.saturating_add(1),
            _ => found,
        };
        self.last_found_ns = found;
        self.last_given_ns = Some(given);
        given
    }
}

struct Counted<R, F> {
    reader: R,
    count: F,
}

impl<R: Read, F: Fn(u64)> Read for Counted<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.reader.read(buffer)?;
        (self.count)(bytes as u64);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const NOON_S: i64 = 1_780_315_200;

    fn read(text: &[u8]) -> Vec<(i64, String)> {
        let mut lines = Lines::new(text, NOON_S * 1_000_000_000, TimeZone::UTC);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push((
                line.timestamp_ns - NOON_S * 1_000_000_000,
                String::from_utf8_lossy(line.text).into_owned(),
            ));
        }
        all
    }

    #[test]
    fn lines_without_a_time_take_the_one_before() {
        let text =
            b"no time yet\nStart-Date: 2026-06-01  12:00:10\nInstall: a\r\n\n  \nEnd-Date: 2026-06-01  12:00:11\nlast";
        let want = [
            (0, "no time yet"),
            (10_000_000_000, "Start-Date: 2026-06-01  12:00:10"),
            (10_000_000_001, "Install: a"),
            (11_000_000_000, "End-Date: 2026-06-01  12:00:11"),
            (11_000_000_001, "last"),
        ];
        assert_eq!(read(text), want.map(|(ns, line)| (ns, line.to_owned())));
        assert_eq!(read(b""), []);
        assert_eq!(read(b"\n\n"), []);
    }

    #[test]
    fn equal_times_are_set_apart() {
        let text = b"2026-06-01 12:00:00 a\n2026-06-01 12:00:00 a\n2026-06-01 12:00:01 b\n2026-06-01 12:00:00 c\n";
        let times: Vec<i64> = read(text).into_iter().map(|(ns, _)| ns).collect();
        assert_eq!(times, [0, 1, 1_000_000_000, 0]);
    }

    #[test]
    fn gzip_is_recognised_and_bytes_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log.gz");
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"2026-06-01T12:00:00Z a\nb\xff\n").unwrap();
        let packed = packer.finish().unwrap();
        std::fs::write(&path, &packed).unwrap();
        let counted = std::rc::Rc::new(std::cell::Cell::new(0));
        let counter = counted.clone();
        let mut lines = Lines::open(&path, move |bytes| counter.set(counter.get() + bytes)).unwrap();
        assert_eq!(lines.next_line().unwrap().unwrap().text, b"2026-06-01T12:00:00Z a");
        let second = lines.next_line().unwrap().unwrap();
        assert_eq!(
            (second.text, second.timestamp_ns),
            (b"b\xff".as_slice(), NOON_S * 1_000_000_000 + 1)
        );
        assert!(lines.next_line().unwrap().is_none());
        assert_eq!(counted.get(), packed.len() as u64);
    }

    #[test]
    fn live_lines_without_a_time_get_the_present_until_one_has_a_time() {
        let text = "one\ntwo\n2026-06-01T12:00:00Z three\nfour\n";
        let mut lines = Lines::new(text.as_bytes(), 0, TimeZone::UTC);
        lines.clock.is_live = true;
        let started = unix_ns(SystemTime::now());
        let mut next = || lines.next_line().unwrap().unwrap().timestamp_ns;
        let (one, two, three, four) = (next(), next(), next(), next());
        assert!(started <= one && one <= two, "{started} {one} {two}");
        assert_eq!((three, four), (NOON_S * 1_000_000_000, NOON_S * 1_000_000_000 + 1));
    }

    #[test]
    fn what_is_read_already_does_not_wait() {
        let mut lines = Lines::new(&b"2026-06-01T12:00:00Z one\ntwo"[..], 0, TimeZone::UTC);
        assert!(!lines.would_wait());
        lines.next_line().unwrap();
        assert!(lines.would_wait());
    }
}
