//! `POST /loki/api/v1/push` (http-api.md 3).

use crate::AppState;
use crate::error::HttpError;
use crate::limits::PushShare;
use crate::push::{BodyFormat, DecodeError};
use crate::request::Tenant;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use std::time::Instant;
use timberline_ingest::{PushBatch, PushError, PushOutcome};

/// A body of at least this many bytes is decoded on a thread for work, so that the threads for waiting stay free.
const DECODE_APART_BYTES: usize = 64 << 10;

/// Stores entries. The answer goes out when they are on disk.
pub(super) async fn handle(
    State(state): State<AppState>,
    Tenant(tenant): Tenant,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, HttpError> {
    let (batch, _share) = match receive(&state, &headers, body).await {
        Ok(received) => received,
        Err(refusal) => return Err(refusal.counted(&state)),
    };
    state.metrics().pushed(batch.len(), batch.bytes());
    answer(state.engine().push(&tenant, batch).await)
}

/// Reads and decodes a body; also hands out its share of the budget for bytes in flight.
async fn receive<'a>(
    state: &'a AppState,
    headers: &HeaderMap,
    body: Body,
) -> Result<(PushBatch, PushShare<'a>), Refusal> {
    let encoding = text(headers, &header::CONTENT_ENCODING);
    let format = BodyFormat::from_headers(text(headers, &header::CONTENT_TYPE), encoding)?;
    let length = text(headers, &header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let limit = state.options().max_push_bytes;
    if headers.contains_key(header::EXPECT)
        && let Some(bytes) = length.filter(|bytes| *bytes > limit)
    {
        // The sender asked first; it has sent nothing yet.
        return Err(DecodeError::TooLarge { bytes, limit }.into());
    }
    let mut share = state.budget().share();
    let body = read_body(state, body, length, &mut share).await?;
    let limit = state.options().max_push_unpacked_bytes;
    let claimed = format.claimed_bytes(&body).min(limit);
    share.grow_to(body.len().saturating_add(claimed)).await;
    let batch = match decode(body.clone(), format, claimed).await {
        // It has more than it says, and waits for the room that this may take.
        Err(DecodeError::TooLarge { .. }) if claimed < limit => {
            share.grow_to(body.len().saturating_add(limit)).await;
            decode(body, format, limit).await?
        }
        decoded => decoded?,
    };
    Ok((batch, share))
}

/// Why a body never became a batch.
enum Refusal {
    Undecodable(DecodeError),
    BrokenOff(String),
    TooSlow,
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        Self::Undecodable(error)
    }
}

impl Refusal {
    /// The answer; the refusal is counted on the way.
    fn counted(self, state: &AppState) -> HttpError {
        let reason = match &self {
            Self::Undecodable(error) => error.reason(),
            Self::BrokenOff(_) => "broken_off",
            Self::TooSlow => "read_timeout",
        };
        state.metrics().refused(reason);
        match self {
            Self::Undecodable(error) => error.into(),
            Self::BrokenOff(why) => HttpError::bad_request(format!("the request body broke off: {why}")).with_newline(),
            Self::TooSlow => {
                let seconds = state.options().push_read_timeout.as_secs_f64();
                let text = format!("the request body did not arrive within push_read_timeout={seconds}s");
                HttpError::new(StatusCode::REQUEST_TIMEOUT, text).with_newline()
            }
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// Reads a body of at most `max_push_bytes`. Of a longer one, as much again is read and dropped: a sender that is still sending
/// when the connection closes may never see the answer. The time of waiting for the share is not the sender's.
async fn read_body(
    state: &AppState,
    body: Body,
    length: Option<usize>,
    share: &mut PushShare<'_>,
) -> Result<Bytes, Refusal> {
    let limit = state.options().max_push_bytes;
    let mut time_left = state.options().push_read_timeout;
    let told = length.unwrap_or(0);
    let mut all = BytesMut::new();
    let mut bytes = 0;
    let mut chunks = body.into_data_stream();
    loop {
        let began = Instant::now();
        let Ok(chunk) = tokio::time::timeout(time_left, chunks.next()).await else {
            return Err(Refusal::TooSlow);
        };
        time_left = time_left.saturating_sub(began.elapsed());
        let Some(chunk) = chunk else { break };
        let chunk = chunk.map_err(|error| Refusal::BrokenOff(error.to_string()))?;
        bytes += chunk.len();
        if bytes > limit.saturating_mul(2) {
            break;
        }
        if bytes.max(told) <= limit {
            if bytes > all.capacity() {
                let room = (all.capacity() * 2).clamp(bytes, told.max(bytes));
                share.grow_to(room).await;
                all.reserve(room - all.len());
            }
            all.extend_from_slice(&chunk);
        }
    }
    let bytes = bytes.max(told);
    if bytes > limit {
        return Err(DecodeError::TooLarge { bytes, limit }.into());
    }
    Ok(all.freeze())
}

async fn decode(body: Bytes, format: BodyFormat, limit: usize) -> Result<PushBatch, DecodeError> {
    if body.len() < DECODE_APART_BYTES {
        return format.decode(&body, limit);
    }
    match tokio::task::spawn_blocking(move || format.decode(&body, limit)).await {
        Ok(decoded) => decoded,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// 204 if everything was stored, else the status and text of the last refusal: the good entries are stored all the same.
fn answer(outcome: Result<PushOutcome, PushError>) -> Result<StatusCode, HttpError> {
    let outcome = outcome.map_err(|error| {
        let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        HttpError::new(status, error.to_string()).with_newline()
    })?;
    match outcome.rejected.last() {
        None => Ok(StatusCode::NO_CONTENT),
        Some(rejection) => {
            let status = StatusCode::from_u16(rejection.status).unwrap_or(StatusCode::BAD_REQUEST);
            Err(HttpError::new(status, rejection.message.as_str()).with_newline())
        }
    }
}
