//! Sequences that once ended otherwise than the naive store does, cut down.

use crate::command::{Attributes, Command, Ending, Name};
use crate::store::defaults;
use timberline_series::aggregate::Aggregator;
use timberline_series::policy::DuplicatePolicy;

const A: Name = Name { db: 0, key: "a" };
const B: Name = Name { db: 0, key: "b" };

fn add(name: &Name, samples: &[(i64, f64)], policy: DuplicatePolicy) -> Command {
    Command::Add(name.clone(), samples.to_vec(), Some(policy))
}

fn create(name: &Name) -> Command {
    Command::Create(name.clone(), defaults(DuplicatePolicy::Last))
}

fn keeping(name: &Name, retention: i64) -> Command {
    let attributes = Attributes {
        retention,
        chunk_bytes: 48,
        ..defaults(DuplicatePolicy::Last)
    };
    Command::Create(name.clone(), attributes)
}

fn rule(aggregator: Aggregator, bucket: i64) -> Command {
    Command::CreateRule(A, B.key, aggregator, bucket, 0)
}

/// All cases with their names.
pub(crate) fn all() -> Vec<(&'static str, Vec<Command>)> {
    use DuplicatePolicy::{First, Last};
    let in_order = |from: i64, to: i64| (from..to).map(|time| (time, 1.0)).collect::<Vec<_>>();
    let mut many_rules = vec![create(&A)];
    for key in ["c", "b", "e", "d", "f"] {
        many_rules.push(create(&Name { db: 0, key }));
        many_rules.push(Command::CreateRule(A, key, Aggregator::Max, 10, 0));
    }
    many_rules.extend([Command::Reopen(Ending::Saved), Command::Reopen(Ending::Reloaded)]);
    vec![
        (
            "an accepted duplicate that changes nothing has its bucket computed, like one that does",
            vec![
                add(&A, &[(60, 13.0)], Last),
                create(&B),
                rule(Aggregator::Count, 50),
                add(&A, &[(70, 10.0), (70, 15.0)], First),
                add(&A, &[(100, -2.0)], Last),
            ],
        ),
        (
            "a time-weighted average of a bucket that began before the rule draws no line to older samples of the bucket",
            vec![
                add(&A, &[(16, 334.0)], Last),
                create(&B),
                rule(Aggregator::Twa, 5),
                add(&A, &[(18, 462.0), (23, 472.0)], Last),
            ],
        ),
        (
            "what a late sample changed is in the destination when the source is removed",
            vec![
                create(&A),
                create(&B),
                rule(Aggregator::Max, 10),
                add(&A, &[(35, 1.0), (5, 2.0)], Last),
                Command::Remove(A),
            ],
        ),
        (
            "and when all keys of the database of the source are removed",
            vec![
                create(&A),
                create(&B),
                rule(Aggregator::Max, 10),
                add(&A, &[(35, 1.0), (5, 2.0)], Last),
                Command::Move(B, 1),
                Command::Flush(Some(0)),
                Command::Get(Name { db: 1, key: "b" }, false),
            ],
        ),
        (
            "what a late sample changed is in the destination when the retention drops the sample",
            vec![
                keeping(&A, 400),
                create(&B),
                rule(Aggregator::Sum, 10),
                add(&A, &in_order(1000, 1300), Last),
                add(&A, &[(1105, 7.0)], Last),
                add(&A, &in_order(1300, 4000), Last),
            ],
        ),
        (
            "a bucket of the time-weighted average is computed once for a late sample, and does not overwrite a later write",
            vec![
                create(&A),
                create(&B),
                Command::CreateRule(A, B.key, Aggregator::Twa, 5, 9),
                add(&A, &[(999, 302.0), (992, 310.0)], Last),
                add(&B, &[(989, 414.0)], Last),
            ],
        ),
        (
            "a bucket that began before its rule is not computed for a sample that came before the bucket",
            vec![
                add(&A, &[(1020, -683.0)], Last),
                create(&B),
                Command::CreateRule(A, B.key, Aggregator::Twa, 500, 950),
                add(&A, &[(0, -491.0), (1060, -295.0), (1560, 83.0)], Last),
            ],
        ),
        ("rules keep their order when the engine is opened again", many_rules),
    ]
}
