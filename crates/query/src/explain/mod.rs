//! How a query was run: its plan as a tree of steps, each with facts in words that an operator of the server understands.

mod plan;
mod reads;
mod scan;
mod text;
mod words;

use crate::answer::{QueryResult, QueryStats};
use crate::engine::{Asked, Ran};
use words::{bytes, counted, duration, time};

/// How a query was run, and what it cost. Printed, it is a page of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The query and its answer as a whole.
    pub query: Vec<Fact>,
    /// The last step of the plan, with those before it as its inputs; `None` if nothing had to be run.
    pub plan: Option<Step>,
    /// The figures that are in the statistics of the answer too.
    pub stats: QueryStats,
}

/// A step of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it does.
    pub name: String,
    /// What is to be known about it, in order.
    pub facts: Vec<Fact>,
    /// The steps whose results it takes.
    pub inputs: Vec<Step>,
}

/// Something to be known about a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about; `time` holds measured times and nothing else does.
    pub name: &'static str,
    /// The fact.
    pub text: String,
}

impl Fact {
    fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self {
            name,
            text: text.into(),
        }
    }
}

impl Explanation {
    /// Explains a query that has run.
    pub(crate) fn of(ran: &Ran) -> Self {
        let stats = ran.answer.stats.clone();
        let asked = match &ran.asked {
            Asked::Lines(request) => {
                let (start, end) = (time(request.start_ns.into()), time(request.end_ns.into()));
                format!("lines from {start}, before {end}")
            }
            Asked::Values(steps) if steps.count == 1 => format!("values at {}", time(steps.first_ns.into())),
            Asked::Values(steps) => format!(
                "values at {} times from {} to {}, {} apart",
                steps.count,
                time(steps.first_ns.into()),
                time(steps.time_ns(steps.count - 1).into()),
                duration(steps.step_ns.into())
            ),
        };
        let total = stats.exec_seconds;
        let query = vec![
            Fact::new("query", ran.expr.to_string()),
            Fact::new("asked for", asked),
            Fact::new("answer", answer(&ran.answer.result)),
            Fact::new(
                "time",
                format!(
                    "{} in all, {} of it for planning",
                    words::seconds(total),
                    words::seconds(ran.planning_seconds)
                ),
            ),
            Fact::new(
                "memory",
                format!(
                    "{} at most; max_query_memory_bytes allows {}",
                    bytes(stats.memory_peak_bytes),
                    bytes(ran.limits.max_query_memory_bytes as u64)
                ),
            ),
        ];
        Self {
            query,
            plan: ran.plan.as_deref().map(plan::step),
            stats,
        }
    }
}

fn answer(result: &QueryResult) -> String {
    match result {
        QueryResult::Streams(streams) => {
            let lines: usize = streams.iter().map(|stream| stream.entries.len()).sum();
            format!("{} in {}", counted(lines, "line"), counted(streams.len(), "stream"))
        }
        QueryResult::Matrix(series) => {
            let points: usize = series.iter().map(|one| one.points.len()).sum();
            format!("{} with {}", counted(series.len(), "series"), counted(points, "point"))
        }
        QueryResult::Vector(samples) => counted(samples.len(), "value"),
        QueryResult::Scalar { value, .. } => format!("the number {value}"),
    }
}
