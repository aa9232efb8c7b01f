//! The engine against the naive evaluator of `timberline-oracle`: random rows in a random layout, random queries, the same answers.
//!
//! `TIMBERLINE_ORACLE_SEED` is the seed of the first data set (each next one has the next number) and `TIMBERLINE_ORACLE_PAIRS` how many pairs
//! of data and query are tried; a difference prints both such that it is repeated.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::{Layout, Sources, Storage};
use timberline_logql::ast::Expr;
use timberline_logql::labels::LabelSet;
use timberline_oracle::generate::{Dice, Question, constructs, question, rows, smaller};
use timberline_oracle::{Answer, Ask, Error, Found, Labels, Outcome, Row, Series, close, evaluate, series_differ};
use timberline_query::{Direction, InstantRequest, QueryEngine, QueryError, QueryLimits, QueryResult, RangeRequest};
use timberline_store::TenantId;
use tokio::runtime::Runtime;

/// Queries asked of one data set.
const QUERIES: u64 = 100;
/// Differences that are made small and printed.
const SHOWN: usize = 6;

/// A data set as the engine gets it.
#[derive(Clone, Copy, Debug)]
struct Setting {
    layout: Layout,
    threads: usize,
}

fn setting(dice: &mut Dice) -> Setting {
    let storage = dice.pick(&[
        Storage::Memory,
        Storage::Memory,
        Storage::Object,
        Storage::ObjectWithFilters,
    ]);
    let layout = Layout {
        source_rows: dice.pick(&[1000, 1000, 20, 7, 3]),
        run_rows: dice.pick(&[1000, 10, 3, 1]),
        sorted: storage != Storage::Memory || dice.percent(30),
        doubled: dice.percent(25),
        storage,
    };
    let threads = dice.pick(&[1, 2]);
    Setting { layout, threads }
}

fn engine(rows: &[Row], setting: Setting, align: bool) -> QueryEngine {
    let stored = |row: &Row| support::Row {
        labels: LabelSet::from_pairs(row.labels.iter().map(|(n, v)| (n.as_str(), v.as_str()))),
        timestamp_ns: row.timestamp_ns,
        line: row.line.clone(),
        metadata: row.metadata.clone(),
    };
    let rows: Vec<support::Row> = rows.iter().map(stored).collect();
    let limits = QueryLimits {
        threads: setting.threads,
        align_to_step: align,
        ..QueryLimits::default()
    };
    QueryEngine::new(Arc::new(Sources::new(&rows, setting.layout)), limits).unwrap()
}

fn aligns(ask: &Ask) -> bool {
    matches!(ask, Ask::Range { align: true, .. })
}

fn answer(runtime: &Runtime, engine: &QueryEngine, query: String, ask: &Ask) -> Result<QueryResult, QueryError> {
    let tenant = TenantId::single();
    let request = |start_ns, end_ns| RangeRequest {
        query: query.clone(),
        start_ns,
        end_ns,
        step_ns: None,
        interval_ns: 0,
        limit: 100,
        direction: Direction::Backward,
    };
    let answer = match *ask {
        Ask::Instant { time_ns } => runtime.block_on(engine.instant(&tenant, InstantRequest { query, time_ns })),
        Ask::Range {
            start_ns,
            end_ns,
            step_ns,
            ..
        } => {
            let request = RangeRequest {
                step_ns: Some(step_ns),
                ..request(start_ns, end_ns)
            };
            runtime.block_on(engine.range(&tenant, request))
        }
        Ask::Lines {
            start_ns,
            end_ns,
            limit,
            forward,
            interval_ns,
        } => {
            let request = RangeRequest {
                limit,
                interval_ns,
                direction: if forward {
                    Direction::Forward
                } else {
                    Direction::Backward
                },
                ..request(start_ns, end_ns)
            };
            runtime.block_on(engine.range(&tenant, request))
        }
    };
    answer.map(|a| a.result)
}

fn labels(set: &LabelSet) -> Labels {
    set.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
}

fn kind(error: &QueryError) -> Error {
    match error {
        QueryError::Parse(_) => Error::Parse,
        QueryError::BadRequest(text) if text.starts_with("pipeline error") => Error::Pipeline,
        QueryError::BadRequest(text) if text.contains("matching") || text.contains("multiple matches") => {
            Error::Matching
        }
        QueryError::BadRequest(text) if text.starts_with("label_replace") => Error::SameSeries,
        QueryError::BadRequest(_) => Error::BadRequest,
        other => panic!("{other:?}"),
    }
}

/// What differs, if anything does.
fn differs(outcome: &Outcome, found: &Result<QueryResult, QueryError>) -> Option<String> {
    match (&outcome.answer, found) {
        (Err(_), Err(error)) if outcome.errors.contains(&kind(error)) => None,
        (Err(_), Err(error)) => Some(format!("{:?} wanted, {error:?} found", outcome.errors)),
        (Err(error), Ok(found)) => Some(format!("{error:?} wanted, {found:?} found")),
        (Ok(answer), Err(error)) => Some(format!("{answer:?} wanted, {error:?} found")),
        (Ok(Answer::Scalar(wanted)), Ok(QueryResult::Scalar { value, .. })) => {
            (!close(*wanted, *value)).then(|| format!("{wanted} wanted, {value} found"))
        }
        (Ok(Answer::Lines(lines)), Ok(QueryResult::Streams(streams))) => {
            let mut found = Vec::new();
            for stream in streams {
                let mut labels = labels(&stream.labels);
                if let Some(details) = labels.get_mut("__error_details__") {
                    details.clear();
                }
                for entry in &stream.entries {
                    let line = Found {
                        timestamp_ns: entry.timestamp_ns,
                        line: String::from_utf8_lossy(&entry.line).into_owned(),
                        labels: labels.clone(),
                    };
                    found.push((entry.position, line));
                }
            }
            found.sort_by_key(|(position, _)| *position);
            lines.differs(&found.into_iter().map(|(_, line)| line).collect::<Vec<_>>())
        }
        (Ok(Answer::Vector { samples, ordered }), Ok(QueryResult::Vector(found))) => {
            let found: Vec<(Labels, f64)> = found.iter().map(|s| (labels(&s.labels), s.value)).collect();
            let order = |samples: &[(Labels, f64)]| samples.iter().map(|s| s.0.clone()).collect::<Vec<_>>();
            if *ordered && order(samples) != order(&found) {
                return Some(format!("{samples:?} wanted in this order, {found:?} found"));
            }
            let series = |samples: &[(Labels, f64)]| samples.iter().map(|s| (s.0.clone(), vec![(0, s.1)])).collect();
            series_differ(&series(samples), &series(&found))
        }
        (Ok(Answer::Matrix(wanted)), Ok(QueryResult::Matrix(found))) => {
            let found: Series = found.iter().map(|s| (labels(&s.labels), s.points.clone())).collect();
            series_differ(wanted, &found)
        }
        (Ok(answer), Ok(found)) => Some(format!("{answer:?} wanted, {found:?} found")),
    }
}

/// Answers by both; what differs, if something that is promised does.
fn disagree(runtime: &Runtime, rows: &[Row], setting: Setting, question: &Question) -> Option<String> {
    let query = question.expr.to_string();
    let outcome = evaluate(rows, &query, &question.ask);
    if rows.is_empty() || outcome.rounding {
        return None;
    }
    let engine = engine(rows, setting, aligns(&question.ask));
    differs(&outcome, &answer(runtime, &engine, query, &question.ask))
}

/// Leaves out rows and parts of the query as long as the answers still differ.
fn shrink(runtime: &Runtime, mut rows: Vec<Row>, setting: Setting, mut question: Question) -> String {
    let valid = |expr: &Expr| timberline_logql::parse(&expr.to_string()).as_ref() == Ok(expr);
    loop {
        let differ = |rows: &[Row], q: &Question| disagree(runtime, rows, setting, q).is_some();
        let without = |at: usize| [&rows[..at], &rows[at + 1..]].concat();
        let fewer = (0..rows.len()).map(without).find(|rows| differ(rows, &question));
        if let Some(fewer) = fewer {
            rows = fewer;
            continue;
        }
        let with = |expr| Question {
            expr,
            ask: question.ask.clone(),
        };
        let less = smaller(&question.expr)
            .into_iter()
            .filter(valid)
            .map(with)
            .find(|q| differ(&rows, q));
        match less {
            Some(less) => question = less,
            None => break,
        }
    }
    let text = disagree(runtime, &rows, setting, &question).unwrap_or_default();
    let rows: Vec<String> = rows.iter().map(|row| format!("  {row:?}\n")).collect();
    format!(
        "{}\n{:?} {setting:?}\n{}{text}\n",
        question.expr,
        question.ask,
        rows.concat()
    )
}

/// What was tried.
#[derive(Debug, Default)]
struct Tally {
    pairs: u64,
    errors: BTreeMap<Error, u64>,
    empty: u64,
    rounding: u64,
    constructs: BTreeMap<String, u64>,
    differences: Vec<String>,
}

impl Tally {
    fn count(&mut self, outcome: &Outcome, expr: &Expr) {
        self.pairs += 1;
        self.rounding += u64::from(outcome.rounding);
        let empty = match &outcome.answer {
            Err(error) => {
                *self.errors.entry(*error).or_default() += 1;
                return;
            }
            Ok(Answer::Lines(lines)) => lines.is_empty(),
            Ok(Answer::Vector { samples, .. }) => samples.is_empty(),
            Ok(Answer::Matrix(series)) => series.is_empty(),
            Ok(Answer::Scalar(_)) => false,
        };
        self.empty += u64::from(empty);
        // Of answers that say something.
        if !empty {
            for name in constructs(expr) {
                *self.constructs.entry(name).or_default() += 1;
            }
        }
    }

    fn add(&mut self, other: Tally) {
        self.pairs += other.pairs;
        self.empty += other.empty;
        self.rounding += other.rounding;
        self.differences.extend(other.differences);
        for (error, count) in other.errors {
            *self.errors.entry(error).or_default() += count;
        }
        for (name, count) in other.constructs {
            *self.constructs.entry(name).or_default() += count;
        }
    }
}

/// All queries of one data set.
fn try_data(runtime: &Runtime, seed: u64, shown: &AtomicU64) -> Tally {
    let mut dice = Dice::new(seed);
    let rows = rows(&mut dice);
    let setting = setting(&mut dice);
    let engines = [false, true].map(|align| engine(&rows, setting, align));
    let mut tally = Tally::default();
    for number in 0..QUERIES {
        let question = question(&mut dice);
        let query = question.expr.to_string();
        let reread = timberline_logql::parse(&query);
        assert_eq!(reread.as_ref(), Ok(&question.expr), "seed {seed}: printed as {query}");
        let outcome = evaluate(&rows, &query, &question.ask);
        tally.count(&outcome, &question.expr);
        if outcome.rounding {
            continue;
        }
        let engine = &engines[usize::from(aligns(&question.ask))];
        if differs(&outcome, &answer(runtime, engine, query, &question.ask)).is_none() {
            continue;
        }
        if shown.fetch_add(1, Ordering::Relaxed) < SHOWN as u64 {
            let least = shrink(runtime, rows.clone(), setting, question);
            let again = format!("TIMBERLINE_ORACLE_SEED={seed} TIMBERLINE_ORACLE_PAIRS={QUERIES}");
            tally.differences.push(format!("query {number} of {again}:\n{least}"));
        }
    }
    tally
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn the_engine_agrees_with_the_oracle() {
    let first = number("TIMBERLINE_ORACLE_SEED", 1);
    let pairs = number("TIMBERLINE_ORACLE_PAIRS", 20_000);
    let last = first + pairs.div_ceil(QUERIES);
    println!("TIMBERLINE_ORACLE_SEED={first} TIMBERLINE_ORACLE_PAIRS={pairs}");
    let (next, shown) = (AtomicU64::new(first), AtomicU64::new(0));
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut tally = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= last || shown.load(Ordering::Relaxed) >= SHOWN as u64 {
                return tally;
            }
            tally.add(try_data(&runtime, seed, &shown));
        }
    };
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().for_each(|thread| all.add(thread.join().unwrap()));
    });
    let differences = std::mem::take(&mut all.differences);
    println!("{all:#?}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    // Answers that say nothing test nothing.
    let failed: u64 = all.errors.values().sum();
    let percent = |count: u64| 100 * count / all.pairs.max(1);
    assert!(
        percent(all.empty) <= 50,
        "{} of {} answers are empty",
        all.empty,
        all.pairs
    );
    assert!(percent(failed) <= 10, "{failed} of {} answers are errors", all.pairs);
    assert!(
        percent(all.rounding) <= 5,
        "{} of {} hang on rounding",
        all.rounding,
        all.pairs
    );
}
