//! Pipelines over lines, on one core.
//!
//! | id | workload | file |
//! |---|---|---|
//! | P1 | a pipeline of many stages over statistics in logfmt, as log query and as metric query | `full.rs` |
//! | P2 | parsers, each alone: all labels, and the one that a grouping asks for | `parsers.rs` |
//! | P3 | line filters over whole buffers | `line_filters.rs` |
//! | P4 | label filters | `label_filters.rs` |

mod full;
mod label_filters;
mod line_filters;
mod lines;
mod parsers;

use self::lines::Lines;
use crate::{AllocationCounter, Better, Effort, Report, Row, measure};
use std::hint::black_box;
use std::sync::Arc;
use timberline_logql::ast::Expr;
use timberline_logql::labels::LabelSet;
use timberline_logql::pipeline::{GroupLabels, Pipeline, Runner, Wants};

/// Measures one workload and adds its rows.
type Workload = fn(&Bench, &mut Report);

/// Every workload.
const WORKLOADS: [(&str, Workload); 4] = [
    ("P1", full::run),
    ("P2", parsers::run),
    ("P3", line_filters::run),
    ("P4", label_filters::run),
];

/// Names of the workloads, in order.
pub fn workloads() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|(id, _)| *id)
}

/// Measures the workloads with these names; all if there are none. Allocations are told if there is a counter.
pub fn run(effort: Effort, only: &[&str], allocations: Option<AllocationCounter>) -> Report {
    let mut report = Report::default();
    let bench = Bench { effort, allocations };
    for (id, run) in WORKLOADS {
        if only.is_empty() || only.contains(&id) {
            run(&bench, &mut report);
        }
    }
    report
        .notes
        .push("Each line has other values; the stream has 8 labels. `allocations` are those per line.".to_owned());
    if allocations.is_none() {
        report.notes.push(
            "Allocations are counted by `cargo bench -p timberline-bench --bench pipeline`, which has an allocator that counts.".to_owned(),
        );
    }
    report
}

/// How to measure.
struct Bench {
    effort: Effort,
    allocations: Option<AllocationCounter>,
}

/// What a row is called and set beside.
struct Title {
    id: &'static str,
    name: &'static str,
    /// Nanoseconds per line.
    peer: Option<f64>,
    goal: Option<f64>,
}

/// What is read from each entry that comes through.
enum Reader {
    /// All labels and the line, as a log query does.
    Entries,
    /// All labels as the identity of a series.
    AllSeries,
    /// These labels as the identity of a series.
    SeriesBy(&'static [&'static str]),
}

impl Bench {
    /// How many lines a workload has.
    fn lines(&self) -> usize {
        match self.effort {
            Effort::Smoke => 20,
            Effort::Full => 1000,
        }
    }

    /// Runs stages, written as in a query, over all lines; answers how many lines came through.
    fn run(&self, title: &Title, stages: &str, reader: &Reader, lines: &Lines, report: &mut Report) -> usize {
        let (wants, group) = match reader {
            Reader::Entries | Reader::AllSeries => (Wants::All, GroupLabels::all()),
            Reader::SeriesBy(names) => (
                Wants::Only(names.iter().map(|name| (*name).to_owned()).collect()),
                GroupLabels::by(names.iter().copied()),
            ),
        };
        let query = format!("{{app=\"x\"}} {stages}");
        let Ok(Expr::Log(log)) = timberline_logql::parse(&query) else {
            panic!("bug: not a log query: {query}");
        };
        let pipeline = Pipeline::compile(&log.stages, &wants).expect("stages of ours");
        let mut runner = Runner::new(Arc::new(pipeline));
        runner.start_stream(&stream());
        let mut key = Vec::new();
        let mut passed = 0;
        self.measure(title, lines, report, || {
            passed = 0;
            for line in lines.iter() {
                let Some(entry) = runner.process(0, black_box(line), &[], false) else {
                    continue;
                };
                key.clear();
                match reader {
                    Reader::Entries => entry.labels_key(&mut key),
                    Reader::AllSeries | Reader::SeriesBy(_) => entry.group_key(&group, &mut key),
                }
                black_box((&key, entry.line));
                passed += 1;
            }
        });
        passed
    }

    /// Adds a row for work over all lines.
    fn measure(&self, title: &Title, lines: &Lines, report: &mut Report, mut work: impl FnMut()) {
        let rounds = measure(self.effort, &mut work);
        let allocations = self.allocations.map(|count| {
            let before = count();
            work();
            (count() - before) as f64 / lines.len() as f64
        });
        report.rows.push(Row {
            id: title.id,
            name: title.name.to_owned(),
            unit: "ns/line",
            better: Better::Less,
            ours: rounds.nanoseconds_each(lines.len()),
            peer: title.peer,
            goal: title.goal,
            allocations,
        });
    }
}

/// A stream of 8 labels.
fn stream() -> LabelSet {
    LabelSet::from_pairs([
        ("cluster", "north-1"),
        ("namespace", "shop"),
        ("app", "checkout"),
        ("pod", "checkout-7c9f5d-x2x7p"),
        ("container", "checkout"),
        ("region", "eu"),
        ("team", "orders"),
        ("stdstream", "stderr"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_runs() {
        let report = run(Effort::Smoke, &[], None);
        for id in workloads() {
            assert!(report.rows.iter().any(|row| row.id == id), "{id} has no rows");
        }
        for row in &report.rows {
            assert!(row.ours.best > 0.0 && row.ours.best.is_finite(), "{row:?}");
        }
    }

    #[test]
    fn lines_are_as_long_as_they_are_said_to_be() {
        let f = |lines: Lines, want: usize| {
            let mean = lines.data.len() / lines.len();
            assert!(mean.abs_diff(want) * 10 <= want, "{mean} bytes, not {want}");
        };
        f(lines::statistics(100), 300);
        f(lines::small_json(100), 110);
        f(lines::large_json(100), 300);
        f(lines::access(100), 110);
        f(lines::prose(100), 100);
    }
}
