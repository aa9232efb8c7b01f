//! The engine against a naive store: a sorted map per series and plain loops, after the specification's chapters 3 to 9 and 17. Random
//! sequences of commands run on both; replies are compared at each step, everything else now and then and at the end.
//!
//! `TIMBERLINE_SEED` is the seed of the first sequence and `TIMBERLINE_SEQUENCES` how many there are, each with the seed after the one
//! before it. A sequence that fails is cut down and printed.

mod aggregate;
mod cases;
mod command;
mod compare;
mod engine;
mod generate;
mod rules;
mod series;
mod shrink;
mod store;
mod threads;

use rand::SeedableRng;
use rand::rngs::SmallRng;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(otherwise, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {text:?}"))
    })
}

/// Runs random sequences, each with the seed after the one before it; one that fails is cut down and printed.
fn run_sequences(sequences: u64, reopens: bool) {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = from_environment("TIMBERLINE_SEED", clock.map_or(1, |time| time.as_nanos() as u64 >> 8));
    let sequences = from_environment("TIMBERLINE_SEQUENCES", sequences);
    println!("TIMBERLINE_SEED={seed} TIMBERLINE_SEQUENCES={sequences}");
    let mut commands_run = 0;
    for sequence in 0..sequences {
        let seed = seed.wrapping_add(sequence);
        let commands = generate::sequence(&mut SmallRng::seed_from_u64(seed), reopens);
        commands_run += commands.len();
        let fails = |commands: &[command::Command]| shrink::failure(commands, compare::run);
        if fails(&commands).is_some() {
            let small = shrink::shrink(commands, fails);
            let (place, text) = fails(&small).unwrap_or_default();
            small.iter().for_each(|command| println!("  {command:?},"));
            panic!("TIMBERLINE_SEED={seed} TIMBERLINE_SEQUENCES=1: command {place}: {text}");
        }
    }
    println!("{sequences} sequences with {commands_run} commands agree");
}

#[test]
fn random_sequences_end_as_the_naive_store_does() {
    run_sequences(10_000, false);
}

#[test]
fn random_sequences_end_as_the_naive_store_does_when_the_engine_is_opened_again_between() {
    run_sequences(300, true);
}

#[test]
fn cases_end_as_in_the_naive_store() {
    let mut failed = Vec::new();
    for (name, commands) in cases::all() {
        if let Some((place, text)) = shrink::failure(&commands, compare::run) {
            failed.push(format!("{name}: command {place}: {text}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
