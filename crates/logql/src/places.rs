//! Where the parts of a query stand in its text. The tree does not know: what parser and checks have in common is the order
//! in which they come across the parts.

use crate::ast::{Expr, LogExpr, MetricExpr, Stage};

/// For each kind of part the bytes at which they begin, in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) selectors: Vec<usize>,
    pub(crate) matchers: Vec<usize>,
    /// Stages, and the filters behind `unwrap`.
    pub(crate) stages: Vec<usize>,
    /// Functions of ranges and of vectors, and `label_replace`.
    pub(crate) functions: Vec<usize>,
}

/// How many parts of each kind were come across.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) selectors: usize,
    pub(crate) matchers: usize,
    pub(crate) stages: usize,
    pub(crate) functions: usize,
}

/// The number of a part among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Selector(usize),
    Matcher(usize),
    Stage(usize),
    Function(usize),
}

impl Places {
    /// Where the part begins; `None` where the text was not noted down.
    pub(crate) fn of(&self, part: Part) -> Option<usize> {
        let (places, at) = match part {
            Part::Selector(at) => (&self.selectors, at),
            Part::Matcher(at) => (&self.matchers, at),
            Part::Stage(at) => (&self.stages, at),
            Part::Function(at) => (&self.functions, at),
        };
        places.get(at).copied()
    }
}

/// The stages of a query in the order of its text; `None` stands for a filter behind `unwrap`.
pub(crate) fn stages_in_order(expr: &Expr) -> Vec<Option<&Stage>> {
    let mut stages = Vec::new();
    match expr {
        Expr::Log(log) => add_log(log, &mut stages),
        Expr::Metric(metric) => add_metric(metric, &mut stages),
    }
    stages
}

fn add_log<'a>(log: &'a LogExpr, stages: &mut Vec<Option<&'a Stage>>) {
    stages.extend(log.stages.iter().map(Some));
}

fn add_metric<'a>(metric: &'a MetricExpr, stages: &mut Vec<Option<&'a Stage>>) {
    match metric {
        MetricExpr::Range(range) => {
            add_log(&range.log, stages);
            let filters = range.unwrap.iter().flat_map(|unwrap| &unwrap.filters);
            stages.extend(filters.map(|_| None));
        }
        MetricExpr::Vector(vector) => add_metric(&vector.inner, stages),
        MetricExpr::Binary(binary) => {
            add_metric(&binary.left, stages);
            add_metric(&binary.right, stages);
        }
        MetricExpr::LabelReplace(replace) => add_metric(&replace.inner, stages),
        MetricExpr::VectorOf(_) | MetricExpr::Literal(_) => {}
    }
}
