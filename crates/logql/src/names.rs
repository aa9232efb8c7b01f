//! How functions and operators of the language are spelled.

use crate::ast::{BinaryOp, CompareOp, Conversion, LineFilterOp, MatchOp, RangeOp, VectorOp};

impl RangeOp {
    /// Every range function with its name.
    pub const NAMES: [(Self, &'static str); 15] = [
        (Self::CountOverTime, "count_over_time"),
        (Self::Rate, "rate"),
        (Self::RateCounter, "rate_counter"),
        (Self::BytesOverTime, "bytes_over_time"),
        (Self::BytesRate, "bytes_rate"),
        (Self::AvgOverTime, "avg_over_time"),
        (Self::SumOverTime, "sum_over_time"),
        (Self::MinOverTime, "min_over_time"),
        (Self::MaxOverTime, "max_over_time"),
        (Self::StdvarOverTime, "stdvar_over_time"),
        (Self::StddevOverTime, "stddev_over_time"),
        (Self::QuantileOverTime, "quantile_over_time"),
        (Self::FirstOverTime, "first_over_time"),
        (Self::LastOverTime, "last_over_time"),
        (Self::AbsentOverTime, "absent_over_time"),
    ];

    /// The function's name in lower case.
    pub fn name(self) -> &'static str {
        name_of(&Self::NAMES, self)
    }

    /// May the function have `by (..)` or `without (..)` of its own (logql.md 13.2)?
    pub fn allows_grouping(self) -> bool {
        matches!(
            self,
            Self::AvgOverTime
                | Self::MinOverTime
                | Self::MaxOverTime
                | Self::FirstOverTime
                | Self::LastOverTime
                | Self::StdvarOverTime
                | Self::StddevOverTime
                | Self::QuantileOverTime
        )
    }

    /// May the function stand without `unwrap` (logql.md 13.1)?
    pub fn counts_lines(self) -> bool {
        matches!(
            self,
            Self::CountOverTime | Self::Rate | Self::BytesOverTime | Self::BytesRate | Self::AbsentOverTime
        )
    }

    /// May the function stand with `unwrap` (logql.md 13.2)?
    pub fn takes_numbers(self) -> bool {
        !matches!(self, Self::CountOverTime | Self::BytesOverTime | Self::BytesRate)
    }
}

impl VectorOp {
    /// Every vector function with its name.
    pub const NAMES: [(Self, &'static str); 12] = [
        (Self::Sum, "sum"),
        (Self::Avg, "avg"),
        (Self::Count, "count"),
        (Self::Max, "max"),
        (Self::Min, "min"),
        (Self::Stddev, "stddev"),
        (Self::Stdvar, "stdvar"),
        (Self::Topk, "topk"),
        (Self::Bottomk, "bottomk"),
        (Self::ApproxTopk, "approx_topk"),
        (Self::Sort, "sort"),
        (Self::SortDesc, "sort_desc"),
    ];

    /// The function's name in lower case.
    pub fn name(self) -> &'static str {
        name_of(&Self::NAMES, self)
    }

    /// Does the function need a number before its operand?
    pub fn needs_parameter(self) -> bool {
        matches!(self, Self::Topk | Self::Bottomk | Self::ApproxTopk)
    }

    /// May the function have `by (..)` or `without (..)` (logql.md 14)?
    pub fn allows_grouping(self) -> bool {
        !matches!(self, Self::Sort | Self::SortDesc | Self::ApproxTopk)
    }
}

impl BinaryOp {
    /// Every operator with its spelling.
    pub const NAMES: [(Self, &'static str); 15] = [
        (Self::Or, "or"),
        (Self::And, "and"),
        (Self::Unless, "unless"),
        (Self::Equal, "=="),
        (Self::NotEqual, "!="),
        (Self::Greater, ">"),
        (Self::GreaterOrEqual, ">="),
        (Self::Less, "<"),
        (Self::LessOrEqual, "<="),
        (Self::Add, "+"),
        (Self::Subtract, "-"),
        (Self::Multiply, "*"),
        (Self::Divide, "/"),
        (Self::Modulo, "%"),
        (Self::Power, "^"),
    ];

    /// The operator's spelling in lower case.
    pub fn name(self) -> &'static str {
        name_of(&Self::NAMES, self)
    }

    /// How tightly the operator binds, 1 (loosest) to 6 (logql.md 3.1).
    pub fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And | Self::Unless => 2,
            Self::Equal | Self::NotEqual | Self::Greater | Self::GreaterOrEqual | Self::Less | Self::LessOrEqual => 3,
            Self::Add | Self::Subtract => 4,
            Self::Multiply | Self::Divide | Self::Modulo => 5,
            Self::Power => 6,
        }
    }

    /// Does `a op b op c` mean `a op (b op c)`?
    pub fn is_right_associative(self) -> bool {
        self == Self::Power
    }

    /// Is it `or`, `and` or `unless`?
    pub fn is_set_operation(self) -> bool {
        self.precedence() <= 2
    }

    /// Is it a comparison?
    pub fn is_comparison(self) -> bool {
        self.precedence() == 3
    }
}

impl MatchOp {
    /// The operator's spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Regex => "=~",
            Self::NotRegex => "!~",
        }
    }

    /// Is the right side a regular expression?
    pub fn is_regex(self) -> bool {
        matches!(self, Self::Regex | Self::NotRegex)
    }
}

impl CompareOp {
    /// The operator's spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
        }
    }
}

impl LineFilterOp {
    /// The operator's spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contains => "|=",
            Self::NotContains => "!=",
            Self::Regex => "|~",
            Self::NotRegex => "!~",
            Self::Pattern => "|>",
            Self::NotPattern => "!>",
        }
    }
}

impl Conversion {
    /// The function written around the label; `None` for a plain number.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Number => None,
            Self::Bytes => Some("bytes"),
            Self::Duration => Some("duration"),
            Self::DurationSeconds => Some("duration_seconds"),
        }
    }
}

fn name_of<T: Copy + PartialEq>(names: &[(T, &'static str)], wanted: T) -> &'static str {
    let found = names.iter().find(|(op, _)| *op == wanted);
    found.expect("bug: every variant has a name").1
}
