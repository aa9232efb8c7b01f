//! A parsed template, and its canonical text, which stands in messages.

use std::fmt;

use super::functions::Function;
use regex::bytes::Regex;

/// A part of a template.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Text(Vec<u8>),
    Action(Pipeline),
    If(Branch),
    With(Branch),
    Range(Branch),
    Break,
    Continue,
    Call {
        name: String,
        position: usize,
        argument: Option<Pipeline>,
    },
}

/// `{{if}}`, `{{with}}` or `{{range}}`.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) pipeline: Pipeline,
    pub(super) body: Vec<Node>,
    pub(super) otherwise: Vec<Node>,
}

/// Commands of which each gets the value of the one before it as its last argument.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    pub(super) position: usize,
    pub(super) variables: Vec<Variable>,
    /// `=` instead of `:=`
    pub(super) assigns: bool,
    pub(super) commands: Vec<Command>,
}

/// A variable by its place in the frame.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) slot: usize,
}

/// An operand, or a function and its arguments. There is at least one operand.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) position: usize,
    pub(super) operands: Vec<Operand>,
}

#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) position: usize,
    pub(super) kind: OperandKind,
}

#[derive(Clone, Debug)]
pub(super) enum OperandKind {
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Text {
        text: Vec<u8>,
        literal: String,
    },
    /// `.a.b`
    Field(Vec<String>),
    /// `$x.a.b`
    Variable {
        variable: Variable,
        fields: Vec<String>,
    },
    Function {
        function: &'static Function,
        regex: Option<Regex>,
    },
    Parentheses(Box<Pipeline>),
    /// An operand followed by `.a.b`.
    Chain(Box<Operand>, Vec<String>),
}

/// A number can be taken for whole and for fractional, as its value allows.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) literal: String,
    pub(super) integer: Option<i64>,
    pub(super) float: f64,
    /// Written with a point or an exponent.
    pub(super) is_fractional: bool,
}

/// Where an error happened.
#[derive(Clone, Copy)]
pub(super) enum Place<'t> {
    Pipeline(&'t Pipeline),
    Command(&'t Command),
    Operand(&'t Operand),
    /// `{{template}}` of this name
    Call(&'t str, usize),
}

impl Place<'_> {
    /// The byte of the template's text at which it stands.
    pub(super) fn position(self) -> usize {
        match self {
            Self::Pipeline(pipeline) => pipeline.position,
            Self::Command(command) => command.position,
            Self::Operand(operand) => operand.position,
            Self::Call(_, position) => position,
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipeline(pipeline) => pipeline.fmt(f),
            Self::Command(command) => command.fmt(f),
            Self::Operand(operand) => operand.fmt(f),
            Self::Call(name, _) => write!(f, "{{{{template {name:?}}}}}"),
        }
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, variable) in self.variables.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { ", " } else { "" }, variable.name)?;
        }
        if !self.variables.is_empty() {
            f.write_str(if self.assigns { " = " } else { " := " })?;
        }
        for (at, command) in self.commands.iter().enumerate() {
            write!(f, "{}{command}", if at > 0 { " | " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, operand) in self.operands.iter().enumerate() {
            write!(f, "{}{operand}", if at > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            OperandKind::Dot => f.write_str("."),
            OperandKind::Nil => f.write_str("nil"),
            OperandKind::Bool(value) => write!(f, "{value}"),
            OperandKind::Number(number) => f.write_str(&number.literal),
            OperandKind::Text { literal, .. } => f.write_str(literal),
            OperandKind::Field(names) => write_fields(names, f),
            OperandKind::Variable { variable, fields } => {
                f.write_str(&variable.name)?;
                write_fields(fields, f)
            }
            OperandKind::Function { function, .. } => f.write_str(function.name),
            OperandKind::Parentheses(pipeline) => write!(f, "({pipeline})"),
            OperandKind::Chain(operand, fields) => {
                operand.fmt(f)?;
                write_fields(fields, f)
            }
        }
    }
}

fn write_fields(names: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    names.iter().try_for_each(|name| write!(f, ".{name}"))
}
