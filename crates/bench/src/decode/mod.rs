//! Decoding of data objects, on one core.
//!
//! | id | workload | file |
//! |---|---|---|
//! | A1 | a page of log lines: checksum, decompression, parsing | `page.rs` |
//! | A2 | integers | `delta.rs` |
//! | A3 | presence | `presence.rs` |
//! | A4 | byte strings | `plain.rs` |
//! | A5 | rows of three columns, in batches | `read.rs` |

mod apache;
mod delta;
mod page;
mod plain;
mod presence;
mod read;

use crate::{Effort, Report};

/// Measures one workload and adds its rows.
type Workload = fn(Effort, &mut Report);

/// Every workload.
const WORKLOADS: [(&str, Workload); 5] = [
    ("A1", page::run),
    ("A2", delta::run),
    ("A3", presence::run),
    ("A4", plain::run),
    ("A5", read::run),
];

/// Names of the workloads, in order.
pub fn workloads() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|(id, _)| *id)
}

/// Measures the workloads with these names; all if there are none.
pub fn run(effort: Effort, only: &[&str]) -> Report {
    let mut report = Report::default();
    for (id, run) in WORKLOADS {
        if only.is_empty() || only.contains(&id) {
            run(effort, &mut report);
        }
    }
    report
}

/// An object of that section only, and the section's description.
fn object_of(
    section: timberline_dataobj::SectionWriter,
    columns: &[timberline_dataobj::ColumnId],
) -> (Vec<u8>, timberline_dataobj::SectionMeta) {
    use timberline_dataobj::{ObjectWriter, WholeObject};
    let mut object = ObjectWriter::new();
    object.push_section(section.finish(columns, None).expect("sections of benchmarks are small"));
    let object = object.finish().expect("objects of benchmarks are small");
    let whole = WholeObject::parse(&object).expect("an object of ours");
    let meta = whole.meta(&whole.sections()[0]).expect("an object of ours");
    (object, meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_runs() {
        let report = run(Effort::Smoke, &[]);
        for id in workloads() {
            assert!(report.rows.iter().any(|row| row.id == id), "{id} has no rows");
        }
        for row in &report.rows {
            assert!(row.ours.best > 0.0 && row.ours.best.is_finite(), "{row:?}");
        }
        let lines = report.to_string().lines().count();
        assert_eq!(lines, 1 + report.rows.len() + report.notes.len());
    }

    #[test]
    fn only_what_is_asked_for_runs() {
        let report = run(Effort::Smoke, &["A3"]);
        assert!(!report.rows.is_empty() && report.rows.iter().all(|row| row.id == "A3"));
    }
}
