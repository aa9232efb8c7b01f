//! Texts without which a regular expression can't match.

use super::grams::TextNeedle;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Most texts of which one must occur. More of them hardly exclude a page, and each is looked for.
const MAX_ALTERNATIVES: usize = 16;

/// Texts are not made longer than this.
const MAX_TEXT_BYTES: usize = 256;

/// Copies of a repeated expression that are looked at.
const MAX_COPIES: u32 = 8;

/// Texts of which one must occur, ASCII letters in lower case.
type AnyOf = Vec<Vec<u8>>;

/// What every line has that a line filter lets through: of each group of texts one, whatever the case of ASCII letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextCondition {
    texts: Vec<AnyOf>,
    needles: Vec<Vec<TextNeedle>>,
}

impl TextCondition {
    /// For lines that contain a text.
    pub fn contains(text: &[u8]) -> TextCondition {
        TextCondition::from_groups(required(vec![text.to_ascii_lowercase()]))
    }

    /// The groups of texts, of each of which one must occur; ASCII letters in lower case.
    pub fn texts(&self) -> &[Vec<Vec<u8>>] {
        &self.texts
    }

    /// False only if no line of a page can meet the condition, of which `may_contain` tells whether it contains a text:
    /// [`super::TextFilters::may_contain`].
    pub fn may_hold(&self, may_contain: impl Fn(&TextNeedle) -> bool) -> bool {
        self.needles.iter().all(|any_of| any_of.iter().any(&may_contain))
    }

    /// True if no page can be excluded.
    pub fn tells_nothing(&self) -> bool {
        let tells_nothing = |any_of: &Vec<TextNeedle>| any_of.iter().any(TextNeedle::tells_nothing);
        self.needles.iter().all(tells_nothing)
    }

    fn from_groups(texts: Vec<AnyOf>) -> TextCondition {
        let needles = |any_of: &AnyOf| any_of.iter().map(|text| TextNeedle::new(text)).collect();
        TextCondition {
            needles: texts.iter().map(needles).collect(),
            texts,
        }
    }
}

/// The texts without which `expression` does not match: `(?i)TIMEOUT|refused` needs `timeout` or `refused`, `GET .* 50[03]`
/// needs `get ` and one of ` 500` and ` 503`.
pub fn required_literals(expression: &Hir) -> TextCondition {
    TextCondition::from_groups(analyse(expression).into_required())
}

/// What is known of an expression.
enum Known {
    /// It matches these texts and no others.
    Exactly(AnyOf),
    /// What it matches contains one text of each of these groups.
    Required(Vec<AnyOf>),
}

const NOTHING: Known = Known::Required(Vec::new());

impl Known {
    fn into_required(self) -> Vec<AnyOf> {
        match self {
            Known::Exactly(texts) => required(texts),
            Known::Required(groups) => groups,
        }
    }
}

/// That one of the texts occurs, unless that is always so.
fn required(texts: AnyOf) -> Vec<AnyOf> {
    if texts.iter().any(Vec::is_empty) {
        Vec::new()
    } else {
        vec![texts]
    }
}

fn analyse(expression: &Hir) -> Known {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => Known::Exactly(vec![Vec::new()]),
        HirKind::Literal(literal) => Known::Exactly(vec![literal.0.to_ascii_lowercase()]),
        HirKind::Class(class) => members(class).map_or(NOTHING, Known::Exactly),
        HirKind::Capture(capture) => analyse(&capture.sub),
        HirKind::Repetition(repetition) => {
            let copies = repetition.min.min(MAX_COPIES);
            let is_exact = repetition.max == Some(copies);
            match (analyse(&repetition.sub), repetition.min, repetition.max) {
                (_, 0, Some(0)) => Known::Exactly(vec![Vec::new()]),
                (Known::Exactly(mut texts), 0, Some(1)) => {
                    texts.push(Vec::new());
                    bounded(texts).map_or(NOTHING, Known::Exactly)
                }
                (_, 0, _) => NOTHING,
                (Known::Exactly(texts), ..) => {
                    let parts = (0..copies).map(|_| Known::Exactly(texts.clone()));
                    join(parts.chain((!is_exact).then_some(NOTHING)))
                }
                // Once: further copies need nothing else, and copies of copies would be very many.
                (required @ Known::Required(_), ..) => required,
            }
        }
        HirKind::Concat(parts) => join(parts.iter().map(analyse)),
        HirKind::Alternation(branches) => either(branches.iter().map(analyse)),
    }
}

/// The members of a small class.
fn members(class: &Class) -> Option<AnyOf> {
    let mut texts = Vec::new();
    match class {
        Class::Unicode(class) => {
            let ranges = class.ranges();
            let count: usize = ranges.iter().map(|range| range.len()).sum();
            if count > 2 * MAX_ALTERNATIVES {
                return None;
            }
            for range in ranges {
                for member in range.start()..=range.end() {
                    let mut buffer = [0; 4];
                    texts.push(member.encode_utf8(&mut buffer).as_bytes().to_ascii_lowercase());
                }
            }
        }
        Class::Bytes(class) => {
            let ranges = class.ranges();
            let count: usize = ranges.iter().map(|range| range.len()).sum();
            if count > 2 * MAX_ALTERNATIVES {
                return None;
            }
            for range in ranges {
                texts.extend((range.start()..=range.end()).map(|member| vec![member.to_ascii_lowercase()]));
            }
        }
    }
    bounded(texts)
}

/// Without repeats; `None` if there are too many.
fn bounded(mut texts: AnyOf) -> Option<AnyOf> {
    texts.sort_unstable();
    texts.dedup();
    (texts.len() <= MAX_ALTERNATIVES).then_some(texts)
}

/// One expression behind the other.
fn join(parts: impl Iterator<Item = Known>) -> Known {
    // What the exact parts since the last inexact one match together.
    let mut texts = vec![Vec::new()];
    let mut groups = Vec::new();
    let mut is_exact = true;
    for part in parts {
        match part {
            Known::Exactly(behind) => match product(&texts, &behind) {
                Some(longer) => texts = longer,
                None => {
                    is_exact = false;
                    groups.extend(required(std::mem::replace(&mut texts, behind)));
                }
            },
            Known::Required(inside) => {
                is_exact = false;
                groups.extend(required(std::mem::replace(&mut texts, vec![Vec::new()])));
                groups.extend(inside);
            }
        }
    }
    if is_exact {
        return Known::Exactly(texts);
    }
    groups.extend(required(texts));
    Known::Required(groups)
}

fn product(before: &AnyOf, behind: &AnyOf) -> Option<AnyOf> {
    let longest = |texts: &AnyOf| texts.iter().map(Vec::len).max().unwrap_or(0);
    if before.len() * behind.len() > MAX_ALTERNATIVES || longest(before) + longest(behind) > MAX_TEXT_BYTES {
        return None;
    }
    let pairs = before
        .iter()
        .flat_map(|a| behind.iter().map(move |b| [a.as_slice(), b].concat()));
    bounded(pairs.collect())
}

/// One of several expressions.
fn either(branches: impl Iterator<Item = Known>) -> Known {
    let branches: Vec<Known> = branches.collect();
    let mut texts = Vec::new();
    if branches.iter().all(|branch| matches!(branch, Known::Exactly(_))) {
        for branch in branches {
            let Known::Exactly(more) = branch else { continue };
            texts.extend(more);
        }
        return bounded(texts).map_or(NOTHING, Known::Exactly);
    }
    for branch in branches {
        // Of a branch's groups the one whose shortest text is longest excludes most.
        let shortest = |any_of: &AnyOf| any_of.iter().map(Vec::len).min().unwrap_or(usize::MAX);
        let Some(best) = branch.into_required().into_iter().max_by_key(shortest) else {
            return NOTHING;
        };
        texts.extend(best);
    }
    bounded(texts).map_or(NOTHING, |texts| Known::Required(vec![texts]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn condition(pattern: &str) -> TextCondition {
        required_literals(&regex_syntax::parse(pattern).unwrap())
    }

    fn shown(pattern: &str) -> String {
        let group = |any_of: &AnyOf| {
            let texts: Vec<_> = any_of.iter().map(|text| String::from_utf8_lossy(text)).collect();
            texts.join("|")
        };
        condition(pattern)
            .texts()
            .iter()
            .map(group)
            .collect::<Vec<_>>()
            .join(" & ")
    }

    #[test]
    fn required_texts_of_expressions() {
        let f = |pattern: &str, want: &str| assert_eq!(shown(pattern), want, "{pattern}");
        f("timeout", "timeout");
        f("(?i)TIMEOUT|refused", "refused|refu\u{17f}ed|timeout");
        f("(?i:token)=abc", "token=abc|to\u{212a}en=abc");
        f("GET .* 50[03]", "get  &  500| 503");
        f("^a(b|c)d$", "abd|acd");
        f("error|.*", "");
        f("x*", "");
        f("(ab)+c", "ab & c");
        f("(ab){2}c", "ababc");
        f("a{3,}", "aaa");
        f("colou?r", "color|colour");
        f("(foo.*bar|quux)z", "bar|quux & z");
        f("[a-z]+@example", "@example");
        f("\\d{4}-id", "-id");
        f("", "");
        f("[^\\x00-\\x{10FFFF}]", "");
        f("a[^\\x00-\\x{10FFFF}]|b", "b");
    }

    #[test]
    fn an_expression_that_never_matches_excludes_every_page() {
        assert!(!condition("[^\\x00-\\x{10FFFF}]").may_hold(|_| true));
    }

    #[test]
    fn large_expressions_stay_small() {
        let condition = condition(&format!("{}x", "[ab][cd]".repeat(200)));
        assert!(condition.texts().iter().all(|any_of| any_of.len() <= MAX_ALTERNATIVES));
        assert!(shown(&"ab[cde]".repeat(300)).len() < 20_000);
        assert_eq!(shown("(((ab){9}){9}){9}"), "ab".repeat(8));
        let nested = (0..20).fold("a.b".to_owned(), |inner, _| format!("(?:{inner}){{2,3}}"));
        assert_eq!(shown(&nested), "a & b");
    }

    /// Expressions without anchors, of which proptest makes matching texts.
    fn patterns() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            "[a-dKS0-2]{1,4}",
            Just("[kx]".to_owned()),
            Just("[a-e]".to_owned()),
            Just(".".to_owned()),
            Just("\\d".to_owned()),
            Just("(?i:kiss)".to_owned()),
            Just("é".to_owned()),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let repeat = prop_oneof!["\\*", "\\+", "\\?", "\\{2\\}", "\\{1,3\\}", "\\{0,2\\}", "\\{3,\\}"];
            let case = prop_oneof![Just("(?i:"), Just("(?:"), Just("(")];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                (proptest::collection::vec(inner.clone(), 1..4), case)
                    .prop_map(|(parts, open)| format!("{open}{})", parts.join("|"))),
                (inner, repeat).prop_map(|(part, repeat)| format!("(?:{part}){repeat}")),
            ]
        })
    }

    fn pattern_and_match() -> impl Strategy<Value = (String, Vec<u8>)> {
        patterns().prop_flat_map(|pattern| {
            let texts = proptest::string::bytes_regex(&pattern).unwrap();
            (Just(pattern), texts)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn what_matches_has_the_required_texts((pattern, text) in pattern_and_match()) {
            let folded = text.to_ascii_lowercase();
            for any_of in condition(&pattern).texts() {
                let occurs = |text: &Vec<u8>| folded.windows(text.len()).any(|window| window == text);
                prop_assert!(any_of.iter().any(occurs), "{} matches {:?} without any of {:?}", pattern, text, any_of);
            }
        }
    }
}
