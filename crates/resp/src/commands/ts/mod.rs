//! The time-series commands, one file each (specification, chapters 3 to 15).

mod add;
mod alter;
mod create;
mod createrule;
mod del;
mod deleterule;
mod get;
mod incrby;
mod info;
mod keys;
mod madd;
mod mget;
mod mrange;
mod nrange;
mod numbers;
mod query;
mod queryindex;
mod querylabels;
mod range;
mod range_options;
mod read;
mod refusal;
mod replies;
mod selection;
mod series_options;

use super::flags::{BLOCKING, DENYOOM, EXCLUSIVE, FAST, Flags, HEAVY, MOVABLE_KEYS, READONLY, RUN, WRITE};
use super::{Command, Group, Keys};

/// A row of the table; a refusal becomes an error that names the command.
macro_rules! command {
    ($name:literal, $arity:literal, $flags:expr, $keys:expr, $summary:literal, $run:path) => {
        Command::new(
            $name,
            $arity,
            $flags,
            $keys,
            Group::TimeSeries,
            $summary,
            |context, arguments| $run(context, arguments).map_err(|refusal| refusal.of(context.command)),
        )
    };
}

/// Writes that need memory.
const WRITES: Flags = WRITE | DENYOOM;
/// Writes of samples, which share the open writer of a key.
const SAMPLES: Flags = WRITES | RUN;
/// Reads over any number of keys.
const MANY: Flags = READONLY | HEAVY;

/// Keys of triples.
const TRIPLES: Keys = Keys::Places {
    first: 1,
    last: -1,
    step: 3,
};

/// The rows of the table of commands (arity, keys and flags: specification, chapter 17).
#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &[
    command!("ts.add", -4, SAMPLES, Keys::FIRST, "Appends a sample to a time series, which is created if it is missing.", add::run),
    command!("ts.alter", -2, WRITES, Keys::FIRST, "Changes attributes and labels of a time series.", alter::run),
    command!("ts.create", -2, WRITES | FAST, Keys::FIRST, "Creates a time series.", create::run),
    command!("ts.createrule", -6, WRITE | EXCLUSIVE, Keys::FIRST_TWO, "Creates a compaction rule.", createrule::run),
    command!("ts.decrby", -3, SAMPLES, Keys::FIRST, "Writes the newest value less a number.", incrby::decrease),
    command!("ts.del", 4, WRITE, Keys::FIRST, "Deletes the samples between two timestamps.", del::run),
    command!("ts.deleterule", 3, WRITE | EXCLUSIVE | FAST, Keys::FIRST_TWO, "Deletes a compaction rule.", deleterule::run),
    command!("ts.get", -2, READONLY | FAST, Keys::FIRST, "Returns the newest sample of a time series.", get::run),
    command!("ts.incrby", -3, SAMPLES, Keys::FIRST, "Writes the newest value plus a number.", incrby::increase),
    command!("ts.info", -2, READONLY | FAST, Keys::FIRST, "Returns attributes and figures of a time series.", info::run),
    command!("ts.madd", -4, SAMPLES, TRIPLES, "Appends samples to one or more time series.", madd::run),
    command!("ts.mget", -3, MANY, Keys::None, "Returns the newest samples of the time series that filters choose.", mget::run),
    command!("ts.mrange", -4, MANY, Keys::None, "Queries a range of the time series that filters choose, ascending.", mrange::ascending),
    command!("ts.mrevrange", -4, MANY, Keys::None, "Queries a range of the time series that filters choose, descending.", mrange::descending),
    command!("ts.nrange", -5, READONLY | MOVABLE_KEYS, Keys::Counted(1), "Queries a range of named time series side by side, ascending.", nrange::ascending),
    command!("ts.nrevrange", -5, READONLY | MOVABLE_KEYS, Keys::Counted(1), "Queries a range of named time series side by side, descending.", nrange::descending),
    command!("ts.queryindex", -2, MANY, Keys::None, "Returns the keys of the time series that filters choose.", queryindex::run),
    command!("ts.querylabels", -2, MANY, Keys::None, "Returns label names, or values of a label.", querylabels::run),
    command!("ts.range", -4, READONLY, Keys::FIRST, "Queries a range of a time series, ascending.", range::ascending),
    command!("ts.read", -3, READONLY | BLOCKING, Keys::FIRST, "Returns samples from a timestamp on, and may wait for them.", read::run),
    command!("ts.revrange", -4, READONLY, Keys::FIRST, "Queries a range of a time series, descending.", range::descending),
];
