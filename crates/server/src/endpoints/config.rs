//! `GET /config` (http-api.md 14).

use crate::AppState;
use axum::extract::State;

/// Shows the effective configuration as YAML.
pub(super) async fn handle(State(state): State<AppState>) -> String {
    state.options().config_yaml.clone()
}
