//! Plans of log queries: scan, then keep the first so many lines.

use super::Planner;
use crate::QueryError;
use crate::first_lines::FirstLinesExec;
use crate::request::{Direction, RangeRequest};
use crate::scan::{ScanOutput, TimeBound};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use std::sync::Arc;
use timberline_logql::ast::LogExpr;
use timberline_logql::pipeline::Wants;
use timberline_store::source::TimeSpan;

/// The plan of a log query; `None` if its time range is empty.
pub(crate) async fn plan_log(
    planner: &Planner<'_>,
    log: &LogExpr,
    request: &RangeRequest,
) -> Result<Option<Arc<dyn ExecutionPlan>>, QueryError> {
    if request.start_ns >= request.end_ns {
        return Ok(None);
    }
    // The start is included, the end is not.
    let span = TimeSpan {
        min_ns: request.start_ns,
        max_ns: request.end_ns - 1,
    };
    let direction: Direction = request.direction;
    // With an interval any line may turn out to be needed.
    let bound = (request.interval_ns == 0).then(|| Arc::new(TimeBound::new(direction)));
    let scan = planner
        .scan(log, &Wants::All, span, direction, ScanOutput::Entries, bound.clone())
        .await?;
    let counters = scan.spec.counters.clone();
    let gathered = Arc::new(CoalescePartitionsExec::new(scan));
    Ok(Some(Arc::new(FirstLinesExec::new(
        gathered,
        request,
        bound,
        counters,
        planner.context.clone(),
    ))))
}
