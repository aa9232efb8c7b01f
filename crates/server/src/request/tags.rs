//! What a client says about itself (http-api.md 1.6).

use axum::http::HeaderMap;

/// The header with a list of `key=value`.
const HEADER: &str = "x-query-tags";
/// The application that would rather show some series than an error.
const EXPLORER: &str = "grafana-lokiexplore-app";

/// Does the request come from the application that explores logs?
pub(crate) fn explores(headers: &HeaderMap) -> bool {
    let values = headers.get_all(HEADER).iter().filter_map(|value| value.to_str().ok());
    let mut tags = values
        .flat_map(|value| value.split(','))
        .filter_map(|tag| tag.split_once('='));
    tags.any(|(key, value)| key.trim().eq_ignore_ascii_case("source") && value.trim().eq_ignore_ascii_case(EXPLORER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn one_source_among_tags() {
        let f = |tags: &'static str, want: bool| {
            let headers = HeaderMap::from_iter([(HEADER.parse().unwrap(), HeaderValue::from_static(tags))]);
            assert_eq!(explores(&headers), want, "{tags}");
        };
        f("source=grafana-lokiexplore-app", true);
        f("user=a, Source=grafana-lokiexplore-app", true);
        f("source=grafana", false);
        f("grafana-lokiexplore-app", false);
        f("", false);
        assert!(!explores(&HeaderMap::new()));
    }
}
