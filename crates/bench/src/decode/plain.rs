//! A4: byte strings of one stream.

use crate::{Better, Effort, Report, Row, Speed, measure};
use rand::{Rng, RngCore};
use std::hint::black_box;
use timberline_dataobj::encoding::plain::{self, Values};

pub(super) fn run(effort: Effort, report: &mut Report) {
    let mut rng = crate::rng(4);
    let constant = vec![100; 19_999];
    let varied: Vec<usize> = (0..3_892).map(|_| rng.random_range(16..=1024)).collect();
    for (name, lengths, peer) in [("100 bytes each", constant, 126.0), ("16 to 1,024 bytes", varied, 54.0)] {
        let mut bytes = Vec::new();
        let mut value = Vec::new();
        for &length in &lengths {
            value.resize(length, 0);
            rng.fill_bytes(&mut value);
            plain::append(&mut bytes, &value);
        }
        let total: usize = lengths.iter().sum();
        let mut data = vec![0; bytes.len() + 64];
        let mut ends = vec![0; lengths.len()];
        let mut views = vec![0; lengths.len()];
        let copied = measure(effort, || {
            let mut values = Values::new(black_box(&bytes));
            let end = values.copy_into(&mut data, 0, &mut ends).expect("values of ours");
            values.finish().expect("values of ours");
            assert_eq!(end, total);
            black_box((&mut data, &mut ends));
        });
        let viewed = measure(effort, || {
            let mut values = Values::new(black_box(&bytes));
            values.view_into(&mut views).expect("values of ours");
            values.finish().expect("values of ours");
            black_box(&mut views);
        });
        assert_eq!(views.last().map(|view| *view as u32 as usize), lengths.last().copied());
        let mut target = vec![0; bytes.len()];
        let memory = measure(effort, || {
            target.copy_from_slice(black_box(&bytes));
            black_box(&mut target);
        });
        let mut row = |name: String, unit, figure: Speed, peer: Option<f64>| {
            let goal = peer.map(|peer| peer * 2.0);
            report.rows.push(Row {
                id: "A4",
                name,
                unit,
                ours: figure,
                peer,
                goal,
                better: Better::More,
                allocations: None,
            });
        };
        row(
            format!("plain, {name}: views"),
            "M values/s",
            viewed.millions_per_second(lengths.len()),
            Some(peer),
        );
        row(
            format!("plain, {name}: copied"),
            "M values/s",
            copied.millions_per_second(lengths.len()),
            Some(peer),
        );
        row(
            format!("plain, {name}: copied"),
            "GB/s",
            copied.billions_per_second(total),
            None,
        );
        row(
            format!("plain, {name}: memcpy of it all"),
            "GB/s",
            memory.billions_per_second(bytes.len()),
            None,
        );
    }
}
