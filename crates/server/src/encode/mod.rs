//! Answers as JSON text (http-api.md 1.4 and 6): written straight into the body, no tree in between.

mod answer;
mod json;
mod labels;
mod numbers;
mod stats;

pub(crate) use answer::{Layout, write_answer};
pub(crate) use json::string as write_string;
pub(crate) use labels::{write_label_sets, write_names};

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// A 200 with this JSON body.
pub(crate) fn json_response(body: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json; charset=UTF-8")], body).into_response()
}
