//! A1: one page of 100,000 access log lines, compressed: check, decompress and parse.

use super::apache::Lines;
use crate::{Better, Effort, Report, Row, Speed, measure};
use arrow_array::Array;
use arrow_buffer::Buffer;
use timberline_dataobj::*;

const LINES: usize = 100_000;
const PEER: f64 = 1.64;
const GOAL: f64 = 2.5;

/// An object of one column in one page.
struct Page {
    object: Vec<u8>,
    column: ColumnMeta,
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let count = if effort == Effort::Smoke { 100 } else { LINES };
    let mut lengths = Vec::with_capacity(count);
    let page = write(count, &mut lengths);
    let meta = &page.column.pages[0];
    let stored = Buffer::from(&page.object[meta.range.start as usize..meta.range.end as usize]);
    let values: usize = lengths.iter().sum();

    let mut scratch = Scratch::with_pool(BufferPool::new(1 << 30));
    let copied = measure(effort, || {
        let lines = decode_binary(&page.column, meta, &stored, &mut scratch).expect("a page of ours");
        assert_eq!((lines.len(), lines.value_data().len()), (count, values));
    });
    let viewed = measure(effort, || {
        let lines = decode_binary_view(&page.column, meta, &stored, &mut scratch).expect("a page of ours");
        assert_eq!(lines.len(), count);
    });
    let mut raw = vec![0; meta.raw_bytes as usize];
    let frame = &stored[frame_start(&stored)..];
    let mut zstd = zstd::bulk::Decompressor::new().expect("a context");
    zstd.set_parameter(zstd::zstd_safe::DParameter::ForceIgnoreChecksum(true))
        .expect("a parameter of zstd");
    let decompressed = measure(effort, || {
        zstd.decompress_to_buffer(frame, &mut raw[..]).expect("a frame of ours");
    });
    let mut row = |name: &str, figure: Speed, is_ours: bool| {
        report.rows.push(Row {
            id: "A1",
            name: format!("page of {count} lines, zstd: {name}"),
            unit: "GB/s",
            ours: figure,
            peer: is_ours.then_some(PEER),
            goal: is_ours.then_some(GOAL),
            better: Better::More,
            allocations: None,
        });
    };
    row("into views", viewed.billions_per_second(values), true);
    row("into offsets and data", copied.billions_per_second(values), true);
    row("libzstd alone", decompressed.billions_per_second(values), false);
    lengths.sort_unstable();
    report.notes.push(format!(
        "A1: {values} bytes of lines, mean {}, min {}, p50 {}, p99 {}; compressed {:.1} times",
        values / count,
        lengths[0],
        lengths[count / 2],
        lengths[count * 99 / 100],
        meta.raw_bytes as f64 / stored.len() as f64
    ));
}

fn write(count: usize, lengths: &mut Vec<usize>) -> Page {
    let options = WriterOptions {
        page_bytes: 0,
        page_rows: 0,
        ..WriterOptions::default()
    };
    let mut section = SectionWriter::new(SectionKind::Logs, 2, "", &options);
    let column = section.add_column(ColumnSpec {
        physical: Physical::Binary,
        logical: column::MESSAGE.to_owned(),
        tag: String::new(),
        compression: Compression::Zstd,
        range: false,
        cardinality: false,
    });
    let mut lines = Lines::new(1);
    for row in 0..count {
        let line = lines.next_line();
        lengths.push(line.len());
        section
            .append_binary(column, row as u64, line.as_bytes())
            .expect("a page holds the lines");
    }
    let (object, mut meta) = super::object_of(section, &[column]);
    Page {
        object,
        column: meta.columns.remove(0),
    }
}

/// Where a page's values begin: behind its presence, which is shorter than 128 bytes here.
fn frame_start(page: &[u8]) -> usize {
    1 + usize::from(page[0])
}
