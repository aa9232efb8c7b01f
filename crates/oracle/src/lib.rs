//! A second opinion on LogQL: an evaluator that is obviously right, and a generator of data and queries to ask of it and of the engine.
//!
//! The evaluator goes over rows one at a time, holds everything in maps and strings, and optimises nothing. It shares the syntax tree
//! with the engine and no other code, and was written from `docs/logql.md` and the recorded answers of Loki (`conformance/logql`). So where it
//! and the engine differ, one of the two, or the specification, is wrong. Tests only may depend on this crate.
//!
//! ```
//! use std::collections::BTreeMap;
//! use timberline_oracle::{Answer, Ask, Row, evaluate};
//!
//! let labels = BTreeMap::from([("app".to_owned(), "shop".to_owned())]);
//! let row = Row { labels: labels.clone(), timestamp_ns: 5, line: "paid".into(), metadata: vec![] };
//! let ask = Ask::Instant { time_ns: 10 };
//! let outcome = evaluate(&[row], r#"count_over_time({app="shop"}[10s])"#, &ask);
//! let Ok(Answer::Vector { samples, .. }) = outcome.answer else { panic!("no vector") };
//! assert_eq!(samples, [(labels, 1.0)]);
//! ```

pub mod generate;

mod answer;
mod binary;
mod convert;
mod entry;
mod error;
mod format;
mod ip;
mod json;
mod json_path;
mod label_filter;
mod line_filter;
mod lines;
mod logfmt;
mod metric;
mod parsers;
mod pattern;
mod pipeline;
mod range;
mod template;
mod text;
mod vector;

pub use answer::{Answer, Outcome, Series, close, series_differ};
pub use entry::{Labels, Row, labels_text};
pub use error::Error;
pub use lines::{Found, Lines};

use timberline_logql::ast::Expr;

/// What is asked besides the query text.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// A query at one time.
    Instant {
        /// Evaluation time.
        time_ns: i64,
    },
    /// A metric query over a range.
    Range {
        /// First evaluation time.
        start_ns: i64,
        /// Last evaluation time.
        end_ns: i64,
        /// Distance of evaluation times.
        step_ns: i64,
        /// Evaluation times are multiples of the step.
        align: bool,
    },
    /// A log query.
    Lines {
        /// First nanosecond.
        start_ns: i64,
        /// First nanosecond that is no longer included.
        end_ns: i64,
        /// Most lines.
        limit: usize,
        /// Oldest first.
        forward: bool,
        /// Least distance of lines; 0: all.
        interval_ns: i64,
    },
}

/// Answers a query over rows, given in order of arrival.
pub fn evaluate(rows: &[Row], query: &str, ask: &Ask) -> Outcome {
    let rows = entry::stored_once(rows);
    match timberline_logql::parse(query) {
        Err(_) => Outcome::of(Err(Error::Parse)),
        Ok(Expr::Log(log)) => Outcome::of(lines::evaluate(&rows, &log, ask)),
        Ok(Expr::Metric(expr)) => metric::evaluate(&rows, &expr, ask),
    }
}
