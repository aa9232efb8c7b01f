//! Cuts a failing sequence down to what is needed to fail.

use crate::command::Command;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How long to try.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a sequence fails, if it does; a panic is a failure too.
pub(crate) fn failure(
    commands: &[Command],
    run: impl Fn(&[Command]) -> Result<(), (usize, String)>,
) -> Option<(usize, String)> {
    match catch_unwind(AssertUnwindSafe(|| run(commands))) {
        Ok(outcome) => outcome.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some((commands.len(), format!("panic: {}", text.unwrap_or_default())))
        }
    }
}

/// Leaves out commands, and samples of runs, as long as the sequence fails.
pub(crate) fn shrink(
    mut commands: Vec<Command>,
    fails: impl Fn(&[Command]) -> Option<(usize, String)>,
) -> Vec<Command> {
    let started = Instant::now();
    let mut size = commands.len().div_ceil(2);
    while size > 0 && started.elapsed() < PATIENCE {
        let mut smaller = false;
        let mut at = 0;
        while at < commands.len() && started.elapsed() < PATIENCE {
            let mut fewer = commands.clone();
            fewer.drain(at..(at + size).min(fewer.len()));
            if let Some((place, _)) = fails(&fewer) {
                fewer.truncate(place + 1);
                commands = fewer;
                smaller = true;
            } else {
                at += size;
            }
        }
        if !smaller {
            size /= 2;
        }
    }
    for index in 0..commands.len() {
        while started.elapsed() < PATIENCE
            && let Some(fewer) = fewer_samples(&commands, index, &fails)
        {
            commands = fewer;
        }
    }
    commands
}

/// The sequence with fewer samples in one of its runs, if it fails still.
fn fewer_samples(
    commands: &[Command],
    index: usize,
    fails: impl Fn(&[Command]) -> Option<(usize, String)>,
) -> Option<Vec<Command>> {
    let Command::Add(_, samples, _) = &commands[index] else {
        return None;
    };
    let mut size = samples.len() / 2;
    while size > 0 {
        for at in (0..samples.len()).step_by(size) {
            let mut fewer = commands.to_vec();
            if let Command::Add(_, samples, _) = &mut fewer[index] {
                samples.drain(at..(at + size).min(samples.len()));
            }
            if fails(&fewer).is_some() {
                return Some(fewer);
            }
        }
        size /= 2;
    }
    None
}
