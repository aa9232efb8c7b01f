//! Points of series: what travels between the operators of a metric query.

use crate::node::{column, schema};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// Series number, evaluation time in nanoseconds, value.
pub(crate) fn points_schema() -> SchemaRef {
    schema(&[
        ("series", DataType::UInt32),
        ("time", DataType::Int64),
        ("value", DataType::Float64),
    ])
}

/// Series and their points in order of time. A series appears once.
#[derive(Debug, Default)]
pub(crate) struct Points {
    pub(crate) series: Vec<(u32, Vec<(i64, f64)>)>,
    index: HashMap<u32, usize, ahash::RandomState>,
}

impl Points {
    /// The points of a series, to be added to in order of time.
    pub(crate) fn of(&mut self, series: u32) -> &mut Vec<(i64, f64)> {
        let next = self.series.len();
        let at = *self.index.entry(series).or_insert(next);
        if at == next {
            self.series.push((series, Vec::new()));
        }
        &mut self.series[at].1
    }

    /// Adds the rows of a batch; those of a series come in order of time.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let series = column::<UInt32Array>(batch, 0)?.values();
        let times = column::<Int64Array>(batch, 1)?.values();
        let values = column::<Float64Array>(batch, 2)?.values();
        let mut from = 0;
        while from < series.len() {
            let same = series[from..].iter().take_while(|&&s| s == series[from]).count();
            let rows = from..from + same;
            let points = times[rows.clone()].iter().copied().zip(values[rows].iter().copied());
            self.of(series[from]).extend(points);
            from += same;
        }
        Ok(())
    }

    /// The points as one batch.
    pub(crate) fn into_batch(self) -> Result<RecordBatch> {
        let (mut series, mut times, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (number, points) in self.series {
            for (time_ns, value) in points {
                series.push(number);
                times.push(time_ns);
                values.push(value);
            }
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(series)),
            Arc::new(Int64Array::from(times)),
            Arc::new(Float64Array::from(values)),
        ];
        Ok(RecordBatch::try_new(points_schema(), columns)?)
    }

    /// All points by time: for each time the series present, in the order of the series here.
    pub(crate) fn by_time(&self) -> Vec<(i64, Vec<(usize, f64)>)> {
        let mut rows: Vec<(i64, usize, f64)> = Vec::new();
        for (index, (_, points)) in self.series.iter().enumerate() {
            rows.extend(points.iter().map(|&(time_ns, value)| (time_ns, index, value)));
        }
        rows.sort_by_key(|&(time_ns, index, _)| (time_ns, index));
        let mut out: Vec<(i64, Vec<(usize, f64)>)> = Vec::new();
        for (time_ns, index, value) in rows {
            match out.last_mut() {
                Some((last, present)) if *last == time_ns => present.push((index, value)),
                _ => out.push((time_ns, vec![(index, value)])),
            }
        }
        out
    }
}
