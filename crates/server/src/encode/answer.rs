//! The envelope of query answers and the four result types (http-api.md 6).

// hot path: no locks, no logging, no allocation per row.

use super::{json, numbers, stats};
use timberline_logql::labels::LabelSet;
use timberline_query::{Answer, Entry, QueryResult, Sample, Series, StreamResult};

/// How log lines are laid out in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Streams by all their labels, lines as pairs.
    Merged,
    /// Streams by their stream labels only; each line carries its other labels by category (http-api.md 6.2).
    Categorized,
}

/// The body of an answer. `queue_seconds`: how long the query waited for its turn.
pub(crate) fn write_answer(answer: &Answer, layout: Layout, queue_seconds: f64) -> Vec<u8> {
    let mut out = br#"{"status":"success","#.to_vec();
    if !answer.warnings.is_empty() {
        out.extend_from_slice(br#""warnings":"#);
        json::list(&mut out, &answer.warnings, |out, warning| json::text(out, warning));
        out.push(b',');
    }
    out.extend_from_slice(br#""data":{"resultType":"#);
    match &answer.result {
        QueryResult::Streams(streams) => match layout {
            Layout::Merged => {
                out.extend_from_slice(br#""streams","result":"#);
                json::list(&mut out, streams, merged_stream);
            }
            Layout::Categorized => {
                out.extend_from_slice(br#""streams","encodingFlags":["categorize-labels"],"result":"#);
                json::list(&mut out, by_stream_labels(streams), |out, (labels, entries)| {
                    categorized_stream(out, labels, &entries);
                });
            }
        },
        QueryResult::Matrix(series) => {
            out.extend_from_slice(br#""matrix","result":"#);
            json::list(&mut out, series, one_series);
        }
        QueryResult::Vector(samples) => {
            out.extend_from_slice(br#""vector","result":"#);
            json::list(&mut out, samples, one_sample);
        }
        QueryResult::Scalar { time_ns, value } => {
            out.extend_from_slice(br#""scalar","result":["#);
            numbers::display(&mut out, numbers::milliseconds(*time_ns));
            out.push(b',');
            numbers::value(&mut out, *value);
            out.push(b']');
        }
    }
    out.extend_from_slice(br#","stats":"#);
    stats::write(&mut out, &answer.stats, queue_seconds);
    out.extend_from_slice(b"}}");
    out
}

fn merged_stream(out: &mut Vec<u8>, stream: &StreamResult) {
    out.extend_from_slice(br#"{"stream":"#);
    json::object(out, stream.labels.iter());
    out.extend_from_slice(br#","values":"#);
    json::list(out, &stream.entries, |out, entry| {
        time_and_line(out, entry);
        out.push(b']');
    });
    out.push(b'}');
}

fn categorized_stream(out: &mut Vec<u8>, labels: &LabelSet, entries: &[&Entry]) {
    out.extend_from_slice(br#"{"stream":"#);
    json::object(out, labels.iter());
    out.extend_from_slice(br#","values":"#);
    json::list(out, entries, |out, entry| {
        time_and_line(out, entry);
        out.extend_from_slice(b",{");
        let categories = [
            ("structuredMetadata", &entry.labels.metadata),
            ("parsed", &entry.labels.parsed),
        ];
        for (i, (name, labels)) in categories
            .into_iter()
            .filter(|(_, labels)| !labels.is_empty())
            .enumerate()
        {
            if i > 0 {
                out.push(b',');
            }
            json::text(out, name);
            out.push(b':');
            json::object(out, labels.iter());
        }
        out.extend_from_slice(b"}]");
    });
    out.push(b'}');
}

/// Writes `["time","line"` and leaves the list open.
fn time_and_line(out: &mut Vec<u8>, entry: &Entry) {
    out.extend_from_slice(b"[\"");
    numbers::display(out, entry.timestamp_ns);
    out.extend_from_slice(b"\",");
    json::string(out, &entry.line);
}

/// Brings together the lines of each stream, whatever their other labels are, in the order of the whole answer.
fn by_stream_labels(streams: &[StreamResult]) -> Vec<(&LabelSet, Vec<&Entry>)> {
    let mut groups = std::collections::HashMap::<&LabelSet, Vec<&Entry>>::new();
    for entry in streams.iter().flat_map(|stream| &stream.entries) {
        groups.entry(&entry.labels.stream).or_default().push(entry);
    }
    for entries in groups.values_mut() {
        entries.sort_unstable_by_key(|entry| entry.position);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_cached_key(|(labels, _)| labels.to_string());
    groups
}

fn one_series(out: &mut Vec<u8>, series: &Series) {
    out.extend_from_slice(br#"{"metric":"#);
    json::object(out, series.labels.iter());
    out.extend_from_slice(br#","values":"#);
    json::list(out, &series.points, |out, (time_ns, value)| {
        point(out, *time_ns, *value);
    });
    out.push(b'}');
}

fn one_sample(out: &mut Vec<u8>, sample: &Sample) {
    out.extend_from_slice(br#"{"metric":"#);
    json::object(out, sample.labels.iter());
    out.extend_from_slice(br#","value":"#);
    point(out, sample.time_ns, sample.value);
    out.push(b'}');
}

fn point(out: &mut Vec<u8>, time_ns: i64, value: f64) {
    out.push(b'[');
    numbers::seconds(out, time_ns);
    out.push(b',');
    numbers::value(out, value);
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::sync::Arc;
    use timberline_query::{EntryLabels, QueryStats};

    /// The body without its statistics, which have a test of their own.
    fn body(result: QueryResult, warnings: &[&str], layout: Layout) -> String {
        let warnings = warnings.iter().map(ToString::to_string).collect();
        let answer = Answer {
            result,
            stats: QueryStats::default(),
            warnings,
        };
        let text = String::from_utf8(write_answer(&answer, layout, 0.0)).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let (start, _) = text.split_once(r#","stats":"#).unwrap();
        start.to_owned()
    }

    fn set(pairs: &[(&str, &str)]) -> LabelSet {
        LabelSet::from_pairs(pairs.iter().copied())
    }

    fn stream(
        metadata: &[(&str, &str)],
        parsed: &[(&str, &str)],
        entries: &[(usize, i64, &'static [u8])],
    ) -> StreamResult {
        let stream = [("app", "shop")];
        let labels = Arc::new(EntryLabels {
            stream: set(&stream),
            metadata: set(metadata),
            parsed: set(parsed),
        });
        let all: Vec<_> = stream.iter().chain(metadata).chain(parsed).copied().collect();
        let entry = |(position, timestamp_ns, line): &(usize, i64, &'static [u8])| Entry {
            timestamp_ns: *timestamp_ns,
            position: *position,
            line: Bytes::from_static(line),
            labels: labels.clone(),
        };
        StreamResult {
            labels: set(&all),
            entries: entries.iter().map(entry).collect(),
        }
    }

    #[test]
    fn result_types() {
        let f = |result, want: &str| {
            assert_eq!(
                body(result, &[], Layout::Merged),
                format!(r#"{{"status":"success","data":{{{want}"#)
            );
        };
        f(QueryResult::Streams(vec![]), r#""resultType":"streams","result":[]"#);
        f(
            QueryResult::Streams(vec![stream(
                &[("id", "7")],
                &[],
                &[(0, 2, b"second \xff"), (1, 1, b"<first>")],
            )]),
            "\"resultType\":\"streams\",\"result\":[{\"stream\":{\"app\":\"shop\",\"id\":\"7\"},\
             \"values\":[[\"2\",\"second \u{fffd}\"],[\"1\",\"<first>\"]]}]",
        );
        f(
            QueryResult::Matrix(vec![Series {
                labels: set(&[("app", "shop")]),
                points: vec![(1_700_000_000_000_000_000, 2.0), (1_700_000_060_500_000_000, 1.5)],
            }]),
            r#""resultType":"matrix","result":[{"metric":{"app":"shop"},"values":[[1700000000,"2"],[1700000060.5,"1.5"]]}]"#,
        );
        f(
            QueryResult::Vector(vec![Sample {
                labels: set(&[]),
                time_ns: 1_700_000_000_000_000_000,
                value: f64::INFINITY,
            }]),
            r#""resultType":"vector","result":[{"metric":{},"value":[1700000000,"+Inf"]}]"#,
        );
        f(
            QueryResult::Scalar {
                time_ns: 1_700_000_000_123_000_000,
                value: 3.0,
            },
            r#""resultType":"scalar","result":[1700000000123,"3"]"#,
        );
    }

    #[test]
    fn categorized_lines_share_their_stream() {
        let streams = vec![
            stream(&[("id", "7")], &[("status", "200")], &[(1, 3, b"c"), (4, 1, b"a")]),
            stream(&[("id", "8")], &[], &[(2, 3, b"b")]),
            stream(&[], &[], &[(0, 4, b"d"), (3, 3, b"e")]),
        ];
        let layout = Layout::Categorized;
        let want = r#"{"status":"success","data":{"resultType":"streams","encodingFlags":["categorize-labels"],"result":[{"stream":{"app":"shop"},"values":[["4","d",{}],["3","c",{"structuredMetadata":{"id":"7"},"parsed":{"status":"200"}}],["3","b",{"structuredMetadata":{"id":"8"}}],["3","e",{}],["1","a",{"structuredMetadata":{"id":"7"},"parsed":{"status":"200"}}]]}]"#;
        assert_eq!(body(QueryResult::Streams(streams), &[], layout), want);
    }

    #[test]
    fn warnings_come_first() {
        let want = r#"{"status":"success","warnings":["a \"b\"","c"],"data":{"resultType":"vector","result":[]"#;
        assert_eq!(
            body(QueryResult::Vector(vec![]), &["a \"b\"", "c"], Layout::Merged),
            want
        );
    }
}
