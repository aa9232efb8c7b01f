//! A5: a million log records in three columns, uncompressed, read in batches.

use crate::{Better, Effort, Report, Row, measure};
use bytes::Bytes;
use rand::{Rng, RngCore};
use timberline_dataobj::*;

const ROWS: u64 = 1_000_000;
const SMOKE_ROWS: u64 = 5_000;
const PAGE_BYTES: usize = 2 << 20;
const BATCHES: [(usize, f64); 2] = [(100, 2.4), (10_000, 1.6)];
const GOAL: f64 = 10.0;

pub(super) fn run(effort: Effort, report: &mut Report) {
    let rows = if effort == Effort::Smoke { SMOKE_ROWS } else { ROWS };
    let (object, meta) = write(rows);
    let mut object = Bytes::from(object);
    let projection = [column::STREAM_ID, column::TIMESTAMP, column::MESSAGE].map(ColumnName::from);
    let pool = BufferPool::default();
    for (batch_rows, peer) in BATCHES {
        let rounds = measure(effort, || {
            let options = ScanOptions {
                batch_rows,
                coalesce: CoalesceOptions::in_memory(),
                pool: pool.clone(),
                ..ScanOptions::default()
            };
            let mut scan = Scan::new(&meta, &Predicate::all(), &projection, options).expect("columns of ours");
            let mut seen = 0;
            while let Some(batch) = scan.next_batch(&mut object).expect("an object of ours") {
                seen += batch.len() as u64;
            }
            assert_eq!(seen, rows);
        });
        report.rows.push(Row {
            id: "A5",
            name: format!("read {rows} rows of 3 columns, batches of {batch_rows}"),
            unit: "M rows/s",
            ours: rounds.millions_per_second(rows as usize),
            peer: Some(peer),
            goal: Some(GOAL),
            better: Better::More,
            allocations: None,
        });
    }
    let message = meta.column(column::MESSAGE, "").expect("a column of ours");
    let touched = measure(effort, || {
        // One byte of each cache line: how fast this memory can be read at all.
        let lines = object.iter().step_by(64).fold(0u8, |sum, byte| sum ^ byte);
        std::hint::black_box(lines);
    });
    let checked = measure(effort, || {
        for page in &message.pages {
            std::hint::black_box(crc32c::crc32c(
                &object[page.range.start as usize..page.range.end as usize],
            ));
        }
    });
    for (name, rounds) in [("a byte of each cache line", touched), ("CRC-32C alone", checked)] {
        report.rows.push(Row {
            id: "A5",
            name: format!("the same memory: {name}"),
            unit: "M rows/s",
            ours: rounds.millions_per_second(rows as usize),
            peer: None,
            goal: None,
            better: Better::More,
            allocations: None,
        });
    }
}

fn write(rows: u64) -> (Vec<u8>, SectionMeta) {
    let options = WriterOptions {
        page_bytes: PAGE_BYTES,
        page_rows: 0,
        ..WriterOptions::default()
    };
    let mut section = SectionWriter::new(SectionKind::Logs, 2, "", &options);
    let mut add = |physical, logical: &str| {
        section.add_column(ColumnSpec {
            physical,
            logical: logical.to_owned(),
            tag: String::new(),
            compression: Compression::None,
            range: true,
            cardinality: false,
        })
    };
    let stream = add(Physical::Int64, column::STREAM_ID);
    let timestamp = add(Physical::Int64, column::TIMESTAMP);
    let message = add(Physical::Binary, column::MESSAGE);
    let mut rng = crate::rng(5);
    let mut line = Vec::new();
    for row in 0..rows {
        line.resize(rng.random_range(512..=1535), 0);
        rng.fill_bytes(&mut line);
        let appended = section
            .append_int64(stream, row, rng.random_range(0..1000))
            .and_then(|()| section.append_int64(timestamp, row, rng.random_range(0..100_000)))
            .and_then(|()| section.append_binary(message, row, &line));
        appended.expect("pages are cut before they are full");
    }
    super::object_of(section, &[stream, timestamp, message])
}
