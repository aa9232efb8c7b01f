//! Writes first inputs for the targets, taken from the objects that are given and from cases of the language, into folders
//! named after the targets.
//! `cargo run --features seed --bin seed FOLDER OBJECT...`

use std::path::Path;
use timberline_dataobj::{
    Compression, LogRow, LogsWriter, ObjectLayout, ObjectWriter, Parsed, SectionMeta, SortOrder, WriterOptions,
    fuzzing, object_key,
};
use timberline_fuzz::{fast, naive, page};

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
