// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Templates: Go's `text/template` over the labels of an entry, with the functions of logql.md 9.2.
//!
//! A template is parsed once ([`Template::compile`]) and expanded for each entry. One that is made of text and labels alone is a list of
//! pieces to copy. Any other is run over its tree; its values borrow from the entry, from the template, and from an arena that is
//! emptied before each expansion and keeps its memory, so that functions, `fromJson` and loops over their values allocate
//! nothing once the arena is large enough. What allocates per entry: a regular expression that is no constant, when it has not been
//! used lately; a zone of `toDateInZone` that differs from the last one; and texts of some errors.
//!
//! Values, printing, errors and their messages are Go's. What an expansion may cost is bounded (`limits`). Differences that are
//! meant: complex numbers are refused; `now` is one moment for the whole query; `addf` and its kin go on in binary where
//! decimals have more than 38 digits.

mod context;
mod execute;
mod functions;
mod lexer;
mod limits;
mod literal;
mod parser;
mod print;
mod sink;
mod time;
mod tree;
mod value;

use bumpalo::Bump;

use self::context::{Buffers, Context};
use self::execute::Executor;
use self::limits::MAX_TEXT_BYTES;
use self::parser::{Program, Uses, parse};
use self::sink::{Sink, put};
use self::tree::{Node, OperandKind, Pipeline};
use crate::pipeline::Environment;

/// The labels of an entry.
pub(crate) trait LabelSource {
    /// The value of a label.
    fn get(&self, name: &[u8]) -> Option<&[u8]>;

    /// Calls `visit` for each label, in order of name.
    fn visit(&self, visit: &mut dyn FnMut(&[u8], &[u8]));
}

/// What a template is expanded over.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) labels: &'a dyn LabelSource,
    pub(crate) line: &'a [u8],
    pub(crate) timestamp_ns: i64,
}

/// A compiled template.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    name: &'static str,
    text: String,
    code: Code,
    uses: Uses,
    environment: Environment,
}

#[derive(Clone, Debug)]
enum Code {
    Pieces(Vec<Piece>),
    Program(Program),
}

#[derive(Clone, Debug)]
enum Piece {
    Text(Vec<u8>),
    /// `{{.name}}`; nothing if the label is absent
    Label(String),
    /// `{{__line__}}`
    Line,
}

/// Buffers of expansions, reused from entry to entry.
#[derive(Default)]
pub(crate) struct Scratch {
    arena: Bump,
    buffers: Buffers,
    message: Vec<u8>,
}

/// An expansion failed; [`Scratch::message`] says why.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed;

impl Scratch {
    /// Why the last expansion failed.
    pub(crate) fn message(&self) -> &[u8] {
        &self.message
    }
}

impl Template {
    /// Compiles a template; `name` stands in messages.
    pub(crate) fn compile(name: &'static str, text: &str, environment: &Environment) -> Result<Self, String> {
        let mut program = parse(name, text)?;
        let uses = std::mem::take(&mut program.uses);
        program.uses = uses.clone();
        Ok(Self {
            name,
            text: text.to_owned(),
            code: match pieces(&program) {
                Some(pieces) => Code::Pieces(pieces),
                None => Code::Program(program),
            },
            uses,
            environment: environment.clone(),
        })
    }

    /// The labels that the template reads by name.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.uses.fields.iter().map(String::as_str)
    }

    /// True if the template reads the set of labels as a whole.
    pub(crate) fn reads_all_labels(&self) -> bool {
        self.uses.all_labels
    }

    /// True if the template reads the line.
    pub(crate) fn reads_line(&self) -> bool {
        self.uses.line
    }

    /// Appends the expansion to `out`. If it fails, part of it may have been appended.
    pub(crate) fn expand(&self, entry: Entry<'_>, scratch: &mut Scratch, out: &mut Vec<u8>) -> Result<(), Failed> {
        let mut out = Sink::new(out);
        match &self.code {
            Code::Pieces(pieces) => {
                for piece in pieces {
                    out.push(match piece {
                        Piece::Text(text) => text,
                        Piece::Label(name) => entry.labels.get(name.as_bytes()).unwrap_or_default(),
                        Piece::Line => entry.line,
                    });
                }
                if out.is_exceeded() {
                    scratch.message.clear();
                    put!(
                        Sink::new(&mut scratch.message),
                        "template: {}: output exceeds {MAX_TEXT_BYTES} bytes",
                        self.name
                    );
                    return Err(Failed);
                }
                Ok(())
            }
            Code::Program(program) => self.run(program, entry, scratch, &mut out),
        }
    }

    fn run(
        &self,
        program: &Program,
        entry: Entry<'_>,
        scratch: &mut Scratch,
        out: &mut Sink<'_>,
    ) -> Result<(), Failed> {
        let Scratch {
            arena,
            buffers,
            message,
        } = scratch;
        arena.reset();
        let context = Context::new(
            arena,
            buffers,
            entry.labels,
            entry.line,
            entry.timestamp_ns,
            &self.environment,
        );
        let mut executor = Executor::new(program, context);
        let Err(failure) = executor.run(out) else {
            return Ok(());
        };
        let place = executor.place();
        message.clear();
        let mut written = Sink::new(message);
        let name = self.name;
        match place {
            Some(place) => {
                let before = &self.text[..place.position().min(self.text.len())];
                let line = 1 + before.matches('\n').count();
                let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
                put!(
                    written,
                    "template: {name}:{line}:{column}: executing {name:?} at <{place}>: "
                );
            }
            None => put!(written, "template: {name}: "),
        }
        if let Some(function) = failure.function {
            put!(written, "error calling {function}: ");
        }
        written.push(&buffers.cause);
        Err(Failed)
    }
}

/// The pieces of a template that is made of nothing but text, labels and the line.
fn pieces(program: &Program) -> Option<Vec<Piece>> {
    program.body.iter().map(piece).collect()
}

fn piece(node: &Node) -> Option<Piece> {
    match node {
        Node::Text(text) => Some(Piece::Text(text.clone())),
        Node::Action(Pipeline {
            variables, commands, ..
        }) if variables.is_empty() => {
            let [command] = commands.as_slice() else { return None };
            let [operand] = command.operands.as_slice() else {
                return None;
            };
            match &operand.kind {
                OperandKind::Field(names) => match names.as_slice() {
                    [name] => Some(Piece::Label(name.clone())),
                    _ => None,
                },
                OperandKind::Text { text, .. } => Some(Piece::Text(text.clone())),
                OperandKind::Function { function, .. } if function.name == functions::LINE => Some(Piece::Line),
                _ => None,
            }
        }
        _ => None,
    }
}
