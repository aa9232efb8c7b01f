//! A2: 65,536 integers of one stream, in batches.

use crate::{Better, Effort, Report, Row, measure};
use rand::Rng;
use std::hint::black_box;
use timberline_dataobj::encoding::delta::{self, Decoder};

const VALUES: usize = 65_536;
const BATCHES: [usize; 3] = [256, 1024, 4096];

pub(super) fn run(effort: Effort, report: &mut Report) {
    let mut rng = crate::rng(2);
    let random = (0..VALUES).map(|_| rng.random_range(0..i64::MAX)).collect::<Vec<_>>();
    let alternating = (0..VALUES as i64).map(|i| i % 2 * i64::MAX).collect::<Vec<_>>();
    let workloads = [
        ("sequential", (0..VALUES as i64).collect(), 252.0, 1000.0),
        ("0 and i64::MAX in turn", alternating, 148.0, 400.0),
        ("random", random, 93.0, 300.0),
    ];
    for (name, values, peer, goal) in workloads {
        let mut bytes = Vec::new();
        values.iter().fold(0, |previous, &value| {
            delta::append(&mut bytes, previous, value);
            value
        });
        for batch in BATCHES {
            let mut out = vec![0; batch];
            let rounds = measure(effort, || {
                let mut decoder = Decoder::new(black_box(&bytes));
                for _ in 0..VALUES / batch {
                    decoder.fill(&mut out).expect("values of ours");
                    black_box(&mut out);
                }
                decoder.finish().expect("values of ours");
            });
            assert_eq!(out.last(), values.last());
            report.rows.push(Row {
                id: "A2",
                name: format!("delta, {name}, batches of {batch}"),
                unit: "M values/s",
                ours: rounds.millions_per_second(VALUES),
                peer: Some(peer),
                goal: Some(goal),
                better: Better::More,
                allocations: None,
            });
        }
    }
}
