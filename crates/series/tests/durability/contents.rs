//! Everything that an engine holds, as text, to be compared. Values of nine digits: the last ones of a sum depend on how its summands lie
//! in chunks.

use timberline_series::engine::{Access, Engine};
use timberline_series::keyspace::{DATABASES, Value};
use timberline_series::range::{RangeQuery, run};
use timberline_series::series::{Reach, Series};

/// A query of everything.
pub(crate) fn everything() -> RangeQuery {
    RangeQuery {
        from: 0,
        to: i64::MAX,
        timestamps: None,
        values: None,
        aggregation: None,
        count: None,
        reverse: false,
    }
}

/// Keys, attributes, rules, samples, the buckets in progress and ends of life, one line per key, in order.
pub(crate) fn contents(engine: &Engine) -> Vec<String> {
    let access = engine.shared();
    let mut lines = Vec::new();
    for db in 0..DATABASES as u8 {
        for key in access.keys(db) {
            let end = access.expires_at(db, &key).unwrap();
            let value = match access.value(db, &key).unwrap() {
                Value::Text(text) => format!("{text:?}"),
                Value::List(list) => format!("list {list:?}"),
                Value::Series(series) => of_series(&access, &series),
            };
            lines.push(format!("{db} {} ends {end:?}: {value}", String::from_utf8_lossy(&key)));
        }
    }
    lines.sort();
    lines
}

fn of_series(_access: &Access<'_>, series: &Series) -> String {
    let view = series.view(0, i64::MAX, Reach::Neighbours, true).unwrap();
    let rows = run(&view, &everything()).unwrap();
    let shown = |timestamp: i64, value: f64| format!("{timestamp} {value:.8e}");
    let samples: Vec<String> = rows
        .timestamps
        .iter()
        .zip(&rows.values)
        .map(|(timestamp, value)| shown(*timestamp, *value))
        .collect();
    let mut info = series.info().unwrap();
    // How samples lie in memory may differ.
    info.memory_bytes = 0;
    info.chunks.clear();
    let last = series.last(true).unwrap().map(|last| shown(last.timestamp, last.value));
    format!("{info:?} in progress {last:?} samples {samples:?}")
}
