//! Asks a server over HTTP.

use super::answer::Answer;
use super::{Question, Span};
use crate::Failure;
use crate::client::Client;
use anyhow::{Context, anyhow};

/// Sends the question and reads the answer.
pub(super) fn ask(client: &Client, question: &Question) -> Result<Answer, Failure> {
    let body = send(client, question, &[])?;
    Ok(Answer::from_body(&body).context("the server's answer")?)
}

/// Has the server run the question and tell how.
pub(super) fn explain(client: &Client, question: &Question) -> Result<String, Failure> {
    let body = send(client, question, &[("explain", "1")])?;
    if body.starts_with(b"{") {
        return Err(Failure::failed(anyhow!(
            "the server does not explain queries: it is no Timberline, or an older one"
        )));
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Sends the question with more parameters and reads the body of a good answer.
fn send(client: &Client, question: &Question, more: &[(&'static str, &str)]) -> Result<Vec<u8>, Failure> {
    let direction = if question.forward { "forward" } else { "backward" };
    let mut parameters = vec![
        ("query", question.query.clone()),
        ("limit", question.limit.to_string()),
        ("direction", direction.to_owned()),
    ];
    parameters.extend(more.iter().map(|&(name, value)| (name, value.to_owned())));
    let path = match question.span {
        Span::Range {
            start_ns,
            end_ns,
            step_ns,
        } => {
            parameters.push(("start", nanoseconds(start_ns)));
            parameters.push(("end", nanoseconds(end_ns)));
            if let Some(step_ns) = step_ns {
                parameters.push(("step", format!("{}", step_ns as f64 / 1e9)));
            }
            "/loki/api/v1/query_range"
        }
        Span::Instant { time_ns } => {
            parameters.push(("time", nanoseconds(time_ns)));
            "/loki/api/v1/query"
        }
    };
    let reply = client.ask(path, &parameters)?;
    match reply.status {
        200 => Ok(reply.body),
        400..500 => Err(Failure::usage(anyhow!("{}", reply.text()))),
        status => Err(Failure::failed(anyhow!(
            "the server answers {status}: {}",
            reply.text()
        ))),
    }
}

/// The API takes up to ten digits for seconds: short numbers of nanoseconds, and negative ones, go as dates.
fn nanoseconds(ns: i64) -> String {
    if ns >= 10_000_000_000 {
        ns.to_string()
    } else {
        crate::time::display(ns, &jiff::tz::TimeZone::UTC)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_for_the_api() {
        assert_eq!(super::nanoseconds(1_780_315_200_000_000_001), "1780315200000000001");
        assert_eq!(super::nanoseconds(5_000_000_000), "1970-01-01T00:00:05Z");
        assert_eq!(super::nanoseconds(-1), "1969-12-31T23:59:59.999999999Z");
    }
}
