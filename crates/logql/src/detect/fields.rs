//! Fields found so far, line by line.

use std::collections::{BTreeMap, HashSet};

use super::line::LineParser;
use super::value_type::{Candidates, ValueType};
use crate::ast::Stage;
use crate::bytes_size::RoundedBytes;
use crate::labels::LabelSet;
use crate::pipeline::convert::parse_size_bytes;
use crate::pipeline::{EntryLabels, visit_json_keys};

/// Most bytes that names, paths and values of fields may take. Names of nested JSON members repeat those around them, so that
/// a line can give many times its own size.
pub const MAX_DETECTED_BYTES: usize = 64 << 20;

/// The fields take more than [`MAX_DETECTED_BYTES`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "names and values of detected fields take more than {MAX_DETECTED_BYTES} bytes: ask for fewer lines with line_limit"
)]
pub struct TooManyFields;

/// A field of the lines looked at.
#[derive(Debug)]
pub struct DetectedField {
    /// The label by which a query can filter.
    pub label: Box<str>,
    /// The parsers that make the label, in order of their names; none for structured metadata.
    pub parsers: Vec<&'static str>,
    /// Where the value stands in a JSON line, keys spelled as there; empty for other fields.
    pub json_path: Vec<String>,
    candidates: Candidates,
    values: HashSet<Box<str>>,
}

impl DetectedField {
    fn new(label: &str) -> Self {
        Self {
            label: label.into(),
            parsers: Vec::new(),
            json_path: Vec::new(),
            candidates: Candidates::default(),
            values: HashSet::new(),
        }
    }

    /// The first type that all values fit.
    pub fn value_type(&self) -> ValueType {
        self.candidates.first()
    }

    /// How many different values there are.
    pub fn cardinality(&self) -> usize {
        self.values.len()
    }

    /// The values, sorted. Sizes are spelled alike: `10kb` as `10kB`.
    pub fn values(&self) -> Vec<String> {
        let is_size = self.value_type() == ValueType::Bytes;
        let spell = |value: &str| match parse_size_bytes(value.as_bytes()) {
            Ok(bytes) if is_size => RoundedBytes(bytes).to_string(),
            _ => value.to_owned(),
        };
        let mut values: Vec<String> = self.values.iter().map(|value| spell(value)).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// Collects the fields of lines that come out of a log query.
pub struct FieldDetector {
    /// The parsers of the query. Without any, each line is tried as JSON and as logfmt.
    query_parsers: Vec<&'static str>,
    line_parser: LineParser,
    fields: BTreeMap<Box<str>, DetectedField>,
    bytes: usize,
}

impl FieldDetector {
    /// A detector for lines that came through these stages.
    pub fn new(stages: &[Stage]) -> Self {
        let mut query_parsers: Vec<_> = stages.iter().filter_map(parser_name).collect();
        query_parsers.sort_unstable();
        query_parsers.dedup();
        Self {
            query_parsers,
            line_parser: LineParser::new(),
            fields: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Takes a line with its labels as they are behind the stages.
    pub fn add(&mut self, labels: &EntryLabels, line: &[u8]) -> Result<(), TooManyFields> {
        for (name, value) in labels.metadata.iter() {
            self.add_value(name, value, &[]);
        }
        let query_parsers = std::mem::take(&mut self.query_parsers);
        self.add_parsed(&labels.parsed, &query_parsers, &labels.stream, line);
        self.query_parsers = query_parsers;
        // Structured metadata doesn't push parsed labels aside here: a name found in both is one field.
        if self.query_parsers.is_empty()
            && let Some((parser, parsed)) = self.line_parser.parse(&labels.stream, line)
        {
            self.add_parsed(&parsed, &[parser], &labels.stream, line);
        }
        if self.bytes > MAX_DETECTED_BYTES {
            return Err(TooManyFields);
        }
        Ok(())
    }

    /// All fields, in order of their names.
    pub fn finish(self) -> Vec<DetectedField> {
        self.fields.into_values().collect()
    }

    fn add_parsed(&mut self, labels: &LabelSet, parsers: &[&'static str], stream: &LabelSet, line: &[u8]) {
        let mut has_new = false;
        for (name, value) in labels.iter() {
            // What went wrong with an entry is not a field of it.
            if !name.starts_with("__error") {
                has_new |= self.add_value(name, value, parsers);
            }
        }
        if has_new && parsers.contains(&"json") {
            self.add_json_paths(stream, line);
        }
    }

    /// Answers whether the field is new.
    fn add_value(&mut self, name: &str, value: &str, parsers: &[&'static str]) -> bool {
        let is_new = !self.fields.contains_key(name);
        if is_new {
            self.bytes += name.len();
            self.fields.insert(name.into(), DetectedField::new(name));
        }
        let Some(field) = self.fields.get_mut(name) else {
            return false;
        };
        if !field.values.contains(value) {
            self.bytes += value.len();
            field.candidates.keep_fitting(value);
            field.values.insert(value.into());
        }
        for parser in parsers {
            if let Err(at) = field.parsers.binary_search(parser) {
                field.parsers.insert(at, parser);
            }
        }
        is_new
    }

    fn add_json_paths(&mut self, stream: &LabelSet, line: &[u8]) {
        let Self { fields, bytes, .. } = self;
        visit_json_keys(line, |name, keys| {
            let Ok(name) = std::str::from_utf8(name) else {
                return;
            };
            let suffixed = stream.get(name).map(|_| format!("{name}_extracted"));
            let Some(field) = fields.get_mut(suffixed.as_deref().unwrap_or(name)) else {
                return;
            };
            if field.json_path.is_empty() && field.parsers.contains(&"json") {
                *bytes += keys.iter().map(Vec::len).sum::<usize>();
                field.json_path = keys
                    .iter()
                    .map(|key| String::from_utf8_lossy(key).into_owned())
                    .collect();
            }
        });
    }
}

/// The parser that a stage is.
fn parser_name(stage: &Stage) -> Option<&'static str> {
    match stage {
        Stage::Json(_) => Some("json"),
        Stage::Logfmt { .. } => Some("logfmt"),
        Stage::Regexp(_) => Some("regexp"),
        Stage::Pattern(_) => Some("pattern"),
        Stage::Unpack => Some("unpack"),
        Stage::LineFilter(_)
        | Stage::LabelFilter(_)
        | Stage::LineFormat(_)
        | Stage::LabelFormat(_)
        | Stage::Decolorize
        | Stage::Drop(_)
        | Stage::Keep(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(metadata: &[(&str, &str)], parsed: &[(&str, &str)]) -> EntryLabels {
        let set = |pairs: &[(&str, &str)]| LabelSet::from_pairs(pairs.iter().copied());
        EntryLabels {
            stream: set(&[("app", "shop"), ("env", "dev")]),
            metadata: set(metadata),
            parsed: set(parsed),
        }
    }

    /// `name:type:cardinality:parsers:path`
    fn show(fields: &[DetectedField]) -> Vec<String> {
        let show = |f: &DetectedField| {
            let (kind, parsers, path) = (f.value_type().name(), f.parsers.join("+"), f.json_path.join("/"));
            format!("{}:{kind}:{}:{parsers}:{path}", f.label, f.cardinality())
        };
        fields.iter().map(show).collect()
    }

    #[test]
    fn lines_are_tried_as_json_then_as_logfmt() {
        let mut detector = FieldDetector::new(&[]);
        for (metadata, line) in [
            (
                &[("user", "u1")][..],
                r#"{"status":200,"env":"x","resp":{"x-id":"h1"},"list":[1]}"#,
            ),
            (&[], r#"{"status":404,"took":"5ms"}"#),
            (&[], "status=high user=u2 took=1s empty= bare"),
            (&[], r#"{"lost":1,"cut":"#),
            (&[], "plain words"),
            (&[("trace_id", "0af7")], ""),
        ] {
            detector.add(&labels(metadata, &[]), line.as_bytes()).unwrap();
        }
        let want = [
            "env_extracted:string:1:json:env",
            "resp_x_id:string:1:json:resp/x-id",
            "status:string:3:json+logfmt:status",
            "took:duration:2:json+logfmt:took",
            "trace_id:string:1::",
            "user:string:2:logfmt:",
        ];
        assert_eq!(show(&detector.finish()), want);
    }

    #[test]
    fn parsers_of_the_query_are_believed() {
        let stages = [
            Stage::Json(Vec::new()),
            Stage::Pattern("<_> <path>".into()),
            Stage::LineFormat("x=1".into()),
        ];
        let mut detector = FieldDetector::new(&stages);
        let parsed = [("a_b", "1"), ("__error__", "JSONParserErr"), ("__error_details__", "x")];
        detector
            .add(&labels(&[("id", "7")], &parsed), br#"{"a.b":1,"c":2}"#)
            .unwrap();
        assert_eq!(show(&detector.finish()), ["a_b:int:1:json+pattern:a.b", "id:int:1::"]);
        let mut detector = FieldDetector::new(&[Stage::Decolorize]);
        detector.add(&labels(&[], &[("made", "1")]), b"x=1").unwrap();
        assert_eq!(show(&detector.finish()), ["made:int:1::", "x:int:1:logfmt:"]);
    }

    #[test]
    fn sizes_are_spelled_alike() {
        let mut detector = FieldDetector::new(&[]);
        for size in ["10kb", "10 KB", "2MiB", "512"] {
            detector
                .add(&labels(&[("size", size), ("text", size)], &[]), b"")
                .unwrap();
        }
        detector.add(&labels(&[("text", "tall")], &[]), b"").unwrap();
        let fields = detector.finish();
        assert_eq!(fields[0].values(), ["10kB", "2.1MB", "512B"]);
        assert_eq!(fields[0].cardinality(), 4);
        assert_eq!(fields[1].values(), ["10 KB", "10kb", "2MiB", "512", "tall"]);
    }

    #[test]
    fn memory_is_bounded() {
        // Each name repeats those of the objects around it.
        let line = |leaf: &str| {
            let level = format!(r#"{{"{leaf}":1,"{}":"#, "o".repeat(1000));
            format!("{}1{}", level.repeat(250), "}".repeat(250))
        };
        let mut detector = FieldDetector::new(&[]);
        let mut add = |leaf| detector.add(&labels(&[], &[]), line(leaf).as_bytes());
        assert_eq!([add("a"), add("b")], [Ok(()), Err(TooManyFields)]);
    }
}
