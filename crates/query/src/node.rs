//! What all our DataFusion operators have in common.

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;
use datafusion_physical_expr::{EquivalenceProperties, Partitioning};
use datafusion_physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion_physical_plan::{ExecutionPlan, PlanProperties};
use std::sync::Arc;

/// Properties of an operator that promises no order.
pub(crate) fn properties(schema: SchemaRef, partitions: usize) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new(schema),
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

/// A schema of columns without nulls.
pub(crate) fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, kind): &(&str, DataType)| Field::new(*name, kind.clone(), false);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// A column of a batch as its concrete array type.
pub(crate) fn column<T: 'static>(batch: &arrow_array::RecordBatch, index: usize) -> Result<&T> {
    batch.column(index).as_any().downcast_ref::<T>().ok_or_else(|| {
        let name = batch.schema().field(index).name().clone();
        datafusion_common::DataFusionError::Internal(format!("bug: column {name} has another type"))
    })
}

/// The only child of an operator that has one.
pub(crate) fn only_child(mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    match (children.pop(), children.is_empty()) {
        (Some(child), true) => Ok(child),
        _ => Err(datafusion_common::DataFusionError::Internal(
            "bug: operator needs exactly one input".into(),
        )),
    }
}

/// The methods of `ExecutionPlan` and `DisplayAs` that are the same for all our operators, which have fields `properties` and `metrics` and
/// print themselves by `Debug`. The parts that differ are the inputs, a copy with other inputs, and the execution of a partition.
macro_rules! operator {
    (
        $type:ty,
        $name:literal,
        children: $me:ident => $children:expr,
        with_children: ($other:ident, $new:ident) => $with:expr,
        execute: ($this:ident, $partition:ident, $task:ident) => $execute:expr
    ) => {
        impl datafusion_physical_plan::DisplayAs for $type {
            fn fmt_as(
                &self,
                _: datafusion_physical_plan::DisplayFormatType,
                f: &mut std::fmt::Formatter<'_>,
            ) -> std::fmt::Result {
                write!(f, "{self:?}")
            }
        }

        impl datafusion_physical_plan::ExecutionPlan for $type {
            fn name(&self) -> &str {
                $name
            }

            fn properties(&self) -> &Arc<datafusion_physical_plan::PlanProperties> {
                &self.properties
            }

            fn children(&self) -> Vec<&Arc<dyn datafusion_physical_plan::ExecutionPlan>> {
                let $me = self;
                $children
            }

            fn metrics(&self) -> Option<datafusion_physical_plan::metrics::MetricsSet> {
                Some(self.metrics.clone_inner())
            }

            fn apply_expressions(
                &self,
                _: &mut dyn FnMut(
                    &Arc<dyn datafusion_physical_expr::PhysicalExpr>,
                )
                    -> datafusion_common::Result<datafusion_common::tree_node::TreeNodeRecursion>,
            ) -> datafusion_common::Result<datafusion_common::tree_node::TreeNodeRecursion> {
                Ok(datafusion_common::tree_node::TreeNodeRecursion::Continue)
            }

            fn with_new_children(
                self: Arc<Self>,
                children: Vec<Arc<dyn datafusion_physical_plan::ExecutionPlan>>,
            ) -> datafusion_common::Result<Arc<dyn datafusion_physical_plan::ExecutionPlan>> {
                let ($other, $new) = (&*self, children);
                Ok(Arc::new($with))
            }

            fn execute(
                &self,
                $partition: usize,
                $task: Arc<datafusion_execution::TaskContext>,
            ) -> datafusion_common::Result<datafusion_physical_plan::SendableRecordBatchStream> {
                let $this = self;
                $execute
            }
        }
    };
}
pub(crate) use operator;
