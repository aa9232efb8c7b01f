//! The functions of templates: one table, a file per group.

mod collections;
mod comparison;
mod decimal;
mod encoding;
mod entry;
mod json;
mod numbers;
mod printing;
mod regexps;
mod text;
mod times;

use super::context::{Context, Outcome};
use super::value::Value;

/// A function by its name in templates.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    /// What is always given.
    pub(super) parameters: &'static [Kind],
    /// What may follow, any number of times.
    pub(super) rest: Option<Kind>,
    pub(super) run: Run,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any value, `nil` included.
    Any,
    /// Any value, or none.
    Value,
    Text,
    /// A text that is a regular expression; a constant one is compiled with the template.
    Regex,
    Int,
    Float,
    Time,
}

impl Kind {
    /// Go's name of the type.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Value => "reflect.Value",
            Self::Text | Self::Regex => "string",
            Self::Int => "int",
            Self::Float => "float64",
            Self::Time => "time.Time",
        }
    }
}

/// The code of a function, whose arguments have the number and the types of its parameters.
type Code = for<'s, 'a> fn(&mut Context<'s, 'a>, &[Value<'a>]) -> Outcome<'a>;

#[derive(Debug)]
pub(super) enum Run {
    /// `and` and `or` do not evaluate all of their arguments.
    And,
    Or,
    Call(Code),
}

/// The function that stands for the line.
pub(super) const LINE: &str = "__line__";

/// Functions of a fixed number of arguments.
const fn fixed(name: &'static str, parameters: &'static [Kind], code: Code) -> Function {
    Function {
        name,
        parameters,
        rest: None,
        run: Run::Call(code),
    }
}

/// Functions whose last parameter may be given any number of times.
const fn variadic(name: &'static str, parameters: &'static [Kind], rest: Kind, code: Code) -> Function {
    Function {
        name,
        parameters,
        rest: Some(rest),
        run: Run::Call(code),
    }
}

use Kind::{Any, Float, Int, Regex, Text, Time, Value as Reflected};

/// The functions in order of name.
static FUNCTIONS: [Function; 86] = [
    fixed("Replace", &[Text, Text, Text, Int], text::replace_first),
    fixed("ToLower", &[Text], text::lower),
    fixed("ToUpper", &[Text], text::upper),
    fixed("Trim", &[Text, Text], text::trim_cutset),
    fixed("TrimLeft", &[Text, Text], text::trim_left),
    fixed("TrimPrefix", &[Text, Text], text::trim_prefix),
    fixed("TrimRight", &[Text, Text], text::trim_right),
    fixed("TrimSpace", &[Text], text::trim_space),
    fixed("TrimSuffix", &[Text, Text], text::trim_suffix),
    fixed(LINE, &[], entry::line),
    fixed("__timestamp__", &[], entry::timestamp),
    variadic("add", &[], Any, numbers::add),
    variadic("addf", &[], Any, decimal::add),
    fixed("alignLeft", &[Int, Text], text::align_left),
    fixed("alignRight", &[Int, Text], text::align_right),
    Function {
        name: "and",
        parameters: &[Reflected],
        rest: Some(Reflected),
        run: Run::And,
    },
    fixed("b64dec", &[Text], encoding::base64_decode),
    fixed("b64enc", &[Text], encoding::base64_encode),
    fixed("bytes", &[Text], numbers::bytes),
    variadic("call", &[Reflected], Reflected, collections::call),
    fixed("ceil", &[Any], numbers::ceil),
    fixed("contains", &[Text, Text], text::contains),
    fixed("count", &[Regex, Text], regexps::count),
    fixed("date", &[Text, Any], times::date),
    variadic("default", &[Any], Any, collections::default),
    fixed("div", &[Any, Any], numbers::divide),
    variadic("divf", &[Any], Any, decimal::divide),
    fixed("duration", &[Text], numbers::duration),
    fixed("duration_seconds", &[Text], numbers::duration),
    variadic("eq", &[Reflected], Reflected, comparison::equal),
    fixed("float64", &[Any], numbers::float),
    fixed("floor", &[Any], numbers::floor),
    fixed("fromJson", &[Text], json::decode),
    fixed("ge", &[Reflected, Reflected], comparison::greater_or_equal),
    fixed("gt", &[Reflected, Reflected], comparison::greater),
    fixed("hasPrefix", &[Text, Text], text::has_prefix),
    fixed("hasSuffix", &[Text, Text], text::has_suffix),
    variadic("html", &[], Any, encoding::html),
    fixed("indent", &[Int, Text], text::indent),
    variadic("index", &[Reflected], Reflected, collections::index),
    fixed("int", &[Any], numbers::int),
    variadic("js", &[], Any, encoding::javascript),
    fixed("le", &[Reflected, Reflected], comparison::less_or_equal),
    fixed("len", &[Reflected], collections::length),
    fixed("lower", &[Text], text::lower),
    fixed("lt", &[Reflected, Reflected], comparison::less),
    variadic("max", &[Any], Any, numbers::max),
    variadic("maxf", &[Any], Any, numbers::max_float),
    variadic("min", &[Any], Any, numbers::min),
    variadic("minf", &[Any], Any, numbers::min_float),
    fixed("mod", &[Any, Any], numbers::modulo),
    variadic("mul", &[Any], Any, numbers::multiply),
    variadic("mulf", &[Any], Any, decimal::multiply),
    fixed("ne", &[Reflected, Reflected], comparison::not_equal),
    fixed("nindent", &[Int, Text], text::newline_indent),
    fixed("not", &[Reflected], comparison::not),
    fixed("now", &[], entry::now),
    Function {
        name: "or",
        parameters: &[Reflected],
        rest: Some(Reflected),
        run: Run::Or,
    },
    variadic("print", &[], Any, printing::print),
    variadic("printf", &[Text], Any, printing::print_formatted),
    variadic("println", &[], Any, printing::print_line),
    fixed("regexReplaceAll", &[Regex, Text, Text], regexps::replace_all),
    fixed(
        "regexReplaceAllLiteral",
        &[Regex, Text, Text],
        regexps::replace_all_literally,
    ),
    fixed("repeat", &[Int, Text], text::repeat),
    fixed("replace", &[Text, Text, Text], text::replace_all),
    variadic("round", &[Any, Int], Float, numbers::round),
    variadic("slice", &[Reflected], Reflected, collections::slice),
    fixed("sub", &[Any, Any], numbers::subtract),
    variadic("subf", &[Any], Any, decimal::subtract),
    fixed("substr", &[Int, Int, Text], text::substring),
    fixed("title", &[Text], text::title),
    fixed("toDate", &[Text, Text], times::to_date),
    fixed("toDateInZone", &[Text, Text, Text], times::to_date_in_zone),
    fixed("trim", &[Text], text::trim_space),
    fixed("trimAll", &[Text, Text], text::trim_all),
    fixed("trimPrefix", &[Text, Text], text::trim_prefix_first),
    fixed("trimSuffix", &[Text, Text], text::trim_suffix_first),
    fixed("trunc", &[Int, Text], text::truncate),
    fixed("unixEpoch", &[Time], times::unix_seconds),
    fixed("unixEpochMillis", &[Time], times::unix_milliseconds),
    fixed("unixEpochNanos", &[Time], times::unix_nanoseconds),
    fixed("unixToTime", &[Text], times::unix_to_time),
    fixed("upper", &[Text], text::upper),
    fixed("urldecode", &[Text], encoding::url_decode),
    fixed("urlencode", &[Text], encoding::url_encode),
    variadic("urlquery", &[], Any, encoding::url_query),
];

/// The function of this name; upper and lower case are told apart.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    let at = FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok()?;
    FUNCTIONS.get(at)
}

/// The method of this name that a value has.
pub(super) fn find_method(value: Value<'_>, name: &str) -> Option<&'static Function> {
    match value {
        Value::Time(_) => times::METHODS.iter().find(|method| method.name == name),
        Value::Month(_) | Value::Weekday(_) => times::NAME_METHODS.iter().find(|method| method.name == name),
        _ => None,
    }
}

/// The text given as an argument.
fn text_of<'a>(arguments: &[Value<'a>], at: usize) -> &'a [u8] {
    match arguments.get(at) {
        Some(Value::Text(text)) => text,
        _ => b"",
    }
}

/// The `int` given as an argument.
fn int_of(arguments: &[Value<'_>], at: usize) -> i64 {
    match arguments.get(at) {
        Some(Value::Int(n)) => *n,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;

    #[test]
    fn the_table_is_in_order() {
        assert!(FUNCTIONS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
