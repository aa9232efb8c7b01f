//! Rules: LogQL that is evaluated at intervals. Recording rules write their answers into the time-series store, where they are cheap to ask
//! for and outlive the logs.
//!
//! ```text
//!   files ──load──> groups of rules ──schedule──> evaluate (query engine) ──record──> series
//! ```
//!
//! * `file`: the text of a file, as Loki has it;
//! * `load`: files of a folder, by tenant, into rules that are checked, and the problems of those that are left out;
//! * `schedule`: when which group is due, also after a pause;
//! * `evaluate`: one rule at one time;
//! * `record`: samples into series.
//!
//! What happens with an answer is in `record` alone: rules of another kind need another module beside it and nothing else.

mod evaluate;
mod file;
mod load;
mod record;
mod rule;
mod schedule;
mod statistics;

pub use load::{Loaded, Problem, load};
pub use rule::{Group, Rule};
pub use schedule::{CATCH_UP_MS, Ruler};
pub use statistics::Statistics;
