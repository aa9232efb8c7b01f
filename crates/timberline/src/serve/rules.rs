//! Recording rules of `timberline serve`.

use super::say;
use crate::config::Config;
use anyhow::Context;
use std::sync::Arc;
use timberline_query::QueryEngine;
use timberline_ruler::Ruler;
use timberline_series::engine::Engine;
use tokio::task::JoinHandle;

/// Reads the rules that the configuration names, tells what is wrong with them, and evaluates the rest until the task is aborted.
pub(super) fn start(
    config: &Config,
    query: &QueryEngine,
    series: Arc<Engine>,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    let Some(path) = &config.rules else { return Ok(None) };
    let loaded = timberline_ruler::load(path).with_context(|| format!("rules in {}", path.display()))?;
    for problem in &loaded.problems {
        say(&format!("warning: rules: {problem}"));
    }
    let ruler = Ruler::new(query.clone(), series, config.query_timeout);
    Ok(Some(tokio::spawn(async move { ruler.run(&loaded.groups).await })))
}
