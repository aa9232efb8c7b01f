//! What endpoints take out of a request: parameters, times, durations, and the tenant.

mod duration;
mod explain;
mod params;
mod range;
mod tags;
mod tenant;
mod time;

pub(crate) use explain::wants_explanation;
pub(crate) use params::Params;
pub(crate) use range::{direction, limit, positive, range_request, span, whole_days};
pub(crate) use tags::explores;
pub(crate) use tenant::Tenant;
pub(crate) use time::{now_ns, parse_time};
