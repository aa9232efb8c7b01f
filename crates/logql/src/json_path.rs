//! Paths into JSON values, the expressions of `| json label="path"` (logql.md 7.2).

/// One step from a value to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// Member of an object.
    Key(String),
    /// Element of an array, from 0.
    Index(usize),
}

/// Reads a path such as `servers[0].headers["User-Agent"]`. The error text is that of the stage error, without the
/// stage.
pub fn parse_json_path(text: &str) -> Result<Vec<PathStep>, String> {
    let fail = |found: &str, expecting: &str| {
        Err(format!(
            "cannot parse expression [{text}]: syntax error: unexpected {found}, expecting {expecting}"
        ))
    };
    let tokens = tokenize(text).map_err(|message| format!("cannot parse expression [{text}]: {message}"))?;
    let mut tokens = tokens.into_iter();
    let mut steps = Vec::new();
    loop {
        let first = steps.is_empty();
        match tokens.next() {
            None if !first => return Ok(steps),
            Some(Token::Field(name)) if first => steps.push(PathStep::Key(name)),
            Some(Token::Dot) if !first => match tokens.next() {
                Some(Token::Field(name)) => steps.push(PathStep::Key(name)),
                other => return fail(name_of(other.as_ref()), "FIELD"),
            },
            Some(Token::Open) => {
                match tokens.next() {
                    Some(Token::Text(key)) => steps.push(PathStep::Key(key)),
                    Some(Token::Index(index)) => steps.push(PathStep::Index(index)),
                    other => return fail(name_of(other.as_ref()), "STRING or INDEX"),
                }
                match tokens.next() {
                    Some(Token::Close) => {}
                    other => return fail(name_of(other.as_ref()), "RSB"),
                }
            }
            other if first => return fail(name_of(other.as_ref()), "LSB or FIELD"),
            other => return fail(name_of(other.as_ref()), "DOT or LSB"),
        }
    }
}

enum Token {
    Field(String),
    Text(String),
    Index(usize),
    Dot,
    Open,
    Close,
}

/// The token's name in error messages; none is the end.
fn name_of(token: Option<&Token>) -> &'static str {
    match token {
        Some(Token::Field(_)) => "FIELD",
        Some(Token::Text(_)) => "STRING",
        Some(Token::Index(_)) => "INDEX",
        Some(Token::Dot) => "DOT",
        Some(Token::Open) => "LSB",
        Some(Token::Close) => "RSB",
        None => "$end",
    }
}

fn tokenize(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '.' => (Token::Dot, 1),
            '[' => (Token::Open, 1),
            ']' => (Token::Close, 1),
            '"' => {
                let (key, length) = crate::lexer::string_literal(rest)?;
                (Token::Text(key), length)
            }
            '0'..='9' => {
                let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let index = rest[..length]
                    .parse()
                    .map_err(|_| format!("index {} is too large", &rest[..length]))?;
                (Token::Index(index), length)
            }
            c if c == '_' || c.is_ascii_alphabetic() => {
                let length = rest
                    .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
                    .unwrap_or(rest.len());
                (Token::Field(rest[..length].to_owned()), length)
            }
            c => return Err(format!("unexpected character {c:?}")),
        };
        tokens.push(token);
        rest = &rest[length..];
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let key = |name: &str| PathStep::Key(name.to_owned());
        let good = |text, want: &[PathStep]| assert_eq!(parse_json_path(text).unwrap(), want, "{text}");
        good("a", &[key("a")]);
        good(
            "a.b[0][\"c d\\\"\"].e",
            &[key("a"), key("b"), PathStep::Index(0), key("c d\""), key("e")],
        );
        good("[\"weird key-1.x\"]", &[key("weird key-1.x")]);
        good("[1]", &[PathStep::Index(1)]);
        let bad = |text, want| {
            let want = format!("cannot parse expression [{text}]: {want}");
            assert_eq!(parse_json_path(text).unwrap_err(), want);
        };
        bad("user..id", "syntax error: unexpected DOT, expecting FIELD");
        bad("[[", "syntax error: unexpected LSB, expecting STRING or INDEX");
        bad("", "syntax error: unexpected $end, expecting LSB or FIELD");
        bad("a[0", "syntax error: unexpected $end, expecting RSB");
        bad("a b", "unexpected character ' '");
        bad("[\"a]", "literal not terminated");
        bad("a[99999999999999999999]", "index 99999999999999999999 is too large");
    }
}
