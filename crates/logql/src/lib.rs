//! LogQL, the query language of logs: from text to a syntax tree, from the tree back to canonical text, and from a list
//! of pipeline stages to compiled code that runs over lines.
//!
//! The crate is pure: no I/O, no clock, no tenants, no threads. Whoever reads lines calls it.
//!
//! ```
//! use timberline_logql::{parse, ast::Expr};
//!
//! let expr = parse(r#"{app="shop"} |= "error""#).unwrap();
//! assert!(matches!(expr, Expr::Log(_)));
//! assert_eq!(expr.to_string(), r#"{app="shop"} |= "error""#);
//! ```

pub mod ast;
pub mod bytes_size;
pub mod detect;
pub mod duration;
pub mod error;
pub mod ip;
pub mod json_path;
pub mod labels;
pub mod pattern;
pub mod pipeline;
pub mod regexp;

mod excerpt;
mod lexer;
mod names;
mod parser;
mod places;
mod print;
mod template;
mod validate;

pub use error::ParseError;
pub use parser::{MAX_NESTING, MAX_OPERATORS, MAX_QUERY_BYTES, parse, parse_labels, parse_selector, stage_error};
pub use print::format;
pub use validate::validate;
