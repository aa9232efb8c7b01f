//! Random sequences. Everything is drawn before anything runs, so that a sequence can be cut down and run again.

use crate::aggregate::Pair;
use crate::command::{Attributes, Command, Ending, Name, Query, labels};
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use timberline_series::aggregate::Aggregator;
use timberline_series::codec::Encoding;
use timberline_series::options::Changes;
use timberline_series::policy::DuplicatePolicy;

const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const LABELS: [(&str, &str); 4] = [("x", "1"), ("x", "2"), ("y", "1"), ("z", "1")];
const POLICIES: [DuplicatePolicy; 6] = [
    DuplicatePolicy::Block,
    DuplicatePolicy::First,
    DuplicatePolicy::Last,
    DuplicatePolicy::Min,
    DuplicatePolicy::Max,
    DuplicatePolicy::Sum,
];
const CHUNK_BYTES: [u32; 5] = [48, 128, 1024, 4096, 65536];
/// Of rules whose values do not depend on the order of additions, whatever the values are.
const EXACT: [Aggregator; 8] = [
    Aggregator::Sum,
    Aggregator::Min,
    Aggregator::Max,
    Aggregator::Range,
    Aggregator::Count,
    Aggregator::First,
    Aggregator::Last,
    Aggregator::CountAll,
];

/// What the commands of one sequence have in common.
struct Profile {
    /// Samples per run, at most.
    run: usize,
    first_timestamp: i64,
    step: i64,
    is_regular: bool,
    /// How far back late samples go; and how many of 100 samples are late.
    lateness: i64,
    late_share: u32,
    retention: bool,
    values: Values,
    /// Whether keys are renamed, copied, moved.
    moves_keys: bool,
    /// Whether the engine is opened again now and then.
    reopens: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Values {
    Integers,
    Counter,
    Decimals,
    Floats,
    /// With the largest and smallest doubles and infinities.
    Wild,
}

/// Makes commands, and remembers how far each key has come.
struct Generator<'a> {
    random: &'a mut SmallRng,
    profile: Profile,
    clocks: [i64; KEYS.len()],
    counter: f64,
}

/// The commands of one sequence. `reopens`: the engine is opened again now and then; then there is no retention, since what that
/// dropped may come back.
pub(crate) fn sequence(random: &mut SmallRng, reopens: bool) -> Vec<Command> {
    let is_long = random.random_ratio(1, 40);
    let step = *[1, 10, 1000].choose(random).expect("not empty");
    let profile = Profile {
        run: if is_long {
            300
        } else {
            *[1, 3, 8].choose(random).expect("not empty")
        },
        first_timestamp: *[0, 1_000, 1_700_000_000_000, i64::MAX - 3_000_000]
            .choose(random)
            .expect("not empty"),
        step,
        is_regular: random.random(),
        lateness: step * random.random_range(1..if is_long { 4_000 } else { 100 }),
        late_share: *[0, 5, 30, 90].choose(random).expect("not empty"),
        retention: !reopens && random.random_ratio(1, 3),
        values: *[
            Values::Integers,
            Values::Counter,
            Values::Decimals,
            Values::Floats,
            Values::Wild,
        ]
        .choose(random)
        .expect("not empty"),
        moves_keys: random.random_ratio(1, 3),
        reopens,
    };
    let length = if is_long { 40 } else { random.random_range(30..100) };
    let clocks = [profile.first_timestamp; KEYS.len()];
    let mut generator = Generator {
        random,
        profile,
        clocks,
        counter: 0.0,
    };
    let mut commands = Vec::with_capacity(length);
    if generator.random.random_ratio(1, 8) {
        commands.push(Command::Compaction(generator.compaction()));
    }
    if generator.random.random_ratio(1, 4) {
        commands.push(Command::Policy(generator.policy()));
    }
    for key in 0..3 {
        let name = Name { db: 0, key: KEYS[key] };
        commands.push(Command::Create(name, generator.attributes()));
    }
    commands.extend((0..length).map(|_| generator.command()));
    commands
}

impl Generator<'_> {
    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        *choices.choose(self.random).expect("not empty")
    }

    fn policy(&mut self) -> DuplicatePolicy {
        self.one_of(&POLICIES)
    }

    fn compaction(&mut self) -> &'static str {
        if self.profile.reopens {
            self.one_of(&["sum:10m:0", "max:100m:0;count:1s:0:7m"])
        } else if self.profile.values == Values::Wild || self.profile.retention {
            self.one_of(&["sum:10m:0", "max:100m:0;count:1s:0:7m", "min:25m:200m"])
        } else {
            self.one_of(&["avg:10m:0;twa:100m:0", "std.p:1s:0:7m;first:30m:500m", "twa:20m:0"])
        }
    }

    fn key(&mut self) -> (usize, Name) {
        // Some keys are used more than others, so that series grow.
        let index = self
            .random
            .random_range(0..KEYS.len())
            .min(self.random.random_range(0..KEYS.len()));
        let db = u8::from(self.profile.moves_keys && self.random.random_ratio(1, 12));
        (index, Name { db, key: KEYS[index] })
    }

    fn attributes(&mut self) -> Attributes {
        let ignore = if self.random.random_ratio(1, 5) {
            (
                self.random.random_range(0..3) * self.profile.step,
                f64::from(self.random.random_range(0..4u8)),
            )
        } else {
            (0, 0.0)
        };
        Attributes {
            retention: self.retention(),
            encoding: self.one_of(&[Encoding::Compressed, Encoding::Compressed, Encoding::Uncompressed]),
            chunk_bytes: self.one_of(&CHUNK_BYTES),
            policy: self.random.random_ratio(5, 6).then(|| self.policy()),
            ignore,
            labels: self.labels(),
        }
    }

    fn labels(&mut self) -> Vec<(&'static str, &'static str)> {
        let count = self.random.random_range(0..3);
        (0..count).map(|_| self.one_of(&LABELS)).collect()
    }

    fn retention(&mut self) -> i64 {
        if self.profile.retention && self.random.random_ratio(2, 3) {
            self.random.random_range(1..60) * self.profile.step * if self.profile.run > 100 { 10 } else { 1 }
        } else {
            0
        }
    }

    fn value(&mut self) -> f64 {
        if self.random.random_ratio(1, 40) {
            return f64::NAN;
        }
        if self.random.random_ratio(1, 40) {
            return -0.0;
        }
        match self.profile.values {
            Values::Integers => f64::from(self.random.random_range(-3..20i8)),
            Values::Counter => {
                self.counter += f64::from(self.random.random_range(0..10u8));
                self.counter
            }
            Values::Decimals => f64::from(self.random.random_range(-500..5000i16)) / 100.0,
            Values::Floats => self.random.random_range(-1000.0..1000.0),
            Values::Wild => {
                let bits = f64::from_bits(self.random.random());
                self.one_of(&[bits, 1e308, -1e308, 5e-324, f64::MAX, 1.5, 0.1, 0.0])
            }
        }
    }

    /// A timestamp around where a key has come to, and moves that on.
    fn timestamp(&mut self, key: usize) -> i64 {
        let clock = self.clocks[key];
        let draw = self.random.random_range(0..100u32);
        if draw < self.profile.late_share {
            let back = self.random.random_range(0..=self.profile.lateness);
            let back = if self.profile.is_regular {
                back / self.profile.step * self.profile.step
            } else {
                back
            };
            return clock.saturating_sub(back).max(0);
        }
        if self.random.random_ratio(1, 60) {
            return self.random.random_range(0..=clock);
        }
        if self.random.random_ratio(1, 500) {
            return 0;
        }
        // A duplicate of the newest now and then; a gap rarely.
        let steps = if self.random.random_ratio(1, 20) {
            0
        } else if self.random.random_ratio(1, 60) {
            self.random.random_range(2..80)
        } else {
            1
        };
        let ahead = if self.profile.is_regular {
            steps * self.profile.step
        } else {
            self.random.random_range(0..=2 * steps * self.profile.step)
        };
        self.clocks[key] = clock.saturating_add(ahead);
        self.clocks[key]
    }

    fn samples(&mut self, key: usize) -> Vec<Pair> {
        let count = self.random.random_range(1..=self.profile.run);
        (0..count).map(|_| (self.timestamp(key), self.value())).collect()
    }

    fn aggregator(&mut self) -> Aggregator {
        if self.profile.values == Values::Wild {
            self.one_of(&EXACT)
        } else {
            self.one_of(Aggregator::ALL)
        }
    }

    fn bucket(&mut self) -> i64 {
        let steps = self.one_of(&[1, 2, 5, 7, 10, 50, 1000]);
        let bucket = steps * self.profile.step + self.random.random_range(0..2);
        if self.random.random_ratio(1, 100) {
            return i64::MAX;
        }
        bucket
    }

    fn align(&mut self, bucket: i64) -> i64 {
        if self.random.random_ratio(1, 2) {
            0
        } else {
            self.random.random_range(0..bucket.saturating_mul(2))
        }
    }

    /// Bounds around where a key has come to.
    fn bounds(&mut self, key: usize, width: i64) -> (i64, i64) {
        let clock = self.clocks[key];
        let start = self.random.random_range(0..=self.profile.lateness.max(1) * 2);
        let from = clock.saturating_sub(start).max(0);
        (from, from.saturating_add(self.random.random_range(-1..=width)))
    }

    fn query(&mut self, key: usize) -> Query {
        let (from, to) = if self.random.random_ratio(1, 2) {
            (0, i64::MAX)
        } else {
            let width = self.profile.lateness * 2;
            self.bounds(key, width)
        };
        let aggregation = self.random.random_ratio(2, 3).then(|| {
            let bucket = self.bucket();
            (self.aggregator(), bucket, self.align(bucket))
        });
        Query {
            from,
            to,
            reverse: self.random.random(),
            latest: self.random.random_ratio(1, 3),
            count: self.random.random_ratio(1, 4).then(|| self.random.random_range(0..20)),
            aggregation,
        }
    }

    fn changes(&mut self) -> Changes {
        let mut changes = Changes::default();
        match self.random.random_range(0..5u8) {
            0 if self.profile.retention => changes.retention_ms = Some(self.retention()),
            1 => changes.chunk_bytes = Some(self.one_of(&CHUNK_BYTES)),
            2 => changes.duplicate_policy = Some(self.policy()),
            3 => {
                changes.ignore = Some((
                    self.random.random_range(0..3) * self.profile.step,
                    f64::from(self.random.random_range(0..3u8)),
                ));
            }
            _ => changes.labels = Some(labels(&self.labels())),
        }
        changes
    }

    fn command(&mut self) -> Command {
        let (key, name) = self.key();
        if self.profile.reopens && self.random.random_ratio(1, 15) {
            let endings = [
                Ending::Dropped,
                Ending::Dropped,
                Ending::Saved,
                Ending::Reloaded,
                Ending::GoesOn,
            ];
            return Command::Reopen(self.one_of(&endings));
        }
        match self.random.random_range(0..100u8) {
            0..=49 => {
                let policy = self.random.random_ratio(1, 4).then(|| self.policy());
                Command::Add(name, self.samples(key), policy)
            }
            50..=54 => {
                let mut delta = self.value();
                if delta.is_nan() {
                    delta = 1.0;
                }
                if self.profile.values == Values::Wild && self.random.random_ratio(1, 3) {
                    delta = self.one_of(&[f64::INFINITY, f64::NEG_INFINITY]);
                }
                Command::Increment(name, delta, self.timestamp(key))
            }
            55..=59 => {
                let width = self.profile.lateness / 2;
                let (from, to) = self.bounds(key, width);
                if self.random.random_ratio(1, 20) {
                    Command::Delete(name, 0, i64::MAX)
                } else {
                    Command::Delete(name, from, to)
                }
            }
            60..=65 => {
                let bucket = self.bucket();
                let mut aggregator = self.aggregator();
                // What is outside of the retention may be dropped or not, and a line reaches there.
                if self.profile.retention && aggregator == Aggregator::Twa {
                    aggregator = Aggregator::Avg;
                }
                let destination = self.key().1.key;
                Command::CreateRule(name, destination, aggregator, bucket, self.align(bucket))
            }
            66 => Command::DeleteRule(name, self.key().1.key),
            67..=77 => Command::Range(name, self.query(key)),
            78..=81 => Command::Get(name, self.random.random()),
            82..=84 => Command::Info(name),
            85..=86 => Command::Alter(name, self.changes()),
            87..=88 => Command::Create(name, self.attributes()),
            89 => Command::Select(name.db, self.one_of(&["x=1", "x=2", "y=1", "z=1", "aggregation=SUM"])),
            90 => Command::Policy(self.policy()),
            91..=92 => Command::Check,
            _ if self.profile.moves_keys => self.key_command(name),
            _ => Command::Add(name, self.samples(key), None),
        }
    }

    fn key_command(&mut self, name: Name) -> Command {
        let other = self.key().1;
        match self.random.random_range(0..20u8) {
            0..=2 => Command::Remove(name),
            3 => Command::Expire(name),
            4 => Command::Text(name),
            5..=8 => Command::Rename(name, other.key, self.random.random()),
            9..=12 => Command::Copy(name, other, self.random.random()),
            13..=15 => Command::DumpRestore(name, other, self.random.random()),
            16..=17 => Command::Move(name, self.random.random_range(0..2)),
            18 => Command::Swap(0, 1),
            _ => {
                let db = self.random.random_range(0..3u8);
                Command::Flush((db < 2).then_some(db))
            }
        }
    }
}
