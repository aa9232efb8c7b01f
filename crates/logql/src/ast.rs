//! The syntax tree of LogQL (logql.md 3).
//!
//! The tree holds what a query means, not how it was spelled: strings are unquoted, durations are nanoseconds, keywords are
//! variants. `Display` (in `print`) writes canonical text that parses to the same tree.

/// A whole query.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Answers log lines.
    Log(LogExpr),
    /// Answers numbers.
    Metric(MetricExpr),
}

/// A selector and the stages after it.
#[derive(Clone, Debug, PartialEq)]
pub struct LogExpr {
    /// Which streams; all must hold.
    pub matchers: Vec<Matcher>,
    /// Applied left to right to each entry.
    pub stages: Vec<Stage>,
}

/// A test of one label's text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Matcher {
    /// Label name.
    pub name: String,
    /// How it is compared.
    pub op: MatchOp,
    /// Text or regular expression.
    pub value: String,
}

/// How a matcher compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchOp {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`, anchored at both ends
    Regex,
    /// `!~`, anchored at both ends
    NotRegex,
}

/// One step of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// `|= "text"` and its kin
    LineFilter(LineFilter),
    /// `| json`; without extractions every member is taken
    Json(Vec<Extraction>),
    /// `| logfmt`
    Logfmt {
        /// `--strict`
        strict: bool,
        /// `--keep-empty`
        keep_empty: bool,
        /// empty: every pair is taken
        extractions: Vec<Extraction>,
    },
    /// `| regexp "re"`
    Regexp(String),
    /// `| pattern "<a> <_>"`
    Pattern(String),
    /// `| unpack`
    Unpack,
    /// `| name op value`
    LabelFilter(LabelFilter),
    /// `| line_format "template"`
    LineFormat(String),
    /// `| label_format dst=src, dst="template"`
    LabelFormat(Vec<LabelFormat>),
    /// `| decolorize`
    Decolorize,
    /// `| drop a, b="x"`
    Drop(Vec<LabelSelect>),
    /// `| keep a, b="x"`
    Keep(Vec<LabelSelect>),
}

/// A line filter: keeps or drops entries by their current line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFilter {
    /// The operator, of all alternatives.
    pub op: LineFilterOp,
    /// At least one. For the positive operators any may match, for the negative ones none may.
    pub alternatives: Vec<LineOperand>,
}

/// Operator of a line filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFilterOp {
    /// `|=`
    Contains,
    /// `!=`
    NotContains,
    /// `|~`
    Regex,
    /// `!~`
    NotRegex,
    /// `|>`
    Pattern,
    /// `!>`
    NotPattern,
}

/// Right side of a line filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineOperand {
    /// Text, regular expression or pattern, by the operator.
    Text(String),
    /// `ip("...")`: address, CIDR block or range; not yet validated.
    Ip(String),
}

/// `name="expression"` after `json` or `logfmt`; a bare `name` stands for `name="name"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extraction {
    /// Label that receives the value.
    pub label: String,
    /// Path (json) or key (logfmt).
    pub expression: String,
}

/// One assignment of `label_format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelFormat {
    /// Destination label.
    pub label: String,
    /// Where its value comes from.
    pub source: LabelSource,
}

/// Right side of a `label_format` assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelSource {
    /// Rename this label.
    Label(String),
    /// Expand this template.
    Template(String),
}

/// Argument of `drop` and `keep`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelSelect {
    /// Always.
    Name(String),
    /// Only where the matcher holds.
    Matcher(Matcher),
}

/// A predicate over the labels of an entry (logql.md 6).
#[derive(Clone, Debug, PartialEq)]
pub enum LabelFilter {
    /// Text comparison.
    Match(Matcher),
    /// Comparison of the value as float64.
    Number(Comparison<f64>),
    /// Comparison of the value as a Go duration, in nanoseconds.
    Duration(Comparison<i64>),
    /// Comparison of the value as a size, in bytes.
    Bytes(Comparison<u64>),
    /// `name = ip("...")`
    Ip {
        /// Label name.
        name: String,
        /// True for `!=`.
        negated: bool,
        /// Address, CIDR block or range; not yet validated.
        range: String,
    },
    /// Both hold.
    And {
        /// First predicate.
        left: Box<LabelFilter>,
        /// Second predicate.
        right: Box<LabelFilter>,
        /// How the conjunction was written; matters to the printer only.
        written: AndSyntax,
    },
    /// Either holds.
    Or(Box<LabelFilter>, Box<LabelFilter>),
}

/// Spelling of a conjunction of label filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AndSyntax {
    /// `a and b`
    Word,
    /// `a, b` or `a b`
    Comma,
}

/// `name op literal`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison<T> {
    /// Label name.
    pub name: String,
    /// Operator.
    pub op: CompareOp,
    /// Right side.
    pub value: T,
}

/// Comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `=` or `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
}

/// An expression that yields numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricExpr {
    /// `rate({..}[5m])`
    Range(RangeAggregation),
    /// `sum by (a) (..)`
    Vector(VectorAggregation),
    /// `a / b`
    Binary(Binary),
    /// `label_replace(v, "dst", "replacement", "src", "regex")`
    LabelReplace(LabelReplace),
    /// `vector(5)`
    VectorOf(f64),
    /// `5`
    Literal(f64),
}

/// A function over the entries of a time window.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeAggregation {
    /// The function.
    pub op: RangeOp,
    /// The number before the range (`quantile_over_time`).
    pub parameter: Option<f64>,
    /// Whose entries.
    pub log: LogExpr,
    /// Which label gives the number of an entry.
    pub unwrap: Option<Unwrap>,
    /// Width of the window, nanoseconds.
    pub range_ns: i64,
    /// How far the window lies back, nanoseconds; negative: in the future.
    pub offset_ns: i64,
    /// `by (..)` or `without (..)` behind the function.
    pub grouping: Option<Grouping>,
}

/// `| unwrap conversion(label) | filters`
#[derive(Clone, Debug, PartialEq)]
pub struct Unwrap {
    /// Label that holds the number.
    pub label: String,
    /// How its text becomes a number.
    pub conversion: Conversion,
    /// Label filters after `unwrap`.
    pub filters: Vec<LabelFilter>,
}

/// Conversion of an unwrapped label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// float64
    Number,
    /// size text to bytes
    Bytes,
    /// Go duration to seconds, written `duration(..)`
    Duration,
    /// Go duration to seconds, written `duration_seconds(..)`
    DurationSeconds,
}

/// Range function (logql.md 13).
#[expect(missing_docs, reason = "the variants are the functions of the language")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RangeOp {
    CountOverTime,
    Rate,
    RateCounter,
    BytesOverTime,
    BytesRate,
    AvgOverTime,
    SumOverTime,
    MinOverTime,
    MaxOverTime,
    StdvarOverTime,
    StddevOverTime,
    QuantileOverTime,
    FirstOverTime,
    LastOverTime,
    AbsentOverTime,
}

/// `by (..)` or `without (..)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// True for `without`.
    pub without: bool,
    /// Label names as written.
    pub labels: Vec<String>,
}

/// A function over the series present at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorAggregation {
    /// The function.
    pub op: VectorOp,
    /// The number before the operand (`topk`, `bottomk`, `approx_topk`).
    pub parameter: Option<f64>,
    /// Groups; `None` is one group without labels.
    pub grouping: Option<Grouping>,
    /// Operand.
    pub inner: Box<MetricExpr>,
}

/// Vector function (logql.md 14).
#[expect(missing_docs, reason = "the variants are the functions of the language")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorOp {
    Sum,
    Avg,
    Count,
    Max,
    Min,
    Stddev,
    Stdvar,
    Topk,
    Bottomk,
    ApproxTopk,
    Sort,
    SortDesc,
}

/// An operator between two metric expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// Operator.
    pub op: BinaryOp,
    /// `bool`: a comparison gives 0 or 1 instead of filtering.
    pub return_bool: bool,
    /// How series of both sides find each other; `None`: by all labels.
    pub matching: Option<Matching>,
    /// Left operand.
    pub left: Box<MetricExpr>,
    /// Right operand.
    pub right: Box<MetricExpr>,
}

/// Binary operator (logql.md 15).
#[expect(missing_docs, reason = "the variants are the operators of the language")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Or,
    And,
    Unless,
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
}

/// `on (..)` or `ignoring (..)`, with `group_left` or `group_right`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matching {
    /// True for `on`.
    pub on: bool,
    /// Labels of `on` or `ignoring`.
    pub labels: Vec<String>,
    /// Many-to-one matching.
    pub group: Option<Group>,
}

/// `group_left (..)` or `group_right (..)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The side with many series per match.
    pub many: Side,
    /// Labels copied from the other side.
    pub include: Vec<String>,
}

/// One operand of a binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Left operand.
    Left,
    /// Right operand.
    Right,
}

/// Arguments of `label_replace`.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelReplace {
    /// Operand.
    pub inner: Box<MetricExpr>,
    /// Label that is written.
    pub destination: String,
    /// Its value, with `$1` and `${name}`.
    pub replacement: String,
    /// Label that is read.
    pub source: String,
    /// Regular expression, anchored at both ends; valid.
    pub regex: String,
}
