//! The conditions that the table applies itself: about the time of a sample, and about its series.

use super::super::labels::{OneOf, label_of};
use super::super::time_range::TimeRange;
use arrow_schema::TimeUnit;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Expr;
use timberline_series::labels::{LabelFilter, Test};

/// Columns that all samples of a series share.
pub(super) const SERIES_COLUMNS: [&str; 3] = ["db", "key", "labels"];

/// A condition that needs no look at single samples.
pub(super) enum Condition {
    /// The times for which it holds.
    Times(TimeRange),
    /// It is about the series alone: it holds for all samples or for none.
    Series,
}

impl Condition {
    /// The kind of a condition; `None` if samples have to be looked at.
    pub(super) fn of(condition: &Expr) -> Option<Self> {
        if let Some(times) = TimeRange::of(condition, TimeUnit::Millisecond) {
            return Some(Self::Times(times));
        }
        let columns = condition.column_refs();
        let of_series = columns.iter().all(|c| SERIES_COLUMNS.contains(&c.name.as_str()));
        (of_series && !columns.is_empty() && stands_alone(condition)).then_some(Self::Series)
    }
}

/// Whether a condition gives the same for the same series and needs nothing but its columns.
fn stands_alone(condition: &Expr) -> bool {
    if condition.is_volatile() {
        return false;
    }
    let mut alone = true;
    let visited = condition.apply(|expr| {
        let outside = matches!(
            expr,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::OuterReferenceColumn(..)
        );
        alone &= !outside;
        Ok(if outside {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    });
    alone && visited.is_ok()
}

/// All conditions of a scan, which have to hold together.
pub(super) struct Conditions {
    /// Milliseconds.
    pub(super) times: TimeRange,
    /// Conditions about the series, to be evaluated for each that may pass.
    pub(super) of_series: Vec<Expr>,
    /// Of those, what the label index knows.
    pub(super) labels: Vec<LabelFilter>,
    /// Of those, the keys that alone can pass.
    pub(super) keys: Option<Vec<Vec<u8>>>,
}

impl Conditions {
    /// Takes conditions apart that [`Condition::of`] knows.
    pub(super) fn of(conditions: &[Expr]) -> Self {
        let mut all = Self {
            times: TimeRange::ALL,
            of_series: Vec::new(),
            labels: Vec::new(),
            keys: None,
        };
        for condition in conditions {
            match Condition::of(condition) {
                Some(Condition::Times(times)) => all.times = all.times.and(times),
                _ => {
                    all.note_index(condition);
                    all.of_series.push(condition.clone());
                }
            }
        }
        all
    }

    /// Notes down what an index can answer. The condition itself is evaluated all the same.
    fn note_index(&mut self, condition: &Expr) {
        let Some(one_of) = OneOf::of(condition) else {
            return;
        };
        let bytes = |text: &&str| Vec::from(text.as_bytes());
        match one_of.tested {
            Expr::Column(column) if column.name == "key" => {
                let mut keys: Vec<_> = one_of.texts.iter().map(bytes).collect();
                keys.sort_unstable();
                keys.dedup();
                self.keys.get_or_insert(keys);
            }
            tested => {
                let Some(name) = label_of(tested, "labels") else {
                    return;
                };
                self.labels.push(LabelFilter {
                    name: name.as_bytes().into(),
                    test: Test::OneOf(one_of.texts.iter().map(|text| text.as_bytes().into()).collect()),
                });
            }
        }
    }
}
