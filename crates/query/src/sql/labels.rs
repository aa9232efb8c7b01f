//! Labels in SQL: columns of maps from name to value, `labels['app']` for one of them, and conditions that choose by one.

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, MapArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};
use datafusion::common::{DFSchema, Result};
use datafusion::functions::core::expr_fn::get_field;
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::logical_expr::expr::{BinaryExpr, InList, ScalarFunction};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, GetFieldAccess, Operator};
use std::sync::Arc;

fn entry_fields() -> Fields {
    Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, false),
    ])
}

fn entries_field() -> FieldRef {
    Arc::new(Field::new("entries", DataType::Struct(entry_fields()), false))
}

/// The type of a column of labels.
pub(super) fn labels_type() -> DataType {
    DataType::Map(entries_field(), false)
}

/// Builds a column of labels.
pub(super) struct LabelsBuilder {
    names: StringBuilder,
    values: StringBuilder,
    offsets: Vec<i32>,
}

impl LabelsBuilder {
    pub(super) fn new() -> Self {
        Self {
            names: StringBuilder::new(),
            values: StringBuilder::new(),
            offsets: vec![0],
        }
    }

    /// Adds so many rows that have the same labels.
    pub(super) fn append<'a>(&mut self, rows: usize, labels: &(impl Iterator<Item = (&'a str, &'a str)> + Clone)) {
        for _ in 0..rows {
            let mut end = self.offsets.last().copied().unwrap_or_default();
            for (name, value) in labels.clone() {
                self.names.append_value(name);
                self.values.append_value(value);
                end += 1;
            }
            self.offsets.push(end);
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.names.values_slice().len() + self.values.values_slice().len() + 12 * self.offsets.len()
    }

    /// The column.
    pub(super) fn finish(mut self) -> Result<ArrayRef, ArrowError> {
        let columns: Vec<ArrayRef> = vec![Arc::new(self.names.finish()), Arc::new(self.values.finish())];
        let entries = StructArray::try_new(entry_fields(), columns, None)?;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(Arc::new(MapArray::try_new(
            entries_field(),
            offsets,
            entries,
            None,
            false,
        )?))
    }
}

/// Plans `labels['app']`; the library's own planner of it comes with functions of lists that nothing here needs.
#[derive(Debug)]
pub(super) struct LabelAccess;

impl ExprPlanner for LabelAccess {
    fn plan_field_access(&self, access: RawFieldAccessExpr, _: &DFSchema) -> Result<PlannerResult<RawFieldAccessExpr>> {
        Ok(match access.field_access {
            GetFieldAccess::NamedStructField { name } => PlannerResult::Planned(get_field(access.expr, name)),
            _ => PlannerResult::Original(access),
        })
    }
}

/// The name of a label of a column, of an expression like `labels['app']`.
pub(super) fn label_of<'a>(expr: &'a Expr, column: &str) -> Option<&'a str> {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else {
        return None;
    };
    if !func.inner().is::<GetFieldFunc>() {
        return None;
    }
    match args.as_slice() {
        [Expr::Column(base), name] if base.name == column => text(name),
        _ => None,
    }
}

/// A condition that holds where a text is one of these.
pub(super) struct OneOf<'a> {
    pub(super) tested: &'a Expr,
    pub(super) texts: Vec<&'a str>,
}

impl<'a> OneOf<'a> {
    /// Recognises `a = 'x'`, `a IN ('x', 'y')` and `a = 'x' OR a = 'y'`.
    pub(super) fn of(condition: &'a Expr) -> Option<Self> {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
                Operator::Eq => {
                    let (tested, text) = match (text(left), text(right)) {
                        (None, Some(text)) => (left, text),
                        (Some(text), None) => (right, text),
                        _ => return None,
                    };
                    Some(Self {
                        tested,
                        texts: vec![text],
                    })
                }
                Operator::Or => {
                    let (mut left, right) = (Self::of(left)?, Self::of(right)?);
                    left.texts.extend(right.texts);
                    (left.tested == right.tested).then_some(left)
                }
                _ => None,
            },
            Expr::InList(InList {
                expr,
                list,
                negated: false,
            }) => Some(Self {
                tested: expr,
                texts: list.iter().map(text).collect::<Option<_>>()?,
            }),
            _ => None,
        }
    }
}

/// The text of a literal that names stored bytes: one with a replacement character may stand for bytes that are not UTF-8.
fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value
            .try_as_str()
            .flatten()
            .filter(|text| !text.contains(char::REPLACEMENT_CHARACTER)),
        _ => None,
    }
}
