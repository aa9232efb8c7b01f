// hot path: no locks, no logging, nothing allocated per entry.

//! `unwrap`: the number of an entry (logql.md 13.3).

use super::convert::{ConversionError, parse_duration_ns, parse_number, parse_size_bytes};
use super::entry::ErrorKind;
use super::label_filter::LabelTest;
use super::{CompileError, Processed};
use crate::ast::{Conversion, Unwrap};

/// A compiled `unwrap` with the filters behind it.
#[derive(Clone, Debug)]
pub struct CompiledUnwrap {
    label: String,
    conversion: Conversion,
    filters: Vec<LabelTest>,
    keep_label: bool,
}

impl CompiledUnwrap {
    /// Compiles an `unwrap`. The label leaves the entry once it is read, unless `keep_label` (a `by` names it).
    ///
    /// The pipeline before it must want the label and those of the filters: see [`CompiledUnwrap::label_names`].
    pub fn compile(unwrap: &Unwrap, keep_label: bool) -> Result<Self, CompileError> {
        let filters = unwrap
            .filters
            .iter()
            .map(|filter| LabelTest::compile(filter).map_err(CompileError::Invalid));
        Ok(Self {
            label: unwrap.label.clone(),
            conversion: unwrap.conversion,
            filters: filters.collect::<Result<_, _>>()?,
            keep_label,
        })
    }

    /// The labels that `unwrap` and its filters read, to be wanted from the pipeline.
    pub fn label_names(unwrap: &Unwrap) -> Vec<String> {
        let mut names = super::needs::names_in_filters(&unwrap.filters);
        names.insert(unwrap.label.clone());
        names.into_iter().collect()
    }

    /// The number of the entry; durations in seconds, sizes in bytes. `None`: the entry gives no sample. A value that does
    /// not convert marks the entry and gives 0.
    pub fn value(&self, entry: &mut Processed<'_>) -> Option<f64> {
        let labels = &mut *entry.labels;
        let text = labels.get(self.label.as_bytes()).filter(|text| !text.is_empty())?;
        let number = match self.convert(text) {
            Ok(number) => number,
            Err(_) => {
                labels.fail_conversion(ErrorKind::SampleExtraction, self.label.as_bytes(), |text, details| {
                    if let Err(error) = self.convert(text) {
                        error.write(details);
                    }
                });
                0.0
            }
        };
        for filter in &self.filters {
            if !filter.keeps(labels) {
                return None;
            }
        }
        if !self.keep_label {
            labels.remove(self.label.as_bytes());
        }
        Some(number)
    }

    fn convert<'v>(&self, text: &'v [u8]) -> Result<f64, ConversionError<'v>> {
        match self.conversion {
            Conversion::Number => parse_number(text),
            Conversion::Bytes => parse_size_bytes(text).map(|bytes| bytes as f64),
            Conversion::Duration | Conversion::DurationSeconds => parse_duration_ns(text).map(|ns| ns as f64 / 1e9),
        }
    }
}
