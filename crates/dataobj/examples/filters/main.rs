//! Measures the extension sections and what they could have been:
//! `cargo run --release -p timberline-dataobj --example filters [lines]`.
//!
//! Prints, for two corpora, the sizes of the sections of an object and what collecting them costs; then, for the library's
//! filters and for other candidates, their size as a share of the object, and of the pages that don't contain a needle the
//! share that they let pass.

#![allow(clippy::unwrap_used, reason = "a measurement of invented data")]

mod candidates;
mod corpus;

use candidates::{Structure, candidates};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::ops::Range;
use timberline_dataobj::extension::*;
use timberline_dataobj::*;

const LINES: usize = 260_000;

struct Page {
    lines: Vec<Vec<u8>>,
    /// All lines in lower case, each behind a line feed.
    folded: Vec<u8>,
    stored_bytes: u64,
}

/// Writes an object as the ingester does.
fn write(records: &[corpus::Record], extensions: bool) -> Vec<u8> {
    let options = WriterOptions::default();
    let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options);
    if extensions {
        logs = logs.with_extensions();
    }
    for record in records {
        let metadata = [
            ("detected_level", record.level.as_bytes()),
            ("org", record.org.as_bytes()),
            ("trace_id", record.trace_id.as_bytes()),
        ];
        let row = LogRow {
            stream_id: record.stream_id,
            timestamp_ns: record.timestamp_ns,
            line: record.line.as_bytes(),
            metadata: &metadata,
        };
        logs.append(&row).unwrap();
    }
    let mut object = ObjectWriter::new();
    object.push_section(logs.finish().unwrap());
    object.finish().unwrap()
}

/// An object's layout, the metadata of its logs, and a way to its bytes.
struct Object {
    bytes: Vec<u8>,
    layout: ObjectLayout,
    logs: SectionMeta,
}

impl Object {
    fn new(bytes: Vec<u8>) -> Object {
        let Parsed::Complete(layout) = ObjectLayout::parse(&bytes).unwrap() else {
            panic!("the whole object is there")
        };
        let section = &layout.sections()[0];
        let metadata = &bytes[section.metadata.start as usize..section.metadata.end as usize];
        let logs = SectionMeta::parse(section, metadata).unwrap();
        Object { bytes, layout, logs }
    }

    fn range(&self, range: &Range<u64>) -> &[u8] {
        &self.bytes[range.start as usize..range.end as usize]
    }

    fn parse<T>(&self, kind: &str, parse: impl Fn(&Section, &[u8], &[u8]) -> Result<T, Error>) -> T {
        let section = find_section(&self.layout, "t", kind).unwrap();
        parse(section, self.range(&section.metadata), self.range(&section.data)).unwrap()
    }

    fn section_bytes(&self, kind: &str) -> u64 {
        let section = find_section(&self.layout, "t", kind).unwrap();
        section.metadata.end - section.metadata.start + section.data.end - section.data.start
    }

    fn column(&self, logical: &str, tag: &str) -> &ColumnMeta {
        self.logs.column(logical, tag).unwrap()
    }

    /// Its lines, page by page.
    fn pages(&self) -> Vec<Page> {
        let message = self.column(column::MESSAGE, "");
        let mut scratch = Scratch::new();
        let pages = message.pages.iter().map(|page| {
            let lines = decode_binary(message, page, self.range(&page.range), &mut scratch).unwrap();
            let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.unwrap().to_vec()).collect();
            let mut folded = Vec::new();
            for line in &lines {
                folded.push(b'\n');
                folded.extend(line.iter().map(u8::to_ascii_lowercase));
            }
            Page {
                lines,
                folded,
                stored_bytes: page.range.end - page.range.start,
            }
        });
        pages.collect()
    }
}

/// Processor time that this thread has had, in nanoseconds: other programs may run beside.
fn cpu_ns() -> u128 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells the time of a thread");
    times
        .split(' ')
        .next()
        .and_then(|ns| ns.parse().ok())
        .expect("the first number is nanoseconds")
}

/// The shortest of a few runs, in nanoseconds of processor time.
fn shortest<T>(runs: u32, mut run: impl FnMut() -> T) -> (u128, T) {
    let timed = |run: &mut dyn FnMut() -> T| {
        let started = cpu_ns();
        let result = run();
        (cpu_ns() - started, result)
    };
    let mut best = timed(&mut run);
    for _ in 1..runs {
        let next = timed(&mut run);
        if next.0 < best.0 {
            best = next;
        }
    }
    best
}

fn repeat<T>(times: u32, mut run: impl FnMut() -> T) -> T {
    for _ in 1..times {
        run();
    }
    run()
}

/// Sizes and costs of the sections as they are written.
fn report_sections(records: &[corpus::Record]) -> Object {
    let (without_ns, without) = shortest(5, || write(records, false));
    let (with_ns, with) = shortest(5, || write(records, true));
    let object = Object::new(with);
    let lines = records.len() as u128;
    println!(
        "object without extensions {} bytes, written in {} ns a line; with them {} bytes, {} ns a line",
        without.len(),
        without_ns / lines,
        object.bytes.len(),
        with_ns / lines
    );
    for kind in [TEXT_FILTER, VALUE_FILTER, VOLUME] {
        let bytes = object.section_bytes(kind);
        println!(
            "{kind:<13} {bytes:>9} bytes {:>6.2} % of the object {:>6.2} bytes a line",
            100.0 * bytes as f64 / object.bytes.len() as f64,
            bytes as f64 / lines as f64
        );
    }
    let (text_ns, text) = shortest(5, || repeat(100, || object.parse(TEXT_FILTER, TextFilters::parse)));
    let (value_ns, values) = shortest(5, || repeat(100, || object.parse(VALUE_FILTER, ValueFilters::parse)));
    let (volume_ns, volume) = shortest(5, || repeat(100, || object.parse(VOLUME, Volume::parse)));
    println!(
        "opened in {} us, {} us, {} us; {} cells of volume for {lines} lines",
        text_ns / 100_000,
        value_ns / 100_000,
        volume_ns / 100_000,
        volume.len()
    );
    let message = &object.column(column::MESSAGE, "").pages;
    let needle = TextNeedle::new(b"zz9f0a77b1c2d3e4");
    let probe = |_| {
        message
            .iter()
            .enumerate()
            .filter(|(page, meta)| text.may_contain(logs_page(*page, meta), &needle))
            .count()
    };
    let (probe_ns, _) = shortest(5, || (0..10_000).map(probe).sum::<usize>());
    let ids = &object.column(column::METADATA, "trace_id").pages;
    let mut random = SmallRng::seed_from_u64(9);
    let (mut passed, mut asked) = (0, 0);
    for _ in 0..1000 {
        let value = corpus::hex(&mut random, 32);
        for (page, meta) in ids.iter().enumerate() {
            asked += 1;
            passed += usize::from(values.may_equal("trace_id", logs_page(page, meta), value.as_bytes()));
        }
    }
    println!(
        "asked in {} ns a page; of pages without a trace id {:.2} % pass",
        probe_ns / 10_000 / message.len() as u128,
        100.0 * passed as f64 / asked as f64
    );
    object
}

fn logs_page(page: usize, meta: &PageMeta) -> LogsPage<'_> {
    LogsPage { section: 0, page, meta }
}

fn needles(pages: &[Page]) -> Vec<(&'static str, Vec<String>)> {
    let mut random = SmallRng::seed_from_u64(8);
    let r = &mut random;
    let mut many = |of: &mut dyn FnMut(&mut SmallRng) -> String| (0..100).map(|_| of(r)).collect::<Vec<_>>();
    let letters = |r: &mut SmallRng, n: usize| {
        (0..n)
            .map(|_| char::from(r.random_range(b'a'..=b'z')))
            .collect::<String>()
    };
    let present = |r: &mut SmallRng, length: usize, is: fn(u8) -> bool| loop {
        let page = pages.choose(r).unwrap();
        let line = page.lines.choose(r).unwrap();
        let runs: Vec<&[u8]> = line
            .split(|byte| !is(*byte))
            .filter(|run| run.len() >= length)
            .collect();
        if let Some(run) = runs.choose(r) {
            let at = r.random_range(0..=run.len() - length);
            return String::from_utf8_lossy(&run[at..at + length]).into_owned();
        }
    };
    let fixed = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    vec![
        ("hex 32", many(&mut |r| corpus::hex(r, 32))),
        ("hex 32 there", many(&mut |r| present(r, 32, |b| b.is_ascii_hexdigit()))),
        ("hex 16", many(&mut |r| corpus::hex(r, 16))),
        ("zz+hex 14", many(&mut |r| format!("zz{}", corpus::hex(r, 14)))),
        ("hex 12", many(&mut |r| corpus::hex(r, 12))),
        ("hex 8", many(&mut |r| corpus::hex(r, 8))),
        ("uuid", many(&mut |r| corpus::uuid(r))),
        (
            "hex 20 cut out",
            many(&mut |r| present(r, 20, |b| b.is_ascii_hexdigit())),
        ),
        ("ipv4", many(&mut |r| corpus::address(r))),
        (
            "words there",
            fixed(&[
                "timeout",
                "refused",
                "compaction",
                "AppleWebKit",
                "SELECT",
                "duplicate key",
                "kubelet",
                "querier",
                "HTTP/1.1",
                "session",
            ]),
        ),
        (
            "words not",
            many(&mut |r| format!("{}{}", corpus::word(r), corpus::word(r))),
        ),
        ("letters 10", many(&mut |r| letters(r, 10))),
        ("letters 6", many(&mut |r| letters(r, 6))),
        ("fragments 6", many(&mut |r| present(r, 6, |b| b.is_ascii_alphabetic()))),
        (
            "(?i)",
            fixed(&[
                "TIMEOUT",
                "Refused",
                "OutOfMemory",
                "NullPointer",
                "DEADLINE",
                "Panic",
                "EOF",
                "Constraint",
            ]),
        ),
    ]
}

fn main() {
    let count = std::env::args()
        .nth(1)
        .map_or(LINES, |count| count.parse().expect("a number of lines"));
    for mixed in [false, true] {
        let records = corpus::records(mixed, count);
        println!(
            "\n{} lines {}",
            records.len(),
            if mixed {
                "of many programs"
            } else {
                "of twelve services"
            }
        );
        let object = report_sections(&records);
        let pages = object.pages();
        let corpus = Corpus {
            needles: needles(&pages),
            holds: Vec::new(),
            object_bytes: object.bytes.len(),
            pages,
        };
        let corpus = corpus.searched();
        print!("{:<38} {:>6} {:>6}", "candidate", "size %", "B/line");
        for (name, _) in &corpus.needles {
            print!(" {name:>12}");
        }
        println!();
        let text = object.parse(TEXT_FILTER, TextFilters::parse);
        let message = &object.column(column::MESSAGE, "").pages;
        let bytes = object.section_bytes(TEXT_FILTER);
        corpus.report("the library's", bytes as usize, |needle| {
            let needle = TextNeedle::new(needle.as_bytes());
            message
                .iter()
                .enumerate()
                .map(|(page, meta)| text.may_contain(logs_page(page, meta), &needle))
                .collect()
        });
        for candidate in candidates() {
            let filters: Vec<Vec<Structure>> = corpus.pages.iter().map(|page| candidate.build(&page.lines)).collect();
            let bytes = filters.iter().flatten().map(Structure::bytes).sum();
            corpus.report(&candidate.name, bytes, |needle| {
                let keys = candidate.needle(needle.as_bytes());
                let may = |filters: &Vec<Structure>| {
                    let mut tiers = filters.iter().zip(&keys);
                    tiers.all(|(filter, keys)| keys.iter().all(|key| filter.contains(*key)))
                };
                filters.iter().map(may).collect()
            });
        }
    }
}

struct Corpus {
    pages: Vec<Page>,
    needles: Vec<(&'static str, Vec<String>)>,
    /// Per kind, needle and page, whether it is there.
    holds: Vec<Vec<Vec<bool>>>,
    object_bytes: usize,
}

impl Corpus {
    fn searched(mut self) -> Corpus {
        let pages_with = |needle: &String| {
            let folded = needle.to_ascii_lowercase();
            let finder = memchr::memmem::Finder::new(folded.as_bytes());
            self.pages
                .iter()
                .map(|page| finder.find(&page.folded).is_some())
                .collect()
        };
        let kinds = self.needles.iter();
        self.holds = kinds
            .map(|(_, needles)| needles.iter().map(pages_with).collect())
            .collect();
        self
    }

    /// Of the stored bytes of pages without a needle the share that passes.
    fn report(&self, name: &str, bytes: usize, may: impl Fn(&str) -> Vec<bool>) {
        let lines: usize = self.pages.iter().map(|page| page.lines.len()).sum();
        let share = 100.0 * bytes as f64 / self.object_bytes as f64;
        print!("{name:<38} {share:>6.2} {:>6.2}", bytes as f64 / lines as f64);
        for ((_, needles), holds) in self.needles.iter().zip(&self.holds) {
            let (mut without, mut passed) = (0, 0);
            for (needle, holds) in needles.iter().zip(holds) {
                for ((page, may), holds) in self.pages.iter().zip(may(needle)).zip(holds) {
                    assert!(may || !holds, "{name} lost {needle}");
                    if !holds {
                        without += page.stored_bytes;
                        passed += page.stored_bytes * u64::from(may);
                    }
                }
            }
            print!(" {:>12}", format!("{:.2}%", 100.0 * passed as f64 / without as f64));
        }
        println!();
    }
}
