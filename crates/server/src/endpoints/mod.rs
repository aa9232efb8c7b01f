//! The endpoints: one file each, each with one `handle`, all in one table.

mod buildinfo;
mod config;
mod detected_field_values;
mod detected_fields;
mod detected_labels;
mod flush;
mod format_query;
mod index_stats;
mod label_values;
mod labels;
mod log_level;
mod metrics;
mod push;
mod query;
mod query_range;
mod ready;
mod series;
mod services;
mod sql;

use crate::AppState;
use crate::error::{Fault, HttpError};
use crate::metrics::observe_request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Router, middleware};
use std::any::Any;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::{CompressionLayer, CompressionLevel};

/// Paths (the first is the present one, others are older names of the same) and what answers there.
fn table() -> Vec<(&'static [&'static str], MethodRouter<AppState>)> {
    vec![
        (&["/loki/api/v1/push", "/api/prom/push"], post(push::handle)),
        (&["/loki/api/v1/query"], get(query::handle).post(query::handle)),
        (
            &["/loki/api/v1/query_range"],
            get(query_range::handle).post(query_range::handle),
        ),
        (
            &["/loki/api/v1/labels", "/loki/api/v1/label", "/api/prom/label"],
            get(labels::handle).post(labels::handle),
        ),
        (
            &["/loki/api/v1/label/{name}/values", "/api/prom/label/{name}/values"],
            get(label_values::handle).post(label_values::handle),
        ),
        (
            &["/loki/api/v1/series", "/api/prom/series"],
            get(series::handle).post(series::handle),
        ),
        (
            &["/loki/api/v1/index/stats"],
            get(index_stats::handle).post(index_stats::handle),
        ),
        (
            &["/loki/api/v1/detected_fields"],
            get(detected_fields::handle).post(detected_fields::handle),
        ),
        (
            &["/loki/api/v1/detected_field/{name}/values"],
            get(detected_field_values::handle).post(detected_field_values::handle),
        ),
        (
            &["/loki/api/v1/detected_labels"],
            get(detected_labels::handle).post(detected_labels::handle),
        ),
        (
            &["/loki/api/v1/format_query"],
            get(format_query::handle).post(format_query::handle),
        ),
        (&["/timberline/api/v1/sql"], get(sql::handle).post(sql::handle)),
        (&["/loki/api/v1/status/buildinfo"], get(buildinfo::handle)),
        (&["/ready"], get(ready::handle)),
        (&["/metrics"], get(metrics::handle)),
        (&["/config"], get(config::handle)),
        (&["/services"], get(services::handle)),
        (&["/log_level"], get(log_level::handle)),
        (&["/flush"], get(flush::handle).post(flush::handle)),
    ]
}

/// The service: all endpoints, with request metrics, compressed answers, and panics turned into answers.
pub fn router(state: AppState) -> Router {
    let mut router = Router::new();
    for (paths, methods) in table() {
        for path in paths {
            router = router.route(path, methods.clone());
        }
    }
    router
        .fallback(|| async { HttpError::new(StatusCode::NOT_FOUND, "404 page not found") })
        .layer(CatchPanicLayer::custom(answer_panic))
        .layer(CompressionLayer::new().gzip(true).quality(CompressionLevel::Fastest))
        .layer(middleware::from_fn_with_state(state.clone(), observe_request))
        .with_state(state)
}

/// A panic ends one request, not the server.
#[expect(clippy::needless_pass_by_value, reason = "the signature is tower-http's")]
fn answer_panic(panic: Box<dyn Any + Send>) -> Response {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = message.unwrap_or("unknown"), "a handler panicked");
    let text = "internal error: the request's handler panicked, see the server's log";
    let mut response = HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, text).into_response();
    response.extensions_mut().insert(Fault::Panic);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::{Body, to_bytes};
    use axum::extract::Request;
    use tower::ServiceExt;

    #[tokio::test]
    async fn a_panic_is_answered() {
        let panics = || async {
            if true {
                panic!("on purpose")
            }
        };
        let router: Router = Router::new()
            .route("/", get(panics))
            .layer(CatchPanicLayer::custom(answer_panic));
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.extensions().get(), Some(&Fault::Panic));
        let body = to_bytes(response.into_body(), 1000).await.unwrap();
        assert!(body.starts_with(b"internal error"), "{body:?}");
    }
}
