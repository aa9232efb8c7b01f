//! Making and ending rules (specification, chapter 7).

use super::Access;
use crate::aggregate::Aggregator;
use crate::error::{KeyError, RuleError};
use crate::record::Record;
use crate::rules::Rule;
use crate::series::Series;
use std::sync::{Arc, Weak};

impl Access<'_> {
    /// Makes a rule (TS.CREATERULE). `bucket_ms` is above zero. Needs an exclusive access.
    pub fn create_rule(
        &self,
        db: u8,
        source: &[u8],
        destination: &[u8],
        aggregator: Aggregator,
        bucket_ms: i64,
        align_ms: i64,
    ) -> Result<(), RuleError> {
        if source == destination {
            return Err(RuleError::SameKey);
        }
        let from = self.rule_source(db, source)?;
        if from.has_live_source() {
            return Err(RuleError::SourceIsDestination);
        }
        let to = self.rule_destination(db, destination)?;
        if to.has_live_rules() {
            return Err(RuleError::DestinationHasRules);
        }
        if to.has_live_source() {
            return Err(RuleError::DestinationHasSource);
        }
        self.connect(&from, &to, aggregator, bucket_ms, align_ms);
        self.tell_changed(db, source);
        self.tell_changed(db, destination);
        Ok(())
    }

    /// Makes and logs a rule between two series that may have one.
    pub(super) fn connect(
        &self,
        source: &Arc<Series>,
        destination: &Arc<Series>,
        aggregator: Aggregator,
        bucket_ms: i64,
        align_ms: i64,
    ) {
        let record = Record::Rule {
            source: source.id(),
            destination: destination.id(),
            aggregator,
            bucket_ms,
            align_ms,
        };
        let sequence = self.log(&record);
        source.connect(Rule::new(Arc::clone(destination), aggregator, bucket_ms, align_ms));
        source.state.lock().applied = sequence;
        self.engine.durability.note_rule(source, destination);
    }

    /// Ends a rule (TS.DELETERULE); the destination keeps its samples. Needs an exclusive access.
    pub fn delete_rule(&self, db: u8, source: &[u8], destination: &[u8]) -> Result<(), RuleError> {
        let from = self.rule_source(db, source)?;
        let to = self.rule_destination(db, destination)?;
        self.disconnect(&from, &to)?;
        self.tell_changed(db, source);
        self.tell_changed(db, destination);
        Ok(())
    }

    /// Ends and logs the rule between two series.
    pub(super) fn disconnect(&self, source: &Arc<Series>, destination: &Arc<Series>) -> Result<(), RuleError> {
        let mut state = source.state.lock();
        let is_wanted = |rule: &Rule| rule.destination().id() == destination.id();
        let index = state.rules.iter().position(is_wanted).ok_or(RuleError::NoSuchRule)?;
        // What late samples changed is written while the rule stands.
        if let Err(error) = state.deliver(destination.id(), false) {
            self.engine.journal.warn(error.to_string());
        }
        state.rules.remove(index);
        state.applied = self.log(&Record::Unrule {
            source: source.id(),
            destination: destination.id(),
        });
        drop(state);
        destination.disconnect();
        Ok(())
    }

    fn rule_source(&self, db: u8, key: &[u8]) -> Result<Arc<Series>, RuleError> {
        self.series(db, key).map_err(|error| match error {
            KeyError::Missing => RuleError::SourceMissing,
            KeyError::WrongType => RuleError::SourceWrongType,
        })
    }

    fn rule_destination(&self, db: u8, key: &[u8]) -> Result<Arc<Series>, RuleError> {
        self.series(db, key).map_err(|error| match error {
            KeyError::Missing => RuleError::DestinationMissing,
            KeyError::WrongType => RuleError::DestinationWrongType,
        })
    }
}

impl Series {
    fn has_live_source(&self) -> bool {
        let source = self.state.lock().source.upgrade();
        source.is_some_and(|source| source.is_alive())
    }

    fn has_live_rules(&self) -> bool {
        self.state.lock().rules.iter().any(|rule| rule.destination().is_alive())
    }

    /// Says that the series is nobody's destination any more.
    pub(crate) fn disconnect(&self) {
        self.set_destination(false);
        self.state.lock().source = Weak::new();
    }
}
