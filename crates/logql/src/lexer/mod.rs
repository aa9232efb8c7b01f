//! From text to tokens (logql.md 2).

mod literal;
mod token;

pub(crate) use literal::string as string_literal;
pub(crate) use token::{Flag, Function, Keyword, Symbol, Token, TokenKind};

use crate::duration::parse_prometheus_duration;

/// The tokens of `text`. The last one is `End` or `Bad`.
pub(crate) fn tokenize(text: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        text,
        at: 0,
        line: 1,
        column: 1,
        tokens: Vec::new(),
    };
    while lexer.step() {}
    reserve_functions(&mut lexer.tokens);
    lexer.tokens
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    column: u32,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    /// Reads one token; false after the last.
    fn step(&mut self) -> bool {
        if let Err(message) = self.skip_blanks() {
            self.push(
                TokenKind::Bad {
                    message,
                    in_range: false,
                },
                0,
            );
            return false;
        }
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            self.push(TokenKind::End, 0);
            return false;
        };
        let (kind, length) = match first {
            '"' | '`' => match literal::string(rest) {
                Ok((text, length)) => (TokenKind::String(text), length),
                Err(message) => (
                    TokenKind::Bad {
                        message: message.to_owned(),
                        in_range: false,
                    },
                    0,
                ),
            },
            '\'' => {
                let end = rest[1..].find(['\'', '\n']).map_or(rest.len(), |at| at + 2);
                (TokenKind::Unknown("IDENTIFIER".to_owned()), end)
            }
            '[' => range(rest),
            '0'..='9' => literal::number(rest),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => literal::number(rest),
            '-' if self.flag_may_follow() && rest.starts_with("--") => flag(rest),
            c if is_identifier_start(c) => word(rest),
            c => match Symbol::ALL.iter().find(|symbol| rest.starts_with(symbol.text())) {
                Some(symbol) => (TokenKind::Symbol(*symbol), symbol.text().len()),
                None => (TokenKind::Unknown(c.to_string()), c.len_utf8()),
            },
        };
        let go_on = !matches!(kind, TokenKind::Bad { .. });
        self.push(kind, length);
        go_on
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let (start, end) = (self.at, self.at + length);
        self.tokens.push(Token {
            kind,
            line: self.line,
            column: self.column,
            start,
            end,
        });
        self.advance(length);
    }

    fn advance(&mut self, length: usize) {
        for c in self.text[self.at..self.at + length].chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.at += length;
    }

    /// Skips white space and comments.
    fn skip_blanks(&mut self) -> Result<(), String> {
        loop {
            let rest = &self.text[self.at..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            let length = if blanks > 0 {
                blanks
            } else if rest.starts_with('#') || rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                comment.find("*/").ok_or("comment not terminated")? + 4
            } else {
                return Ok(());
            };
            self.advance(length);
        }
    }

    /// Flags exist only directly after `logfmt`; elsewhere `--` is two minus signs.
    fn flag_may_follow(&self) -> bool {
        let previous = self.tokens.last().map(|token| &token.kind);
        matches!(previous, Some(TokenKind::Keyword(Keyword::Logfmt) | TokenKind::Flag(_)))
    }
}

fn is_identifier_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn word(text: &str) -> (TokenKind, usize) {
    let in_word = |c: char| c == '_' || c.is_alphanumeric();
    let length = text.find(|c| !in_word(c)).unwrap_or(text.len());
    let word = &text[..length];
    let kind = match Keyword::ALL
        .iter()
        .find(|keyword| keyword.text().eq_ignore_ascii_case(word))
    {
        Some(keyword) => TokenKind::Keyword(*keyword),
        None => TokenKind::Identifier(word.to_owned()),
    };
    (kind, length)
}

fn flag(text: &str) -> (TokenKind, usize) {
    let name = &text[2..];
    let length = name
        .find(|c: char| !(c == '-' || c.is_ascii_alphabetic()))
        .unwrap_or(name.len());
    let kind = match &name[..length] {
        "strict" => TokenKind::Flag(Flag::Strict),
        "keep-empty" => TokenKind::Flag(Flag::KeepEmpty),
        unknown => TokenKind::Unknown(format!("--{unknown}")),
    };
    (kind, length + 2)
}

fn range(text: &str) -> (TokenKind, usize) {
    let Some(end) = text.find(']') else {
        let message = "missing closing ']' in duration".to_owned();
        return (
            TokenKind::Bad {
                message,
                in_range: true,
            },
            0,
        );
    };
    match parse_prometheus_duration(&text[1..end]) {
        Ok(ns) => (TokenKind::Range(ns), end + 1),
        Err(message) => (
            TokenKind::Bad {
                message,
                in_range: true,
            },
            0,
        ),
    }
}

/// Function names are ordinary identifiers unless `(` follows, or `by (` or `without (` (logql.md 2.3).
fn reserve_functions(tokens: &mut [Token]) {
    let is_open = |token: Option<&Token>| token.is_some_and(|t| t.kind == TokenKind::Symbol(Symbol::OpenParen));
    for at in 0..tokens.len() {
        let TokenKind::Identifier(name) = &tokens[at].kind else {
            continue;
        };
        let Some(function) = Function::from_name(name) else {
            continue;
        };
        let next = tokens.get(at + 1);
        let next_groups =
            next.is_some_and(|token| matches!(token.kind, TokenKind::Keyword(Keyword::By | Keyword::Without)));
        if is_open(next) || (next_groups && is_open(tokens.get(at + 2))) {
            tokens[at].kind = TokenKind::Function(function);
        }
    }
}
