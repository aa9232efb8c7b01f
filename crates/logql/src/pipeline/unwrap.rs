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
        let (number, converts) = match self.convert(text) {
            Ok(number) => (number, true),
            Err(_) => {
                labels.fail_conversion(ErrorKind::SampleExtraction, self.label.as_bytes(), |text, details| {
                    if let Err(error) = self.convert(text) {
                        error.write(details);
                    }
                });
                (0.0, false)
            }
        };
        for filter in &self.filters {
            if !filter.keeps(labels) {
                return None;
            }
        }
        // A value that does not convert stays, so that the error shows it.
        if converts && !self.keep_label {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ast::{LabelFilter, Stage};
    use crate::labels::LabelSet;
    use crate::pipeline::testing::{comparison, matcher};
    use crate::pipeline::{GroupLabels, Pipeline, Runner, Wants, decode_group_key};

    fn unwrap_of(conversion: Conversion, filters: Vec<LabelFilter>) -> Unwrap {
        Unwrap {
            label: "x".to_owned(),
            conversion,
            filters,
        }
    }

    fn value(unwrap: &Unwrap, keep_label: bool, line: &str) -> Option<(f64, String)> {
        let stages = [Stage::Logfmt {
            strict: false,
            keep_empty: true,
            extractions: vec![],
        }];
        let mut runner = Runner::new(Arc::new(Pipeline::compile(&stages, &Wants::All).unwrap()));
        runner.start_stream(&LabelSet::default());
        let mut entry = runner.process(0, line.as_bytes(), &[], false).unwrap();
        let number = CompiledUnwrap::compile(unwrap, keep_label).unwrap().value(&mut entry)?;
        let mut key = Vec::new();
        entry.group_key(&GroupLabels::all(), &mut key);
        Some((number, decode_group_key(&key).to_string()))
    }

    #[test]
    fn labels_become_numbers() {
        let f = |conversion: Conversion, line: &str, want: Option<f64>| {
            let got = value(&unwrap_of(conversion, vec![]), false, line);
            assert_eq!(
                got,
                want.map(|number| (number, r#"{a="1"}"#.to_owned())),
                "{conversion:?} {line}"
            );
        };
        f(Conversion::Number, "a=1 x=2.5", Some(2.5));
        f(Conversion::Bytes, "a=1 x=2KiB", Some(2048.0));
        f(Conversion::Duration, "a=1 x=1m30s", Some(90.0));
        f(Conversion::DurationSeconds, "a=1 x=250ms", Some(0.25));
        f(Conversion::Number, "a=1 x=", None);
        f(Conversion::Number, "a=1", None);
    }

    #[test]
    fn failures_give_zero_and_can_be_filtered() {
        let failed = value(&unwrap_of(Conversion::Number, vec![]), false, "x=b").unwrap();
        let details = r#"strconv.ParseFloat: parsing \"b\": invalid syntax"#;
        let want = format!(r#"{{__error__="SampleExtractionErr", __error_details__="{details}", x="b"}}"#);
        assert_eq!(failed, (0.0, want));
        let clean = LabelFilter::Match(matcher("__error__", "=", ""));
        assert_eq!(value(&unwrap_of(Conversion::Number, vec![clean]), false, "x=b"), None);
    }

    #[test]
    fn filters_see_the_label_and_grouping_may_keep_it() {
        let big = || vec![LabelFilter::Number(comparison("x", ">", 2.0))];
        let f = |line: &str, want: Option<(f64, &str)>| {
            let got = value(&unwrap_of(Conversion::Number, big()), true, line);
            assert_eq!(got, want.map(|(number, labels)| (number, labels.to_owned())));
        };
        f("x=3", Some((3.0, r#"{x="3"}"#)));
        f("x=1", None);
        assert_eq!(
            CompiledUnwrap::label_names(&unwrap_of(Conversion::Number, big())),
            ["x"]
        );
    }
}
