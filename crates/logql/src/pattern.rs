//! Patterns of `| pattern` and of `|>`: literals and captures (logql.md 5.2, 7.6).

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternPart {
    /// Text that must stand there. Never empty, never two in a row.
    Literal(String),
    /// `<name>`, or `<_>` for text without a name.
    Capture(String),
}

/// The name of captures whose text is not wanted.
pub const UNNAMED: &str = "_";

/// Reads the pattern of `| pattern`: at least one named capture, captures not adjacent, names not twice.
pub fn parse_pattern(text: &str) -> Result<Vec<PatternPart>, String> {
    if text.is_empty() {
        let message = "parse error at line 1, col 1: syntax error: unexpected $end, expecting IDENTIFIER or LITERAL";
        return Err(message.to_owned());
    }
    let parts = split(text);
    let names = || {
        parts.iter().filter_map(|part| match part {
            PatternPart::Capture(name) if name != UNNAMED => Some(name),
            _ => None,
        })
    };
    if names().next().is_none() {
        return Err("at least one capture is required".to_owned());
    }
    refuse_adjacent(&parts)?;
    for (at, name) in names().enumerate() {
        if names().take(at).any(|earlier| earlier == name) {
            return Err(format!("duplicate capture name ({name}): invalid expression"));
        }
    }
    Ok(parts)
}

/// Reads the pattern of `|>` and `!>`: wildcards `<_>` only, not adjacent. May be empty.
pub fn parse_line_pattern(text: &str) -> Result<Vec<PatternPart>, String> {
    let parts = split(text);
    for part in &parts {
        if let PatternPart::Capture(name) = part
            && name != UNNAMED
        {
            return Err(format!("named captures are not allowed: found '<{name}>'"));
        }
    }
    refuse_adjacent(&parts)?;
    Ok(parts)
}

fn refuse_adjacent(parts: &[PatternPart]) -> Result<(), String> {
    for pair in parts.windows(2) {
        if let [PatternPart::Capture(first), PatternPart::Capture(second)] = pair {
            return Err(format!(
                "found consecutive capture '<{first}><{second}>': invalid expression"
            ));
        }
    }
    Ok(())
}

fn split(text: &str) -> Vec<PatternPart> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        literal.push_str(&rest[..open]);
        rest = &rest[open..];
        match capture_name(rest) {
            Some(name) => {
                if !literal.is_empty() {
                    parts.push(PatternPart::Literal(std::mem::take(&mut literal)));
                }
                parts.push(PatternPart::Capture(name.to_owned()));
                rest = &rest[name.len() + 2..];
            }
            None => {
                literal.push('<');
                rest = &rest[1..];
            }
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(PatternPart::Literal(literal));
    }
    parts
}

/// The name of the capture that `text` begins with.
fn capture_name(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let name = &inner[..inner.find('>')?];
    let starts_well = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    let is_name = starts_well && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts as text, captures in angle brackets.
    fn show(parts: &[PatternPart]) -> String {
        let part = |part: &PatternPart| match part {
            PatternPart::Literal(text) => format!("{text:?} "),
            PatternPart::Capture(name) => format!("<{name}> "),
        };
        parts.iter().map(part).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn captures() {
        let good = |text, want: &str| assert_eq!(show(&parse_pattern(text).unwrap()), want);
        good("<ip> - <_> \"<m>\"", r#"<ip> " - " <_> " \"" <m> "\"""#);
        good("<<from>> <1> < <a b> <", r#""<" <from> "> <1> < <a b> <""#);
        good("é<a>", r#""é" <a>"#);
        let bad = |text, want| assert_eq!(parse_pattern(text).unwrap_err(), want);
        bad("no captures", "at least one capture is required");
        bad("<_>", "at least one capture is required");
        bad("<_\"", "at least one capture is required");
        bad("<a><b>", "found consecutive capture '<a><b>': invalid expression");
        bad("<ip> <ip>", "duplicate capture name (ip): invalid expression");
    }

    #[test]
    fn wildcards() {
        let good = |text, want: &str| assert_eq!(show(&parse_line_pattern(text).unwrap()), want);
        good("", "");
        good("plain", "\"plain\"");
        good("<_>foo<_>", "<_> \"foo\" <_>");
        let bad = |text, want| assert_eq!(parse_line_pattern(text).unwrap_err(), want);
        bad("Failed <user>", "named captures are not allowed: found '<user>'");
        bad("<_><_>", "found consecutive capture '<_><_>': invalid expression");
    }
}
