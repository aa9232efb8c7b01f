//! Parameters of the URL and of a form body, read alike (http-api.md 1.1).

use crate::error::HttpError;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};

/// Longest form body, in bytes: many times the longest query that makes sense.
const MAX_FORM_BYTES: usize = 4 << 20;

/// The parameters of a request in order; those of the body come before those of the URL.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// The first value of this name; `None` if there is none or it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        value.filter(|v| !v.is_empty())
    }

    /// All values of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Adds the parameters of a text of the form `a=1&b=2`.
    fn read(&mut self, text: &str) -> Result<(), String> {
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            self.0.push((decode(name)?, decode(value)?));
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        let mut params = Self::default();
        params.read(text).unwrap();
        params
    }
}

impl<S: Send + Sync> FromRequest<S> for Params {
    type Rejection = HttpError;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let mut params = Self::default();
        let query = request.uri().query().unwrap_or_default().to_owned();
        if is_form(&request) {
            let body = axum::body::to_bytes(request.into_body(), MAX_FORM_BYTES)
                .await
                .map_err(|_| {
                    let text = format!("form body too large or broken off, limit: {MAX_FORM_BYTES} bytes");
                    HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, text)
                })?;
            params
                .read(&String::from_utf8_lossy(&body))
                .map_err(HttpError::bad_request)?;
        }
        params.read(&query).map_err(HttpError::bad_request)?;
        Ok(params)
    }
}

fn is_form(request: &Request) -> bool {
    let media_type = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Undoes `%XX` and `+`.
fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16));
                let (high, low) = (digit(), digit());
                let value = high.zip(low).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                bytes.push(value.ok_or_else(|| format!("invalid URL escape in {text:?}"))?);
            }
            other => bytes.push(other),
        }
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_unescaped() {
        let params = Params::of("query=%7Ba%3D%22b+c%22%7D&match[]=x&match%5B%5D=y&empty=&flag&&u=%C3%A9%ff");
        assert_eq!(params.get("query"), Some("{a=\"b c\"}"));
        assert_eq!(params.all("match[]").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(
            (params.get("empty"), params.get("flag"), params.get("none")),
            (None, None, None)
        );
        assert_eq!(params.get("u"), Some("é\u{fffd}"));
        for bad in ["a=%", "a=%4", "a=%zz", "%+1=2"] {
            assert!(Params::default().read(bad).is_err(), "{bad}");
        }
    }
}
