//! Which runs need not be read, because what a source knows of them excludes everything that the pipeline lets through.

use super::exec::ScanSpec;
use super::queue::RunTask;
use crate::QueryError;
use crate::select::{SelectedSource, SelectedStream};
use timberline_dataobj::extension::required_literals;
use timberline_logql::pipeline::{Pipeline, Required, RequiredLabel};
use timberline_store::source::{ExcludedRuns, Exclusion, Wanted, WantedValue};
use tokio::sync::OnceCell;

/// What every entry of the answer holds, and the runs of each source that hold none such.
#[derive(Debug)]
pub(crate) struct Pruning {
    texts: Wanted,
    labels: Vec<Vec<RequiredLabel>>,
    /// By source; each is asked when its first run is drawn, which a search for few lines often never does.
    excluded: Vec<OnceCell<ExcludedRuns>>,
}

impl Pruning {
    /// `None` if the pipeline lets through what no source could exclude.
    pub(crate) fn of(pipeline: &Pipeline, sources: usize) -> Option<Self> {
        let Required { lines, labels } = pipeline.required();
        let mut texts = Wanted::default();
        texts.texts.extend(lines.iter().map(required_literals));
        texts.texts.retain(|condition| !condition.tells_nothing());
        (!texts.texts.is_empty() || !labels.is_empty()).then(|| Self {
            texts,
            labels,
            excluded: (0..sources).map(|_| OnceCell::new()).collect(),
        })
    }

    /// The texts of which lines must hold one of each group.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Vec<Vec<u8>>> {
        self.texts.texts.iter().flat_map(|condition| condition.texts())
    }

    /// The labels of which entries must have one of each group, where they can be nothing but structured metadata.
    pub(crate) fn labels(&self) -> &[Vec<RequiredLabel>] {
        &self.labels
    }

    /// Why nothing of a run comes through the pipeline; `None` if something may.
    pub(crate) async fn exclusion(&self, spec: &ScanSpec, task: &RunTask) -> Result<Option<Exclusion>, QueryError> {
        let selected = &spec.sources[task.source];
        let ask = || async {
            let wanted = self.wanted(selected, &spec.streams);
            if wanted.tells_nothing() {
                return Ok(ExcludedRuns::default());
            }
            selected.source.excluded_runs(&wanted).await
        };
        let excluded = self.excluded[task.source].get_or_try_init(ask).await?;
        Ok(excluded.get(task.run))
    }

    /// What to ask of a source: labels only where they can be nothing but structured metadata.
    fn wanted(&self, selected: &SelectedSource, streams: &[SelectedStream]) -> Wanted {
        let has_label = |name: &str| {
            let mut chosen = selected.chosen_streams().iter();
            chosen.any(|&stream| streams[stream as usize].labels.get(name).is_some())
        };
        let value = |label: &RequiredLabel| WantedValue {
            name: label.name.clone(),
            value: label.value.clone(),
        };
        let is_metadata = |group: &&Vec<RequiredLabel>| !group.iter().any(|label| has_label(&label.name));
        let groups = self.labels.iter().filter(is_metadata);
        Wanted {
            values: groups.map(|group| group.iter().map(value).collect()).collect(),
            ..self.texts.clone()
        }
    }
}
