//! From tokens to a tree, with the rules and the messages of Go's `text/template`.

mod pipeline;

use std::collections::BTreeSet;

use super::lexer::{Kind, Token, tokens};
use super::limits::MAX_NESTING;
use super::literal::unquote;
use super::tree::{Branch, Node, Variable};

/// A parsed template with those it defines, and what it uses.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) body: Vec<Node>,
    pub(super) definitions: Vec<Definition>,
    /// Places that the frame of the main body needs.
    pub(super) slots: usize,
    pub(super) uses: Uses,
}

/// `{{define "name"}}`
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) body: Vec<Node>,
    pub(super) slots: usize,
}

/// What a template reads of an entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// Labels by name.
    pub(super) fields: BTreeSet<String>,
    /// The set of labels as a whole.
    pub(super) all_labels: bool,
    pub(super) line: bool,
}

/// Parses a template. The message begins with `template: line:1: `, where `name` stands for `line`.
pub(super) fn parse(name: &str, text: &str) -> Result<Program, String> {
    let mut parser = Parser {
        tokens: tokens(text),
        next: 0,
        furthest: 0,
        variables: vec!["$".to_owned()],
        slots: 1,
        definitions: Vec::new(),
        uses: Uses::default(),
        dot: Dot::Labels,
        in_main: true,
        loops: 0,
        depth: 0,
    };
    let parsed = parser.top();
    let body = parsed.map_err(|message| format!("template: {name}:{}: {message}", parser.line()))?;
    Ok(Program {
        body,
        definitions: parser.definitions,
        slots: parser.slots,
        uses: parser.uses,
    })
}

/// What `.` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dot {
    Labels,
    Other,
}

/// How a list of nodes ended.
enum Ending {
    End,
    Else,
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    /// The last token that was looked at, of which messages name the line.
    furthest: usize,
    variables: Vec<String>,
    slots: usize,
    definitions: Vec<Definition>,
    uses: Uses,
    dot: Dot,
    /// Not in a definition, where `$` is what the caller passes.
    in_main: bool,
    loops: usize,
    depth: usize,
}

type Parsed<T> = Result<T, String>;

impl Parser {
    fn line(&self) -> usize {
        self.tokens.get(self.furthest).map_or(1, |token| token.line)
    }

    /// The next token, without passing it. Behind the last one it is that again.
    fn peek(&mut self) -> &Token {
        let at = self.next.min(self.tokens.len() - 1);
        self.furthest = self.furthest.max(at);
        &self.tokens[at]
    }

    fn peek_kind(&mut self) -> Kind {
        self.peek().kind
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn skip_space(&mut self) {
        while self.peek_kind() == Kind::Space {
            self.next += 1;
        }
    }

    fn peek_keyword(&mut self, keyword: &str) -> bool {
        self.skip_space();
        let token = self.peek();
        token.kind == Kind::Keyword && token.text == keyword
    }

    fn unexpected<T>(&self, token: &Token, context: &str) -> Parsed<T> {
        Err(match token.kind {
            Kind::Error => token.text.clone(),
            _ => format!("unexpected {} in {context}", shown(token)),
        })
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token> {
        self.skip_space();
        let token = self.take();
        if token.kind == kind {
            Ok(token)
        } else {
            self.unexpected(&token, context)
        }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_NESTING {
            return Err(format!("template nests deeper than {MAX_NESTING} levels"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn top(&mut self) -> Parsed<Vec<Node>> {
        let mut nodes = Vec::new();
        loop {
            match self.peek_kind() {
                Kind::End => return Ok(nodes),
                Kind::Open => {
                    self.next += 1;
                    if self.peek_keyword("define") {
                        self.next += 1;
                        self.definition()?;
                    } else {
                        match self.action()? {
                            Item::Node(node) => nodes.push(node),
                            Item::Ending(Ending::End) => return Err("unexpected {{end}}".to_owned()),
                            Item::Ending(Ending::Else) => return Err("unexpected {{else}}".to_owned()),
                        }
                    }
                }
                _ => nodes.push(self.text()?),
            }
        }
    }

    fn text(&mut self) -> Parsed<Node> {
        let token = self.take();
        if token.kind == Kind::Text {
            Ok(Node::Text(token.text.into_bytes()))
        } else {
            self.unexpected(&token, "input")
        }
    }

    /// The nodes up to `{{end}}` or `{{else}}`.
    fn list(&mut self) -> Parsed<(Vec<Node>, Ending)> {
        let mut nodes = Vec::new();
        loop {
            match self.peek_kind() {
                Kind::End => return Err("unexpected EOF".to_owned()),
                Kind::Open => {
                    self.next += 1;
                    match self.action()? {
                        Item::Node(node) => nodes.push(node),
                        Item::Ending(ending) => return Ok((nodes, ending)),
                    }
                }
                _ => nodes.push(self.text()?),
            }
        }
    }

    fn action(&mut self) -> Parsed<Item> {
        self.skip_space();
        let token = self.peek().clone();
        if token.kind != Kind::Keyword {
            // Variables stay until the end of the list.
            return Ok(Item::Node(Node::Action(self.pipeline("command", Kind::Close)?)));
        }
        self.next += 1;
        Ok(match token.text.as_str() {
            "if" => Item::Node(Node::If(self.branch("if")?)),
            "with" => Item::Node(Node::With(self.branch("with")?)),
            "range" => Item::Node(Node::Range(self.branch("range")?)),
            "break" => Item::Node(self.jump("{{break}}", Node::Break)?),
            "continue" => Item::Node(self.jump("{{continue}}", Node::Continue)?),
            "template" => Item::Node(self.call()?),
            "block" => Item::Node(self.block()?),
            "end" => {
                self.expect(Kind::Close, "end")?;
                Item::Ending(Ending::End)
            }
            "else" => {
                if !self.peek_keyword("if") && !self.peek_keyword("with") {
                    self.expect(Kind::Close, "else")?;
                }
                Item::Ending(Ending::Else)
            }
            _ => return self.unexpected(&token, "command"),
        })
    }

    fn jump(&mut self, name: &str, node: Node) -> Parsed<Node> {
        self.expect(Kind::Close, name)?;
        if self.loops == 0 {
            return Err(format!("{name} outside {{{{range}}}}"));
        }
        Ok(node)
    }

    fn branch(&mut self, context: &'static str) -> Parsed<Branch> {
        self.deeper(|parser| {
            let variables = parser.variables.len();
            let dot = parser.dot;
            let pipeline = parser.pipeline(context, Kind::Close)?;
            if context != "if" {
                // The labels get there only if something else used them as a whole.
                parser.dot = Dot::Other;
            }
            parser.loops += usize::from(context == "range");
            let (body, ending) = parser.list()?;
            parser.loops -= usize::from(context == "range");
            parser.dot = dot;
            let mut otherwise = Vec::new();
            if matches!(ending, Ending::Else) {
                if context == "if" && parser.peek_keyword("if") {
                    parser.next += 1;
                    otherwise.push(Node::If(parser.branch("if")?));
                } else if context == "with" && parser.peek_keyword("with") {
                    parser.next += 1;
                    otherwise.push(Node::With(parser.branch("with")?));
                } else {
                    let ending;
                    (otherwise, ending) = parser.list()?;
                    if matches!(ending, Ending::Else) {
                        return Err("expected end; found {{else}}".to_owned());
                    }
                }
            }
            parser.variables.truncate(variables);
            Ok(Branch {
                pipeline,
                body,
                otherwise,
            })
        })
    }

    fn template_name(&mut self, context: &str) -> Parsed<(String, usize)> {
        let token = self.expect(Kind::Quoted, context)?;
        let name = unquote(&token.text).ok_or("invalid syntax")?;
        Ok((String::from_utf8_lossy(&name).into_owned(), token.position))
    }

    fn call(&mut self) -> Parsed<Node> {
        let (name, position) = self.template_name("template clause")?;
        self.skip_space();
        let argument = if self.peek_kind() == Kind::Close {
            self.next += 1;
            None
        } else {
            Some(self.pipeline("template clause", Kind::Close)?)
        };
        Ok(Node::Call {
            name,
            position,
            argument,
        })
    }

    fn block(&mut self) -> Parsed<Node> {
        let (name, position) = self.template_name("block clause")?;
        let argument = Some(self.pipeline("block clause", Kind::Close)?);
        self.define(name.clone(), "block clause")?;
        Ok(Node::Call {
            name,
            position,
            argument,
        })
    }

    fn definition(&mut self) -> Parsed<()> {
        let (name, _) = self.template_name("define clause")?;
        self.expect(Kind::Close, "define clause")?;
        self.define(name, "define clause")
    }

    /// The body of a definition. It has variables of its own.
    fn define(&mut self, name: String, context: &str) -> Parsed<()> {
        let variables = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let outer = (self.slots, self.dot, self.in_main, self.loops);
        (self.slots, self.dot, self.in_main, self.loops) = (1, Dot::Other, false, 0);
        let (body, ending) = self.deeper(Self::list)?;
        if matches!(ending, Ending::Else) {
            return Err(format!("unexpected {{{{else}}}} in {context}"));
        }
        let slots = self.slots;
        (self.slots, self.dot, self.in_main, self.loops) = outer;
        self.variables = variables;
        // As in Go an empty definition replaces none.
        let is_empty = body
            .iter()
            .all(|node| matches!(node, Node::Text(text) if text.trim_ascii().is_empty()));
        let earlier = self.definitions.iter_mut().find(|earlier| earlier.name == name);
        match earlier {
            Some(_) if is_empty => {}
            Some(earlier) => (earlier.body, earlier.slots) = (body, slots),
            None => self.definitions.push(Definition { name, body, slots }),
        }
        Ok(())
    }

    fn declare(&mut self, name: String) -> Variable {
        self.variables.push(name.clone());
        self.slots = self.slots.max(self.variables.len());
        Variable {
            name,
            slot: self.variables.len() - 1,
        }
    }

    fn find_variable(&self, name: &str) -> Parsed<Variable> {
        match self.variables.iter().rposition(|variable| variable == name) {
            Some(slot) => Ok(Variable {
                name: name.to_owned(),
                slot,
            }),
            None => Err(format!("undefined variable {name:?}")),
        }
    }
}

enum Item {
    Node(Node),
    Ending(Ending),
}

/// A token as messages show it.
fn shown(token: &Token) -> String {
    match token.kind {
        Kind::End => "EOF".to_owned(),
        Kind::Keyword | Kind::Dot | Kind::Nil => format!("<{}>", token.text),
        _ if token.text.chars().count() > 10 => {
            let head: String = token.text.chars().take(10).collect();
            format!("{head:?}...")
        }
        _ => format!("{:?}", token.text),
    }
}
