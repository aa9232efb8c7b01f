//! `/loki/api/v1/format_query` (http-api.md 14).

use crate::encode::{json_response, write_string};
use crate::request::Params;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// Lays a query out for people.
pub(super) async fn handle(params: Params) -> Response {
    let (status, start, text) = match timberline_logql::parse(params.get("query").unwrap_or_default()) {
        Ok(expr) => (
            StatusCode::OK,
            r#"{"status":"success","data":"#,
            timberline_logql::format(&expr),
        ),
        Err(error) => (
            StatusCode::BAD_REQUEST,
            r#"{"status":"invalid-query","error":"#,
            error.to_string(),
        ),
    };
    let mut body = start.as_bytes().to_vec();
    write_string(&mut body, text.as_bytes());
    body.push(b'}');
    (status, json_response(body)).into_response()
}
