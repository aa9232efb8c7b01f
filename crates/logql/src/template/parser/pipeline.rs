//! Pipelines, commands and operands: what stands in an action behind its keyword.

use super::{Dot, Parsed, Parser};
use crate::regexp::compile_regex;
use crate::template::functions::{self, Kind as ParameterKind};
use crate::template::lexer::Kind;
use crate::template::literal::{parse_character, parse_float, parse_integer, unquote};
use crate::template::tree::{Command, Number, Operand, OperandKind, Pipeline};

impl Parser {
    /// Commands up to and with the token `end`.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<Pipeline> {
        self.skip_space();
        let position = self.peek().position;
        let (names, assigns) = self.declarations(context)?;
        let mut commands = Vec::new();
        loop {
            self.skip_space();
            match self.peek_kind() {
                kind if kind == end => {
                    self.next += 1;
                    break;
                }
                Kind::Bool
                | Kind::Character
                | Kind::Dot
                | Kind::Field
                | Kind::Word
                | Kind::Number
                | Kind::Nil
                | Kind::Quoted
                | Kind::Variable
                | Kind::OpenParenthesis => commands.push(self.command()?),
                _ => {
                    let token = self.take();
                    return self.unexpected(&token, context);
                }
            }
        }
        if commands.is_empty() {
            return Err(format!("missing value for {context}"));
        }
        for (at, command) in commands.iter().enumerate().skip(1) {
            if matches!(
                command.operands[0].kind,
                OperandKind::Bool(_)
                    | OperandKind::Dot
                    | OperandKind::Nil
                    | OperandKind::Number(_)
                    | OperandKind::Text { .. }
            ) {
                return Err(format!("non executable command in pipeline stage {}", at + 1));
            }
        }
        // A variable is not there yet for the pipeline that gives it its value.
        let variables = if assigns {
            names
                .iter()
                .map(|name| self.find_variable(name))
                .collect::<Parsed<_>>()?
        } else {
            names.into_iter().map(|name| self.declare(name)).collect()
        };
        Ok(Pipeline {
            position,
            variables,
            assigns,
            commands,
        })
    }

    /// `$x :=`, `$x =`, in loops also `$x, $y :=`.
    fn declarations(&mut self, context: &str) -> Parsed<(Vec<String>, bool)> {
        let mut names: Vec<String> = Vec::new();
        loop {
            self.skip_space();
            let before = self.next;
            if self.peek_kind() != Kind::Variable {
                return if names.is_empty() {
                    Ok((Vec::new(), false))
                } else {
                    self.pair_without_names()
                };
            }
            let name = self.take().text;
            self.skip_space();
            match self.peek_kind() {
                kind @ (Kind::Assign | Kind::Declare) => {
                    self.next += 1;
                    names.push(name);
                    return Ok((names, kind == Kind::Assign));
                }
                Kind::Other if self.peek().text == "," => {
                    self.next += 1;
                    names.push(name);
                    if context != "range" || names.len() > 1 {
                        return Err(format!("too many declarations in {context}"));
                    }
                }
                _ if names.is_empty() => {
                    self.next = before;
                    return Ok((Vec::new(), false));
                }
                _ => return self.pair_without_names(),
            }
        }
    }

    fn pair_without_names<T>(&self) -> Parsed<T> {
        Err("range can only initialize variables".to_owned())
    }

    fn command(&mut self) -> Parsed<Command> {
        self.skip_space();
        let position = self.peek().position;
        let mut operands = Vec::new();
        let mut labels_used = Vec::new();
        loop {
            self.skip_space();
            let all_labels = std::mem::take(&mut self.uses.all_labels);
            let operand = self.operand()?;
            labels_used.push(std::mem::replace(&mut self.uses.all_labels, all_labels));
            operands.extend(operand);
            let token = self.take();
            match token.kind {
                Kind::Space => {}
                Kind::Pipe => break,
                Kind::Close | Kind::CloseParenthesis => {
                    self.next -= 1;
                    break;
                }
                _ => return self.unexpected(&token, "operand"),
            }
        }
        if operands.is_empty() {
            return Err("empty command".to_owned());
        }
        self.note_uses(&operands, &labels_used);
        compile_regex_argument(&mut operands);
        Ok(Command { position, operands })
    }

    /// `index . "x"` reads one label; anything else that takes the labels as a whole reads all.
    fn note_uses(&mut self, operands: &[Operand], labels_used: &[bool]) {
        if let [
            Operand {
                kind: OperandKind::Function { function, .. },
                ..
            },
            Operand {
                kind: OperandKind::Dot | OperandKind::Variable { .. },
                ..
            },
            Operand {
                kind: OperandKind::Text { text, .. },
                ..
            },
            ..,
        ] = operands
            && function.name == "index"
            && labels_used.get(1) == Some(&true)
        {
            self.uses.fields.insert(String::from_utf8_lossy(text).into_owned());
        } else {
            self.uses.all_labels |= labels_used.contains(&true);
        }
    }

    /// A term and the fields behind it. `None` if there is no term.
    fn operand(&mut self) -> Parsed<Option<Operand>> {
        let Some(mut operand) = self.term()? else {
            return Ok(None);
        };
        let mut fields = Vec::new();
        while self.peek_kind() == Kind::Field {
            fields.push(self.take().text[1..].to_owned());
        }
        if !fields.is_empty() {
            let position = operand.position;
            operand.kind = match operand.kind {
                OperandKind::Field(mut names) => {
                    names.append(&mut fields);
                    OperandKind::Field(names)
                }
                OperandKind::Variable { variable, .. } => OperandKind::Variable { variable, fields },
                OperandKind::Bool(_)
                | OperandKind::Text { .. }
                | OperandKind::Number(_)
                | OperandKind::Nil
                | OperandKind::Dot => return Err(format!("unexpected . after term {:?}", operand.to_string())),
                kind => OperandKind::Chain(Box::new(Operand { position, kind }), fields),
            };
        }
        match &operand.kind {
            OperandKind::Dot if self.dot == Dot::Labels => self.uses.all_labels = true,
            OperandKind::Field(names) if self.dot == Dot::Labels => {
                self.uses.fields.extend(names.first().cloned());
            }
            OperandKind::Variable { variable, fields } if variable.slot == 0 && self.in_main => match fields.first() {
                Some(name) => {
                    self.uses.fields.insert(name.clone());
                }
                None => self.uses.all_labels = true,
            },
            _ => {}
        }
        Ok(Some(operand))
    }

    fn term(&mut self) -> Parsed<Option<Operand>> {
        let token = self.peek().clone();
        let position = token.position;
        let text = token.text.as_str();
        let kind = match token.kind {
            Kind::Word => {
                let Some(function) = functions::find(text) else {
                    return Err(format!("function {text:?} not defined"));
                };
                self.uses.line |= text == functions::LINE;
                OperandKind::Function { function, regex: None }
            }
            Kind::Dot => OperandKind::Dot,
            Kind::Nil => OperandKind::Nil,
            Kind::Bool => OperandKind::Bool(text == "true"),
            Kind::Field => OperandKind::Field(vec![text[1..].to_owned()]),
            Kind::Variable => OperandKind::Variable {
                variable: self.find_variable(text)?,
                fields: Vec::new(),
            },
            Kind::Number => OperandKind::Number(number(text)?),
            Kind::Character => {
                let Some(character) = parse_character(text) else {
                    return Err(format!("malformed character constant: {text}"));
                };
                OperandKind::Number(Number {
                    literal: text.to_owned(),
                    integer: Some(character),
                    float: character as f64,
                    is_fractional: false,
                })
            }
            Kind::Quoted => OperandKind::Text {
                text: unquote(text).ok_or("invalid syntax")?,
                literal: text.to_owned(),
            },
            Kind::OpenParenthesis => {
                self.next += 1;
                let pipeline =
                    self.deeper(|parser| parser.pipeline("parenthesized pipeline", Kind::CloseParenthesis))?;
                return Ok(Some(Operand {
                    position: pipeline.position,
                    kind: OperandKind::Parentheses(Box::new(pipeline)),
                }));
            }
            _ => return Ok(None),
        };
        self.next += 1;
        Ok(Some(Operand { position, kind }))
    }
}

fn number(text: &str) -> Parsed<Number> {
    let is_hexadecimal = text.contains(['x', 'X']);
    let is_fractional = text.contains(['.', 'p', 'P']) || (!is_hexadecimal && text.contains(['e', 'E']));
    let integer = parse_integer(text.as_bytes());
    if let (Some(integer), false) = (integer, is_fractional) {
        return Ok(Number {
            literal: text.to_owned(),
            integer: Some(integer),
            float: integer as f64,
            is_fractional,
        });
    }
    let Some(float) = parse_float(text) else {
        return Err(format!("illegal number syntax: {text:?}"));
    };
    if !is_fractional {
        return Err(
            if text.bytes().skip(1).all(|b| b.is_ascii_digit() || b == b'_') && !text.starts_with('0') {
                format!("integer overflow: {text:?}")
            } else {
                format!("illegal number syntax: {text:?}")
            },
        );
    }
    let is_whole = float.fract() == 0.0 && float.abs() < 9.2e18;
    Ok(Number {
        literal: text.to_owned(),
        integer: is_whole.then_some(float as i64),
        float,
        is_fractional,
    })
}

/// A constant expression is compiled here, once. One that is wrong fails when it is used, as in Go.
fn compile_regex_argument(operands: &mut [Operand]) {
    let [
        Operand {
            kind: OperandKind::Function { function, regex },
            ..
        },
        Operand {
            kind: OperandKind::Text { text, .. },
            ..
        },
        ..,
    ] = operands
    else {
        return;
    };
    if function.parameters.first() == Some(&ParameterKind::Regex) {
        *regex = std::str::from_utf8(text)
            .ok()
            .and_then(|text| compile_regex(text, false, false).ok());
    }
}
