//! Regular expressions of stages.

use regex::bytes::{Regex, RegexBuilder};

/// Compiles an expression; `anchored` at both ends, `dot_matches_newline` as in stream selectors.
pub(super) fn compile_regex(text: &str, anchored: bool, dot_matches_newline: bool) -> Result<Regex, String> {
    let anchored_text;
    let text = if anchored {
        anchored_text = format!("^(?:{text})$");
        &anchored_text
    } else {
        text
    };
    RegexBuilder::new(text)
        .dot_matches_new_line(dot_matches_newline)
        .build()
        .map_err(|error| format!("error parsing regexp: {error}"))
}
