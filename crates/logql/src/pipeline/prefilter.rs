// hot path: no locks, no logging, nothing allocated per entry.

//! Texts that a line must hold for a label filter behind the parsers to keep the entry, looked for before any parser runs.
//!
//! `| json | level="error"` keeps an entry in two cases only: the stream or the metadata have that label, or a parser found its value
//! in the line. All parsers take values as they stand in the line, with two exceptions that are looked for as well:
//!
//! ```text
//!   {"level":"error"}         holds error
//!   {"level":"\u0065rror"}    an escape: \u makes any character, the others make only " \ / and control characters
//!   {"level":"two words"}     holds the text, or U+FFFD in place of the space (logql.md 7.1)
//! ```
//!
//! Nothing of this holds of a label that `label_format` makes, nor of a line that was rewritten before a parser read it.

use memchr::memmem::Finder;

use super::Step;
use super::entry::Labels;
use super::label_filter::{LabelTest, TextMatcher};
use super::literals::Searcher;

/// U+FFFD in UTF-8.
const REPLACEMENT: &str = "\u{fffd}";

/// A test that no entry fails which the label filter would keep.
#[derive(Clone, Debug)]
pub(super) struct Prefilter {
    /// One of these holds of each entry that the label filter keeps.
    matchers: Vec<TextMatcher>,
    /// Texts of which the value of each of these labels holds one.
    searcher: Searcher,
    escape: Finder<'static>,
    replacement: Option<Finder<'static>>,
}

/// Whether a prefilter drops enough to be worth its time; belongs to a runner.
#[derive(Clone, Debug, Default)]
pub(super) struct Worth {
    tried: u32,
    dropped: u32,
    resting: u32,
}

/// After this many entries it is decided whether to go on.
const TRIES: u32 = 256;
/// A prefilter that dropped fewer than one in this many rests.
const WORTH_ONE_IN: u32 = 16;
/// For so many entries.
const REST: u32 = 8 * TRIES;

/// Puts the prefilters of all label filters in front of the first parser.
pub(super) fn insert_prefilters(steps: &mut Vec<Step>) {
    let Some(first_parser) = steps.iter().position(Step::is_parser) else {
        return;
    };
    let mut prefilters = Vec::new();
    for (at, step) in steps.iter().enumerate().skip(first_parser) {
        let Step::LabelFilter(test) = step else {
            continue;
        };
        let before = &steps[..at];
        let last_parser = before.iter().rposition(Step::is_parser).unwrap_or(at);
        if before[..last_parser].iter().any(Step::changes_line) {
            break;
        }
        let is_made = |name: &str| {
            before.iter().any(|step| match step {
                Step::LabelFormat(stage) => stage.makes(name),
                _ => false,
            })
        };
        prefilters.extend(
            Prefilter::of_test(test, &is_made)
                .into_iter()
                .map(|prefilter| Step::Prefilter(Box::new(prefilter))),
        );
    }
    steps.splice(first_parser..first_parser, prefilters);
}

impl Prefilter {
    /// The prefilters of a label filter. Labels of which `is_made` says yes are not found in the line.
    fn of_test(test: &LabelTest, is_made: &impl Fn(&str) -> bool) -> Vec<Self> {
        let groups = groups_of(test, is_made);
        groups.into_iter().filter_map(Self::of_group).collect()
    }

    fn of_group(group: Group) -> Option<Self> {
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'/' | 0..0x20);
        let holds = |is_it: &dyn Fn(&u8) -> bool| group.literals.iter().flatten().any(is_it);
        let escape: &[u8] = if holds(&is_special) { b"\\" } else { b"\\u" };
        let has_space = holds(&|byte| *byte == b' ');
        Some(Self {
            searcher: Searcher::new(&group.literals)?,
            matchers: group.matchers,
            escape: Finder::new(escape).into_owned(),
            replacement: has_space.then(|| Finder::new(REPLACEMENT).into_owned()),
        })
    }

    /// False if the label filter certainly drops the entry, no parser having run yet.
    #[inline]
    pub(super) fn may_keep(&self, line: &[u8], labels: &Labels) -> bool {
        self.searcher.is_in(line)
            || self.escape.find(line).is_some()
            || self
                .replacement
                .as_ref()
                .is_some_and(|finder| finder.find(line).is_some())
            || self
                .matchers
                .iter()
                .any(|matcher| matcher.matches(labels.get(matcher.name.as_bytes())))
    }
}

impl Worth {
    /// True if the prefilter is to be asked.
    #[inline]
    pub(super) fn is_given(&mut self) -> bool {
        let is_given = self.resting == 0;
        self.resting = self.resting.saturating_sub(1);
        is_given
    }

    /// Takes note of what the prefilter did.
    #[inline]
    pub(super) fn note(&mut self, dropped: bool) {
        self.tried += 1;
        self.dropped += u32::from(dropped);
        if self.tried == TRIES {
            let is_worth_it = self.dropped * WORTH_ONE_IN >= TRIES;
            *self = Self {
                resting: if is_worth_it { 0 } else { REST },
                ..Self::default()
            };
        }
    }
}

/// One of the matchers holds of each entry that is kept, and its value holds one of the literals.
struct Group {
    matchers: Vec<TextMatcher>,
    literals: Vec<Vec<u8>>,
}

fn groups_of(test: &LabelTest, is_made: &impl Fn(&str) -> bool) -> Vec<Group> {
    match test {
        LabelTest::Text(matcher) if !is_made(&matcher.name) => {
            let group = |literals| Group {
                matchers: vec![matcher.clone()],
                literals,
            };
            matcher.literals_within().map(group).into_iter().collect()
        }
        LabelTest::And(left, right) => {
            let mut groups = groups_of(left, is_made);
            groups.extend(groups_of(right, is_made));
            groups
        }
        LabelTest::Or(left, right) => {
            // One of both sides holds; which group of several is taken matters little.
            let both = (groups_of(left, is_made).pop(), groups_of(right, is_made).pop());
            let (Some(mut group), Some(other)) = both else {
                return Vec::new();
            };
            group.matchers.extend(other.matchers);
            group.literals.extend(other.literals);
            vec![group]
        }
        LabelTest::Text(_)
        | LabelTest::Number(_)
        | LabelTest::Duration(_)
        | LabelTest::Bytes(_)
        | LabelTest::Ip { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::ast::{Expr, Stage};
    use crate::labels::LabelSet;
    use crate::pipeline::{Pipeline, Runner, Wants};

    fn pipeline(stages: &str) -> Pipeline {
        let Ok(Expr::Log(log)) = crate::parse(&format!("{{app=\"x\"}} {stages}")) else {
            panic!("not a log query: {stages}");
        };
        let stages: Vec<Stage> = log.stages;
        Pipeline::compile(&stages, &Wants::All).unwrap()
    }

    fn prefilters(pipeline: &Pipeline) -> usize {
        let is_it = |step: &&Step| matches!(step, Step::Prefilter(_));
        pipeline.steps.iter().filter(is_it).count()
    }

    #[test]
    fn filters_behind_parsers_have_one_where_it_is_sound() {
        let f = |stages: &str, want: usize| assert_eq!(prefilters(&pipeline(stages)), want, "{stages}");
        f(r#"| json | level="error""#, 1);
        f(r#"| json | level="error", status="503" | logfmt | path=~"/api/.*""#, 3);
        f(r#"| json | level="error" or level="warn" | level=~"error|warn""#, 2);
        f(r#"| unpack | level="error""#, 1);
        f(r#"| json | line_format "x" | level="error""#, 1);
        f(r#"| json | label_format x=level | level="error""#, 1);
        // Too short, no text that must be there, nobody knows where the value comes from, no parser.
        f(r#"| json | level="e""#, 0);
        f(r#"| json | level!="error""#, 0);
        f(r#"| json | level=~"error|""#, 0);
        f(r#"| json | level=~".*""#, 0);
        f(r#"| json | level="error" or status > 3"#, 0);
        f(r#"| json | __error__="JSONParserErr""#, 0);
        f(r#"| json | label_format level="error" | level="error""#, 0);
        f(r#"| json | label_format level=x | level="error""#, 0);
        f(r#"| line_format "{{.a}}" | json | level="error""#, 0);
        f(r#"| json | decolorize | logfmt | level="error""#, 0);
        f(r#"| level="error" | json"#, 0);
    }

    #[test]
    fn a_prefilter_that_drops_nothing_rests() {
        let mut worth = Worth::default();
        for _ in 0..TRIES {
            assert!(worth.is_given());
            worth.note(false);
        }
        for _ in 0..REST {
            assert!(!worth.is_given());
        }
        for tried in 0..2 * TRIES {
            assert!(worth.is_given());
            worth.note(tried % 10 == 0);
        }
        assert!(worth.is_given());
    }

    const STAGES: [&str; 12] = [
        r#"| json | a="err""#,
        r#"| json | a="e r" or b="err" | b=~"err|e/r""#,
        r#"| json | a=~"(?i)err.*" or app_extracted="e\"r""#,
        r#"| logfmt | a="err""#,
        r#"| logfmt --keep-empty | a="e r" | logfmt --strict"#,
        r#"| json a="b.c", b="a[0]" | a="err" or b=~".*err.*""#,
        r#"| logfmt x="a" | x="err""#,
        r#"| regexp "(?P<a>.{3})(?P<b>.*)" | a="err""#,
        r#"| pattern "<_>=<a> <b>" | a="err" or b="e r""#,
        r#"| unpack | a="err" | json"#,
        r#"| drop a | json | logfmt | a="err" | b!="x""#,
        r#"| label_format c=a | json | app="err" or a="err" or b="x r""#,
    ];

    fn any_line() -> impl Strategy<Value = String> {
        let scrap = prop::sample::select(vec![
            "{\"a\":\"",
            "\"b\":\"",
            "\"app\":\"",
            "\"_entry\":\"x\"",
            "\",",
            "\"}",
            "{\"b\":{\"c\":\"",
            "[\"",
            "err",
            "e r",
            "e\u{fffd}r",
            "e\\u0020r",
            "\\u0065rr",
            "\\\"",
            "\\/",
            "\\ufffd",
            "e\\\"r",
            "e\\/r",
            "er",
            "r",
            "e",
            "ERR",
            " ",
            "a=",
            "b=\"",
            "\"",
            "app=",
            "x",
        ]);
        prop::collection::vec(scrap, 0..9).prop_map(|scraps| scraps.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn no_entry_is_lost(
            line in any_line(),
            at in 0..STAGES.len(),
            stream in prop::sample::select(vec!["err", "e r", "x"]),
            metadata in prop::sample::subsequence(vec![("a", &b"err"[..]), ("b", b"x r"), ("app", b"err")], 0..3),
        ) {
            let with = pipeline(STAGES[at]);
            prop_assert!(prefilters(&with) > 0);
            let mut without = pipeline(STAGES[at]);
            without.steps.retain(|step| !matches!(step, Step::Prefilter(_)));
            let stream = LabelSet::from_pairs([("app", stream)]);
            let see = |pipeline: Pipeline| {
                let mut runner = Runner::new(Arc::new(pipeline));
                runner.start_stream(&stream);
                let entry = runner.process(0, line.as_bytes(), &metadata, false)?;
                let mut key = Vec::new();
                entry.labels_key(&mut key);
                Some((entry.line.to_vec(), key))
            };
            prop_assert_eq!(see(with), see(without));
        }
    }
}
