//! The last commands that took long (SLOWLOG).

use crate::protocol::Arguments;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;

/// Words of a command that are kept, and bytes of a word.
const MAX_WORDS: usize = 32;
const MAX_WORD_BYTES: usize = 128;

/// One command that took long.
#[derive(Clone, Debug)]
pub(crate) struct SlowCommand {
    pub(crate) number: u64,
    pub(crate) at_seconds: i64,
    pub(crate) took: Duration,
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) address: String,
    pub(crate) client_name: Vec<u8>,
}

/// The newest first.
#[derive(Debug, Default)]
pub(crate) struct SlowLog(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    next: u64,
    list: VecDeque<SlowCommand>,
}

impl SlowLog {
    pub(crate) fn add(&self, mut command: SlowCommand, at_most: usize) {
        let mut entries = self.0.lock();
        command.number = entries.next;
        entries.next += 1;
        entries.list.push_front(command);
        entries.list.truncate(at_most);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().list.len()
    }

    pub(crate) fn newest(&self, count: usize) -> Vec<SlowCommand> {
        self.0.lock().list.iter().take(count).cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().list.clear();
    }
}

/// The words of a command, cut to what is kept.
pub(crate) fn shortened(words: Arguments<'_>) -> Vec<Vec<u8>> {
    let kept = if words.len() > MAX_WORDS {
        MAX_WORDS - 1
    } else {
        words.len()
    };
    let mut shortened: Vec<Vec<u8>> = words
        .iter()
        .take(kept)
        .map(|word| match word.get(..MAX_WORD_BYTES) {
            Some(beginning) if word.len() > MAX_WORD_BYTES => {
                let mut text = beginning.to_vec();
                text.extend_from_slice(format!("... ({} more bytes)", word.len() - MAX_WORD_BYTES).as_bytes());
                text
            }
            _ => word.to_vec(),
        })
        .collect();
    if words.len() > kept {
        shortened.push(format!("... ({} more arguments)", words.len() - kept).into_bytes());
    }
    shortened
}
