//! Writes first inputs for the targets, taken from the objects that are given, from cases of the language and from invented time
//! series, into folders named after the targets.
//! `cargo run --features seed --bin seed FOLDER OBJECT...`

use std::path::Path;
use timberline_dataobj::{
    Compression, LogRow, LogsWriter, ObjectLayout, ObjectWriter, Parsed, SectionMeta, SortOrder, WriterOptions,
    fuzzing, object_key,
};
use timberline_fuzz::{fast, naive, page, series};
use timberline_series::codec::{Chunk, Encoding};

/// Larger objects make the fuzzer slow, and have little that smaller ones don't.
const MAX_OBJECT_BYTES: usize = 8192;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().expect("usage: seed FOLDER OBJECT...");
    let save = |target: &str, input: &[u8]| {
        let folder = Path::new(&folder).join(target);
        std::fs::create_dir_all(&folder).expect("folder can be made");
        std::fs::write(folder.join(object_key(input)), input).expect("input can be written");
    };
    save("page", &large_page());
    let text = "GET /cart trace=4bf92f3577b34da6a3ce929d0e0e4736 10.0.0.7\nupstream timeout user=ana\n\nerror: \u{df}"
        .repeat(3);
    save("extensions", &[b"\x03\x02\x0a", text.as_bytes()].concat());
    save("extensions", &object_with_extensions(&text));
    chunks(save);
    for folder in ["../crates/logql/tests/data", "../crates/query/tests/cases"] {
        for file in std::fs::read_dir(folder).expect("started in the folder of the fuzz targets") {
            let path = file.expect("folder can be read").path();
            if path.extension() == Some("txt".as_ref()) {
                language(&std::fs::read_to_string(path).expect("cases can be read"), save);
            }
        }
    }
    for path in arguments {
        let object = std::fs::read(path).expect("object can be read");
        seed(&object, save);
    }
}

/// Chunks of a few shapes and sizes, and their columns under the targets of their encodings.
fn chunks(save: impl Fn(&str, &[u8])) {
    let noise = |row: usize| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let distances: [&dyn Fn(usize) -> usize; 4] = [
        &|_| 10_000,
        &|row| 9_990 + noise(row) % 20,
        &|row| if row % 97 == 5 { 1 << 45 } else { 1000 },
        &|row| 1 + noise(row),
    ];
    let values: [&dyn Fn(usize) -> f64; 7] = [
        &|_| 42.5,
        &|row| (noise(row) % 3) as f64,
        &|row| (row * 20 + noise(row) % 30) as f64,
        &|row| (5000 + noise(row) % 60) as f64 / 100.0,
        &|row| {
            if row % 50 == 7 {
                f64::NAN
            } else {
                (noise(row) % 2000) as f64 / 1000.0
            }
        },
        &|row| (noise(row) as f64).sqrt(),
        &|row| ((row / 30) as f64).ln(),
    ];
    for (distance, value) in (0..values.len()).map(|at| (distances[at % distances.len()], values[at])) {
        for len in [1, 3, 129, 300] {
            let mut time = 0;
            let mut next = |row| {
                time += distance(row) as i64;
                time
            };
            let timestamps: Vec<i64> = (0..len).map(&mut next).collect();
            let values: Vec<f64> = (0..len).map(value).collect();
            for encoding in [Encoding::Compressed, Encoding::Uncompressed] {
                let mut bytes = Vec::new();
                Chunk::encode(&timestamps, &values, encoding).append_bytes(&mut bytes);
                save("series_chunk", &bytes);
                let split = 24 + series::unsigned(&bytes[4..8]) as usize;
                let samples = (len as u16 - 1).to_le_bytes();
                if bytes[2] == series::IRREGULAR {
                    save("series_irregular", &[&samples, &bytes[24..split]].concat());
                }
                match bytes[3] {
                    series::DECIMAL => save("series_decimal", &[&samples, &bytes[split..]].concat()),
                    series::BITS => save("series_bits", &[&samples, &bytes[split..]].concat()),
                    _ => (),
                }
            }
        }
    }
    for kind in 0..6 {
        for (repeats, shift) in [(0, 0), (200, 3), (90, 60)] {
            let step = |value: f64, power| {
                let bits = value.to_bits().to_le_bytes();
                [&[repeats, 10, power, shift], &bits[..], &[kind, shift, 0, 0]].concat()
            };
            save(
                "series_round_trip",
                &[step(1.5, 3), step(-0.0, 0), step(f64::NAN, 16), step(1e9, 2)].concat(),
            );
        }
    }
}

/// Queries of a file of cases, and its lines under each query of the pipeline's target.
fn language(cases: &str, save: impl Fn(&str, &[u8])) {
    for part in cases.split("=== ") {
        let Some((head, body)) = part.split_once('\n') else {
            continue;
        };
        if head.starts_with("query") {
            let question = body.split_once("\n---").map_or(body, |(question, _)| question);
            save("query", question.as_bytes());
            save(
                "query",
                question
                    .rsplit_once('\n')
                    .map_or(question, |(query, _)| query)
                    .as_bytes(),
            );
            continue;
        }
        for (at, lines) in body.lines().collect::<Vec<_>>().chunks(4).enumerate() {
            let lines: Vec<&str> = lines
                .iter()
                .map(|line| line.trim().split_once(' ').map_or("", |(_, line)| line))
                .collect();
            for query in 0..3 {
                let head = [(at * 3 + query) as u8, 2, b'm', b'1'];
                save("pipeline", &[&head[..], lines.join("\0").as_bytes()].concat());
            }
        }
    }
}

fn object_with_extensions(text: &str) -> Vec<u8> {
    let options = WriterOptions {
        page_rows: 4,
        ..WriterOptions::default()
    };
    let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options).with_extensions();
    for (row, line) in (0i64..).zip(text.lines()) {
        let metadata = [("key", line.as_bytes())];
        let record = LogRow {
            stream_id: 1,
            timestamp_ns: -row,
            line: line.as_bytes(),
            metadata: &metadata,
        };
        logs.append(&record).expect("record fits");
    }
    let mut object = ObjectWriter::new();
    object.push_section(logs.finish().expect("section fits"));
    object.finish().expect("object fits")
}

/// Values of 200 KB, which are decompressed in steps, in a page of some hundred bytes.
fn large_page() -> Vec<u8> {
    let line = |row: usize| format!("GET /{} HTTP/1.1 {}", row % 7, "x".repeat(row % 90)).into_bytes();
    let lines: Vec<Vec<u8>> = (0..3500).map(line).collect();
    let raw = fast::encode_plain(&lines);
    let presence = fast::encode_bitmap(&[(true, lines.len() as u64)]);
    let values = fuzzing::compress(Compression::Zstd, &raw).expect("compression works");
    let bytes = [vec![presence.len() as u8], presence.clone(), values].concat();
    let case = [vec![3; 11], bytes.clone()].concat();
    let page::Case { column, mut page, .. } = page::case(&case).expect("long enough");
    (page.rows, page.values) = (lines.len() as u64, lines.len() as u64);
    page.raw_bytes = (1 + presence.len() + raw.len()) as u64;
    page::input(&column, &page, &bytes)
}

fn seed(object: &[u8], save: impl Fn(&str, &[u8])) {
    if object.len() <= MAX_OBJECT_BYTES {
        save("object", object);
        save("sections", object);
        for variant in 0..12 {
            save(
                "scan",
                &[
                    &[
                        3, variant, 0, variant, 2, b'a', b'0', 0, 0, 1, variant, 1, b'e', 0, 0, 0,
                    ],
                    object,
                ]
                .concat(),
            );
        }
    }
    let Ok(Parsed::Complete(layout)) = ObjectLayout::parse(object) else {
        panic!("not an object")
    };
    let slice = |range: &std::ops::Range<u64>| &object[range.start as usize..range.end as usize];
    for section in layout.sections() {
        let region = slice(&section.metadata);
        save(
            "section",
            &[&[section.extension.len() as u8], section.extension.as_slice(), region].concat(),
        );
        let Ok(meta) = SectionMeta::parse(section, region) else {
            continue;
        };
        for column in &meta.columns {
            for page in &column.pages {
                let bytes = slice(&page.range);
                let input = page::input(column, page, bytes);
                save("page", &input);
                let mut values = bytes;
                let Some(presence) = naive::take_varint(&mut values) else {
                    continue;
                };
                let (presence, values) = values.split_at(presence as usize);
                save(
                    "encoding_bitmap",
                    &[&(page.rows as u16).to_le_bytes(), presence].concat(),
                );
                save("encoding_delta", &[&[0, 20], values].concat());
                let raw = (page.raw_bytes as usize + values.len() - bytes.len()) as u32;
                save(
                    "compression",
                    &[&[(input[0] >> 1) * 2 % 3], &raw.to_le_bytes()[..3], values].concat(),
                );
                let raw = fuzzing::decompress(column.compression, values, raw as usize);
                save(
                    "encoding_plain",
                    &[vec![page.values as u8, 20, 0], raw.unwrap_or_default()].concat(),
                );
            }
        }
    }
}
