//! Filter expressions: `l=v`, `l=(a,b)`, `l!=v`, `l!=(a,b)`, `l=`, `l!=` (specification, chapter 11).

use crate::error::FilterError;

/// One expression over a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelFilter {
    /// The name of the label.
    pub name: Box<[u8]>,
    /// What is asked of its values.
    pub test: Test,
}

/// What is asked of the values of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// One of the values is one of these.
    OneOf(Box<[Box<[u8]>]>),
    /// None of the values is one of these, or there is no such label.
    NoneOf(Box<[Box<[u8]>]>),
    /// There is no such label.
    Absent,
    /// There is such a label.
    Present,
}

impl LabelFilter {
    /// Reads one expression. Bytes are taken as they are: no quoting, no trimming.
    pub fn parse(text: &[u8]) -> Result<LabelFilter, FilterError> {
        let equals = text
            .iter()
            .position(|byte| *byte == b'=')
            .ok_or(FilterError::Unparsable)?;
        let negated = equals > 0 && text[equals - 1] == b'!';
        let name = &text[..equals - usize::from(negated)];
        let value = &text[equals + 1..];
        let test = match (value, negated) {
            ([], false) => Test::Absent,
            ([], true) => Test::Present,
            (value, false) => Test::OneOf(values(value)?),
            (value, true) => Test::NoneOf(values(value)?),
        };
        Ok(LabelFilter {
            name: name.into(),
            test,
        })
    }
}

/// The values after the sign: one, or a list in parentheses.
fn values(text: &[u8]) -> Result<Box<[Box<[u8]>]>, FilterError> {
    let Some(inner) = text.strip_prefix(b"(") else {
        return Ok([Box::from(text)].into());
    };
    let inner = inner.strip_suffix(b")").ok_or(FilterError::Unparsable)?;
    if inner.is_empty() {
        return Ok([].into());
    }
    let parts = inner.split(|byte| *byte == b',');
    parts
        .map(|part| {
            if part.is_empty() {
                Err(FilterError::Unparsable)
            } else {
                Ok(Box::from(part))
            }
        })
        .collect()
}

/// Expressions that must all hold, at least one of which names values that a label has.
#[derive(Clone, Debug)]
pub struct Filters(Box<[LabelFilter]>);

impl Filters {
    /// Reads expressions.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Result<Filters, FilterError> {
        let filters = texts
            .into_iter()
            .map(LabelFilter::parse)
            .collect::<Result<Vec<_>, _>>()?;
        Filters::new(filters)
    }

    /// Filters that did not come as text.
    pub fn new(filters: Vec<LabelFilter>) -> Result<Filters, FilterError> {
        if !filters.iter().any(|filter| matches!(filter.test, Test::OneOf(_))) {
            return Err(FilterError::NoMatcher);
        }
        Ok(Filters(filters.into_boxed_slice()))
    }

    /// The expressions, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = &LabelFilter> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let Ok(filter) = LabelFilter::parse(text.as_bytes()) else {
            return "error".to_owned();
        };
        let list = |values: &[Box<[u8]>]| {
            values
                .iter()
                .map(|v| String::from_utf8_lossy(v))
                .collect::<Vec<_>>()
                .join("|")
        };
        let name = String::from_utf8_lossy(&filter.name).into_owned();
        match &filter.test {
            Test::OneOf(values) => format!("{name} in {}", list(values)),
            Test::NoneOf(values) => format!("{name} not in {}", list(values)),
            Test::Absent => format!("{name} absent"),
            Test::Present => format!("{name} present"),
        }
    }

    #[test]
    fn expressions_are_read() {
        let check = |text, want: &str| assert_eq!(shown(text), want, "{text}");
        check("a=b", "a in b");
        check("a=(b,c)", "a in b|c");
        check("a=(b, c)", "a in b| c");
        check("a!=b", "a not in b");
        check("a!=(b,c)", "a not in b|c");
        check("a=", "a absent");
        check("a!=", "a present");
        check("a=()", "a in ");
        check("a!=()", "a not in ");
        check("a=(b,)", "error");
        check("a=(b", "error");
        check("a=(,b)", "error");
        check("a", "error");
        check("", "error");
        check("=b", " in b");
    }
}
