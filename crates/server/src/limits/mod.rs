//! Bounds on work in flight: each names itself when it is hit.

mod push_budget;
mod query_gate;

pub(crate) use push_budget::{PushBudget, PushShare};
pub(crate) use query_gate::QueryGate;
