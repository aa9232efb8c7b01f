//! Bounds on work in flight and on what queries may ask for: each names itself when it is hit.

mod push_budget;
mod query_gate;
mod query_policy;

pub(crate) use push_budget::{PushBudget, PushShare};
pub(crate) use query_gate::QueryGate;
pub use query_policy::QueryPolicy;
pub(crate) use query_policy::reads;
