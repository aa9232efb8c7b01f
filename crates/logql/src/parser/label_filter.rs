//! Predicates over labels and how they combine (logql.md 6).

use super::{Parser, Result};
use crate::ast::{AndSyntax, CompareOp, Comparison, LabelFilter, Matcher};
use crate::lexer::{Function, Keyword, Symbol, TokenKind};

/// Binding powers. Comma and juxtaposition have none: they take everything to their right (logql.md 6.2).
const ANY: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;

impl Parser {
    pub(super) fn label_filter(&mut self) -> Result<LabelFilter> {
        self.label_filter_above(ANY)
    }

    /// Reads predicates joined by operators that bind tighter than `level`.
    fn label_filter_above(&mut self, level: u8) -> Result<LabelFilter> {
        let mut left = self.label_predicate()?;
        loop {
            let starts_predicate = self.starts_label_filter();
            if starts_predicate || self.is_symbol(Symbol::Comma) {
                self.count_operator()?;
                self.take_symbol(Symbol::Comma);
                let right = self.nested(|parser| parser.label_filter_above(ANY))?;
                left = LabelFilter::And {
                    left: Box::new(left),
                    right: Box::new(right),
                    written: AndSyntax::Comma,
                };
            } else if level < OR && self.take_keyword(Keyword::Or) {
                self.count_operator()?;
                let right = self.label_filter_above(OR)?;
                left = LabelFilter::Or(Box::new(left), Box::new(right));
            } else if level < AND && self.take_keyword(Keyword::And) {
                self.count_operator()?;
                let right = self.label_filter_above(AND)?;
                left = LabelFilter::And {
                    left: Box::new(left),
                    right: Box::new(right),
                    written: AndSyntax::Word,
                };
            } else {
                return Ok(left);
            }
        }
    }

    pub(super) fn starts_label_filter(&self) -> bool {
        matches!(
            self.peek(),
            TokenKind::Identifier(_) | TokenKind::Symbol(Symbol::OpenParen)
        )
    }

    fn label_predicate(&mut self) -> Result<LabelFilter> {
        if self.take_symbol(Symbol::OpenParen) {
            let inner = self.nested(Self::label_filter)?;
            self.expect_symbol(Symbol::CloseParen, &[])?;
            return Ok(inner);
        }
        let name = self.expect_identifier(&[])?;
        if let Some(op) = self.match_op() {
            if let TokenKind::String(value) = self.peek_second() {
                let value = value.clone();
                self.bump();
                self.bump();
                return Ok(LabelFilter::Match(Matcher { name, op, value }));
            }
            if op.is_regex() {
                self.bump();
                return Err(self.unexpected(&["STRING"]));
            }
        }
        let Some(op) = self.compare_op() else {
            return Err(self.unexpected(&[]));
        };
        let may_be_ip = !self.is_symbol(Symbol::EqualEqual) && matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        self.bump();
        if may_be_ip && *self.peek() == TokenKind::Function(Function::Ip) {
            let range = self.ip_argument()?;
            return Ok(LabelFilter::Ip {
                name,
                negated: op == CompareOp::NotEqual,
                range,
            });
        }
        self.comparison(name, op)
    }

    fn compare_op(&self) -> Option<CompareOp> {
        let TokenKind::Symbol(symbol) = self.peek() else {
            return None;
        };
        Some(match symbol {
            Symbol::Equal | Symbol::EqualEqual => CompareOp::Equal,
            Symbol::NotEqual => CompareOp::NotEqual,
            Symbol::Greater => CompareOp::Greater,
            Symbol::GreaterEqual => CompareOp::GreaterOrEqual,
            Symbol::Less => CompareOp::Less,
            Symbol::LessEqual => CompareOp::LessOrEqual,
            _ => return None,
        })
    }

    /// The literal right of a comparison.
    fn comparison(&mut self, name: String, op: CompareOp) -> Result<LabelFilter> {
        let negative = self.is_symbol(Symbol::Minus);
        if negative || self.is_symbol(Symbol::Plus) {
            self.bump();
        }
        let filter = match self.peek() {
            TokenKind::Number(value) => LabelFilter::Number(Comparison {
                name,
                op,
                value: if negative { -value } else { *value },
            }),
            TokenKind::Duration(ns) => LabelFilter::Duration(Comparison {
                name,
                op,
                value: if negative { -ns } else { *ns },
            }),
            TokenKind::Bytes(bytes) if !negative => LabelFilter::Bytes(Comparison {
                name,
                op,
                value: *bytes,
            }),
            _ => return Err(self.unexpected(&[])),
        };
        self.bump();
        Ok(filter)
    }

    /// `ip("..")`; the current token is the function.
    pub(super) fn ip_argument(&mut self) -> Result<String> {
        self.bump();
        self.expect_symbol(Symbol::OpenParen, &["("])?;
        let range = self.expect_string(&["STRING"])?;
        self.expect_symbol(Symbol::CloseParen, &[")"])?;
        Ok(range)
    }
}
