//! Regular expressions.

/// Compiles a regular expression for use on bytes.
pub fn compile_regex(text: &str, anchored: bool, dot_matches_newline: bool) -> Result<regex::bytes::Regex, String> {
    let pattern = if anchored {
        format!("^(?:{text})$")
    } else {
        text.to_owned()
    };
    regex::bytes::RegexBuilder::new(&pattern)
        .dot_matches_new_line(dot_matches_newline)
        .build()
        .map_err(|error| format!("error parsing regexp: {error}"))
}
