//! What the parser says of many queries, for comparison with other grammars (`tests/lezer`).
//!
//! - `verdicts` reads queries from standard input, each ended by a zero byte, and writes a line for each: `accept`,
//!   `syntax: MESSAGE` (the text has no parse) or `refuse: MESSAGE` (it has one, and means nothing).
//! - `verdicts --generate N` writes N random queries in that form, the same ones each time.

use std::error::Error;
use std::io::{Read, Write};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use timberline_logql::{format, parse};

#[path = "../tests/generator/mod.rs"]
mod generator;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let output = match arguments.as_slice() {
        [] => verdicts()?,
        [flag, count] if flag == "--generate" => generate(count.parse()?)?,
        _ => return Err("usage: verdicts [--generate N]".into()),
    };
    std::io::stdout().write_all(output.as_bytes())?;
    Ok(())
}

fn verdicts() -> Result<String, Box<dyn Error>> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let mut lines = String::new();
    for query in input.split_terminator('\0') {
        let verdict = match parse(query) {
            Ok(_) => "accept".to_owned(),
            Err(error) => {
                // Errors with a position are those of the lexer and the grammar; that of an empty query has none.
                let is_syntax = error.column > 0 || error.message.starts_with("syntax error");
                let kind = if is_syntax { "syntax" } else { "refuse" };
                format!("{kind}: {}", error.message.replace('\n', " "))
            }
        };
        lines.push_str(&verdict);
        lines.push('\n');
    }
    Ok(lines)
}

/// Half of the queries on one line, half formatted.
fn generate(count: usize) -> Result<String, Box<dyn Error>> {
    let mut runner = TestRunner::deterministic();
    let strategy = generator::expr();
    let mut queries = String::new();
    for at in 0..count {
        let tree = strategy.new_tree(&mut runner).map_err(|reason| reason.to_string())?;
        let expr = tree.current();
        let text = if at % 2 == 0 { expr.to_string() } else { format(&expr) };
        if !text.contains('\0') {
            queries.push_str(&text);
            queries.push('\0');
        }
    }
    Ok(queries)
}
