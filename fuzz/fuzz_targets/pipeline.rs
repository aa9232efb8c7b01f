//! Pipelines over any lines: what was kept of earlier lines changes no later one, and what nobody asks for is not missed.
//!
//! An input is the number of a query of `queries.txt`, the length of a metadata value, the value, and lines that each end
//! with a zero byte.
#![no_main]

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::memory;
use timberline_logql::ast::Expr;
use timberline_logql::labels::LabelSet;
use timberline_logql::parse;
use timberline_logql::pipeline::{GroupLabels, Pipeline, Processed, Runner, Wants};

const QUERIES: &str = include_str!("queries.txt");
const WANTED: [&str; 2] = ["a", "t_extracted"];

thread_local! {
    static COMPILED: RefCell<HashMap<u8, [Arc<Pipeline>; 2]>> = RefCell::default();
}

fuzz_target!(|input: &[u8]| {
    let [query, length, rest @ ..] = input else { return };
    let (metadata, rest) = rest.split_at(usize::from(*length).min(rest.len()));
    let metadata = [("m", metadata), ("t", metadata)];
    let [all, some] =
        COMPILED.with_borrow_mut(|compiled| compiled.entry(*query).or_insert_with(|| compile(*query)).clone());
    let stream = LabelSet::from_pairs([("t", "s"), ("env", "x")]);
    let start = |pipeline: &Arc<Pipeline>| {
        let mut runner = Runner::new(Arc::clone(pipeline));
        runner.start_stream(&stream);
        runner
    };
    memory::bounded(memory::of_lines(input.len()), || {
        let (mut reused, mut reused_for_some) = (start(&all), start(&some));
        for (time, line) in (0..).zip(rest.split(|byte| *byte == 0)) {
            let mut fresh = start(&all);
            let want = fresh.process(time, line, &metadata, false);
            let prefiltered = all.line_filters().iter().all(|filter| filter.matches(line));
            let found = if prefiltered {
                reused.process(time, line, &metadata, true)
            } else {
                None
            };
            assert_eq!(found.as_ref().map(seen), want.as_ref().map(seen), "{line:?}");

            let found = reused_for_some.process(time, line, &metadata, false);
            let group = GroupLabels::by(WANTED);
            let labels = |entry: &Processed| {
                let mut key = Vec::new();
                entry.group_key(&group, &mut key);
                (WANTED.map(|name| entry.get(name).map(<[u8]>::to_vec)), key)
            };
            assert_eq!(found.as_ref().map(labels), want.as_ref().map(labels), "{line:?}");
        }
    });
});

fn seen(entry: &Processed) -> (Vec<u8>, Vec<u8>, bool) {
    let mut key = Vec::new();
    entry.labels_key(&mut key);
    (entry.line.to_vec(), key, entry.has_error())
}

/// The query for all labels, and for two of them.
fn compile(query: u8) -> [Arc<Pipeline>; 2] {
    let queries: Vec<&str> = QUERIES.lines().collect();
    let query = queries[usize::from(query) % queries.len()];
    let stages = match parse(query) {
        Ok(Expr::Log(log)) => log.stages,
        other => panic!("not a log query: {query}: {other:?}"),
    };
    let wants = [Wants::All, Wants::Only(WANTED.map(str::to_owned).to_vec())];
    wants.map(|wants| Arc::new(Pipeline::compile(&stages, &wants).expect("stages compile")))
}
