//! Which statements are answered: one at a time, and only those that read.

use super::error::parse_error;
use crate::QueryError;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::Statement as Sql;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// Longest text of a statement.
const MAX_SQL_BYTES: usize = 1 << 20;

/// Most operators and words in a statement, which bounds how deep its tree can be: planning goes down the tree, and the stack of a
/// thread for queries holds several times this (a test asks with the deepest tree).
const MAX_OPERATORS: usize = 500;

/// Reads a statement; anything but SELECT, EXPLAIN, SHOW and DESCRIBE is refused.
pub(super) fn read_only(sql: &str) -> Result<Statement, QueryError> {
    if sql.len() > MAX_SQL_BYTES {
        let text = format!(
            "statement of {} bytes exceeds the limit of {MAX_SQL_BYTES} bytes",
            sql.len()
        );
        return Err(QueryError::Limit(text));
    }
    let dialect = GenericDialect {};
    let tokens = Tokenizer::new(&dialect, sql)
        .tokenize()
        .map_err(|error| QueryError::Parse(parse_error(&error.to_string())))?;
    let operators = tokens.iter().filter(|token| may_nest(token)).count();
    if operators > MAX_OPERATORS {
        let text = format!("statement has {operators} operators and words, more than the limit of {MAX_OPERATORS}");
        return Err(QueryError::Limit(text));
    }
    let mut statements = DFParserBuilder::new(sql)
        .with_dialect(&dialect)
        .build()
        .and_then(|mut parser| parser.parse_statements())
        .map_err(super::query_error)?;
    let Some(statement) = statements.pop_front() else {
        return Err(QueryError::Parse("SQL error: there is no statement".into()));
    };
    if !statements.is_empty() {
        return Err(QueryError::Parse(
            "SQL error: only one statement at a time is answered".into(),
        ));
    }
    if !reads(&statement) {
        return Err(QueryError::BadRequest(format!(
            "only SELECT, EXPLAIN, SHOW and DESCRIBE are answered: {} would change something",
            first_word(sql)
        )));
    }
    Ok(statement)
}

/// Whether a token can make the tree deeper. Values, names and commas can't: long lists are flat.
fn may_nest(token: &Token) -> bool {
    use datafusion::sql::sqlparser::keywords::Keyword;
    match token {
        Token::Word(word) => word.keyword != Keyword::NoKeyword,
        Token::Whitespace(_)
        | Token::Comma
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Period
        | Token::RBracket
        | Token::RParen => false,
        _ => true,
    }
}

fn reads(statement: &Statement) -> bool {
    match statement {
        Statement::Explain(explain) => reads(&explain.statement),
        Statement::Statement(sql) => reads_only(sql),
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => false,
    }
}

fn reads_only(sql: &Sql) -> bool {
    match sql {
        Sql::Explain { statement, .. } => reads_only(statement),
        Sql::Query(_)
        | Sql::ExplainTable { .. }
        | Sql::ShowTables { .. }
        | Sql::ShowColumns { .. }
        | Sql::ShowFunctions { .. } => true,
        _ => false,
    }
}

/// The word that tells what a statement does, also behind EXPLAIN.
fn first_word(sql: &str) -> String {
    let mut words = sql.split_whitespace().map(str::to_uppercase);
    words
        .find(|word| !matches!(word.as_str(), "EXPLAIN" | "ANALYZE" | "VERBOSE"))
        .unwrap_or_default()
}
