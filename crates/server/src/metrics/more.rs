//! Metrics of parts that the server knows nothing of, read when somebody looks at `/metrics`.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use std::sync::Arc;

/// A figure as it is now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The name, `timberline_` and unit included, without `_total`.
    pub name: &'static str,
    /// What to do when it moves.
    pub help: &'static str,
    /// The figure.
    pub value: FigureValue,
}

/// A figure that only grows, or one that goes up and down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FigureValue {
    /// Only grows.
    Counter(u64),
    /// Goes up and down.
    Gauge(f64),
}

/// Reads the figures of a part of the program.
#[derive(Clone)]
pub struct MoreMetrics(Arc<dyn Fn() -> Vec<Figure> + Send + Sync>);

impl MoreMetrics {
    /// Figures that `read` gives, always the same names.
    pub fn new(read: impl Fn() -> Vec<Figure> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }
}

impl fmt::Debug for MoreMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MoreMetrics").finish_non_exhaustive()
    }
}

impl Collector for MoreMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for figure in (self.0)() {
            let kind = match figure.value {
                FigureValue::Counter(_) => MetricType::Counter,
                FigureValue::Gauge(_) => MetricType::Gauge,
            };
            let metric = encoder.encode_descriptor(figure.name, figure.help, None, kind)?;
            match figure.value {
                FigureValue::Counter(value) => ConstCounter::new(value).encode(metric)?,
                FigureValue::Gauge(value) => ConstGauge::new(value).encode(metric)?,
            }
        }
        Ok(())
    }
}
