//! Rows in memory or in data objects, cut into sources in different ways, so that one case is asked of many layouts.

mod object;

use arrow_array::{BinaryArray, Int64Array};
use async_trait::async_trait;
use std::sync::Arc;
use timberline_logql::labels::LabelSet;
use timberline_store::source::{
    Keys, MetadataColumn, RowSource, RunInfo, Selection, SourceProvider, StreamInfo, TimeSpan,
};
use timberline_store::{Error, TenantId};

/// One stored entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) labels: LabelSet,
    pub(crate) timestamp_ns: i64,
    pub(crate) line: String,
    pub(crate) metadata: Vec<(String, String)>,
}

/// Where the rows of a source are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Memory,
    /// A data object, as other writers make them.
    Object,
    /// One with filters, as ingest makes them.
    ObjectWithFilters,
}

/// How rows, given in order of arrival, are laid out in sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Rows per source; a later source arrived later.
    pub(crate) source_rows: usize,
    /// Rows per run.
    pub(crate) run_rows: usize,
    /// True: as data objects, by stream and falling time; false: as the head, in order of arrival.
    pub(crate) sorted: bool,
    /// Every row is in two sources.
    pub(crate) doubled: bool,
    /// Objects are always sorted.
    pub(crate) storage: Storage,
}

#[derive(Debug)]
pub(crate) struct Memory {
    streams: Vec<StreamInfo>,
    rows: Vec<(i64, Row)>,
    layout: Layout,
    span: TimeSpan,
}

fn span(times: impl Iterator<Item = i64> + Clone) -> TimeSpan {
    TimeSpan {
        min_ns: times.clone().min().unwrap(),
        max_ns: times.max().unwrap(),
    }
}

impl Memory {
    fn new(rows: &[Row], layout: Layout) -> Self {
        let mut labels: Vec<LabelSet> = Vec::new();
        for row in rows {
            if !labels.contains(&row.labels) {
                labels.push(row.labels.clone());
            }
        }
        let number = |row: &Row| labels.iter().position(|l| *l == row.labels).unwrap() as i64 + 1;
        let mut numbered: Vec<(i64, Row)> = rows.iter().map(|r| (number(r), r.clone())).collect();
        if layout.sorted {
            // Of exact duplicates the first stays.
            let mut kept: Vec<(i64, Row)> = Vec::new();
            for row in numbered {
                if !kept.contains(&row) {
                    kept.push(row);
                }
            }
            kept.reverse();
            kept.sort_by_key(|(id, row)| (*id, std::cmp::Reverse(row.timestamp_ns)));
            numbered = kept;
        }
        let stream = |(index, labels): (usize, &LabelSet)| {
            let id = index as i64 + 1;
            let mine = || numbered.iter().filter(move |r| r.0 == id).map(|r| r.1.timestamp_ns);
            let mut times: Vec<i64> = mine().collect();
            let late = times.windows(2).any(|w| w[1] <= w[0]);
            times.sort_unstable();
            let span = span(times.iter().copied());
            let duplicates = (!layout.sorted && late).then_some(span);
            StreamInfo {
                id,
                labels: labels.clone(),
                span,
                rows: times.len() as u64,
                bytes: 0,
                duplicates,
            }
        };
        let streams = labels.iter().enumerate().map(stream).collect();
        Self {
            streams,
            span: span(rows.iter().map(|r| r.timestamp_ns)),
            rows: numbered,
            layout,
        }
    }

    fn run(&self, run: usize) -> &[(i64, Row)] {
        self.rows.chunks(self.layout.run_rows).nth(run).unwrap()
    }

    fn selected(&self, run: usize, rows: &Selection) -> Vec<&Row> {
        match rows {
            Selection::All => self.run(run).iter().map(|r| &r.1).collect(),
            Selection::Rows(rows) => rows.iter().map(|&r| &self.run(run)[r as usize].1).collect(),
        }
    }
}

#[async_trait]
impl RowSource for Memory {
    fn name(&self) -> &str {
        "memory"
    }

    fn span(&self) -> TimeSpan {
        self.span
    }

    fn newest_first(&self) -> bool {
        self.layout.sorted
    }

    async fn streams(&self) -> Result<Arc<[StreamInfo]>, Error> {
        Ok(self.streams.clone().into())
    }

    async fn runs(&self) -> Result<Arc<[RunInfo]>, Error> {
        let info = |rows: &[(i64, Row)]| RunInfo {
            rows: rows.len(),
            streams: (
                rows.iter().map(|r| r.0).min().unwrap(),
                rows.iter().map(|r| r.0).max().unwrap(),
            ),
            span: span(rows.iter().map(|r| r.1.timestamp_ns)),
        };
        Ok(self.rows.chunks(self.layout.run_rows).map(info).collect())
    }

    async fn keys(&self, run: usize) -> Result<Keys, Error> {
        let rows = self.run(run);
        Ok(Keys {
            streams: Int64Array::from_iter_values(rows.iter().map(|r| r.0)),
            timestamps: Int64Array::from_iter_values(rows.iter().map(|r| r.1.timestamp_ns)),
        })
    }

    async fn lines(&self, run: usize, rows: &Selection) -> Result<BinaryArray, Error> {
        Ok(BinaryArray::from_iter_values(
            self.selected(run, rows).iter().map(|r| r.line.as_bytes()),
        ))
    }

    async fn metadata(
        &self,
        run: usize,
        rows: &Selection,
        names: Option<&[String]>,
    ) -> Result<Vec<MetadataColumn>, Error> {
        let rows = self.selected(run, rows);
        let mut all: Vec<&str> = rows
            .iter()
            .flat_map(|r| r.metadata.iter().map(|m| m.0.as_str()))
            .collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|name| names.is_none_or(|names| names.iter().any(|n| n == name)));
        let value = |row: &Row, name: &str| {
            row.metadata
                .iter()
                .find(|m| m.0 == name)
                .map(|m| m.1.clone().into_bytes())
        };
        let column = |name: &str| MetadataColumn {
            name: name.into(),
            values: BinaryArray::from_iter(rows.iter().map(|r| value(r, name))),
        };
        Ok(all.into_iter().map(column).collect())
    }
}

/// All rows of one tenant in a layout.
#[derive(Debug)]
pub(crate) struct Sources(Vec<Arc<dyn RowSource>>);

impl Sources {
    pub(crate) fn new(rows: &[Row], layout: Layout) -> Self {
        let copies = if layout.doubled { 2 } else { 1 };
        let parts = rows
            .chunks(layout.source_rows)
            .flat_map(|part| std::iter::repeat_n(part, copies));
        let source = |part: &[Row]| -> Arc<dyn RowSource> {
            let memory = Memory::new(part, layout);
            match layout.storage {
                Storage::Memory => Arc::new(memory),
                Storage::Object => Arc::new(object::source(&memory, false)),
                Storage::ObjectWithFilters => Arc::new(object::source(&memory, true)),
            }
        };
        Self(parts.map(source).collect())
    }
}

#[async_trait]
impl SourceProvider for Sources {
    async fn sources(&self, _: &TenantId, span: TimeSpan) -> Result<Vec<Arc<dyn RowSource>>, Error> {
        Ok(self.0.iter().filter(|s| s.span().overlaps(&span)).cloned().collect())
    }
}
