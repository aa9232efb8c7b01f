//! `explain=1`: how a query was run, instead of its answer.

use super::Params;
use crate::error::HttpError;

/// True if the request asks for an explanation.
pub(crate) fn wants_explanation(params: &Params) -> Result<bool, HttpError> {
    match params.get("explain") {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(other) => Err(HttpError::bad_request(format!(
            "invalid explain '{other}': must be 1 or 0"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no() {
        let f = |text: &str| wants_explanation(&Params::of(text));
        assert_eq!(
            [f(""), f("explain="), f("explain=0"), f("explain=false")],
            [Ok(false), Ok(false), Ok(false), Ok(false)]
        );
        assert_eq!([f("explain=1"), f("explain=true")], [Ok(true), Ok(true)]);
        assert_eq!(
            f("explain=how"),
            Err(HttpError::bad_request("invalid explain 'how': must be 1 or 0"))
        );
    }
}
