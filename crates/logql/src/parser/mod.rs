//! From tokens to the tree: recursive descent by hand, one function per rule of the grammar (logql.md 3).
//!
//! A syntax error ends the parse at the unexpected token. What is wrong beyond syntax, such as a function that needs
//! `unwrap`, is looked for only once the whole text is known to be well formed, as clients expect of the messages.

mod label_filter;
mod metric;
mod range;
mod selector;
mod stage;

use crate::ast::{Expr, Matcher, Stage};
use crate::error::ParseError;
use crate::labels::LabelSet;
use crate::lexer::{Keyword, Symbol, Token, TokenKind, tokenize};
use crate::places::{Part, Places, stages_in_order};
use crate::validate::{validate_at, validate_matchers};

/// Texts of this many bytes and more are refused (logql.md 2.1).
pub const MAX_QUERY_BYTES: usize = 131_072;

/// How deep parentheses and functions may nest. Bounds the stack of the parser and of everything that walks the tree.
pub const MAX_NESTING: usize = 128;

/// How many binary operators a query may have. Together with [`MAX_NESTING`] it bounds the height of the tree, because
/// `1+1+1+..` needs no parentheses to be high.
pub const MAX_OPERATORS: usize = 1_000;

/// Reads a query and checks everything about it that needs no data, except templates.
pub fn parse(text: &str) -> Result<Expr, ParseError> {
    match parse_query(text) {
        Ok((expr, _)) => Ok(expr),
        Err(error) => Err(error.shown_in(text)),
    }
}

/// The error of a query one of whose stages does not compile. `message` is what the compiler says: where it begins with
/// `stage '| line_format ..' : `, the error points at that stage.
pub fn stage_error(text: &str, message: &str) -> ParseError {
    let error = ParseError::new(message);
    let Ok((expr, places)) = parse_query(text) else {
        return error;
    };
    let stages = stages_in_order(&expr);
    let is_meant = |stage: &Option<&Stage>| stage.is_some_and(|s| message.starts_with(&format!("stage '{s}' : ")));
    let place = stages
        .iter()
        .position(is_meant)
        .and_then(|at| places.of(Part::Stage(at)));
    error.about(place).shown_in(text)
}

fn parse_query(text: &str) -> Result<(Expr, Places)> {
    let mut parser = Parser::new(text)?;
    let expr = parser.expression()?;
    parser.end()?;
    if let Some(error) = parser.deferred {
        return Err(error);
    }
    validate_at(&expr, &parser.places)?;
    Ok((expr, parser.places))
}

/// Reads a selector for the endpoints that list labels and series: no stages may follow, and a selector that accepts
/// everything is fine there (http-api.md 7).
pub fn parse_selector(text: &str) -> Result<Vec<Matcher>, ParseError> {
    parse_listing(text).map_err(|error| error.shown_in(text))
}

fn parse_listing(text: &str) -> Result<Vec<Matcher>> {
    let mut parser = Parser::new(text)?;
    let whole = parser.at;
    let matchers = match parser.peek() {
        TokenKind::Symbol(Symbol::OpenBrace) => Some(parser.selector()?),
        _ => None,
    };
    match matchers {
        Some(matchers) if *parser.peek() == TokenKind::End => {
            validate_matchers(&matchers, &parser.places)?;
            Ok(matchers)
        }
        _ => {
            parser.at = whole;
            parser.expression()?;
            parser.end()?;
            Err(ParseError::new("only label matchers are supported"))
        }
    }
}

/// Reads the labels of a pushed stream, `{a="b", c="d"}` (http-api.md 3). Words that are reserved in queries are fine
/// as names here. Where a name is given twice, the first value stays.
pub fn parse_labels(text: &str) -> Result<LabelSet, ParseError> {
    let mut parser = Parser::new(text)?;
    let pairs = parser.label_pairs(text)?;
    parser.end()?;
    Ok(LabelSet::from_pairs(pairs))
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

struct Parser {
    /// Ends with `End` or `Bad`, which are never consumed.
    tokens: Vec<Token>,
    at: usize,
    nesting: usize,
    operators: usize,
    /// The first fault that the tree cannot express.
    deferred: Option<ParseError>,
    /// Where the parts of the query stand that may turn out to be wrong when all of it is known.
    places: Places,
}

impl Parser {
    fn new(text: &str) -> Result<Self> {
        if text.len() >= MAX_QUERY_BYTES {
            let message = format!("input size too long ({} > {MAX_QUERY_BYTES})", text.len());
            return Err(ParseError::new(message));
        }
        let tokens = tokenize(text);
        if matches!(
            tokens.as_slice(),
            [Token {
                kind: TokenKind::End,
                ..
            }]
        ) {
            return Err(ParseError::new("syntax error: unexpected $end"));
        }
        Ok(Self {
            tokens,
            at: 0,
            nesting: 0,
            operators: 0,
            deferred: None,
            places: Places::default(),
        })
    }

    fn token(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn peek(&self) -> &TokenKind {
        &self.token().kind
    }

    /// The token after the current one.
    fn peek_second(&self) -> &TokenKind {
        let last = self.tokens.len() - 1;
        &self.tokens[last.min(self.at + 1)].kind
    }

    fn bump(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn is_symbol(&self, symbol: Symbol) -> bool {
        *self.peek() == TokenKind::Symbol(symbol)
    }

    /// Consumes the symbol if it is next.
    fn take_symbol(&mut self, symbol: Symbol) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.bump();
        }
        found
    }

    /// Consumes the keyword if it is next.
    fn take_keyword(&mut self, keyword: Keyword) -> bool {
        let found = *self.peek() == TokenKind::Keyword(keyword);
        if found {
            self.bump();
        }
        found
    }

    fn expect_symbol(&mut self, symbol: Symbol, expecting: &[&str]) -> Result<()> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(expecting))
        }
    }

    fn expect_identifier(&mut self, expecting: &[&str]) -> Result<String> {
        let TokenKind::Identifier(name) = self.peek() else {
            return Err(self.unexpected(expecting));
        };
        let name = name.clone();
        self.bump();
        Ok(name)
    }

    fn expect_string(&mut self, expecting: &[&str]) -> Result<String> {
        let TokenKind::String(text) = self.peek() else {
            return Err(self.unexpected(expecting));
        };
        let text = text.clone();
        self.bump();
        Ok(text)
    }

    fn end(&self) -> Result<()> {
        if *self.peek() == TokenKind::End {
            Ok(())
        } else {
            Err(self.unexpected(&[]))
        }
    }

    /// The error for the current token. The peer names the tokens it expected only where they are few; `expecting` is
    /// empty where it names none.
    fn unexpected(&self, expecting: &[&str]) -> ParseError {
        let token = self.token();
        match &token.kind {
            // The position inside a range is reported with line 0, as the peer does (logql.md 19).
            TokenKind::Bad {
                message,
                in_range: true,
            } => ParseError::at(0, token.column, message.clone()).about(Some(token.start)),
            TokenKind::Bad {
                message,
                in_range: false,
            } => self.error_here(message.clone()),
            kind => {
                let mut message = format!("syntax error: unexpected {}", kind.describe());
                if !expecting.is_empty() {
                    message.push_str(", expecting ");
                    message.push_str(&expecting.join(" or "));
                }
                self.error_here(message)
            }
        }
    }

    /// An error at the current token.
    fn error_here(&self, message: String) -> ParseError {
        let token = self.token();
        ParseError::at(token.line, token.column, message).about(Some(token.start))
    }

    /// Remembers a fault of what begins at this byte. It is reported only if the rest of the text is well formed.
    fn defer(&mut self, place: usize, message: String) {
        self.deferred
            .get_or_insert_with(|| ParseError::new(message).about(Some(place)));
    }

    /// Runs `rule` one level deeper.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            let message = format!("query nests deeper than {MAX_NESTING} levels");
            return Err(self.error_here(message));
        }
        self.nesting += 1;
        let result = rule(self);
        self.nesting -= 1;
        result
    }

    /// Counts a binary operator, of metrics or of label filters.
    fn count_operator(&mut self) -> Result<()> {
        if self.operators == MAX_OPERATORS {
            let message = format!("query has more than {MAX_OPERATORS} operators");
            return Err(self.error_here(message));
        }
        self.operators += 1;
        Ok(())
    }
}
