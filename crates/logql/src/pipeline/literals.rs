//! Texts that an expression cannot match without: looking for them is much faster than running the expression.

use aho_corasick::{AhoCorasick, packed};
use memchr::memmem::Finder;
use regex::bytes::Regex;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind};

/// More texts than this are not looked for at once in place of an expression: the searcher would be no faster.
const MAX_LITERALS: usize = 64;

/// Shorter texts are in too many lines to be worth a search of their own.
const MIN_BYTES: usize = 3;

/// The expression of a compiled regular expression.
pub(super) fn hir_of(regex: &Regex) -> Option<Hir> {
    // The compiled expression is in the syntax of the machine; what it matches need not be UTF-8.
    ParserBuilder::new().utf8(false).build().parse(regex.as_str()).ok()
}

/// Texts of which each match of the expression holds one. `None` where there are none, or too many or too short ones to be of use.
pub(super) fn literals_within(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    let is_useful = |literals: &Vec<Vec<u8>>| literals.len() <= MAX_LITERALS && shortest(literals) >= MIN_BYTES;
    inner_literals(hir)
        .filter(is_useful)
        .or_else(|| first_literals(hir).filter(is_useful))
}

fn shortest(literals: &[Vec<u8>]) -> usize {
    literals.iter().map(Vec::len).min().unwrap_or(0)
}

fn inner_literals(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Literal(text) => Some(vec![text.0.to_vec()]),
        HirKind::Capture(capture) => inner_literals(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => inner_literals(&repetition.sub),
        // Each part must match, so the part with the longest texts may stand for all.
        HirKind::Concat(parts) => {
            let literals = parts.iter().filter_map(inner_literals);
            literals.max_by_key(|literals| (shortest(literals), std::cmp::Reverse(literals.len())))
        }
        HirKind::Alternation(parts) => {
            let literals: Option<Vec<Vec<Vec<u8>>>> = parts.iter().map(inner_literals).collect();
            literals.map(|literals| literals.concat())
        }
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => None,
    }
}

/// Texts with one of which each match begins; such as those that ignoring case leaves of the first letters.
fn first_literals(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    let mut prefixes = Extractor::new().extract(hir);
    prefixes.optimize_for_prefix_by_preference();
    let literals = prefixes.literals()?;
    Some(literals.iter().map(|literal| literal.as_bytes().to_vec()).collect())
}

/// Looks for one or several texts.
#[derive(Clone, Debug)]
pub(super) enum Searcher {
    One(Box<Finder<'static>>),
    /// A few texts, with vector instructions.
    Few(packed::Searcher),
    Any(AhoCorasick),
}

impl Searcher {
    /// A searcher for these texts, none of which is empty. `None` if there are none, or more than a searcher can take.
    pub(super) fn new(texts: &[impl AsRef<[u8]>]) -> Option<Self> {
        match texts {
            [] => None,
            [text] => Some(Self::One(Box::new(Finder::new(text.as_ref()).into_owned()))),
            // With two or three texts the automaton would look for their first letters, which are everywhere.
            texts => packed::Searcher::new(texts)
                .map(Self::Few)
                .or_else(|| AhoCorasick::new(texts).ok().map(Self::Any)),
        }
    }

    /// Where one of the texts begins and ends.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<(usize, usize)> {
        match self {
            Self::One(finder) => finder.find(text).map(|at| (at, at + finder.needle().len())),
            Self::Few(searcher) => searcher.find(text).map(|found| (found.start(), found.end())),
            Self::Any(searcher) => searcher.find(text).map(|found| (found.start(), found.end())),
        }
    }

    /// True if one of the texts is there.
    #[inline]
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        match self {
            Self::One(finder) => finder.find(text).is_some(),
            Self::Few(searcher) => searcher.find(text).is_some(),
            Self::Any(searcher) => searcher.is_match(text),
        }
    }

    /// True if there is one text only.
    pub(super) fn is_for_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regexp::compile_regex;

    #[test]
    fn every_match_holds_one_of_the_literals() {
        let f = |expression: &str, want: &[&str]| {
            let hir = hir_of(&compile_regex(expression, false, false).unwrap()).unwrap();
            let found = literals_within(&hir).unwrap_or_default();
            let found: Vec<String> = found.iter().map(|l| String::from_utf8_lossy(l).into_owned()).collect();
            assert_eq!(found, want, "{expression}");
        };
        f("timeout", &["timeout"]);
        f("a(time|out)b", &["time", "out"]);
        f("[0-9]+ milliseconds", &[" milliseconds"]);
        f("refused|timed out", &["refused", "timed out"]);
        f("(?:abc)+", &["abc"]);
        f("(?:abc)*", &[]);
        f("(?:abc)?def", &["def"]);
        f("ab|refused", &[]);
        f("refused|[0-9]+", &[]);
        f("", &[]);
        f("^$", &[]);
        f(".*", &[]);
        f("(?i)xy0", &["XY0", "Xy0", "xY0", "xy0"]);
        f("[ab]cd", &["acd", "bcd"]);
    }
}
