//! Labels of a line whose query has no parser: those of JSON, else those of logfmt.

use std::sync::Arc;

use crate::ast::Stage;
use crate::labels::LabelSet;
use crate::pipeline::{CompileError, Pipeline, Runner, Wants, decode_labels_key};

/// The parsers that are tried, in this order.
pub(super) struct LineParser {
    json: Runner,
    logfmt: Runner,
    key: Vec<u8>,
}

impl LineParser {
    pub(super) fn new() -> Self {
        let logfmt = Stage::Logfmt {
            strict: false,
            keep_empty: false,
            extractions: Vec::new(),
        };
        let runner = |stage: Stage| -> Result<Runner, CompileError> {
            Ok(Runner::new(Arc::new(Pipeline::compile(&[stage], &Wants::All)?)))
        };
        let must_compile = "bug: a parser without arguments does not compile";
        Self {
            json: runner(Stage::Json(Vec::new())).expect(must_compile),
            logfmt: runner(logfmt).expect(must_compile),
            key: Vec::new(),
        }
    }

    /// The name of the parser that understands the line, and the labels it makes.
    pub(super) fn parse(&mut self, stream: &LabelSet, line: &[u8]) -> Option<(&'static str, LabelSet)> {
        for (name, runner) in [("json", &mut self.json), ("logfmt", &mut self.logfmt)] {
            runner.start_stream(stream);
            let Some(entry) = runner.process(0, line, &[], false) else {
                continue;
            };
            if !entry.has_error() {
                self.key.clear();
                entry.labels_key(&mut self.key);
                return Some((name, decode_labels_key(&self.key).parsed));
            }
        }
        None
    }
}
