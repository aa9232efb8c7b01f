//! Range aggregations: the function, its entries, and the window in its several places (logql.md 3, 13).

use super::{Parser, Result};
use crate::ast::{Conversion, LogExpr, MetricExpr, RangeAggregation, RangeOp, Unwrap};
use crate::lexer::{Function, Keyword, Symbol, TokenKind};

/// What stands between the parentheses of a range function. The window is missing while it may still follow.
struct RangeArgument {
    log: LogExpr,
    unwrap: Option<Unwrap>,
    window: Option<Window>,
}

struct Window {
    range_ns: i64,
    offset_ns: i64,
}

impl Parser {
    /// `op([number,] entries[range])`; the current token is the function.
    pub(super) fn range_aggregation(&mut self, op: RangeOp) -> Result<MetricExpr> {
        self.places.functions.push(self.token().start);
        self.bump();
        self.expect_symbol(Symbol::OpenParen, &["("])?;
        let mut parameter = None;
        let mut expecting: &[&str] = &["NUMBER", "{", "("];
        if let TokenKind::Number(number) = *self.peek() {
            parameter = Some(number);
            self.bump();
            self.expect_symbol(Symbol::Comma, &[","])?;
            expecting = &["{", "("];
        }
        if !self.is_symbol(Symbol::OpenBrace) && !self.is_symbol(Symbol::OpenParen) {
            return Err(self.unexpected(expecting));
        }
        let RangeArgument { log, unwrap, window } = self.range_argument()?;
        let Some(Window { range_ns, offset_ns }) = window else {
            return Err(self.unexpected(&[]));
        };
        let after_range = matches!(self.tokens[self.at - 1].kind, TokenKind::Range(_));
        self.expect_symbol(Symbol::CloseParen, if after_range { &[")"] } else { &[] })?;
        let grouping = self.take_grouping()?;
        Ok(MetricExpr::Range(RangeAggregation {
            op,
            parameter,
            log,
            unwrap,
            range_ns,
            offset_ns,
            grouping,
        }))
    }

    fn range_argument(&mut self) -> Result<RangeArgument> {
        if self.take_symbol(Symbol::OpenParen) {
            let mut argument = self.nested(Self::range_argument)?;
            self.expect_symbol(Symbol::CloseParen, &[])?;
            if argument.window.is_none() {
                argument.window = self.take_window()?;
                let only_selector = argument.log.stages.is_empty() && argument.unwrap.is_none();
                if only_selector && argument.window.is_some() && self.is_unwrap() {
                    argument.unwrap = Some(self.unwrap()?);
                }
            }
            return Ok(argument);
        }
        if !self.is_symbol(Symbol::OpenBrace) {
            return Err(self.unexpected(&[]));
        }
        let mut log = LogExpr {
            matchers: self.selector()?,
            stages: Vec::new(),
        };
        let mut window = self.take_window()?;
        let unwrap = self.stages_and_unwrap(&mut log.stages)?;
        if window.is_none() {
            window = self.take_window()?;
        }
        Ok(RangeArgument { log, unwrap, window })
    }

    /// `[5m] offset 1h`, if it is next.
    fn take_window(&mut self) -> Result<Option<Window>> {
        let TokenKind::Range(range_ns) = *self.peek() else {
            return Ok(None);
        };
        self.bump();
        let offset_ns = if self.take_keyword(Keyword::Offset) {
            self.offset()?
        } else {
            0
        };
        Ok(Some(Window { range_ns, offset_ns }))
    }

    fn offset(&mut self) -> Result<i64> {
        let negative = self.is_symbol(Symbol::Minus);
        if negative || self.is_symbol(Symbol::Plus) {
            self.bump();
        }
        let offset_ns = match *self.peek() {
            TokenKind::Duration(ns) => ns,
            // The only duration without unit.
            TokenKind::Number(0.0) => 0,
            _ => return Err(self.unexpected(&["DURATION"])),
        };
        self.bump();
        Ok(if negative { -offset_ns } else { offset_ns })
    }

    /// Do `|` and `unwrap` follow?
    pub(super) fn is_unwrap(&self) -> bool {
        self.is_symbol(Symbol::Pipe) && *self.peek_second() == TokenKind::Keyword(Keyword::Unwrap)
    }

    /// `| unwrap conversion(label) | filter ..`; only label filters may follow.
    pub(super) fn unwrap(&mut self) -> Result<Unwrap> {
        self.bump();
        self.bump();
        let conversion = match self.peek() {
            TokenKind::Function(Function::Bytes) => Conversion::Bytes,
            TokenKind::Function(Function::Duration) => Conversion::Duration,
            TokenKind::Function(Function::DurationSeconds) => Conversion::DurationSeconds,
            _ => Conversion::Number,
        };
        let label = if conversion == Conversion::Number {
            self.expect_identifier(&[])?
        } else {
            self.bump();
            self.expect_symbol(Symbol::OpenParen, &["("])?;
            let label = self.expect_identifier(&["IDENTIFIER"])?;
            self.expect_symbol(Symbol::CloseParen, &[")"])?;
            label
        };
        let mut filters = Vec::new();
        while self.is_symbol(Symbol::Pipe) {
            let place = self.token().start;
            self.bump();
            if !self.starts_label_filter() {
                return Err(self.unexpected(&["IDENTIFIER", "("]));
            }
            filters.push(self.label_filter()?);
            self.places.stages.push(place);
        }
        Ok(Unwrap {
            label,
            conversion,
            filters,
        })
    }
}
