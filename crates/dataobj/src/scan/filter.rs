//! Which rows of a window meet the predicate: the conditions one after another, cheapest first, each for the rows that the ones
//! before leave open. Stops where pages are missing and goes on when they are held.

use super::column::ScanColumn;
use super::counters::ScanCounters;
use super::evaluate::evaluate;
use super::plan::{BoundTest, ConditionKind, Plan};
use super::rows::RowRanges;
use crate::error::Error;
use crate::read::Scratch;
use std::cmp::Reverse;

/// A walk over the conditions, with the path from the whole predicate to the condition at hand.
#[derive(Debug)]
pub(super) struct Filter {
    path: Vec<Frame>,
}

/// A condition, and how far it is decided.
#[derive(Debug)]
struct Frame {
    condition: usize,
    /// Rows that may still meet it; of an "or", such that no part has accepted yet.
    open: RowRanges,
    /// Rows that meet it, as far as they are known already: of an "or", those that a part has accepted.
    accepted: RowRanges,
    /// Parts to be asked, the next one last.
    parts: Vec<usize>,
}

/// How far a filter came.
#[derive(Debug)]
pub(super) enum Filtered {
    /// These pages of a column must be held first.
    Missing { column: usize, pages: Vec<usize> },
    /// All rows that meet the predicate.
    Rows(RowRanges),
}

impl Filter {
    pub(super) fn new(plan: &Plan<'_>, rows: &RowRanges) -> Filter {
        Filter {
            path: vec![Frame::new(plan, plan.root(), rows)],
        }
    }

    pub(super) fn run(
        &mut self,
        plan: &mut Plan<'_>,
        scratch: &mut Scratch,
        counters: &mut ScanCounters,
    ) -> Result<Filtered, Error> {
        loop {
            let frame = self.path.last_mut().expect("bug: a filter goes on after its end");
            // Nothing is left to be decided: whatever parts remain don't matter.
            if frame.open.is_empty() {
                frame.parts.clear();
            }
            if let Some(part) = frame.parts.pop() {
                let next = Frame::new(plan, part, &frame.open);
                self.path.push(next);
                continue;
            }
            if let ConditionKind::Test(test) = &plan.conditions[frame.condition].kind
                && !frame.open.is_empty()
            {
                let column = &mut plan.columns[test.column];
                let pages = column.pages_with(&frame.open);
                let missing: Vec<usize> = pages.iter().copied().filter(|page| !column.is_held(*page)).collect();
                if !missing.is_empty() {
                    return Ok(Filtered::Missing {
                        column: test.column,
                        pages: missing,
                    });
                }
                let met = run_test(test, column, &pages, &frame.open, scratch, counters)?;
                frame.accepted = frame.accepted.union(&met);
                frame.open.clear();
            }
            let done = self.path.pop().expect("bug: the frame was there");
            let met = done.result(plan);
            match self.path.last_mut() {
                Some(parent) => parent.take(plan, &met),
                None => return Ok(Filtered::Rows(met)),
            }
        }
    }
}

impl Frame {
    /// Asks which of `rows` meet a condition. What statistics have decided is not asked again.
    fn new(plan: &Plan<'_>, condition: usize, rows: &RowRanges) -> Frame {
        let decision = &plan.conditions[condition].decision;
        let possible = rows.intersect(&decision.possible);
        let certain = possible.intersect(&decision.certain);
        let mut frame = Frame {
            condition,
            open: possible.subtract(&certain),
            accepted: certain,
            parts: Vec::new(),
        };
        if let ConditionKind::And(parts) | ConditionKind::Or(parts) = &plan.conditions[condition].kind
            && !frame.open.is_empty()
        {
            frame.parts.clone_from(parts);
            let cost = |part: &usize| Reverse(plan.cost(*part, &frame.open));
            frame.parts.sort_by_cached_key(cost);
        }
        frame
    }

    /// Takes note of which open rows meet a part.
    fn take(&mut self, plan: &Plan<'_>, met: &RowRanges) {
        match &plan.conditions[self.condition].kind {
            ConditionKind::Or(_) => {
                self.accepted = self.accepted.union(met);
                self.open = self.open.subtract(met);
            }
            _ => self.open = met.clone(),
        }
    }

    /// The rows that meet the condition, once its parts have been asked.
    fn result(self, plan: &Plan<'_>) -> RowRanges {
        match &plan.conditions[self.condition].kind {
            // What no part has accepted is out.
            ConditionKind::Or(_) | ConditionKind::Test(_) => self.accepted,
            // What no part has refused is in.
            ConditionKind::And(_) => self.accepted.union(&self.open),
        }
    }
}

/// Which of the open rows meet a test. All pages are held.
fn run_test(
    test: &BoundTest,
    column: &mut ScanColumn<'_>,
    pages: &[usize],
    open: &RowRanges,
    scratch: &mut Scratch,
    counters: &mut ScanCounters,
) -> Result<RowRanges, Error> {
    let mut met = RowRanges::default();
    for page in pages {
        let rows = open.clip(&column.rows_of_page(*page));
        let decoded = column.decode(*page, &rows, scratch, counters)?;
        let passed = evaluate(&test.matcher, &decoded.values, &decoded.rows.positions_of(&rows));
        let passed = decoded.rows.at_positions(&passed);
        let kept = if test.is_negated {
            rows.subtract(&passed)
        } else {
            passed
        };
        kept.ranges().iter().cloned().for_each(|range| met.push(range));
    }
    Ok(met)
}
