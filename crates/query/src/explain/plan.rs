//! Operators of a plan as steps.

use super::words::{bytes, counted, duration, seconds, time};
use super::{Fact, Step, scan};
use crate::first_lines::FirstLinesExec;
use crate::meter::Measured;
use crate::range::{Half, RangeExec};
use crate::request::Direction;
use crate::scan::LogScanExec;
use crate::vector::VectorExec;
use datafusion_physical_plan::ExecutionPlan;

/// The step of an operator, with those below it.
pub(super) fn step(plan: &dyn ExecutionPlan) -> Step {
    let children: Vec<&dyn ExecutionPlan> = plan.children().into_iter().map(AsRef::as_ref).collect();
    let (name, mut facts) = if let Some(scan) = plan.downcast_ref::<LogScanExec>() {
        scan::describe(&scan.spec)
    } else if let Some(range) = plan.downcast_ref::<RangeExec>() {
        describe_range(range)
    } else if let Some(vector) = plan.downcast_ref::<VectorExec>() {
        (format!("vector: {}", vector.function.describe()), Vec::new())
    } else if let Some(lines) = plan.downcast_ref::<FirstLinesExec>() {
        describe_lines(lines)
    } else if let [child] = children.as_slice() {
        // What only moves batches from one thread to another is no step of its own.
        return step(*child);
    } else {
        (plan.name().to_owned(), Vec::new())
    };
    let work = if plan.is::<LogScanExec>() {
        "of work, reading and decompressing included"
    } else {
        "of work"
    };
    facts.extend(
        plan.metrics()
            .iter()
            .flat_map(|metrics| measured(&Measured::of(metrics), work)),
    );
    Step {
        name,
        facts,
        inputs: children.into_iter().map(step).collect(),
    }
}

fn measured(measured: &Measured, work: &str) -> [Fact; 3] {
    let Measured {
        rows_in,
        rows_out,
        busy_seconds,
        memory_peak_bytes,
    } = *measured;
    [
        Fact::new(
            "rows",
            format!("{} in, {} out", counted(rows_in, "row"), counted(rows_out, "row")),
        ),
        Fact::new("time", format!("{} {work}", seconds(busy_seconds))),
        Fact::new("memory", format!("{} at most", bytes(memory_peak_bytes))),
    ]
}

fn describe_range(range: &RangeExec) -> (String, Vec<Fact>) {
    let (function, grid) = (range.function.describe(), range.grid);
    if range.half == Half::Partial {
        return (format!("samples to partial states: {function}"), Vec::new());
    }
    let mut windows = format!(
        "{} of {}, after {} up to {}",
        counted(grid.windows(), "window"),
        duration(grid.range_ns()),
        time(grid.after_ns(0)),
        time(grid.until_ns(0))
    );
    if grid.windows() > 1 {
        windows.push_str(&format!(" and so on up to {}", time(grid.until_ns(grid.windows() - 1))));
    }
    let name = format!("partial states to values of windows: {function}");
    (name, vec![Fact::new("windows", windows)])
}

fn describe_lines(lines: &FirstLinesExec) -> (String, Vec<Fact>) {
    let which = match lines.direction {
        Direction::Backward => "newest",
        Direction::Forward => "oldest",
    };
    let name = format!("the {which} {}", counted(lines.limit, "line"));
    let mut facts = Vec::new();
    if lines.interval_ns > 0 {
        let text = format!(
            "{} from each line taken to the next, so that all lines have to be seen",
            duration(lines.interval_ns.into())
        );
        facts.push(Fact::new("interval", text));
    }
    (name, facts)
}
