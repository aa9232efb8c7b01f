//! SQL in files: series, log lines, statements, expected answers. Each statement is asked of several layouts of the lines, by one thread
//! and by several; all must give the same answer.
//!
//! A file holds `=== series DB KEY name=value ..` followed by lines `TIMESTAMP VALUE`, `=== logs` followed by rows (`{labels}` sets the
//! stream, `SECONDS LINE ## name=value ..` adds an entry), then any number of `=== FORM WHY` followed by a statement, `---` and what is
//! expected: for `csv` and `json` the answer, for `error` the message (of which only the start counts if it ends in `...`), for `explain` texts of which the plan must contain each (after `!`:
//! must not).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use async_trait::async_trait;
use std::sync::Arc;
use support::{Layout, Row, Sources, Storage};
use timberline_logql::ast::Matcher;
use timberline_logql::labels::LabelSet;
use timberline_query::{LogsAdmission, QueryEngine, QueryError, QueryLimits, SqlForm, SqlRequest};
use timberline_series::engine::Engine;
use timberline_series::labels::Labels;
use timberline_series::options::SeriesOptions;
use timberline_store::TenantId;
use timberline_store::source::TimeSpan;

/// Logs may be read from so many nanoseconds on.
#[derive(Debug)]
struct From(i64);

#[async_trait]
impl LogsAdmission for From {
    async fn admit(&self, _: &[Matcher], span: TimeSpan) -> Result<Option<TimeSpan>, QueryError> {
        let min_ns = span.min_ns.max(self.0);
        Ok((min_ns <= span.max_ns).then_some(TimeSpan { min_ns, ..span }))
    }
}

#[derive(Default)]
struct Case {
    series: Vec<String>,
    rows: Vec<Row>,
    questions: Vec<(String, String, String)>,
}

fn case(text: &str) -> Case {
    let mut case = Case::default();
    for section in text.split("\n=== ").skip(1) {
        let (head, body) = section.split_once('\n').unwrap_or((section, ""));
        match head.split_whitespace().next() {
            Some("series") => case.series.push(section.to_owned()),
            Some("logs") => case.rows = rows(body),
            _ => {
                let (sql, want) = body.split_once("\n---\n").unwrap_or_else(|| panic!("{head}: no ---"));
                case.questions
                    .push((head.to_owned(), sql.to_owned(), want.trim_end().to_owned()));
            }
        }
    }
    case
}

fn rows(text: &str) -> Vec<Row> {
    let (mut labels, mut rows) = (LabelSet::default(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with('{') {
            labels = timberline_logql::parse_labels(line).unwrap();
            continue;
        }
        let (line, metadata) = line.split_once(" ## ").unwrap_or((line, ""));
        let (time, line) = line.split_once(' ').unwrap();
        let pair = |p: &str| p.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned())).unwrap();
        rows.push(Row {
            labels: labels.clone(),
            timestamp_ns: (time.parse::<f64>().unwrap() * 1e9).round() as i64,
            line: line.to_owned(),
            metadata: metadata.split_whitespace().map(pair).collect(),
        });
    }
    rows
}

fn store(series: &[String]) -> Engine {
    let engine = Engine::in_memory();
    for text in series {
        let mut lines = text.lines();
        let mut words = lines.next().unwrap().split_whitespace().skip(1);
        let (db, key) = (words.next().unwrap().parse().unwrap(), words.next().unwrap());
        let pair = |word: &str| word.split_once('=').map(|(n, v)| (n.into(), v.into())).unwrap();
        let access = engine.shared();
        let options = SeriesOptions {
            labels: Labels::from_pairs(words.map(pair).collect()),
            ..engine.settings().series_options()
        };
        let created = access.create(db, key.as_bytes(), options).unwrap();
        let mut writer = access.writer(created).unwrap().unwrap();
        for line in lines.filter(|line| !line.is_empty()) {
            let (timestamp, value) = line.split_once(' ').unwrap();
            writer
                .add(timestamp.parse().unwrap(), value.parse().unwrap(), None)
                .unwrap();
        }
    }
    engine
}

fn engine(case: &Case, layout: Layout, limits: QueryLimits) -> QueryEngine {
    let engine = QueryEngine::new(Arc::new(Sources::new(&case.rows, layout)), limits).unwrap();
    engine.with_series(Arc::new(store(&case.series)))
}

fn ask(engine: &QueryEngine, sql: &str, form: SqlForm) -> Result<String, QueryError> {
    let request = SqlRequest {
        sql: sql.to_owned(),
        form,
        logs: Arc::new(From(0)),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let answer = runtime.block_on(engine.sql(&TenantId::single(), request))?;
    let text = String::from_utf8(answer.body).unwrap();
    let lines = text.lines().count() - usize::from(form == SqlForm::Csv);
    assert!(answer.rows <= lines, "{} rows in {lines} lines", answer.rows);
    Ok(text)
}

/// What is wrong with the answer to a question, if anything is.
fn fault(engine: &QueryEngine, head: &str, sql: &str, want: &str) -> Option<String> {
    let form = match head.split_whitespace().next() {
        Some("csv") => SqlForm::Csv,
        _ => SqlForm::JsonLines,
    };
    let answer = ask(engine, sql, form);
    if head.starts_with("explain") {
        let plan = answer.unwrap_or_else(|error| error.to_string());
        let holds = |line: &str| match line.strip_prefix('!') {
            Some(absent) => !plan.contains(absent),
            None => plan.contains(line),
        };
        return (!want.lines().all(holds)).then(|| plan.replace("\\n", "\n"));
    }
    let found = match (answer, head.starts_with("error")) {
        (Ok(text), false)
        | (Err(QueryError::Parse(text) | QueryError::BadRequest(text) | QueryError::Limit(text)), true) => text,
        (Ok(text), true) => format!("no error, but {text}"),
        (Err(error), _) => format!("{error:?}"),
    };
    let as_wanted = match want.strip_suffix("...") {
        Some(start) => found.starts_with(start),
        None => found.trim_end() == want,
    };
    (!as_wanted).then_some(found)
}

fn check(text: &str) {
    let case = case(text);
    let layout = |source_rows, sorted, doubled, storage| Layout {
        source_rows,
        run_rows: 2,
        sorted,
        doubled,
        storage,
    };
    let mut faults = Vec::new();
    for (layout, threads) in [
        (layout(100, true, false, Storage::Memory), 1),
        (layout(3, false, true, Storage::Memory), 3),
        (layout(2, true, false, Storage::Object), 2),
        (layout(4, true, true, Storage::ObjectWithFilters), 2),
    ] {
        let limits = QueryLimits {
            threads,
            ..QueryLimits::default()
        };
        let engine = engine(&case, layout, limits);
        for (head, sql, want) in &case.questions {
            if let Some(found) = fault(&engine, head, sql, want) {
                faults.push(format!(
                    "=== {head}\n{sql}\n---\n{found}\n({layout:?}, {threads} threads)"
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn series() {
    check(include_str!("sql_cases/series.txt"));
}

#[test]
fn logs() {
    check(include_str!("sql_cases/logs.txt"));
}

#[test]
fn statements() {
    check(include_str!("sql_cases/statements.txt"));
}

fn many_samples(count: i64) -> QueryEngine {
    limited(count, QueryLimits::default())
}

fn limited(count: i64, limits: QueryLimits) -> QueryEngine {
    let samples: Vec<String> = (0..count).map(|at| format!("{} {at}", at * 1000)).collect();
    let case = Case {
        series: ["a", "b", "c"]
            .map(|key| format!("series 0 {key} name={key}\n{}", samples.join("\n")))
            .into(),
        ..Case::default()
    };
    let layout = Layout {
        source_rows: 1,
        run_rows: 1,
        sorted: true,
        doubled: false,
        storage: Storage::Memory,
    };
    engine(&case, layout, limits)
}

#[test]
fn long_series_come_in_batches() {
    let engine = many_samples(50_000);
    let f = |sql: &str, want: &str| assert_eq!(ask(&engine, sql, SqlForm::Csv).unwrap(), want, "{sql}");
    f(
        "SELECT count(*) AS n, sum(value) AS s FROM series",
        "n,s\n150000,3749925000.0\n",
    );
    f(
        "SELECT key, count(*) AS n, max(labels['name']) AS name FROM series GROUP BY key ORDER BY key",
        "key,n,name\na,50000,a\nb,50000,b\nc,50000,c\n",
    );
    f(
        "SELECT count(*) AS n, min(value) AS low FROM series WHERE timestamp >= '1970-01-01T00:16:40Z' AND key <> 'b'",
        "n,low\n98000,1000.0\n",
    );
    f(
        "SELECT count(*) AS n FROM (SELECT * FROM series LIMIT 20000)",
        "n\n20000\n",
    );
    let all = ask(&engine, "SELECT * FROM series", SqlForm::JsonLines).unwrap();
    assert_eq!(all.lines().count(), 150_000);
}

#[test]
fn memory_is_bounded() {
    let limits = QueryLimits {
        max_query_memory_bytes: 2 << 20,
        ..QueryLimits::default()
    };
    let engine = limited(50_000, limits);
    let f = |sql: &str| {
        let refused = ask(&engine, sql, SqlForm::Csv).unwrap_err();
        let QueryError::Limit(text) = &refused else {
            panic!("{sql}: {refused:?}")
        };
        assert!(text.contains("max_query_memory_bytes=2097152"), "{sql}: {text}");
    };
    f("SELECT * FROM series");
    f("SELECT * FROM series ORDER BY value LIMIT 100000");
    f("SELECT timestamp, value, count(*) FROM series GROUP BY timestamp, value");
    assert!(ask(&engine, "SELECT sum(value) FROM series", SqlForm::Csv).is_ok());
}

#[test]
fn deep_statements_are_refused_or_answered() {
    let engine = many_samples(1);
    for terms in [160, 490, 100_000] {
        let chain = |term: &str, with: &str| vec![term; terms].join(with);
        for sql in [
            format!("SELECT {}", chain("1", "+")),
            format!("SELECT 1 WHERE {}", chain("1=2", " OR ")),
            format!("SELECT key FROM series WHERE {}", chain("value=1", " AND ")),
            format!("SELECT key FROM series WHERE {}", chain("key='x'", " OR ")),
            chain("SELECT 1", " UNION ALL "),
            format!("SELECT {}1{}", "(".repeat(terms), ")".repeat(terms)),
            format!("SELECT {} 1", "- ".repeat(terms)),
            format!("SELECT 'x' {}", "|| 'x' ".repeat(terms)),
        ] {
            match ask(&engine, &sql, SqlForm::Csv) {
                Ok(_) => assert!(terms < 500),
                Err(QueryError::Limit(text) | QueryError::Parse(text)) => assert!(text.contains("limit"), "{text}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    let list = vec!["'x'"; 20_000].join(",");
    assert!(
        ask(
            &engine,
            &format!("SELECT * FROM series WHERE key IN ({list})"),
            SqlForm::Csv
        )
        .is_ok()
    );
}
