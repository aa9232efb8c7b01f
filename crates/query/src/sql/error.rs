//! What DataFusion says of a query, as an error of ours: whose fault it is, and where in the text.

use crate::QueryError;
use datafusion::common::{DataFusionError, Diagnostic};

/// An error of parsing, planning or running a query.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn query_error(error: DataFusionError) -> QueryError {
    let place = error.diagnostic().and_then(place).unwrap_or_default();
    match error.find_root() {
        DataFusionError::External(inner) => match inner.downcast_ref::<QueryError>() {
            Some(ours) => ours.clone(),
            None => QueryError::Internal(inner.to_string()),
        },
        DataFusionError::SQL(parser, _) => QueryError::Parse(parse_error(&parser.to_string())),
        DataFusionError::ResourcesExhausted(text) => QueryError::Limit(text.clone()),
        DataFusionError::Collection(errors) => {
            let texts = errors.iter().map(plain).collect::<Vec<_>>();
            QueryError::BadRequest(format!("SQL error{place}: {}", texts.join("; ")))
        }
        // What the person who asked can mend: names, types, functions, values that don't fit.
        asked @ (DataFusionError::Plan(_)
        | DataFusionError::SchemaError(..)
        | DataFusionError::NotImplemented(_)
        | DataFusionError::Configuration(_)
        | DataFusionError::Execution(_)
        | DataFusionError::ArrowError(..)) => QueryError::BadRequest(format!("SQL error{place}: {}", plain(asked))),
        other => QueryError::Internal(plain(other)),
    }
}

/// The text of the SQL parser, which tells the place itself: `sql parser error: Expected: .., found: x at Line: 1, Column: 8`.
pub(super) fn parse_error(text: &str) -> String {
    let text = text.strip_prefix("sql parser error: ").unwrap_or(text);
    match text.rsplit_once(" at Line: ") {
        Some((what, place)) => {
            let place = place.replace(", Column: ", ", column ");
            format!("SQL error at line {place}: {}", lower_first(what))
        }
        None => format!("SQL error: {}", lower_first(text)),
    }
}

fn place(diagnostic: &Diagnostic) -> Option<String> {
    let start = diagnostic.span?.start;
    (start.line > 0).then(|| format!(" at line {}, column {}", start.line, start.column))
}

/// The message without the kind of error before it.
fn plain(error: &DataFusionError) -> String {
    lower_first(error.find_root().message().trim())
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), text.chars().nth(1)) {
        // Not of an abbreviation.
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_mistake_is_told() {
        let check = |text, want: &str| assert_eq!(parse_error(text), want);
        check(
            "sql parser error: Expected: an SQL statement, found: SELEC at Line: 1, Column: 1",
            "SQL error at line 1, column 1: expected: an SQL statement, found: SELEC",
        );
        check(
            "sql parser error: recursion limit exceeded",
            "SQL error: recursion limit exceeded",
        );
        check("SQL is odd", "SQL error: SQL is odd");
    }
}
