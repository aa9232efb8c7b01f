//! Answers about what could be asked next (http-api.md 10). Without anything found they are `{}`.

use serde::Serialize;
use timberline_logql::detect::DetectedField;

#[derive(Serialize)]
struct Fields<'a> {
    fields: Vec<Field<'a>>,
    limit: usize,
}

#[derive(Serialize)]
struct Field<'a> {
    label: &'a str,
    r#type: &'static str,
    cardinality: usize,
    /// `null` for structured metadata.
    parsers: Option<&'a [&'static str]>,
    #[serde(rename = "jsonPath", skip_serializing_if = "<[_]>::is_empty")]
    json_path: &'a [String],
}

impl<'a> Field<'a> {
    fn of(field: &'a DetectedField) -> Self {
        Self {
            label: &field.label,
            r#type: field.value_type().name(),
            cardinality: field.cardinality(),
            parsers: Some(field.parsers.as_slice()).filter(|parsers| !parsers.is_empty()),
            json_path: &field.json_path,
        }
    }
}

#[derive(Serialize)]
struct Values {
    values: Vec<String>,
    limit: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Labels<'a> {
    detected_labels: Vec<Label<'a>>,
}

#[derive(Serialize)]
struct Label<'a> {
    label: &'a str,
    cardinality: usize,
}

/// The answer of `detected_fields`: the first `limit` of them.
pub(crate) fn write_detected_fields(fields: &[DetectedField], limit: usize) -> Vec<u8> {
    let fields: Vec<_> = fields.iter().take(limit).map(Field::of).collect();
    write(fields.is_empty(), &Fields { fields, limit })
}

/// The answer of `detected_field/{name}/values`: the first `limit` of them.
pub(crate) fn write_field_values(mut values: Vec<String>, limit: usize) -> Vec<u8> {
    values.truncate(limit);
    write(values.is_empty(), &Values { values, limit })
}

/// The answer of `detected_labels`.
pub(crate) fn write_detected_labels(labels: &[(String, usize)]) -> Vec<u8> {
    let mut detected_labels = Vec::with_capacity(labels.len());
    for (label, cardinality) in labels {
        detected_labels.push(Label {
            label,
            cardinality: *cardinality,
        });
    }
    write(detected_labels.is_empty(), &Labels { detected_labels })
}

fn write(is_empty: bool, answer: &impl Serialize) -> Vec<u8> {
    if is_empty {
        return b"{}".to_vec();
    }
    serde_json::to_vec(answer).expect("bug: names and numbers are always JSON")
}
