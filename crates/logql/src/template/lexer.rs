//! From the text of a template to tokens.

use super::print::quote::is_printable;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The text is a message.
    Error,
    Text,
    Open,
    Close,
    Space,
    Word,
    Keyword,
    Bool,
    /// `.name`
    Field,
    /// `$` or `$name`
    Variable,
    Dot,
    Nil,
    Number,
    Character,
    /// In double quotes or backticks.
    Quoted,
    Assign,
    Declare,
    Pipe,
    OpenParenthesis,
    CloseParenthesis,
    /// Any other character.
    Other,
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) position: usize,
    pub(super) line: usize,
}

const KEYWORDS: [&str; 10] = [
    "block", "break", "continue", "define", "else", "end", "if", "range", "template", "with",
];

/// Splits a template. The last token is the end or an error.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        input: text,
        at: 0,
        line: 1,
        parentheses: 0,
        tokens: Vec::new(),
    };
    if let Err(message) = lexer.run() {
        let position = lexer.at.min(text.len());
        let line = 1 + text[..position].matches('\n').count();
        lexer.tokens.push(Token {
            kind: Kind::Error,
            text: message,
            position,
            line,
        });
    }
    lexer.tokens
}

struct Lexer<'t> {
    input: &'t str,
    at: usize,
    line: usize,
    parentheses: usize,
    tokens: Vec<Token>,
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// `- ` behind an opening delimiter.
fn trims_left(after: &str) -> bool {
    after.strip_prefix('-').is_some_and(|rest| rest.starts_with(is_space))
}

/// ` -}}`
fn is_trimming_close(rest: &str) -> bool {
    rest.starts_with(is_space) && rest[1..].starts_with("-}}")
}

/// `U+0040 '@'`
fn described(c: char) -> String {
    if is_printable(c) {
        format!("U+{:04X} '{c}'", u32::from(c))
    } else {
        format!("U+{:04X}", u32::from(c))
    }
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.input[self.at..]
    }

    /// Ends the token that began where the last one ended.
    fn push(&mut self, kind: Kind, length: usize) {
        let text = &self.input[self.at..self.at + length];
        self.tokens.push(Token {
            kind,
            text: text.to_owned(),
            position: self.at,
            line: self.line,
        });
        self.pass(length);
    }

    fn pass(&mut self, length: usize) {
        self.line += self.input[self.at..self.at + length].matches('\n').count();
        self.at += length;
    }

    fn run(&mut self) -> Result<(), String> {
        loop {
            let open = self.rest().find("{{");
            let text = &self.rest()[..open.unwrap_or(self.rest().len())];
            let trimmed = match open {
                Some(open) if trims_left(&self.rest()[open + 2..]) => text.trim_end_matches(is_space),
                _ => text,
            };
            if !trimmed.is_empty() {
                self.push(Kind::Text, trimmed.len());
            }
            self.pass(text.len() - trimmed.len());
            if open.is_none() {
                self.push(Kind::End, 0);
                return Ok(());
            }
            let after = &self.rest()[2..];
            let marker = if trims_left(after) { 2 } else { 0 };
            if after[marker..].starts_with("/*") {
                self.comment(2 + marker)?;
                continue;
            }
            self.push(Kind::Open, 2);
            self.pass(marker);
            self.parentheses = 0;
            self.action()?;
        }
    }

    /// Passes `{{`, the comment, and `}}`.
    fn comment(&mut self, start: usize) -> Result<(), String> {
        let Some(end) = self.rest()[start + 2..].find("*/") else {
            return Err("unclosed comment".to_owned());
        };
        self.pass(start + 2 + end + 2);
        if is_trimming_close(self.rest()) {
            self.pass(4);
            self.trim_left();
        } else if self.rest().starts_with("}}") {
            self.pass(2);
        } else {
            return Err("comment ends before closing delimiter".to_owned());
        }
        Ok(())
    }

    fn trim_left(&mut self) {
        self.pass(self.rest().len() - self.rest().trim_start_matches(is_space).len());
    }

    /// The tokens up to and with `}}`.
    fn action(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let trims = is_trimming_close(rest);
            if trims || rest.starts_with("}}") {
                if self.parentheses > 0 {
                    return Err("unclosed left paren".to_owned());
                }
                self.pass(if trims { 2 } else { 0 });
                self.push(Kind::Close, 2);
                if trims {
                    self.trim_left();
                }
                return Ok(());
            }
            let Some(first) = rest.chars().next() else {
                return Err("unclosed action".to_owned());
            };
            match first {
                c if is_space(c) => {
                    let length = rest.len() - rest.trim_start_matches(is_space).len();
                    // The last space may belong to the closing delimiter.
                    let length = if is_trimming_close(&rest[length - 1..]) {
                        length - 1
                    } else {
                        length
                    };
                    self.push(Kind::Space, length);
                }
                '=' => self.push(Kind::Assign, 1),
                ':' if rest.starts_with(":=") => self.push(Kind::Declare, 2),
                ':' => return Err("expected :=".to_owned()),
                '|' => self.push(Kind::Pipe, 1),
                '"' => self.quoted()?,
                '`' => {
                    let Some(length) = rest[1..].find('`') else {
                        return Err("unterminated raw quoted string".to_owned());
                    };
                    self.push(Kind::Quoted, length + 2);
                }
                '\'' => self.character()?,
                '$' => self.name(Kind::Variable, Kind::Variable)?,
                '.' if !rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.name(Kind::Field, Kind::Dot)?,
                '.' | '+' | '-' | '0'..='9' => self.number()?,
                c if is_word(c) => self.word()?,
                '(' => {
                    self.parentheses += 1;
                    self.push(Kind::OpenParenthesis, 1);
                }
                ')' => {
                    if self.parentheses == 0 {
                        return Err("unexpected right paren".to_owned());
                    }
                    self.parentheses -= 1;
                    self.push(Kind::CloseParenthesis, 1);
                }
                c if c.is_ascii_graphic() => self.push(Kind::Other, 1),
                c => return Err(format!("unrecognized character in action: {}", described(c))),
            }
        }
    }

    fn quoted(&mut self) -> Result<(), String> {
        let mut escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    self.push(Kind::Quoted, at + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err("unterminated quoted string".to_owned())
    }

    fn character(&mut self) -> Result<(), String> {
        let mut escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '\'' => {
                    self.push(Kind::Character, at + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err("unterminated character constant".to_owned())
    }

    /// A name behind `.` or `$`; `bare` if there is none.
    fn name(&mut self, kind: Kind, bare: Kind) -> Result<(), String> {
        let length = 1 + word_length(&self.rest()[1..]);
        self.check_end(length)?;
        self.push(if length == 1 { bare } else { kind }, length);
        Ok(())
    }

    fn word(&mut self) -> Result<(), String> {
        let length = word_length(self.rest());
        self.check_end(length)?;
        let kind = match &self.rest()[..length] {
            "true" | "false" => Kind::Bool,
            "nil" => Kind::Nil,
            word if KEYWORDS.contains(&word) => Kind::Keyword,
            _ => Kind::Word,
        };
        self.push(kind, length);
        Ok(())
    }

    /// What may follow a name.
    fn check_end(&self, length: usize) -> Result<(), String> {
        let rest = &self.rest()[length..];
        match rest.chars().next() {
            Some(c) if !(is_space(c) || matches!(c, '.' | ',' | '|' | ':' | ')' | '(') || rest.starts_with("}}")) => {
                Err(format!("bad character {}", described(c)))
            }
            _ => Ok(()),
        }
    }

    fn number(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let mut at = usize::from(rest.starts_with(['+', '-']));
        let mut radix = 10;
        let after_sign = &rest.as_bytes()[at..];
        if let [b'0', prefix, ..] = after_sign {
            radix = match prefix {
                b'x' | b'X' => 16,
                b'o' | b'O' => 8,
                b'b' | b'B' => 2,
                _ => 10,
            };
            at += if radix == 10 { 0 } else { 2 };
        }
        let digits = |at: usize, radix: u32| {
            let tail = &rest[at..];
            at + tail
                .find(|c: char| c != '_' && !c.is_digit(radix))
                .unwrap_or(tail.len())
        };
        at = digits(at, radix);
        if rest[at..].starts_with('.') {
            at = digits(at + 1, radix);
        }
        let marks: &[char] = if radix == 16 { &['p', 'P'] } else { &['e', 'E'] };
        if matches!(radix, 10 | 16) && rest[at..].starts_with(marks) {
            at += 1;
            at += usize::from(rest[at..].starts_with(['+', '-']));
            at = digits(at, 10);
        }
        if rest[at..].starts_with('i') {
            return Err(format!("complex number {:?} is not supported", &rest[..=at]));
        }
        match rest[at..].chars().next() {
            Some(c) if is_word(c) => Err(format!("bad number syntax: {:?}", &rest[..at + c.len_utf8()])),
            _ => {
                self.push(Kind::Number, at);
                Ok(())
            }
        }
    }
}

fn word_length(text: &str) -> usize {
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}
