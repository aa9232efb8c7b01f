//! The tenant of a request (http-api.md chapter 2).

use crate::error::HttpError;
use crate::state::AppState;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use timberline_store::TenantId;

/// The header that names the tenant.
pub(crate) const HEADER: &str = "x-scope-orgid";

/// The one tenant of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tenant(pub(crate) TenantId);

impl FromRequestParts<AppState> for Tenant {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Self::Rejection> {
        from_headers(&parts.headers, state.options().auth_required).map(Self)
    }
}

/// The tenant that the headers name; without a header the single tenant, unless a header is required.
fn from_headers(headers: &HeaderMap, required: bool) -> Result<TenantId, HttpError> {
    let name = headers
        .get(HEADER)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .unwrap_or_default();
    if name.is_empty() {
        return if required {
            Err(HttpError::new(StatusCode::UNAUTHORIZED, "no org id"))
        } else {
            Ok(TenantId::single())
        };
    }
    if name.contains('|') {
        return Err(HttpError::bad_request("multiple org IDs present"));
    }
    TenantId::new(&name).map_err(|error| HttpError::bad_request(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn header_default_and_refusals() {
        let f = |header: Option<&str>, required: bool, want: Result<&str, (u16, &str)>| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(HEADER, HeaderValue::from_str(header).unwrap());
            }
            let want = want.map(|name| TenantId::new(name).unwrap());
            let want = want.map_err(|(status, text)| HttpError::new(StatusCode::from_u16(status).unwrap(), text));
            assert_eq!(from_headers(&headers, required), want, "{header:?} {required}");
        };
        f(None, false, Ok("fake"));
        f(Some(""), false, Ok("fake"));
        f(Some("team-a"), false, Ok("team-a"));
        f(Some("team-a"), true, Ok("team-a"));
        f(None, true, Err((401, "no org id")));
        f(Some(""), true, Err((401, "no org id")));
        f(Some("a|b"), false, Err((400, "multiple org IDs present")));
        f(
            Some("a/b"),
            false,
            Err((400, "tenant ID 'a/b' contains unsupported character '/'")),
        );
        f(Some(".."), true, Err((400, "tenant ID is '.' or '..'")));
    }
}
