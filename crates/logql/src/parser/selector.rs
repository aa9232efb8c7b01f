//! `{a="b", c=~"d"}`

use super::{Parser, Result};
use crate::ast::{MatchOp, Matcher};
use crate::lexer::{Symbol, TokenKind};

const AFTER_NAME: &[&str] = &["=", "=~", "!~", "!="];

impl Parser {
    pub(super) fn selector(&mut self) -> Result<Vec<Matcher>> {
        let mut matchers = Vec::new();
        self.places.selectors.push(self.token().start);
        self.expect_symbol(Symbol::OpenBrace, &[])?;
        if self.take_symbol(Symbol::CloseBrace) {
            return Ok(matchers);
        }
        let mut expecting: &[&str] = &["IDENTIFIER", "}"];
        loop {
            let place = self.token().start;
            let name = self.expect_identifier(expecting)?;
            self.places.matchers.push(place);
            let Some(op) = self.match_op() else {
                return Err(self.unexpected(AFTER_NAME));
            };
            self.bump();
            matchers.push(Matcher {
                name,
                op,
                value: self.expect_string(&["STRING"])?,
            });
            if self.take_symbol(Symbol::CloseBrace) {
                return Ok(matchers);
            }
            self.expect_symbol(Symbol::Comma, &["}", ","])?;
            expecting = &["IDENTIFIER"];
        }
    }

    /// The operator that the current token is.
    pub(super) fn match_op(&self) -> Option<MatchOp> {
        match self.peek() {
            TokenKind::Symbol(Symbol::Equal) => Some(MatchOp::Equal),
            TokenKind::Symbol(Symbol::NotEqual) => Some(MatchOp::NotEqual),
            TokenKind::Symbol(Symbol::EqualTilde) => Some(MatchOp::Regex),
            TokenKind::Symbol(Symbol::NotTilde) => Some(MatchOp::NotRegex),
            _ => None,
        }
    }

    /// The pairs of a label set. `text` is the text of the tokens.
    pub(super) fn label_pairs(&mut self, text: &str) -> Result<Vec<(String, String)>> {
        let mut pairs = Vec::new();
        self.expect_symbol(Symbol::OpenBrace, &["{"])?;
        if self.take_symbol(Symbol::CloseBrace) {
            return Ok(pairs);
        }
        let mut expecting: &[&str] = &["IDENTIFIER", "}"];
        loop {
            let is_name = matches!(self.peek(), TokenKind::Identifier(_) | TokenKind::Keyword(_));
            if !is_name {
                return Err(self.unexpected(expecting));
            }
            let name = text[self.token().start..self.token().end].to_owned();
            self.bump();
            self.expect_symbol(Symbol::Equal, &["="])?;
            pairs.push((name, self.expect_string(&["STRING"])?));
            if self.take_symbol(Symbol::CloseBrace) {
                return Ok(pairs);
            }
            self.expect_symbol(Symbol::Comma, &["}", ","])?;
            expecting = &["IDENTIFIER"];
        }
    }
}
