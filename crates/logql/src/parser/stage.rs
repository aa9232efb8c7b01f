//! Log queries and their stages (logql.md 5 to 8).

use super::{Parser, Result};
use crate::ast::{
    Extraction, LabelFormat, LabelSelect, LabelSource, LineFilter, LineFilterOp, LineOperand, LogExpr, Matcher, Stage,
    Unwrap,
};
use crate::lexer::{Flag, Function, Keyword, Symbol, TokenKind};

impl Parser {
    /// A selector with its stages.
    pub(super) fn log_query(&mut self) -> Result<LogExpr> {
        let matchers = self.selector()?;
        let mut stages = Vec::new();
        self.stages(&mut stages)?;
        Ok(LogExpr { matchers, stages })
    }

    /// The stages from here on, up to one that is no stage.
    fn stages(&mut self, stages: &mut Vec<Stage>) -> Result<()> {
        while let Some(stage) = self.take_stage()? {
            stages.push(stage);
        }
        Ok(())
    }

    /// The stages of a range aggregation, at whose end `unwrap` may stand.
    pub(super) fn stages_and_unwrap(&mut self, stages: &mut Vec<Stage>) -> Result<Option<Unwrap>> {
        loop {
            if self.is_unwrap() {
                return Ok(Some(self.unwrap()?));
            }
            let Some(stage) = self.take_stage()? else {
                return Ok(None);
            };
            stages.push(stage);
        }
    }

    /// A stage, if one is next.
    fn take_stage(&mut self) -> Result<Option<Stage>> {
        let place = self.token().start;
        let stage = if let Some(op) = self.line_filter_op() {
            Stage::LineFilter(self.line_filter(op)?)
        } else if self.take_symbol(Symbol::Pipe) {
            self.stage()?
        } else {
            return Ok(None);
        };
        self.places.stages.push(place);
        Ok(Some(stage))
    }

    fn line_filter_op(&self) -> Option<LineFilterOp> {
        let TokenKind::Symbol(symbol) = self.peek() else {
            return None;
        };
        Some(match symbol {
            Symbol::PipeEqual => LineFilterOp::Contains,
            Symbol::NotEqual => LineFilterOp::NotContains,
            Symbol::PipeTilde => LineFilterOp::Regex,
            Symbol::NotTilde => LineFilterOp::NotRegex,
            Symbol::PipeGreater => LineFilterOp::Pattern,
            Symbol::NotGreater => LineFilterOp::NotPattern,
            _ => return None,
        })
    }

    fn line_filter(&mut self, op: LineFilterOp) -> Result<LineFilter> {
        self.bump();
        let mut alternatives = vec![self.line_operand()?];
        while self.take_keyword(Keyword::Or) {
            alternatives.push(self.line_operand()?);
        }
        Ok(LineFilter { op, alternatives })
    }

    fn line_operand(&mut self) -> Result<LineOperand> {
        if *self.peek() == TokenKind::Function(Function::Ip) {
            return Ok(LineOperand::Ip(self.ip_argument()?));
        }
        Ok(LineOperand::Text(self.expect_string(&["STRING", "ip"])?))
    }

    /// What stands behind a pipe.
    fn stage(&mut self) -> Result<Stage> {
        if self.starts_label_filter() {
            return Ok(Stage::LabelFilter(self.label_filter()?));
        }
        let TokenKind::Keyword(keyword) = *self.peek() else {
            return Err(self.unexpected(&[]));
        };
        let read: fn(&mut Self) -> Result<Stage> = match keyword {
            Keyword::Json => |parser| Ok(Stage::Json(parser.extractions()?)),
            Keyword::Logfmt => Self::logfmt,
            Keyword::Regexp => |parser| Ok(Stage::Regexp(parser.expect_string(&["STRING"])?)),
            Keyword::Pattern => |parser| Ok(Stage::Pattern(parser.expect_string(&["STRING"])?)),
            Keyword::Unpack => |_| Ok(Stage::Unpack),
            Keyword::LineFormat => |parser| Ok(Stage::LineFormat(parser.expect_string(&["STRING"])?)),
            Keyword::LabelFormat => |parser| Ok(Stage::LabelFormat(parser.comma_list(Self::label_format)?)),
            Keyword::Decolorize => |_| Ok(Stage::Decolorize),
            Keyword::Drop => |parser| Ok(Stage::Drop(parser.comma_list(Self::label_select)?)),
            Keyword::Keep => |parser| Ok(Stage::Keep(parser.comma_list(Self::label_select)?)),
            _ => return Err(self.unexpected(&[])),
        };
        self.bump();
        read(self)
    }

    fn logfmt(&mut self) -> Result<Stage> {
        let (mut strict, mut keep_empty) = (false, false);
        while let TokenKind::Flag(flag) = self.peek() {
            match flag {
                Flag::Strict => strict = true,
                Flag::KeepEmpty => keep_empty = true,
            }
            self.bump();
        }
        Ok(Stage::Logfmt {
            strict,
            keep_empty,
            extractions: self.extractions()?,
        })
    }

    fn extractions(&mut self) -> Result<Vec<Extraction>> {
        match self.peek() {
            TokenKind::Identifier(_) => self.comma_list(Self::extraction),
            _ => Ok(Vec::new()),
        }
    }

    fn extraction(&mut self) -> Result<Extraction> {
        let label = self.expect_identifier(&["IDENTIFIER"])?;
        let expression = if self.take_symbol(Symbol::Equal) {
            self.expect_string(&["STRING"])?
        } else {
            label.clone()
        };
        Ok(Extraction { label, expression })
    }

    fn label_format(&mut self) -> Result<LabelFormat> {
        let label = self.expect_identifier(&["IDENTIFIER"])?;
        self.expect_symbol(Symbol::Equal, &["="])?;
        let source = match self.peek() {
            TokenKind::Identifier(name) => LabelSource::Label(name.clone()),
            TokenKind::String(template) => LabelSource::Template(template.clone()),
            _ => return Err(self.unexpected(&["IDENTIFIER", "STRING"])),
        };
        self.bump();
        Ok(LabelFormat { label, source })
    }

    fn label_select(&mut self) -> Result<LabelSelect> {
        let name = self.expect_identifier(&["IDENTIFIER"])?;
        let Some(op) = self.match_op() else {
            return Ok(LabelSelect::Name(name));
        };
        // `drop a != "x"` could go on with a line filter, but the grammar reads a matcher.
        self.bump();
        Ok(LabelSelect::Matcher(Matcher {
            name,
            op,
            value: self.expect_string(&["STRING"])?,
        }))
    }

    fn comma_list<T>(&mut self, item: fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take_symbol(Symbol::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }
}
