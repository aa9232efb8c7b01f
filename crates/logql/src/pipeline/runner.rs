// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Running a pipeline over the entries of streams.

use std::sync::Arc;

use regex::bytes::CaptureLocations;

use super::decolorize::decolorize;
use super::entry::Labels;
use super::format::LabelFormatScratch;
use super::json::JsonScratch;
use super::key::{GroupLabels, append_group_key, append_labels_key};
use super::logfmt::LogfmtScratch;
use super::prefilter::Worth;
use super::{Pipeline, Step};
use crate::labels::LabelSet;
use crate::template::Scratch as TemplateScratch;

/// Runs a pipeline; belongs to one thread.
pub struct Runner {
    pipeline: Arc<Pipeline>,
    labels: Labels,
    /// The line as rewritten by the last stage that changed it.
    rewritten: Vec<u8>,
    /// Where the next stage that changes the line writes.
    spare: Vec<u8>,
    json: JsonScratch,
    logfmt: LogfmtScratch,
    label_format: LabelFormatScratch,
    template: TemplateScratch,
    /// One per `regexp` stage, in order.
    captures: Vec<CaptureLocations>,
    /// One per prefilter, in order.
    worths: Vec<Worth>,
}

/// An entry that came through the pipeline.
pub struct Processed<'a> {
    /// The line as the stages left it.
    pub line: &'a [u8],
    /// Nanoseconds since 1970.
    pub timestamp_ns: i64,
    pub(super) labels: &'a mut Labels,
}

impl Runner {
    /// A runner of the pipeline.
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        let regexps = pipeline.steps.iter().filter_map(|step| match step {
            Step::Regexp(stage) => Some(stage.scratch()),
            _ => None,
        });
        let captures = regexps.collect();
        let prefilters = pipeline.steps.iter().filter(|step| matches!(step, Step::Prefilter(_)));
        let worths = prefilters.map(|_| Worth::default()).collect();
        Self {
            pipeline,
            labels: Labels::default(),
            rewritten: Vec::new(),
            spare: Vec::new(),
            json: JsonScratch::default(),
            logfmt: LogfmtScratch::default(),
            label_format: LabelFormatScratch::default(),
            template: TemplateScratch::default(),
            captures,
            worths,
        }
    }

    /// Takes the labels of the stream that the following entries belong to.
    pub fn start_stream(&mut self, labels: &LabelSet) {
        self.labels.start_stream(labels);
    }

    /// Runs the stages over an entry; `None` if one of them drops it. `prefiltered`: the caller has applied
    /// [`Pipeline::line_filters`]. Metadata that [`Pipeline::metadata_names`] does not name may be left out.
    pub fn process<'a>(
        &'a mut self,
        timestamp_ns: i64,
        line: &'a [u8],
        metadata: &[(&'a str, &'a [u8])],
        prefiltered: bool,
    ) -> Option<Processed<'a>> {
        if !prefiltered && !self.pipeline.line_filters.iter().all(|filter| filter.matches(line)) {
            return None;
        }
        let Self {
            pipeline,
            labels,
            rewritten,
            spare,
            json,
            logfmt,
            label_format,
            template,
            captures,
            worths,
        } = self;
        labels.start_entry(metadata);
        let mut captures = captures.iter_mut();
        let mut worths = worths.iter_mut();
        let mut is_rewritten = false;
        for step in &pipeline.steps {
            let current = if is_rewritten { rewritten.as_slice() } else { line };
            let changes = match step {
                Step::LineFilter(filter) => {
                    if !filter.matches(current) {
                        return None;
                    }
                    false
                }
                Step::LabelFilter(filter) => {
                    if !filter.keeps(labels) {
                        return None;
                    }
                    false
                }
                Step::Prefilter(filter) => {
                    let worth = worths.next().expect("bug: fewer notes than prefilters");
                    if worth.is_given() {
                        let may_keep = filter.may_keep(current, labels);
                        worth.note(!may_keep);
                        if !may_keep {
                            return None;
                        }
                    }
                    false
                }
                Step::Json(stage) => {
                    stage.run(current, labels, json);
                    false
                }
                Step::JsonPath(stage) => {
                    stage.run(current, labels);
                    false
                }
                Step::Logfmt(stage) => {
                    stage.run(current, labels, logfmt);
                    false
                }
                Step::Regexp(stage) => {
                    let locations = captures.next().expect("bug: fewer capture buffers than regexp stages");
                    stage.run(current, labels, locations);
                    false
                }
                Step::Pattern(stage) => {
                    stage.run(current, labels);
                    false
                }
                Step::LabelFormat(stage) => {
                    stage.run(current, timestamp_ns, labels, label_format, template);
                    false
                }
                Step::Drop(stage) => {
                    stage.run(labels);
                    false
                }
                Step::Keep(stage) => {
                    stage.run(labels);
                    false
                }
                Step::Unpack(stage) => stage.run(current, labels, spare),
                Step::LineFormat(stage) => stage.run(current, timestamp_ns, labels, template, spare),
                Step::Decolorize => decolorize(current, spare),
            };
            if changes {
                std::mem::swap(rewritten, spare);
                is_rewritten = true;
            }
        }
        let line = if is_rewritten { rewritten.as_slice() } else { line };
        Some(Processed {
            line,
            timestamp_ns,
            labels,
        })
    }
}

impl Processed<'_> {
    /// The effective value of a label, `__error__` and `__error_details__` included.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.labels.get(name.as_bytes())
    }

    /// Appends canonical bytes of all labels with their categories: equal sets, equal bytes.
    pub fn labels_key(&self, out: &mut Vec<u8>) {
        append_labels_key(self.labels, out);
    }

    /// Appends canonical bytes of the labels that a grouping keeps, categories merged.
    pub fn group_key(&self, group: &GroupLabels, out: &mut Vec<u8>) {
        append_group_key(self.labels, group, out);
    }

    /// True if a stage failed on the entry and nothing cleared the error.
    pub fn has_error(&self) -> bool {
        self.labels.has_error()
    }
}
