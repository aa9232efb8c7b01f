//! Log queries and their stages.

use std::fmt::{self, Display, Formatter};

use super::join;
use crate::ast::{
    AndSyntax, Comparison, Extraction, LabelFilter, LabelFormat, LabelSelect, LabelSource, LineFilter, LineOperand,
    LogExpr, Matcher, Stage, Unwrap,
};
use crate::bytes_size::BytesSize;
use crate::duration::GoDuration;
use crate::labels::write_quoted;

impl Display for LogExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Selector(&self.matchers))?;
        for stage in &self.stages {
            write!(f, " {stage}")?;
        }
        Ok(())
    }
}

/// Prints matchers as `{a="b", c="d"}`.
pub(super) struct Selector<'a>(pub(super) &'a [Matcher]);

impl Display for Selector<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        join(f, self.0, ", ")?;
        f.write_str("}")
    }
}

impl Display for Matcher {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.name, self.op.name(), Quoted(&self.value))
    }
}

/// Prints text as a string literal.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_quoted(f, self.0)
    }
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineFilter(filter) => filter.fmt(f),
            Self::Json(extractions) => {
                f.write_str("| json")?;
                write_extractions(f, extractions)
            }
            Self::Logfmt {
                strict,
                keep_empty,
                extractions,
            } => {
                f.write_str("| logfmt")?;
                if *strict {
                    f.write_str(" --strict")?;
                }
                if *keep_empty {
                    f.write_str(" --keep-empty")?;
                }
                write_extractions(f, extractions)
            }
            Self::Regexp(regex) => write!(f, "| regexp {}", Quoted(regex)),
            Self::Pattern(pattern) => write!(f, "| pattern {}", Quoted(pattern)),
            Self::Unpack => f.write_str("| unpack"),
            Self::LabelFilter(filter) => write!(f, "| {filter}"),
            Self::LineFormat(template) => write!(f, "| line_format {}", Quoted(template)),
            Self::LabelFormat(formats) => {
                f.write_str("| label_format ")?;
                join(f, formats, ",")
            }
            Self::Decolorize => f.write_str("| decolorize"),
            Self::Drop(selects) => {
                f.write_str("| drop ")?;
                join(f, selects, ",")
            }
            Self::Keep(selects) => {
                f.write_str("| keep ")?;
                join(f, selects, ",")
            }
        }
    }
}

fn write_extractions(f: &mut Formatter<'_>, extractions: &[Extraction]) -> fmt::Result {
    if !extractions.is_empty() {
        f.write_str(" ")?;
    }
    join(f, extractions, ",")
}

impl Display for LineFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.op.name())?;
        join(f, &self.alternatives, " or ")
    }
}

impl Display for LineOperand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => Quoted(text).fmt(f),
            Self::Ip(range) => write!(f, "ip({})", Quoted(range)),
        }
    }
}

impl Display for Extraction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.label, Quoted(&self.expression))
    }
}

impl Display for LabelFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.source {
            LabelSource::Label(name) => write!(f, "{}={name}", self.label),
            LabelSource::Template(template) => write!(f, "{}={}", self.label, Quoted(template)),
        }
    }
}

impl Display for LabelSelect {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Matcher(matcher) => matcher.fmt(f),
        }
    }
}

impl Display for LabelFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Match(matcher) => matcher.fmt(f),
            Self::Number(comparison) => write_comparison(f, comparison, &comparison.value),
            Self::Duration(comparison) => write_comparison(f, comparison, &GoDuration(comparison.value)),
            Self::Bytes(comparison) => write_comparison(f, comparison, &BytesSize(comparison.value)),
            Self::Ip { name, negated, range } => {
                write!(f, "{name}{}ip({})", if *negated { "!=" } else { "=" }, Quoted(range))
            }
            // In parentheses, so that it can stand anywhere although a comma has no precedence: it takes everything to
            // its right, and from an operator before it that operator's right side (logql.md 6.2).
            Self::And {
                left,
                right,
                written: AndSyntax::Comma,
            } => {
                let is_open = matches!(
                    **left,
                    Self::Or(..)
                        | Self::And {
                            written: AndSyntax::Word,
                            ..
                        }
                );
                f.write_str("( ")?;
                write_operand(f, left, is_open)?;
                write!(f, " , {right} )")
            }
            Self::And {
                left,
                right,
                written: AndSyntax::Word,
            } => {
                write_operand(f, left, matches!(**left, Self::Or(..)))?;
                f.write_str(" and ")?;
                let is_chain = matches!(
                    **right,
                    Self::And {
                        written: AndSyntax::Word,
                        ..
                    }
                );
                write_operand(f, right, is_chain || matches!(**right, Self::Or(..)))
            }
            Self::Or(left, right) => {
                write!(f, "{left} or ")?;
                write_operand(f, right, matches!(**right, Self::Or(..)))
            }
        }
    }
}

fn write_comparison<T>(f: &mut Formatter<'_>, comparison: &Comparison<T>, value: &dyn Display) -> fmt::Result {
    write!(f, "{}{}{value}", comparison.name, comparison.op.name())
}

fn write_operand(f: &mut Formatter<'_>, filter: &LabelFilter, parentheses: bool) -> fmt::Result {
    if parentheses {
        write!(f, "({filter})")
    } else {
        filter.fmt(f)
    }
}

impl Display for Unwrap {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.conversion.name() {
            None => write!(f, "| unwrap {}", self.label)?,
            Some(conversion) => write!(f, "| unwrap {conversion}({})", self.label)?,
        }
        for filter in &self.filters {
            write!(f, " | {filter}")?;
        }
        Ok(())
    }
}
