//! The same commands on the engine.

use crate::aggregate::Pair;
use crate::command::{Command, Facts, Name, Query, Reply, texts};
use crate::store::defaults;
use std::sync::Arc;
use timberline_series::codec::Encoding;
use timberline_series::engine::{Access, Engine};
use timberline_series::error::{AddError, DeleteError, IncrementError, KeyError, RestoreError};
use timberline_series::keyspace::Expiry;
use timberline_series::labels::Filters;
use timberline_series::range::{self, Aggregation, BucketTimestamp, RangeQuery};
use timberline_series::series::{Reach, Series};
use timberline_series::settings::CompactionPolicy;

type Answer = Result<Reply, Reply>;

pub(crate) fn run(engine: &Engine, command: &Command) -> Reply {
    try_run(engine, command).unwrap_or_else(|reply| reply)
}

fn try_run(engine: &Engine, command: &Command) -> Answer {
    let shared = || engine.shared();
    let exclusive = || engine.exclusive();
    match command {
        Command::Create(name, attributes) => shared()
            .create(name.db, name.key.as_bytes(), attributes.options())
            .map(|_| Reply::Done)
            .map_err(|_| Reply::Exists),
        Command::Alter(name, changes) => {
            let access = shared();
            access.alter(&series(&access, name)?, changes.clone());
            Ok(Reply::Done)
        }
        Command::Add(name, samples, policy) => with_series_or_new(engine, name, |access, series| {
            let mut writer = access.writer(series).map_err(failed)?.ok_or(Reply::Missing)?;
            let replies = samples
                .iter()
                .map(|sample| match writer.add(sample.0, sample.1, *policy) {
                    Ok(timestamp) => Reply::Number(timestamp),
                    Err(AddError::Blocked) => Reply::Blocked,
                    Err(AddError::OlderThanRetention) => Reply::TooOld,
                    Err(AddError::Read(error)) => failed(error),
                });
            Ok(Reply::Many(replies.collect()))
        }),
        Command::Increment(name, delta, timestamp) => with_series_or_new(engine, name, |access, series| {
            let mut writer = access.writer(series).map_err(failed)?.ok_or(Reply::Missing)?;
            writer
                .increment(*delta, *timestamp)
                .map(Reply::Number)
                .map_err(|error| match error {
                    IncrementError::Older => Reply::NotNewest,
                    IncrementError::Nan => Reply::NotANumber,
                    IncrementError::Read(error) => failed(error),
                })
        }),
        Command::Delete(name, from, to) => {
            let access = shared();
            let deleted = access.delete(&series(&access, name)?, *from, *to);
            deleted
                .map(|count| Reply::Number(count as i64))
                .map_err(|error| match error {
                    DeleteError::BeyondRetention => Reply::BeyondRetention,
                    DeleteError::Read(error) => failed(error),
                })
        }
        Command::CreateRule(name, destination, aggregator, bucket, align) => exclusive()
            .create_rule(
                name.db,
                name.key.as_bytes(),
                destination.as_bytes(),
                *aggregator,
                *bucket,
                *align,
            )
            .map(|()| Reply::Done)
            .map_err(Reply::Rule),
        Command::DeleteRule(name, destination) => exclusive()
            .delete_rule(name.db, name.key.as_bytes(), destination.as_bytes())
            .map(|()| Reply::Done)
            .map_err(Reply::Rule),
        Command::Range(name, query) => {
            let series = series(&shared(), name)?;
            range(&series, query)
        }
        Command::Get(name, latest) => {
            let last = series(&shared(), name)?.last(*latest).map_err(failed)?;
            let sample = last.map(|sample| (sample.timestamp, Some(sample.value)));
            Ok(Reply::Sample(sample, true))
        }
        Command::Info(name) => {
            let series = series(&shared(), name)?;
            facts(&series)
        }
        Command::Select(db, label) => {
            let filters = Filters::parse([label.as_bytes()]).map_err(failed)?;
            let chosen = shared().select(*db, &filters);
            Ok(Reply::Names(
                chosen.iter().map(|selected| text(&selected.key)).collect(),
            ))
        }
        Command::Remove(name) => Ok(Reply::Flag(shared().remove(name.db, name.key.as_bytes()))),
        Command::Expire(name) => {
            let access = shared();
            let was_there = access.set_expiry(name.db, name.key.as_bytes(), Some(1));
            // Whoever meets the key removes it.
            match access.value(name.db, name.key.as_bytes()) {
                None => Ok(Reply::Flag(was_there)),
                Some(_) => Err(Reply::Exists),
            }
        }
        Command::Text(name) => {
            shared().set_text(name.db, name.key.as_bytes(), b"text", Expiry::Clear);
            Ok(Reply::Done)
        }
        Command::Rename(name, to, only_if_new) => exclusive()
            .rename(name.db, name.key.as_bytes(), to.as_bytes(), *only_if_new)
            .map(Reply::Flag)
            .ok_or(Reply::Missing),
        Command::Copy(from, to, replace) => exclusive()
            .copy(from.db, from.key.as_bytes(), to.db, to.key.as_bytes(), *replace)
            .map(Reply::Flag)
            .map_err(failed),
        Command::DumpRestore(from, to, replace) => {
            let access = exclusive();
            let payload = access.dump(from.db, from.key.as_bytes()).ok_or(Reply::Missing)?;
            access
                .restore(to.db, to.key.as_bytes(), &payload.map_err(failed)?, None, *replace)
                .map(|()| Reply::Done)
                .map_err(|error| match error {
                    RestoreError::KeyExists => Reply::Exists,
                    RestoreError::BadPayload => failed(error),
                })
        }
        Command::Move(name, to_db) => Ok(Reply::Flag(exclusive().move_key(name.db, name.key.as_bytes(), *to_db))),
        Command::Swap(one, other) => {
            exclusive().swap(*one, *other);
            Ok(Reply::Done)
        }
        Command::Flush(db) => {
            exclusive().flush(*db);
            Ok(Reply::Done)
        }
        Command::Policy(policy) => {
            engine.change_settings(|settings| settings.duplicate_policy = *policy);
            Ok(Reply::Done)
        }
        Command::Compaction(policy) => {
            let policy = CompactionPolicy::parse(policy).map_err(failed)?;
            engine.change_settings(|settings| settings.compaction = policy);
            Ok(Reply::Done)
        }
        Command::Check | Command::Reopen(_) => Ok(Reply::Done),
    }
}

fn failed(error: impl std::fmt::Display) -> Reply {
    Reply::Failed(error.to_string())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn series(access: &Access<'_>, name: &Name) -> Result<Arc<Series>, Reply> {
    access
        .series(name.db, name.key.as_bytes())
        .map_err(|error| match error {
            KeyError::Missing => Reply::Missing,
            KeyError::WrongType => Reply::WrongType,
        })
}

fn with_series_or_new(engine: &Engine, name: &Name, work: impl FnOnce(&Access<'_>, Arc<Series>) -> Answer) -> Answer {
    let mut access = engine.shared();
    let found = match series(&access, name) {
        Err(Reply::Missing) => {
            if access.creating_needs_exclusive() {
                drop(access);
                access = engine.exclusive();
            }
            let options = defaults(engine.settings().duplicate_policy).options();
            let made = access.create_with_rules(name.db, name.key.as_bytes(), options);
            made.map_err(|_| Reply::Exists)?
        }
        found => found?,
    };
    work(&access, found)
}

fn range(series: &Series, query: &Query) -> Answer {
    let aggregation = query.aggregation.map(|(aggregator, bucket, align)| Aggregation {
        aggregators: vec![aggregator],
        bucket,
        align,
        bucket_timestamp: BucketTimestamp::Start,
        empty: false,
    });
    let asked = RangeQuery {
        from: query.from,
        to: query.to,
        timestamps: None,
        values: None,
        aggregation,
        count: query.count.map(|count| count as u64),
        reverse: query.reverse,
    };
    let reach = if asked.looks_beyond_bounds() {
        Reach::Neighbours
    } else {
        Reach::Inside
    };
    let view = series.view(asked.from, asked.to, reach, query.latest).map_err(failed)?;
    let rows = range::run(&view, &asked).map_err(failed)?;
    let pairs = rows.timestamps.iter().copied().zip(rows.values.iter().copied());
    Ok(Reply::Rows(pairs.collect(), true))
}

/// All visible samples.
pub(crate) fn samples(series: &Series) -> Result<Vec<Pair>, Reply> {
    let everything = Query {
        from: 0,
        to: i64::MAX,
        reverse: false,
        latest: false,
        count: None,
        aggregation: None,
    };
    match range(series, &everything)? {
        Reply::Rows(rows, _) => Ok(rows),
        other => Err(other),
    }
}

/// What TS.INFO shows; figures that contradict each other are a failure.
pub(crate) fn facts(series: &Series) -> Answer {
    let info = series.info().map_err(failed)?;
    let stored: usize = info.chunks.iter().map(|chunk| chunk.len).sum();
    let ascending = info
        .chunks
        .windows(2)
        .all(|pair| pair[0].last_timestamp < pair[1].first_timestamp);
    let bounds = info
        .chunks
        .iter()
        .all(|chunk| chunk.first_timestamp <= chunk.last_timestamp);
    if (stored as u64) < info.total_samples || !ascending || !bounds || info.memory_bytes == 0 {
        return Err(Reply::Failed(format!("chunks do not fit: {info:?}")));
    }
    Ok(Reply::Facts(Box::new(Facts {
        total: info.total_samples,
        first: info.first_timestamp,
        last: info.last_timestamp,
        retention: info.retention_ms,
        policy: info.duplicate_policy,
        is_compressed: info.encoding == Encoding::Compressed,
        chunk_bytes: info.chunk_bytes,
        ignore: (info.ignore_time_ms, info.ignore_value),
        labels: texts(&info.labels),
        source: info.source_key.as_deref().map(text),
        rules: info
            .rules
            .iter()
            .map(|rule| {
                (
                    text(&rule.destination_key),
                    rule.aggregator.name(),
                    rule.bucket_ms,
                    rule.align_ms,
                )
            })
            .collect(),
    })))
}
