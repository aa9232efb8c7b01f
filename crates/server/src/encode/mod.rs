//! Answers as JSON text (http-api.md 1.4 and 6): written straight into the body, no tree in between.

mod answer;
mod detected;
mod json;
mod labels;
mod numbers;
mod stats;

pub(crate) use answer::Layout;
pub(crate) use detected::{write_detected_fields, write_detected_labels, write_field_values};
pub(crate) use json::string as write_string;
pub(crate) use labels::{write_label_sets, write_names};

use answer::write_answer;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use timberline_query::{Answer, QueryResult};

/// An answer with at least this many rows is written on a thread for work, so that the threads for waiting stay free.
const WRITE_APART_ROWS: usize = 1000;

/// A 200 with this JSON body.
pub(crate) fn json_response(body: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json; charset=UTF-8")], body).into_response()
}

/// A 200 with this text.
pub(crate) fn text_response(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

/// The response to a query. `queue_seconds`: how long the query waited for its turn.
pub(crate) async fn answer_response(answer: Answer, layout: Layout, queue_seconds: f64) -> Response {
    if row_count(&answer.result) < WRITE_APART_ROWS {
        return json_response(write_answer(&answer, layout, queue_seconds));
    }
    match tokio::task::spawn_blocking(move || write_answer(&answer, layout, queue_seconds)).await {
        Ok(body) => json_response(body),
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn row_count(result: &QueryResult) -> usize {
    match result {
        QueryResult::Streams(streams) => streams.iter().map(|stream| stream.entries.len()).sum(),
        QueryResult::Matrix(series) => series.iter().map(|series| series.points.len()).sum(),
        QueryResult::Vector(samples) => samples.len(),
        QueryResult::Scalar { .. } => 1,
    }
}
