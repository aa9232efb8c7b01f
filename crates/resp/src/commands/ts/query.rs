//! Range queries in two steps: under the gate what they need is gathered, with pictures of the series; then, without it, the answer is
//! computed and written, on another thread if that takes long.

use crate::context::Flow;
use crate::protocol::Reply;
use timberline_series::range::{RangeQuery, Rows, run};
use timberline_series::view::{Part, ReadError, View};

/// From so many samples on, a query is computed beside other connections' commands: about a tenth of a millisecond of decoding, or one of
/// writing rows.
const HEAVY_SAMPLES: usize = 16_384;

/// A query over one series, ready to be computed.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) view: View,
    pub(super) query: RangeQuery,
}

impl Planned {
    /// The rows.
    pub(super) fn rows(&self) -> Result<Rows, ReadError> {
        run(&self.view, &self.query)
    }

    /// About how many samples have to be read; all that there are where a chunk has to be fetched first.
    fn samples(&self) -> usize {
        let samples = self.view.parts.iter().map(|part| match part {
            Part::Chunk(chunk) => chunk.len(),
            Part::Columns(columns) => columns.len(),
            Part::Cold(_) => HEAVY_SAMPLES,
        });
        let samples = samples.fold(0, usize::saturating_add);
        let rows_are_samples = self.query.aggregation.is_none() && self.query.values.is_none();
        match self.query.count {
            Some(count) if rows_are_samples => samples.min(usize::try_from(count).unwrap_or(usize::MAX)),
            _ => samples,
        }
    }
}

/// Whether an answer should be computed on another thread.
pub(super) fn is_heavy<'a>(planned: impl IntoIterator<Item = &'a Planned>) -> bool {
    let samples = planned.into_iter().map(Planned::samples);
    samples.fold(0, usize::saturating_add) >= HEAVY_SAMPLES
}

/// Writes an answer now or, if it is heavy, on another thread.
pub(super) fn answer(
    reply: &mut Reply,
    heavy: bool,
    write: impl FnOnce(&mut Reply) -> Result<(), ReadError> + Send + 'static,
) -> Result<Flow, ReadError> {
    if heavy {
        return Ok(Flow::Compute(Box::new(|reply| Ok(write(reply)?))));
    }
    write(reply)?;
    Ok(Flow::Done)
}
