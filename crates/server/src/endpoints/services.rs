//! `GET /services` (http-api.md 14).

use crate::AppState;
use axum::extract::State;

/// The parts of the program, by the names that operators of the peer know.
const SERVICES: [&str; 4] = ["server", "ingester", "querier", "store"];

/// Lists the parts and how they are.
pub(super) async fn handle(State(state): State<AppState>) -> String {
    let condition = if state.is_stopping() { "Stopping" } else { "Running" };
    SERVICES.iter().map(|name| format!("{name} => {condition}\n")).collect()
}
