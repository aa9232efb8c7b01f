// hot path: no locks, no logging, nothing allocated per entry in steady state.

//! Running a template over an entry.

use std::cell::Cell;
use std::fmt;

use super::context::{Context, Failure, Outcome};
use super::functions::{self, Function, Kind, Run};
use super::limits::{MAX_CALLS, MAX_TEXT_BYTES};
use super::parser::Program;
use super::print::print_value;
use super::sink::Sink;
use super::tree::{Branch, Command, Node, Number, Operand, OperandKind, Pipeline, Place};
use super::value::Value;

/// Calls with at most so many arguments need no memory for them.
const FEW_ARGUMENTS: usize = 4;

/// How a list of nodes ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// The variables of a body, and what `.` stands for.
#[derive(Clone, Copy)]
struct Scope<'a> {
    frame: &'a [Cell<Value<'a>>],
    dot: Value<'a>,
}

/// Runs one expansion.
pub(super) struct Executor<'s, 'a> {
    program: &'a Program,
    context: Context<'s, 'a>,
    place: Option<Place<'a>>,
    /// Templates that call each other.
    calls: usize,
}

impl<'s, 'a> Executor<'s, 'a> {
    pub(super) fn new(program: &'a Program, context: Context<'s, 'a>) -> Self {
        Self {
            program,
            context,
            place: None,
            calls: 0,
        }
    }

    /// Where it was when it failed.
    pub(super) fn place(&self) -> Option<Place<'a>> {
        self.place
    }

    /// Appends the expansion to `out`.
    pub(super) fn run(&mut self, out: &mut Sink<'_>) -> Result<(), Failure> {
        let program = self.program;
        let labels = self.labels()?;
        let frame = self.frame(program.slots, labels)?;
        let scope = Scope { frame, dot: labels };
        self.walk(&program.body, scope, out)?;
        Ok(())
    }

    /// The labels as a value. They are collected only for templates that use them as a whole.
    fn labels(&mut self) -> Outcome<'a> {
        if !self.program.uses.all_labels {
            return Ok(Value::Labels(&[]));
        }
        let (mut count, mut bytes) = (0, 0);
        self.context.source.visit(&mut |name, value| {
            count += 1;
            bytes += name.len() + value.len();
        });
        self.context.step(bytes)?;
        self.context.reserve(bytes + count * size_of::<(&[u8], &[u8])>())?;
        let arena = self.context.arena;
        let entries: &'a mut [(&'a [u8], &'a [u8])] = arena.alloc_slice_fill_copy(count, (&[][..], &[][..]));
        let mut places = entries.iter_mut();
        self.context.source.visit(&mut |name, value| {
            if let Some(place) = places.next() {
                *place = (arena.alloc_slice_copy(name), arena.alloc_slice_copy(value));
            }
        });
        Ok(Value::Labels(entries))
    }

    fn frame(&mut self, slots: usize, data: Value<'a>) -> Result<&'a [Cell<Value<'a>>], Failure> {
        let values = self.context.values(slots)?;
        if let Some(first) = values.first_mut() {
            *first = data;
        }
        Ok(Cell::from_mut(values).as_slice_of_cells())
    }

    fn fail(&mut self, message: fmt::Arguments<'_>) -> Failure {
        self.context.fail(message)
    }

    fn walk(&mut self, nodes: &'a [Node], scope: Scope<'a>, out: &mut Sink<'_>) -> Result<Flow, Failure> {
        for node in nodes {
            self.context.step(0)?;
            match node {
                Node::Text(text) => out.push(text),
                Node::Action(pipeline) => {
                    let value = self.pipeline(pipeline, scope)?;
                    if pipeline.variables.is_empty() {
                        self.place = Some(Place::Pipeline(pipeline));
                        match value {
                            Value::Nothing => out.push(b"<no value>"),
                            value => {
                                self.context.step(value.weight())?;
                                print_value(value, out);
                            }
                        }
                    }
                }
                Node::If(branch) => {
                    let value = self.pipeline(&branch.pipeline, scope)?;
                    let taken = if value.truth() { &branch.body } else { &branch.otherwise };
                    let flow = self.walk(taken, scope, out)?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                Node::With(branch) => {
                    let dot = self.pipeline(&branch.pipeline, scope)?;
                    let flow = if dot.truth() {
                        self.walk(&branch.body, Scope { dot, ..scope }, out)?
                    } else {
                        self.walk(&branch.otherwise, scope, out)?
                    };
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                Node::Range(branch) => {
                    let flow = self.range(branch, scope, out)?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                Node::Break => return Ok(Flow::Break),
                Node::Continue => return Ok(Flow::Continue),
                Node::Call {
                    name,
                    position,
                    argument,
                } => {
                    self.place = Some(Place::Call(name, *position));
                    self.call_template(name, argument.as_ref(), scope, out)?;
                }
            }
            if out.is_exceeded() {
                return Err(self.fail(format_args!("output exceeds {MAX_TEXT_BYTES} bytes")));
            }
        }
        Ok(Flow::Next)
    }

    fn call_template(
        &mut self,
        name: &'a str,
        argument: Option<&'a Pipeline>,
        scope: Scope<'a>,
        out: &mut Sink<'_>,
    ) -> Result<(), Failure> {
        let program = self.program;
        let Some(definition) = program.definitions.iter().find(|definition| definition.name == name) else {
            return Err(self.fail(format_args!("template {name:?} not defined")));
        };
        if self.calls == MAX_CALLS {
            return Err(self.fail(format_args!("exceeded maximum template depth ({MAX_CALLS})")));
        }
        let dot = match argument {
            Some(pipeline) => self.pipeline(pipeline, scope)?,
            None => Value::Nothing,
        };
        let frame = self.frame(definition.slots, dot)?;
        self.calls += 1;
        self.walk(&definition.body, Scope { frame, dot }, out)?;
        self.calls -= 1;
        Ok(())
    }

    fn range(&mut self, branch: &'a Branch, scope: Scope<'a>, out: &mut Sink<'_>) -> Result<Flow, Failure> {
        let value = self.commands(&branch.pipeline, scope)?;
        let mut is_empty = true;
        // True: go on.
        let mut turn = |executor: &mut Self, index: Value<'a>, item: Value<'a>, out: &mut Sink<'_>| {
            is_empty = false;
            match branch.pipeline.variables.as_slice() {
                [] => {}
                [single] => set(scope, single.slot, item),
                [first, second, ..] => {
                    set(scope, first.slot, index);
                    set(scope, second.slot, item);
                }
            }
            executor.context.step(0)?;
            let flow = executor.walk(&branch.body, Scope { dot: item, ..scope }, out)?;
            Ok(flow != Flow::Break)
        };
        match value {
            Value::List(items) => {
                for (at, item) in (0..).zip(items) {
                    if !turn(self, Value::Int(at), *item, out)? {
                        break;
                    }
                }
            }
            Value::Map(entries) => {
                for (key, item) in entries {
                    if !turn(self, Value::Text(key), *item, out)? {
                        break;
                    }
                }
            }
            Value::Labels(entries) => {
                for (key, item) in entries {
                    if !turn(self, Value::Text(key), Value::Text(item), out)? {
                        break;
                    }
                }
            }
            Value::Int(count) => {
                for at in 0..count {
                    if !turn(self, Value::Int(at), Value::Int(at), out)? {
                        break;
                    }
                }
            }
            Value::Int64(count) => {
                for at in 0..count {
                    if !turn(self, Value::Int64(at), Value::Int64(at), out)? {
                        break;
                    }
                }
            }
            Value::Nothing | Value::Null => {}
            other => {
                let mut text = Vec::new();
                print_value(other, &mut Sink::new(&mut text));
                let text = super::print::quote::Shown(&text);
                return Err(self.fail(format_args!("range can't iterate over {text}")));
            }
        }
        if is_empty {
            return self.walk(&branch.otherwise, scope, out);
        }
        Ok(Flow::Next)
    }

    /// The value of a pipeline, which its variables get too.
    fn pipeline(&mut self, pipeline: &'a Pipeline, scope: Scope<'a>) -> Outcome<'a> {
        let value = self.commands(pipeline, scope)?;
        for variable in &pipeline.variables {
            set(scope, variable.slot, value);
        }
        Ok(value)
    }

    fn commands(&mut self, pipeline: &'a Pipeline, scope: Scope<'a>) -> Outcome<'a> {
        self.place = Some(Place::Pipeline(pipeline));
        let mut value = None;
        for command in &pipeline.commands {
            value = Some(match self.command(command, value, scope)? {
                // A pipeline digs out what an interface holds.
                Value::Null => Value::Nothing,
                value => value,
            });
        }
        Ok(value.unwrap_or(Value::Nothing))
    }

    fn command(&mut self, command: &'a Command, last: Option<Value<'a>>, scope: Scope<'a>) -> Outcome<'a> {
        let Some((first, arguments)) = command.operands.split_first() else {
            return Ok(Value::Nothing);
        };
        match &first.kind {
            OperandKind::Function { function, regex } => {
                self.place = Some(Place::Operand(first));
                let call = Call {
                    function,
                    place: Place::Command(command),
                    receiver: None,
                    arguments,
                    last,
                };
                self.call(&call, regex.as_ref(), scope)
            }
            OperandKind::Field(names) => {
                self.place = Some(Place::Operand(first));
                self.field_chain(scope.dot, names, first, arguments, last, scope)
            }
            OperandKind::Chain(inner, names) => {
                self.place = Some(Place::Operand(first));
                let receiver = self.chain_start(inner, scope)?;
                self.field_chain(receiver, names, first, arguments, last, scope)
            }
            OperandKind::Variable { variable, fields } => {
                self.place = Some(Place::Operand(first));
                let value = get(scope, variable.slot);
                if fields.is_empty() {
                    self.not_a_function(first, arguments, last)?;
                    return Ok(value);
                }
                self.field_chain(value, fields, first, arguments, last, scope)
            }
            OperandKind::Parentheses(pipeline) => {
                self.not_a_function(first, arguments, last)?;
                self.pipeline(pipeline, scope)
            }
            kind => {
                self.place = Some(Place::Operand(first));
                self.not_a_function(first, arguments, last)?;
                match kind {
                    OperandKind::Bool(value) => Ok(Value::Bool(*value)),
                    OperandKind::Dot => Ok(scope.dot),
                    OperandKind::Number(number) => Ok(ideal(number)),
                    OperandKind::Text { text, .. } => Ok(Value::Text(text)),
                    _ => Err(self.fail(format_args!("nil is not a command"))),
                }
            }
        }
    }

    fn not_a_function(
        &mut self,
        operand: &Operand,
        arguments: &[Operand],
        last: Option<Value<'a>>,
    ) -> Result<(), Failure> {
        if arguments.is_empty() && last.is_none() {
            return Ok(());
        }
        Err(self.fail(format_args!("can't give argument to non-function {operand}")))
    }

    /// The value before the fields of a chain.
    fn chain_start(&mut self, inner: &'a Operand, scope: Scope<'a>) -> Outcome<'a> {
        match &inner.kind {
            OperandKind::Nil => Err(self.fail(format_args!("indirection through explicit nil in {inner}"))),
            _ => self.argument(inner, Kind::Value, scope),
        }
    }

    /// The fields of a value, one after the other. Arguments go to the last one, should it be a method.
    fn field_chain(
        &mut self,
        mut value: Value<'a>,
        names: &'a [String],
        operand: &'a Operand,
        arguments: &'a [Operand],
        last: Option<Value<'a>>,
        scope: Scope<'a>,
    ) -> Outcome<'a> {
        for (at, name) in names.iter().enumerate() {
            let is_last = at + 1 == names.len();
            let (arguments, last) = if is_last { (arguments, last) } else { (&[][..], None) };
            self.place = Some(Place::Operand(operand));
            value = self.field(value, name, operand, arguments, last, scope)?;
        }
        Ok(value)
    }

    fn field(
        &mut self,
        value: Value<'a>,
        name: &'a str,
        operand: &'a Operand,
        arguments: &'a [Operand],
        last: Option<Value<'a>>,
        scope: Scope<'a>,
    ) -> Outcome<'a> {
        if let Some(function) = functions::find_method(value, name) {
            let call = Call {
                function,
                place: Place::Operand(operand),
                receiver: Some(value),
                arguments,
                last,
            };
            return self.call(&call, None, scope);
        }
        let found = match value {
            Value::Nothing => return Ok(Value::Nothing),
            Value::Null => {
                return Err(self.fail(format_args!("nil pointer evaluating interface {{}}.{name}")));
            }
            Value::Labels(_) => Value::Text(self.context.source.get(name.as_bytes()).unwrap_or_default()),
            Value::Map(entries) => find(entries, name.as_bytes()).unwrap_or(Value::Null),
            other => {
                let type_name = other.type_name();
                return Err(self.fail(format_args!("can't evaluate field {name} in type {type_name}")));
            }
        };
        if !arguments.is_empty() || last.is_some() {
            return Err(self.fail(format_args!("{name} is not a method but has arguments")));
        }
        Ok(found)
    }

    fn call(&mut self, call: &Call<'a>, regex: Option<&'a regex::bytes::Regex>, scope: Scope<'a>) -> Outcome<'a> {
        let Call { function, .. } = call;
        let fixed = function.parameters.len() - usize::from(call.receiver.is_some());
        let count = call.arguments.len() + usize::from(call.last.is_some());
        let name = function.name;
        if function.rest.is_some() && count < fixed {
            let given = call.arguments.len();
            return Err(self.fail(format_args!(
                "wrong number of args for {name}: want at least {fixed} got {given}"
            )));
        }
        if function.rest.is_none() && count != fixed {
            return Err(self.fail(format_args!(
                "wrong number of args for {name}: want {fixed} got {count}"
            )));
        }
        match function.run {
            Run::And => self.until(call, false, scope),
            Run::Or => self.until(call, true, scope),
            Run::Call(run) => {
                let total = count + usize::from(call.receiver.is_some());
                let mut few = [Value::Nothing; FEW_ARGUMENTS];
                let values = match few.get_mut(..total) {
                    Some(values) => values,
                    None => self.context.values(total)?,
                };
                self.arguments(call, values, scope)?;
                let weight = values.iter().map(|value| value.weight()).sum();
                self.context.step(weight)?;
                self.place = Some(call.place);
                self.context.constant_regex = regex;
                let value = run(&mut self.context, values);
                self.context.constant_regex = None;
                value.map_err(|_| Failure { function: Some(name) })
            }
        }
    }

    /// `and` and `or`: the first argument of which the truth is `wanted`, or the last one. Those behind it are not evaluated.
    fn until(&mut self, call: &Call<'a>, wanted: bool, scope: Scope<'a>) -> Outcome<'a> {
        let mut value = Value::Nothing;
        for argument in call.arguments {
            value = self.argument(argument, Kind::Value, scope)?;
            if value.truth() == wanted {
                return Ok(value);
            }
        }
        Ok(call.last.unwrap_or(value))
    }

    fn arguments(&mut self, call: &Call<'a>, values: &mut [Value<'a>], scope: Scope<'a>) -> Result<(), Failure> {
        let mut places = values.iter_mut();
        let kinds = call.function.parameters.iter().copied();
        let mut kinds = kinds.chain(std::iter::repeat(call.function.rest.unwrap_or(Kind::Value)));
        if let Some(receiver) = call.receiver {
            kinds.next();
            if let Some(place) = places.next() {
                *place = receiver;
            }
        }
        for (argument, place) in call.arguments.iter().zip(&mut places) {
            let kind = kinds.next().unwrap_or(Kind::Value);
            *place = self.argument(argument, kind, scope)?;
        }
        if let (Some(last), Some(place)) = (call.last, places.next()) {
            let kind = kinds.next().unwrap_or(Kind::Value);
            *place = self.checked(last, kind)?;
        }
        Ok(())
    }

    /// An argument as the parameter wants it.
    fn argument(&mut self, operand: &'a Operand, kind: Kind, scope: Scope<'a>) -> Outcome<'a> {
        self.context.step(0)?;
        self.place = Some(Place::Operand(operand));
        let value = match &operand.kind {
            OperandKind::Dot => scope.dot,
            OperandKind::Nil => match kind {
                Kind::Any => Value::Null,
                Kind::Value => Value::Nothing,
                _ => return Err(self.fail(format_args!("cannot assign nil to {}", kind.type_name()))),
            },
            OperandKind::Field(names) => self.field_chain(scope.dot, names, operand, &[], None, scope)?,
            OperandKind::Variable { variable, fields } => {
                let value = get(scope, variable.slot);
                self.field_chain(value, fields, operand, &[], None, scope)?
            }
            OperandKind::Parentheses(pipeline) => self.pipeline(pipeline, scope)?,
            OperandKind::Function { function, regex } => {
                let call = Call {
                    function,
                    place: Place::Operand(operand),
                    receiver: None,
                    arguments: &[],
                    last: None,
                };
                self.call(&call, regex.as_ref(), scope)?
            }
            OperandKind::Chain(inner, names) => {
                let receiver = self.chain_start(inner, scope)?;
                self.field_chain(receiver, names, operand, &[], None, scope)?
            }
            constant => return self.constant(constant, operand, kind),
        };
        self.checked(value, kind)
    }

    /// A literal takes the type of the parameter, if it can.
    fn constant(&mut self, constant: &'a OperandKind, operand: &Operand, kind: Kind) -> Outcome<'a> {
        let value = match (kind, constant) {
            (Kind::Int, OperandKind::Number(number)) => number.integer.map(Value::Int),
            (Kind::Float, OperandKind::Number(number)) => Some(Value::Float(number.float)),
            (Kind::Text | Kind::Regex, OperandKind::Text { text, .. }) => Some(Value::Text(text)),
            (Kind::Any | Kind::Value, OperandKind::Number(number)) => Some(ideal(number)),
            (Kind::Any | Kind::Value, OperandKind::Text { text, .. }) => Some(Value::Text(text)),
            (Kind::Any | Kind::Value, OperandKind::Bool(value)) => Some(Value::Bool(*value)),
            _ => None,
        };
        value.ok_or_else(|| match kind {
            Kind::Int => self.fail(format_args!("expected integer; found {operand}")),
            Kind::Float => self.fail(format_args!("expected float; found {operand}")),
            Kind::Text | Kind::Regex => self.fail(format_args!("expected string; found {operand}")),
            _ => self.fail(format_args!(
                "can't handle {operand} for arg of type {}",
                kind.type_name()
            )),
        })
    }

    /// The value, if it is of the type that the parameter wants.
    fn checked(&mut self, value: Value<'a>, kind: Kind) -> Outcome<'a> {
        match (kind, value) {
            (Kind::Value, value) => Ok(value),
            (Kind::Any, Value::Nothing) => Ok(Value::Null),
            (Kind::Any, value) => Ok(value),
            (Kind::Text | Kind::Regex, Value::Text(_))
            | (Kind::Int, Value::Int(_))
            | (Kind::Float, Value::Float(_))
            | (Kind::Time, Value::Time(_)) => Ok(value),
            (_, Value::Nothing) => Err(self.fail(format_args!("invalid value; expected {}", kind.type_name()))),
            (_, value) => {
                let (want, got) = (kind.type_name(), value.type_name());
                Err(self.fail(format_args!("wrong type for value; expected {want}; got {got}")))
            }
        }
    }
}

/// A function with what it is called with.
struct Call<'a> {
    function: &'static Function,
    place: Place<'a>,
    /// The value of which the function is a method.
    receiver: Option<Value<'a>>,
    arguments: &'a [Operand],
    /// The value piped into it.
    last: Option<Value<'a>>,
}

fn get<'a>(scope: Scope<'a>, slot: usize) -> Value<'a> {
    scope.frame.get(slot).map_or(Value::Nothing, Cell::get)
}

fn set<'a>(scope: Scope<'a>, slot: usize, value: Value<'a>) {
    if let Some(place) = scope.frame.get(slot) {
        place.set(value);
    }
}

/// What a number is where no type is asked for.
fn ideal<'a>(number: &Number) -> Value<'a> {
    match number.integer {
        Some(integer) if !number.is_fractional => Value::Int(integer),
        _ => Value::Float(number.float),
    }
}

/// The value of a key in a map, which is in order of key.
pub(super) fn find<'a>(entries: &[(&'a [u8], Value<'a>)], key: &[u8]) -> Option<Value<'a>> {
    let at = entries.binary_search_by(|(name, _)| (*name).cmp(key)).ok()?;
    Some(entries[at].1)
}
