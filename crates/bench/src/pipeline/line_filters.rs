//! P3: line filters over whole buffers.

use super::lines::{self, Lines};
use super::{Bench, Title};
use crate::Report;
use std::hint::black_box;
use timberline_logql::ast::Expr;
use timberline_logql::pipeline::{Pipeline, Wants};

const FILTERS: [(&str, &str); 9] = [
    ("|= one rare text", r#"|= "timeout""#),
    ("|= a text of every line", r#"|= "nightly""#),
    ("!= one rare text", r#"!= "timeout""#),
    ("|= three texts, rare", r#"|= "timeout" or "refused" or "panicked""#),
    ("|~ case ignored, rare", r#"|~ "(?i)TIMEOUT|refused""#),
    ("|~ a choice of texts, rare", r#"|~ "timeout|refused""#),
    ("|~ text and class, rare", r#"|~ "timeout, \\d+ more""#),
    ("!~ text and class, rare", r#"!~ "timeout, \\d+ more""#),
    ("|> pattern, rare", r#"|> "<_> job <_> timeout, <_>""#),
];

pub(super) fn run(bench: &Bench, report: &mut Report) {
    let lines: Lines = lines::prose(bench.lines());
    for (name, filters) in FILTERS {
        let title = Title {
            id: "P3",
            name,
            peer: None,
            goal: None,
        };
        let Ok(Expr::Log(log)) = timberline_logql::parse(&format!("{{app=\"x\"}} {filters}")) else {
            panic!("bug: not a log query: {filters}");
        };
        let pipeline = Pipeline::compile(&log.stages, &Wants::All).expect("stages of ours");
        let mut keep = Vec::new();
        bench.measure(&title, &lines, report, || {
            keep.clear();
            keep.extend(0..lines.len() as u32);
            for filter in pipeline.line_filters() {
                filter.filter(black_box(&lines.offsets), &lines.data, &mut keep);
            }
            black_box(&keep);
        });
    }
}
