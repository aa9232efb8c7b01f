//! A predicate made ready for a section: tests bound to columns, negations pushed down to them, statistics asked.

use super::column::ScanColumn;
use super::matcher::{Matcher, ValueMatcher};
use super::predicate::{ColumnName, Predicate};
use super::prune::{Decision, decide};
use super::rows::RowRanges;
use crate::error::Error;
use crate::read::{ColumnMeta, SectionMeta};
use crate::stats::Physical;

/// Columns and conditions of a scan. Both are referred to by their positions.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    names: Vec<ColumnName>,
    pub(super) columns: Vec<ScanColumn<'a>>,
    /// Children stand before their parents; the last one is the whole predicate.
    pub(super) conditions: Vec<Condition>,
}

#[derive(Debug)]
pub(super) struct Condition {
    pub(super) kind: ConditionKind,
    /// What statistics say about it.
    pub(super) decision: Decision,
}

#[derive(Debug)]
pub(super) enum ConditionKind {
    Test(BoundTest),
    And(Vec<usize>),
    Or(Vec<usize>),
}

/// A test of a column.
#[derive(Debug)]
pub(super) struct BoundTest {
    pub(super) column: usize,
    pub(super) matcher: Matcher,
    /// The condition is that the test fails.
    pub(super) is_negated: bool,
    /// Rows that statistics don't decide.
    pub(super) open: RowRanges,
}

impl<'a> Plan<'a> {
    pub(super) fn new(section: &'a SectionMeta, predicate: &Predicate) -> Result<Plan<'a>, Error> {
        let mut plan = Plan {
            names: Vec::new(),
            columns: Vec::new(),
            conditions: Vec::new(),
        };
        plan.add(section, predicate, false)?;
        Ok(plan)
    }

    /// The whole predicate.
    pub(super) fn root(&self) -> usize {
        self.conditions.len() - 1
    }

    /// Rows that may meet the predicate.
    pub(super) fn possible(&self) -> &RowRanges {
        &self.conditions[self.root()].decision.possible
    }

    /// The position of a column, added if it isn't there.
    pub(super) fn column(&mut self, section: &'a SectionMeta, name: &ColumnName) -> Result<usize, Error> {
        if let Some(known) = self.names.iter().position(|known| known == name) {
            return Ok(known);
        }
        let meta = section.column(&name.logical, &name.tag);
        if let Some(ColumnMeta { physical, .. }) = meta
            && !matches!(physical, Physical::Int64 | Physical::Binary)
        {
            let ColumnName { logical, tag } = name;
            return Err(Error::Unsupported(format!("column {logical} {tag:?} of {physical:?}")));
        }
        self.names.push(name.clone());
        self.columns.push(ScanColumn::new(meta, section.rows));
        Ok(self.columns.len() - 1)
    }

    /// Tells each column which rows' values may be needed: of the projection, and of tests that statistics leave open.
    pub(super) fn note_needed(&mut self, projection: &[usize]) {
        let possible = self.possible().clone();
        for column in projection {
            self.columns[*column].add_needed(&possible);
        }
        let mut asked = vec![(self.root(), possible)];
        while let Some((condition, rows)) = asked.pop() {
            let Condition { kind, decision } = &self.conditions[condition];
            let open = rows.intersect(&decision.open());
            match kind {
                ConditionKind::Test(test) => self.columns[test.column].add_needed(&open),
                ConditionKind::And(parts) | ConditionKind::Or(parts) => {
                    asked.extend(parts.iter().map(|part| (*part, open.clone())));
                }
            }
        }
    }

    fn add(&mut self, section: &'a SectionMeta, predicate: &Predicate, is_negated: bool) -> Result<usize, Error> {
        let all = RowRanges::from_range(0..section.rows);
        let none = RowRanges::default();
        // By De Morgan, a negated "and" is an "or" of negations.
        let condition = match (predicate, is_negated) {
            (Predicate::Not(inner), _) => return self.add(section, inner, !is_negated),
            (Predicate::Column(name, test), _) => {
                let matcher = Matcher::new(test).map_err(|error| at_column(error, name))?;
                let column = self.column(section, name)?;
                check_type(self.columns[column].meta(), &matcher, name)?;
                let decided = decide(&matcher, &self.columns[column], section.rows);
                let decision = if is_negated { decided.negate(&all) } else { decided };
                let test = BoundTest {
                    column,
                    matcher,
                    is_negated,
                    open: decision.open(),
                };
                Condition {
                    kind: ConditionKind::Test(test),
                    decision,
                }
            }
            (Predicate::And(parts), false) | (Predicate::Or(parts), true) => {
                let parts = self.add_all(section, parts, is_negated)?;
                let every_row = Decision {
                    possible: all.clone(),
                    certain: all,
                };
                let decisions = parts.iter().map(|part| &self.conditions[*part].decision);
                Condition {
                    decision: decisions.fold(every_row, |both, one| both.and(one)),
                    kind: ConditionKind::And(parts),
                }
            }
            (Predicate::Or(parts), false) | (Predicate::And(parts), true) => {
                let parts = self.add_all(section, parts, is_negated)?;
                let no_row = Decision {
                    possible: none.clone(),
                    certain: none,
                };
                let decisions = parts.iter().map(|part| &self.conditions[*part].decision);
                Condition {
                    decision: decisions.fold(no_row, |either, one| either.or(one)),
                    kind: ConditionKind::Or(parts),
                }
            }
        };
        self.conditions.push(condition);
        Ok(self.conditions.len() - 1)
    }

    fn add_all(
        &mut self,
        section: &'a SectionMeta,
        parts: &[Predicate],
        is_negated: bool,
    ) -> Result<Vec<usize>, Error> {
        parts.iter().map(|part| self.add(section, part, is_negated)).collect()
    }

    /// What it takes to find out which of these rows meet a condition: bytes to be fetched, then work. A column that several of its
    /// tests name counts each time.
    pub(super) fn cost(&self, condition: usize, rows: &RowRanges) -> (u64, u64) {
        match &self.conditions[condition].kind {
            ConditionKind::Test(test) => {
                let open = rows.intersect(&test.open);
                let column = &self.columns[test.column];
                let missing = column
                    .pages_with(&open)
                    .into_iter()
                    .filter(|page| !column.is_held(*page));
                let bytes = missing
                    .filter_map(|page| column.page(page))
                    .map(|page| page.range.end - page.range.start);
                (bytes.sum(), open.count().saturating_mul(test.matcher.weight()))
            }
            ConditionKind::And(parts) | ConditionKind::Or(parts) => {
                let costs = parts.iter().map(|part| self.cost(*part, rows));
                costs.fold((0, 0), |(bytes, work), (b, w)| {
                    (bytes.saturating_add(b), work.saturating_add(w))
                })
            }
        }
    }
}

fn at_column(error: Error, ColumnName { logical, tag }: &ColumnName) -> Error {
    match error {
        Error::Predicate(reason) => Error::Predicate(format!("test of column {logical} {tag:?} {reason}")),
        other => other,
    }
}

fn check_type(meta: Option<&ColumnMeta>, matcher: &Matcher, name: &ColumnName) -> Result<(), Error> {
    let (wanted, found) = match (&matcher.values, meta.map(|meta| meta.physical)) {
        (ValueMatcher::Int64(_), Some(Physical::Binary)) => ("integers", "byte strings"),
        (ValueMatcher::Binary(_), Some(Physical::Int64)) => ("byte strings", "integers"),
        _ => return Ok(()),
    };
    let reason = format!("is for {wanted}, the column holds {found}");
    Err(at_column(Error::Predicate(reason), name))
}
