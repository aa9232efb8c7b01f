//! Expressions: operators, vector functions, literals (logql.md 3, 14 to 16).

use super::{Parser, Result};
use crate::ast::{
    Binary, BinaryOp, Expr, Group, Grouping, LabelReplace, Matching, MetricExpr, Side, VectorAggregation, VectorOp,
};
use crate::lexer::{Function, Keyword, Symbol, TokenKind};

impl Parser {
    /// A query of either kind.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.nested(|parser| parser.binary(1))
    }

    /// A query that must yield numbers. After a log query every token is unexpected here.
    fn metric(&mut self) -> Result<MetricExpr> {
        match self.expression()? {
            Expr::Metric(metric) => Ok(metric),
            Expr::Log(_) => Err(self.unexpected(&[])),
        }
    }

    /// Operands joined by operators that bind at least as tightly as `precedence`.
    fn binary(&mut self, precedence: u8) -> Result<Expr> {
        let left_place = self.token().start;
        let mut left = self.operand()?;
        while let Some(op) = self.binary_op()
            && op.precedence() >= precedence
        {
            self.count_operator()?;
            self.bump();
            let return_bool = self.take_keyword(Keyword::Bool);
            let matching = self.take_matching()?;
            let right_place = self.token().start;
            let right = if op.is_right_associative() {
                self.nested(|parser| parser.binary(op.precedence()))?
            } else {
                self.binary(op.precedence() + 1)?
            };
            let left_metric = self.leg(left, left_place, "left", op);
            let right_metric = self.leg(right, right_place, "right", op);
            left = Expr::Metric(MetricExpr::Binary(Binary {
                op,
                return_bool,
                matching,
                left: Box::new(left_metric),
                right: Box::new(right_metric),
            }));
        }
        Ok(left)
    }

    /// The operand as a metric. A log query is an error, but syntax errors further on go first.
    fn leg(&mut self, operand: Expr, place: usize, side: &str, op: BinaryOp) -> MetricExpr {
        match operand {
            Expr::Metric(metric) => metric,
            Expr::Log(_) => {
                let op = op.name();
                let message = format!("unexpected type for {side} leg of binary operation ({op}): log query");
                self.defer(place, message);
                MetricExpr::Literal(0.0)
            }
        }
    }

    fn binary_op(&self) -> Option<BinaryOp> {
        Some(match self.peek() {
            TokenKind::Keyword(Keyword::Or) => BinaryOp::Or,
            TokenKind::Keyword(Keyword::And) => BinaryOp::And,
            TokenKind::Keyword(Keyword::Unless) => BinaryOp::Unless,
            TokenKind::Symbol(Symbol::EqualEqual) => BinaryOp::Equal,
            TokenKind::Symbol(Symbol::NotEqual) => BinaryOp::NotEqual,
            TokenKind::Symbol(Symbol::Greater) => BinaryOp::Greater,
            TokenKind::Symbol(Symbol::GreaterEqual) => BinaryOp::GreaterOrEqual,
            TokenKind::Symbol(Symbol::Less) => BinaryOp::Less,
            TokenKind::Symbol(Symbol::LessEqual) => BinaryOp::LessOrEqual,
            TokenKind::Symbol(Symbol::Plus) => BinaryOp::Add,
            TokenKind::Symbol(Symbol::Minus) => BinaryOp::Subtract,
            TokenKind::Symbol(Symbol::Star) => BinaryOp::Multiply,
            TokenKind::Symbol(Symbol::Slash) => BinaryOp::Divide,
            TokenKind::Symbol(Symbol::Percent) => BinaryOp::Modulo,
            TokenKind::Symbol(Symbol::Caret) => BinaryOp::Power,
            _ => return None,
        })
    }

    /// `on (..) group_left (..)` and its kin, if it is next.
    fn take_matching(&mut self) -> Result<Option<Matching>> {
        let on = match self.peek() {
            TokenKind::Keyword(Keyword::On) => true,
            TokenKind::Keyword(Keyword::Ignoring) => false,
            _ => return Ok(None),
        };
        self.bump();
        let labels = self.label_list()?;
        let many = match self.peek() {
            TokenKind::Keyword(Keyword::GroupLeft) => Some(Side::Left),
            TokenKind::Keyword(Keyword::GroupRight) => Some(Side::Right),
            _ => None,
        };
        let mut group = None;
        if let Some(many) = many {
            self.bump();
            let include = if self.is_symbol(Symbol::OpenParen) {
                self.label_list()?
            } else {
                Vec::new()
            };
            group = Some(Group { many, include });
        }
        Ok(Some(Matching { on, labels, group }))
    }

    fn operand(&mut self) -> Result<Expr> {
        let metric = match *self.peek() {
            TokenKind::Symbol(Symbol::OpenBrace) => return Ok(Expr::Log(self.log_query()?)),
            TokenKind::Symbol(Symbol::OpenParen) => {
                self.bump();
                let inner = self.expression()?;
                self.expect_symbol(Symbol::CloseParen, &[])?;
                return Ok(inner);
            }
            TokenKind::Symbol(sign @ (Symbol::Plus | Symbol::Minus)) => {
                self.bump();
                let number = self.number()?;
                MetricExpr::Literal(if sign == Symbol::Minus { -number } else { number })
            }
            TokenKind::Number(_) => MetricExpr::Literal(self.number()?),
            TokenKind::Function(Function::Range(op)) => self.range_aggregation(op)?,
            TokenKind::Function(Function::Vector(op)) => self.vector_aggregation(op)?,
            TokenKind::Function(Function::VectorOf) => self.vector_of()?,
            TokenKind::Function(Function::LabelReplace) => self.label_replace()?,
            _ => return Err(self.unexpected(&[])),
        };
        Ok(Expr::Metric(metric))
    }

    fn number(&mut self) -> Result<f64> {
        let TokenKind::Number(number) = *self.peek() else {
            return Err(self.unexpected(&["NUMBER"]));
        };
        self.bump();
        Ok(number)
    }

    /// `op by (..) ([number,] operand)`, or with the grouping at the end; the current token is the function.
    fn vector_aggregation(&mut self, op: VectorOp) -> Result<MetricExpr> {
        self.places.functions.push(self.token().start);
        self.bump();
        let mut grouping = self.take_grouping()?;
        self.expect_symbol(Symbol::OpenParen, &["("])?;
        let mut parameter = None;
        // A number without comma is the operand.
        if let TokenKind::Number(number) = *self.peek()
            && *self.peek_second() == TokenKind::Symbol(Symbol::Comma)
        {
            parameter = Some(number);
            self.bump();
            self.bump();
        }
        let inner = Box::new(self.metric()?);
        self.expect_symbol(Symbol::CloseParen, &[])?;
        if grouping.is_none() {
            grouping = self.take_grouping()?;
        }
        Ok(MetricExpr::Vector(VectorAggregation {
            op,
            parameter,
            grouping,
            inner,
        }))
    }

    /// `by (..)` or `without (..)`, if it is next.
    pub(super) fn take_grouping(&mut self) -> Result<Option<Grouping>> {
        let without = match self.peek() {
            TokenKind::Keyword(Keyword::By) => false,
            TokenKind::Keyword(Keyword::Without) => true,
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(Grouping {
            without,
            labels: self.label_list()?,
        }))
    }

    /// `(a, b)`
    fn label_list(&mut self) -> Result<Vec<String>> {
        self.expect_symbol(Symbol::OpenParen, &["("])?;
        let mut labels = Vec::new();
        if self.take_symbol(Symbol::CloseParen) {
            return Ok(labels);
        }
        let mut expecting: &[&str] = &["IDENTIFIER", ")"];
        loop {
            labels.push(self.expect_identifier(expecting)?);
            if self.take_symbol(Symbol::CloseParen) {
                return Ok(labels);
            }
            self.expect_symbol(Symbol::Comma, &[",", ")"])?;
            expecting = &["IDENTIFIER"];
        }
    }

    fn vector_of(&mut self) -> Result<MetricExpr> {
        self.bump();
        self.expect_symbol(Symbol::OpenParen, &["("])?;
        let number = self.number()?;
        self.expect_symbol(Symbol::CloseParen, &[")"])?;
        Ok(MetricExpr::VectorOf(number))
    }

    fn label_replace(&mut self) -> Result<MetricExpr> {
        self.places.functions.push(self.token().start);
        self.bump();
        self.expect_symbol(Symbol::OpenParen, &["("])?;
        let inner = Box::new(self.metric()?);
        let mut argument = |expecting: &[&str]| {
            self.expect_symbol(Symbol::Comma, expecting)?;
            self.expect_string(&["STRING"])
        };
        let destination = argument(&[])?;
        let replacement = argument(&[","])?;
        let source = argument(&[","])?;
        let regex = argument(&[","])?;
        self.expect_symbol(Symbol::CloseParen, &[")"])?;
        Ok(MetricExpr::LabelReplace(LabelReplace {
            inner,
            destination,
            replacement,
            source,
            regex,
        }))
    }
}
