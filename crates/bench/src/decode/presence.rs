//! A3: presence of 65,536 rows, in batches of 4,096.

use crate::{Better, Effort, Report, Row, measure};
use rand::Rng;
use std::hint::black_box;
use timberline_dataobj::encoding::bitmap::{Decoder, Encoder};

const ROWS: usize = 65_536;
const BATCH: usize = 4096;
const BLOCK: usize = 1024;

pub(super) fn run(effort: Effort, report: &mut Report) {
    let mut rng = crate::rng(3);
    let mixed: Vec<bool> = (0..ROWS)
        .map(|row| (row / BLOCK).is_multiple_of(2) || rng.random())
        .collect();
    for (name, rows, peer, goal) in [
        ("all present", vec![true; ROWS], 21.0, 40.0),
        ("blocks of 1,024: all, coin flips", mixed, 0.52, 8.0),
    ] {
        let mut encoder = Encoder::default();
        rows.iter().for_each(|&row| encoder.append(row));
        let bytes = encoder.finish();
        let mut words = vec![0u64; BATCH / 64];
        let rounds = measure(effort, || {
            let mut decoder = Decoder::new(black_box(bytes), ROWS);
            for _ in 0..ROWS / BATCH {
                decoder.fill(BATCH, &mut words).expect("rows of ours");
                black_box(&mut words);
            }
            decoder.finish().expect("rows of ours");
        });
        let last = rows[ROWS - 64..]
            .iter()
            .rev()
            .fold(0u64, |word, &row| word << 1 | u64::from(row));
        assert_eq!(words.last(), Some(&last));
        report.rows.push(Row {
            id: "A3",
            name: format!("presence, {name}"),
            unit: "G rows/s",
            ours: rounds.billions_per_second(ROWS),
            peer: Some(peer),
            goal: Some(goal),
            better: Better::More,
            allocations: None,
        });
    }
}
