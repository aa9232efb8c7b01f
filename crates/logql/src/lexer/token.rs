//! Tokens and how error messages call them.

use crate::ast::{RangeOp, VectorOp};

/// One token and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// From 1.
    pub(crate) line: u32,
    /// In characters, from 1.
    pub(crate) column: u32,
    /// Byte offset of its first byte.
    pub(crate) start: usize,
    /// Byte offset behind its last byte.
    pub(crate) end: usize,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Identifier(String),
    /// Unquoted.
    String(String),
    Number(f64),
    /// Nanoseconds, without sign.
    Duration(i64),
    Bytes(u64),
    /// `[5m]`, in nanoseconds.
    Range(i64),
    /// `--strict` or `--keep-empty`
    Flag(Flag),
    /// A word that is always reserved.
    Keyword(Keyword),
    /// A word that is reserved because of the parenthesis behind it.
    Function(Function),
    Symbol(Symbol),
    /// `'x'`, or a character that begins no token: accepted nowhere.
    Unknown(String),
    /// The lexer could not go on. The error stands for the rest of the text.
    Bad {
        message: String,
        in_range: bool,
    },
    End,
}

/// Flags of `logfmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    Strict,
    KeepEmpty,
}

/// Names that are reserved before a parenthesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Range(RangeOp),
    Vector(VectorOp),
    VectorOf,
    LabelReplace,
    Ip,
    Bytes,
    Duration,
    DurationSeconds,
}

impl Function {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        if let Some((op, _)) = RangeOp::NAMES.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)) {
            return Some(Self::Range(*op));
        }
        if let Some((op, _)) = VectorOp::NAMES.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)) {
            return Some(Self::Vector(*op));
        }
        let others = [
            Self::VectorOf,
            Self::LabelReplace,
            Self::Ip,
            Self::Bytes,
            Self::Duration,
            Self::DurationSeconds,
        ];
        others.into_iter().find(|f| f.name().eq_ignore_ascii_case(name))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Range(op) => op.name(),
            Self::Vector(op) => op.name(),
            Self::VectorOf => "vector",
            Self::LabelReplace => "label_replace",
            Self::Ip => "ip",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::DurationSeconds => "duration_seconds",
        }
    }
}

macro_rules! spelled {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant),+ }

        impl $name {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub(crate) fn text(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}

spelled! {
    /// Words that cannot be label names anywhere (logql.md 2.3).
    Keyword {
        By = "by", Without = "without", Bool = "bool", Offset = "offset", On = "on", Ignoring = "ignoring",
        GroupLeft = "group_left", GroupRight = "group_right", Unwrap = "unwrap", And = "and", Or = "or", Unless = "unless",
        Json = "json", Logfmt = "logfmt", Regexp = "regexp", Unpack = "unpack", Pattern = "pattern",
        LineFormat = "line_format", LabelFormat = "label_format", Decolorize = "decolorize", Drop = "drop", Keep = "keep",
    }
}

spelled! {
    /// Punctuation. Longer spellings come first, so that the first that fits is the longest.
    Symbol {
        EqualEqual = "==", EqualTilde = "=~", NotEqual = "!=", NotTilde = "!~", NotGreater = "!>",
        PipeEqual = "|=", PipeTilde = "|~", PipeGreater = "|>", GreaterEqual = ">=", LessEqual = "<=",
        OpenBrace = "{", CloseBrace = "}", OpenParen = "(", CloseParen = ")", Comma = ",", Pipe = "|", Equal = "=",
        Greater = ">", Less = "<", Plus = "+", Minus = "-", Star = "*", Slash = "/", Percent = "%", Caret = "^",
    }
}

impl TokenKind {
    /// The token's name in `syntax error: unexpected NAME`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Identifier(_) => "IDENTIFIER".to_owned(),
            Self::String(_) => "STRING".to_owned(),
            Self::Number(_) => "NUMBER".to_owned(),
            Self::Duration(_) => "DURATION".to_owned(),
            Self::Bytes(_) => "BYTES".to_owned(),
            Self::Range(_) => "RANGE".to_owned(),
            Self::Flag(_) => "PARSER_FLAG".to_owned(),
            Self::Keyword(keyword) => keyword.text().to_owned(),
            Self::Function(function @ (Function::Range(_) | Function::Vector(_))) => function.name().to_uppercase(),
            Self::Function(function) => function.name().to_owned(),
            Self::Symbol(symbol) => symbol.text().to_owned(),
            Self::Unknown(text) => text.clone(),
            Self::Bad { message, .. } => message.clone(),
            Self::End => "$end".to_owned(),
        }
    }
}
