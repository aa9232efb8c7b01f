//! `key=value` pairs (logql.md 7.3).

/// A pair that was read, or one that is none.
pub(crate) type Pair = Result<(String, String), ()>;

/// All pairs of a line in order.
pub(crate) fn pairs(line: &str) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut rest = skip_blanks(line);
    while !rest.is_empty() {
        let (pair, after) = pair(rest);
        pairs.push(pair);
        rest = skip_blanks(after);
    }
    pairs
}

fn blank(c: char) -> bool {
    c <= ' '
}

fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches(blank)
}

/// Splits behind the word at the start.
fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(blank).unwrap_or(text.len()))
}

fn pair(text: &str) -> (Pair, &str) {
    let end = text.find(|c| blank(c) || c == '=' || c == '"').unwrap_or(text.len());
    let (key, after) = text.split_at(end);
    let broken = (Err(()), word(text).1);
    if key.is_empty() || after.starts_with('"') {
        return broken;
    }
    let Some(value) = after.strip_prefix('=') else {
        return (Ok((key.to_owned(), String::new())), after);
    };
    if let Some(quoted) = value.strip_prefix('"') {
        return match closing_quote(quoted) {
            None => (Err(()), ""),
            Some(end) => {
                let after = &quoted[end + 1..];
                match unquote(&quoted[..end]) {
                    Some(value) => (Ok((key.to_owned(), value)), after),
                    None => (Err(()), after),
                }
            }
        };
    }
    let (value, after) = word(value);
    if value.contains(['=', '"']) {
        return broken;
    }
    (Ok((key.to_owned(), value.to_owned())), after)
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}

fn unquote(text: &str) -> Option<String> {
    crate::json::unescape(text)
}
