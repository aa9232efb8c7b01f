//! An answer, however it was got: over HTTP or from the folder.

use anyhow::anyhow;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Labels of a result.
pub(crate) type Labels = BTreeMap<String, String>;

/// What a query found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Log lines.
    Streams(Vec<Stream>),
    /// Series over time.
    Matrix(Vec<Series>),
    /// One value per series.
    Vector(Vec<Series>),
    /// One number: time in nanoseconds and value.
    Scalar(i64, String),
}

/// Lines with the same labels, in the order of the query's direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stream {
    pub(crate) labels: Labels,
    pub(crate) entries: Vec<(i64, Vec<u8>)>,
}

/// Values with the same labels; times in nanoseconds, values as the API writes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series {
    pub(crate) labels: Labels,
    pub(crate) points: Vec<(i64, String)>,
}

impl Answer {
    /// True if nothing matched.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Streams(streams) => streams.iter().all(|s| s.entries.is_empty()),
            Self::Matrix(series) | Self::Vector(series) => series.is_empty(),
            Self::Scalar(..) => false,
        }
    }

    /// The answer in the API's form: `resultType` and `result` (http-api.md 6.1).
    pub(crate) fn to_json(&self) -> Value {
        let (kind, result) = match self {
            Self::Streams(streams) => {
                let value = |(ns, line): &(i64, Vec<u8>)| json!([ns.to_string(), String::from_utf8_lossy(line)]);
                let stream =
                    |s: &Stream| json!({"stream": s.labels, "values": s.entries.iter().map(value).collect::<Vec<_>>()});
                ("streams", streams.iter().map(stream).collect::<Vec<_>>().into())
            }
            Self::Matrix(series) => {
                let one =
                    |s: &Series| json!({"metric": s.labels, "values": s.points.iter().map(point).collect::<Vec<_>>()});
                ("matrix", series.iter().map(one).collect::<Vec<_>>().into())
            }
            Self::Vector(series) => {
                let one = |s: &Series| json!({"metric": s.labels, "value": s.points.first().map(point)});
                ("vector", series.iter().map(one).collect::<Vec<_>>().into())
            }
            Self::Scalar(ns, value) => ("scalar", json!([ns / 1_000_000, value])),
        };
        json!({"resultType": kind, "result": result})
    }

    /// Reads the body of an answer of the API.
    pub(crate) fn from_body(body: &[u8]) -> anyhow::Result<Self> {
        let envelope: Envelope = serde_json::from_slice(body)?;
        let result = envelope.data.result;
        Ok(match envelope.data.result_type.as_str() {
            "streams" => {
                let streams: Vec<StreamBody> = serde_json::from_value(result)?;
                Self::Streams(streams.into_iter().map(StreamBody::read).collect::<Result<_, _>>()?)
            }
            "matrix" => {
                let series: Vec<MatrixBody> = serde_json::from_value(result)?;
                let read = |s: MatrixBody| Series {
                    labels: s.metric,
                    points: s
                        .values
                        .into_iter()
                        .map(|(seconds, value)| (seconds_to_ns(seconds), value))
                        .collect(),
                };
                Self::Matrix(series.into_iter().map(read).collect())
            }
            "vector" => {
                let series: Vec<VectorBody> = serde_json::from_value(result)?;
                let read = |s: VectorBody| Series {
                    labels: s.metric,
                    points: vec![(seconds_to_ns(s.value.0), s.value.1)],
                };
                Self::Vector(series.into_iter().map(read).collect())
            }
            "scalar" => {
                let (ms, value): (f64, String) = serde_json::from_value(result)?;
                Self::Scalar(ms as i64 * 1_000_000, value)
            }
            other => return Err(anyhow!("the server answers with the unknown result type {other:?}")),
        })
    }
}

fn point((ns, value): &(i64, String)) -> Value {
    let ms = ns / 1_000_000;
    let seconds = if ms % 1000 == 0 {
        json!(ms / 1000)
    } else {
        json!(ms as f64 / 1000.0)
    };
    json!([seconds, value])
}

fn seconds_to_ns(seconds: f64) -> i64 {
    (seconds * 1e3).round() as i64 * 1_000_000
}

#[derive(Deserialize)]
struct Envelope {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    result_type: String,
    result: Value,
}

#[derive(Deserialize)]
struct StreamBody {
    stream: Labels,
    values: Vec<Vec<Value>>,
}

impl StreamBody {
    fn read(self) -> anyhow::Result<Stream> {
        let entry = |value: Vec<Value>| -> anyhow::Result<(i64, Vec<u8>)> {
            let text = |i: usize| {
                value
                    .get(i)
                    .and_then(Value::as_str)
                    .ok_or_else(|| anyhow!("an entry is not a pair of texts"))
            };
            Ok((text(0)?.parse()?, text(1)?.as_bytes().to_vec()))
        };
        Ok(Stream {
            labels: self.stream,
            entries: self.values.into_iter().map(entry).collect::<Result<_, _>>()?,
        })
    }
}

#[derive(Deserialize)]
struct MatrixBody {
    metric: Labels,
    values: Vec<(f64, String)>,
}

#[derive(Deserialize)]
struct VectorBody {
    metric: Labels,
    value: (f64, String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_and_written_in_the_form_of_the_api() {
        let f = |data: Value| {
            let body = json!({"status": "success", "data": data}).to_string();
            assert_eq!(Answer::from_body(body.as_bytes()).unwrap().to_json(), data);
        };
        f(
            json!({"resultType": "streams", "result": [{"stream": {"a": "b"}, "values": [["1700000000000000002", "x"]]}]}),
        );
        f(
            json!({"resultType": "matrix", "result": [{"metric": {}, "values": [[1700000000, "2"], [1700000060.5, "NaN"]]}]}),
        );
        f(json!({"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [1700000000, "42"]}]}));
        f(json!({"resultType": "scalar", "result": [1700000000123_i64, "3"]}));
    }

    #[test]
    fn other_bodies_are_errors() {
        for body in [
            "",
            "{}",
            "[]",
            r#"{"data":{"resultType":"x","result":[]}}"#,
            r#"{"data":{"resultType":"streams","result":[{"stream":{},"values":[[1]]}]}}"#,
        ] {
            assert!(Answer::from_body(body.as_bytes()).is_err(), "{body}");
        }
    }
}
