//! Regular expressions: the language is RE2 (logql.md 4), the machine is the `regex` crate.
//!
//! Both have linear time, leftmost-first matches and Unicode case folding. Where their syntax differs the text is
//! rewritten first (`translate`), so that `\d \w \s \b` are ASCII, `[[a&&b]` is a plain class, `{` may be a literal,
//! `\Q..\E` and octal escapes work, and what RE2 does not have is refused with RE2's message.
//!
//! Lines are bytes. Matching never fails on invalid UTF-8, but `.` and classes match whole characters only, so they do
//! not step over bytes that are no UTF-8. Two differences remain: `\B` also holds between the bytes of one character,
//! and a repetition directly after flags (`a(?i)*`) is refused.

mod class;
mod escape;
mod translate;

use regex::bytes::{Regex, RegexBuilder};

/// Bound on the compiled size of one expression. `.{1000}` needs less than a tenth of it; a query that needs more is
/// abuse.
const MAX_COMPILED_BYTES: usize = 10 << 20;

/// Why a regular expression is refused. `Display` is the text that clients see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegexError {
    /// It is not RE2 syntax.
    #[error("error parsing regexp: {problem}: `{fragment}`")]
    Syntax {
        /// RE2's name of the problem.
        problem: &'static str,
        /// The offending part of the expression.
        fragment: String,
    },
    /// Two named groups have this name.
    #[error("error parsing regexp: duplicate capture group name: `{0}`")]
    DuplicateName(String),
    /// It is RE2 syntax, but the machine cannot run it, usually because it is too large.
    #[error("error parsing regexp: {0}")]
    Machine(String),
}

/// Compiles a regular expression of the language for use on bytes.
///
/// `anchored` makes it match whole values only, as in selectors and label filters. `dot_matches_newline` is for
/// selectors (logql.md 4); `(?s)` and `(?-s)` inside the expression override it.
///
/// ```
/// let regex = timberline_logql::regexp::compile_regex(r"err\d{", true, false).unwrap();
/// assert!(regex.is_match(b"err5{") && !regex.is_match(b"an err5{"));
/// ```
pub fn compile_regex(text: &str, anchored: bool, dot_matches_newline: bool) -> Result<Regex, RegexError> {
    let mut pattern = translate::translate(text)?;
    if anchored {
        pattern = format!(r"\A(?:{pattern})\z");
    }
    let mut builder = RegexBuilder::new(&pattern);
    builder
        .dot_matches_new_line(dot_matches_newline)
        .size_limit(MAX_COMPILED_BYTES);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(limit) => RegexError::Machine(format!(
            "expression is too large: it compiles to more than {limit} bytes"
        )),
        other => {
            // The last line of a syntax error says what is wrong, those before draw where in the rewritten text.
            let text = other.to_string();
            let last = text.lines().next_back().unwrap_or(&text);
            RegexError::Machine(last.trim_start_matches("error: ").to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches() {
        let case = |regex: &str, text: &str, want: bool| {
            let compiled = compile_regex(regex, true, false).unwrap_or_else(|error| panic!("{regex}: {error}"));
            assert_eq!(compiled.is_match(text.as_bytes()), want, "{regex:?} on {text:?}");
        };
        // ASCII classes, Unicode everything else.
        case(r"\d", "5", true);
        case(r"\d", "٥", false);
        case(r"\D", "٥", true);
        case(r"\w+", "a_9", true);
        case(r"\w", "é", false);
        case(r"\W", "é", true);
        case(r"\s", "\u{a0}", false);
        case(r"\s", "\u{b}", false);
        case(r"[\d\s]+", "1 2", true);
        case(r"[^\W]", "é", false);
        case(r"[\D]", "x", true);
        case(r"é\b.*", "éx", true);
        case(r".", "é", true);
        case(r"[é-ü]", "ê", true);
        case(r"\pL\p{Greek}\P{Greek}\p{^Greek}", "aωbc", true);
        case("(?i)straße", "STRAẞE", true);
        case("(?i)ω", "Ω", true);
        case("(?i:A)b", "ab", true);
        case("(?i:A)b", "aB", false);
        case("(?i-s)a.", "A\n", false);
        case("(?s)a.c", "a\nc", true);
        case("a.c", "a\nc", false);
        case("(?m:^b$)", "b", true);
        case("(?U)a+", "aaa", true);
        case("(?)a", "a", true);
        // Literals that the machine would take for syntax.
        case(r"\Q.*[\E.", ".*[x", true);
        case(r"\Qab\E+", "abb", true);
        case(r"\Qa", "a", true);
        case(r"\012\07\x41\x{1F600}", "\n\u{7}A\u{1F600}", true);
        case(r"\a\f\t\n\r\v", "\u{7}\u{c}\t\n\r\u{b}", true);
        case(r"\<\>\_\-\ \#", "<>_- #", true);
        case("a{,2}", "a{,2}", true);
        case("a{x}{", "a{x}{", true);
        case("{", "{", true);
        case("a{2}", "aa", true);
        case("a{1,2}?b{2,}", "abb", true);
        case("a{02}", "a{02}", true);
        case("]}", "]}", true);
        case("a # b", "a # b", true);
        case("[a&&b]", "&", true);
        case("[+--]", ",", true);
        case("[--/]", ".", true);
        case("[a~~b]+", "a~b", true);
        case("[[a]]", "[]", true);
        case("[[a]]", "a]", true);
        case("[]a]+", "]a", true);
        case("[^]a]", "]", false);
        case("[a-]+", "a-", true);
        case("[-a]+", "a-", true);
        case(r"[\]\-\\^]+", r"]-\^", true);
        case("[[:word:]]+", "a_9", true);
        case("[[:^digit:]x]", "5", false);
        case("[[:alpha:][:digit:]]+", "a5", true);
        case("[[:alpha]+", "[:alph", true);
        // Groups.
        case("(?P<n>a)(?<m>b)", "ab", true);
        case("(|a)b||c", "ab", true);
        case("a|b", "ab", false);
        case("", "", true);
        case("()", "", true);
        case("^a$", "a", true);
        case(r"\Aa\z", "a", true);
        case("^*a", "a", true);
    }

    #[test]
    fn refusals() {
        let bad = |regex: &str, want: &str| {
            let error = compile_regex(regex, false, false).expect_err(regex);
            assert_eq!(error.to_string(), format!("error parsing regexp: {want}"));
        };
        bad("(", "missing closing ): `(`");
        bad("a(b|(c)", "missing closing ): `a(b|(c)`");
        bad("a)", "unexpected ): `a)`");
        bad("x[", "missing closing ]: `[`");
        bad("[]", "missing closing ]: `[]`");
        bad("[a", "missing closing ]: `[a`");
        bad("*", "missing argument to repetition operator: `*`");
        bad("a|+?b", "missing argument to repetition operator: `+?`");
        bad("({2})", "missing argument to repetition operator: `{2}`");
        bad("a**", "invalid nested repetition operator: `**`");
        bad("a+?*", "invalid nested repetition operator: `+?*`");
        bad("a{2}{3}", "invalid nested repetition operator: `{2}{3}`");
        bad("a{1001}", "invalid repeat count: `{1001}`");
        bad("a{3,2}", "invalid repeat count: `{3,2}`");
        bad("[z-a]", "invalid character class range: `z-a`");
        bad("[[:foo:]]", "invalid character class range: `[:foo:]`");
        bad(r"\p{Klingon}", r"invalid character class range: `\p{Klingon}`");
        bad(r"\pZx\p", r"invalid character class range: `\p`");
        bad(r"\q", r"invalid escape sequence: `\q`");
        bad(r"\1", r"invalid escape sequence: `\1`");
        bad(r"\C", r"invalid escape sequence: `\C`");
        bad(r"\Z", r"invalid escape sequence: `\Z`");
        bad(r"\é", r"invalid escape sequence: `\é`");
        bad(r"\xg", r"invalid escape sequence: `\xg`");
        bad(r"\x{110000}", r"invalid escape sequence: `\x{110000`");
        bad(r"[\b]", r"invalid escape sequence: `\b`");
        bad(r"[a-\d]", r"invalid escape sequence: `\d`");
        bad("\\", "trailing backslash at end of expression: ``");
        bad("(?=a)", "invalid or unsupported Perl syntax: `(?=`");
        bad("(?!a)", "invalid or unsupported Perl syntax: `(?!`");
        bad("(?<=a)", "invalid or unsupported Perl syntax: `(?<`");
        bad("(?x)a", "invalid or unsupported Perl syntax: `(?x`");
        bad("(?i", "invalid or unsupported Perl syntax: `(?i`");
        bad("(?P<a", "invalid named capture: `(?P<a`");
        bad("(?P<a b>c)", "invalid named capture: `(?P<a b>`");
        bad("(?P<a>.)(?P<a>.)", "duplicate capture group name: `a`");
        bad(
            r"(\pL{1000}){1000}",
            "expression is too large: it compiles to more than 10485760 bytes",
        );
    }

    #[test]
    fn options() {
        let is_match = |anchored, newline, text: &[u8]| compile_regex("a.c", anchored, newline).unwrap().is_match(text);
        assert!(is_match(false, false, b"xabcx"));
        assert!(!is_match(true, false, b"xabcx"));
        assert!(!is_match(false, false, b"a\nc"));
        assert!(is_match(false, true, b"a\nc"));
        assert!(is_match(false, false, b"\xff\xfe abc \xff"));
        let long = RegexBuilder::new(".{1000}").size_limit(MAX_COMPILED_BYTES / 10).build();
        assert!(long.is_ok(), "the bound is not generous: {long:?}");
    }
}
