//! `/timberline/api/v1/sql` (docs/sql.md): SQL over series and logs, read-only.

use crate::AppState;
use crate::error::HttpError;
use crate::estimate::check_bytes;
use crate::request::{Params, Tenant, now_ns};
use async_trait::async_trait;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::fmt;
use std::sync::Arc;
use timberline_logql::ast::{Expr, LogExpr, Matcher};
use timberline_query::{LogsAdmission, QueryError, SqlForm, SqlRequest};
use timberline_store::TenantId;
use timberline_store::source::TimeSpan;

/// Answers a statement as JSON lines or, with `format=csv`, as CSV.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    params: Params,
) -> Result<Response, HttpError> {
    let sql = params.get("query").unwrap_or_default().to_owned();
    let form = form(&params)?;
    let logs = Arc::new(Policy {
        state: state.clone(),
        tenant: tenant.clone(),
    });
    let request = SqlRequest { sql, form, logs };
    let (answer, _) = state.gate().run(state.query().sql(&tenant, request)).await?;
    let media_type = match form {
        SqlForm::JsonLines => "application/x-ndjson; charset=utf-8",
        SqlForm::Csv => "text/csv; charset=utf-8; header=present",
    };
    Ok(([(header::CONTENT_TYPE, media_type)], answer.body).into_response())
}

fn form(params: &Params) -> Result<SqlForm, HttpError> {
    match params.get("format") {
        None | Some("jsonl") => Ok(SqlForm::JsonLines),
        Some("csv") => Ok(SqlForm::Csv),
        Some(other) => Err(HttpError::bad_request(format!(
            "'format' is {other:?}, but must be jsonl or csv"
        ))),
    }
}

/// The limits of LogQL queries, for logs that are read by SQL.
struct Policy {
    state: AppState,
    tenant: TenantId,
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl LogsAdmission for Policy {
    async fn admit(&self, matchers: &[Matcher], span: TimeSpan) -> Result<Option<TimeSpan>, QueryError> {
        let expr = Expr::Log(LogExpr {
            matchers: matchers.to_vec(),
            stages: Vec::new(),
        });
        let refused = |error: HttpError| QueryError::Limit(error.into_text());
        let admitted = self.state.policy().admit(&expr, span, now_ns()).map_err(refused)?;
        if let Some(span) = admitted {
            check_bytes(&self.state, &self.tenant, &expr, span)
                .await
                .map_err(refused)?;
        }
        Ok(admitted)
    }
}
