//! What endpoints take out of a request: parameters, times, durations, and the tenant.

mod duration;
mod explain;
mod params;
mod range;
mod tenant;
mod time;

pub(crate) use explain::wants_explanation;
pub(crate) use params::Params;
pub(crate) use range::{direction, limit, positive, range_request, span};
pub(crate) use tenant::Tenant;
pub(crate) use time::{now_ns, parse_time};
