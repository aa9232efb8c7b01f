//! When which group is due: at the multiples of its interval, and after a pause at those that were missed.

use crate::evaluate::{EvaluationError, evaluate};
use crate::record::{newest_ms, record};
use crate::rule::{Group, Rule};
use crate::statistics::{Statistics, count};
use futures::future::join_all;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use timberline_query::QueryEngine;
use timberline_series::engine::Engine;
use tokio::sync::Semaphore;

/// Evaluations that were due longer ago are not caught up, milliseconds.
pub const CATCH_UP_MS: i64 = 3_600_000;

/// Rules that are evaluated at the same time: others should get answers too.
const CONCURRENT: usize = 2;

/// Evaluates groups of rules. Cheap to clone.
#[derive(Clone)]
pub struct Ruler(Arc<Shared>);

struct Shared {
    query: QueryEngine,
    store: Arc<Engine>,
    timeout: Duration,
    turns: Semaphore,
    statistics: Arc<Statistics>,
}

/// A group with the time up to which each of its rules was evaluated.
struct Progress<'a> {
    group: &'a Group,
    done_ms: Vec<i64>,
}

impl Ruler {
    /// A ruler that asks one engine and writes to another; a rule may take so long.
    pub fn new(query: QueryEngine, store: Arc<Engine>, timeout: Duration) -> Self {
        Self(Arc::new(Shared {
            query,
            store,
            timeout,
            turns: Semaphore::new(CONCURRENT),
            statistics: Arc::default(),
        }))
    }

    /// What was done so far.
    pub fn statistics(&self) -> Arc<Statistics> {
        self.0.statistics.clone()
    }

    /// Evaluates groups whenever they are due, until it is dropped.
    pub async fn run(&self, groups: &[Group]) {
        join_all(groups.iter().map(|group| self.run_group(group))).await;
    }

    /// Evaluates what groups missed up to a time, and what is due then. A rule that has written nothing yet begins at that time.
    pub async fn catch_up(&self, groups: &[Group], now_ms: i64) {
        for group in groups {
            let mut progress = self.begin(group, now_ms);
            self.evaluate_until(&mut progress, now_ms).await;
        }
    }

    async fn run_group(&self, group: &Group) {
        let mut progress = self.begin(group, self.0.store.now_ms());
        loop {
            self.evaluate_until(&mut progress, self.0.store.now_ms()).await;
            let now_ms = self.0.store.now_ms();
            let wait_ms = group.interval_ms - now_ms.rem_euclid(group.interval_ms);
            tokio::time::sleep(Duration::from_millis(wait_ms.unsigned_abs())).await;
        }
    }

    /// How far the rules of a group were evaluated before.
    fn begin<'a>(&self, group: &'a Group, now_ms: i64) -> Progress<'a> {
        let done = |rule: &Rule| newest_ms(&self.0.store, group, rule).unwrap_or(now_ms - 1);
        Progress {
            done_ms: group.rules.iter().map(done).collect(),
            group,
        }
    }

    /// Evaluates a group at all times that are due, the oldest first.
    async fn evaluate_until(&self, progress: &mut Progress<'_>, now_ms: i64) {
        let group = progress.group;
        let interval_ms = group.interval_ms;
        let last_ms = now_ms - now_ms.rem_euclid(interval_ms);
        let Some(done_ms) = progress.done_ms.iter().copied().min() else {
            return;
        };
        let next_ms = done_ms - done_ms.rem_euclid(interval_ms) + interval_ms;
        let oldest_ms = now_ms - CATCH_UP_MS;
        let mut time_ms = next_ms;
        if time_ms < oldest_ms {
            let skipped = (oldest_ms - time_ms + interval_ms - 1) / interval_ms;
            time_ms += skipped * interval_ms;
            // An interval longer than the bound is due all the same.
            time_ms = time_ms.min(last_ms.max(next_ms));
            let missed = (time_ms - next_ms) / interval_ms;
            count(&self.0.statistics.missed, missed.unsigned_abs());
            tracing::warn!(
                group = group.name,
                file = group.file,
                missed,
                "evaluations of rules were missed"
            );
        }
        while time_ms <= last_ms {
            let started = Instant::now();
            for (rule, done_ms) in group.rules.iter().zip(&mut progress.done_ms) {
                if *done_ms < time_ms {
                    self.evaluate_rule(group, rule, time_ms).await;
                    *done_ms = time_ms;
                }
            }
            let took_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.0.statistics.last_duration_us.store(took_us, Relaxed);
            time_ms = time_ms.saturating_add(interval_ms);
        }
    }

    /// Evaluates a rule at one time. A failure is told and counted, and the next rule has its turn.
    async fn evaluate_rule(&self, group: &Group, rule: &Rule, time_ms: i64) {
        let statistics = &self.0.statistics;
        count(&statistics.evaluations, 1);
        match self.try_rule(group, rule, time_ms).await {
            Ok(samples) => {
                count(&statistics.samples, samples as u64);
                tracing::debug!(tenant = %group.tenant, group = group.name, rule = rule.record, time_ms, samples, "rule evaluated");
            }
            Err(error) => {
                count(&statistics.failures, 1);
                tracing::error!(
                    tenant = %group.tenant, file = group.file, group = group.name, rule = rule.record, time_ms, %error,
                    "a rule could not be evaluated"
                );
            }
        }
    }

    async fn try_rule(&self, group: &Group, rule: &Rule, time_ms: i64) -> Result<usize, EvaluationError> {
        let shared = &self.0;
        let _turn = shared
            .turns
            .acquire()
            .await
            .expect("bug: the ruler's turns were closed");
        let values = tokio::time::timeout(shared.timeout, evaluate(&shared.query, group, rule, time_ms))
            .await
            .map_err(|_| EvaluationError::TimedOut(shared.timeout.as_secs_f64()))??;
        record(&shared.store, group, rule, time_ms, &values)
    }
}
