//! Sends batches to a server, several at once, again when it is busy.

use super::wire::Batch;
use crate::client::Client;
use anyhow::{Context, anyhow};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Requests on their way at once: enough that the server writes for several with one fsync.
const SENDERS: usize = 4;
/// Attempts for one request; the pauses between them double from a quarter second to ten seconds, a minute in all.
const ATTEMPTS: u32 = 11;

/// What became of the batches.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// Entries in requests that the server took.
    pub(crate) entries: u64,
    /// Bytes of their lines.
    pub(crate) bytes: u64,
    /// Requests of which the server refused at least one entry.
    pub(crate) refused_requests: u64,
    /// What the server said to the last of them.
    pub(crate) refusal: Option<String>,
    /// Requests that were sent again.
    pub(crate) retries: u64,
}

/// Sends what it is given.
pub(crate) struct Sender {
    queue: Option<SyncSender<Batch>>,
    threads: Vec<JoinHandle<anyhow::Result<Totals>>>,
}

impl Sender {
    /// Starts sending. `sent` hears how many entries each request had that the server took.
    pub(crate) fn start(client: &Client, sent: impl Fn(u64) + Clone + Send + 'static) -> Self {
        let (queue, batches) = sync_channel(SENDERS);
        let batches = std::sync::Arc::new(Mutex::new(batches));
        let threads = (0..SENDERS)
            .map(|_| {
                let (client, batches, sent) = (client.clone(), batches.clone(), sent.clone());
                std::thread::spawn(move || send_all(&client, &batches, &sent))
            })
            .collect();
        Self {
            queue: Some(queue),
            threads,
        }
    }

    /// Hands over a batch; waits while enough are on their way. False when sending has failed: then call `finish`.
    pub(crate) fn send(&self, batch: Batch) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.send(batch).is_ok())
    }

    /// Waits until everything has been sent.
    pub(crate) fn finish(mut self) -> anyhow::Result<Totals> {
        self.queue = None;
        let mut all = Totals::default();
        let mut failure = None;
        for thread in self.threads.drain(..) {
            match thread
                .join()
                .map_err(|_| anyhow!("bug: a sender panicked"))
                .and_then(|outcome| outcome)
            {
                Ok(totals) => {
                    all.entries += totals.entries;
                    all.bytes += totals.bytes;
                    all.refused_requests += totals.refused_requests;
                    all.refusal = totals.refusal.or(all.refusal);
                    all.retries += totals.retries;
                }
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(all), Err)
    }
}

fn send_all(client: &Client, batches: &Mutex<Receiver<Batch>>, sent: &impl Fn(u64)) -> anyhow::Result<Totals> {
    let mut totals = Totals::default();
    loop {
        let next = batches.lock().map_err(|_| anyhow!("bug: a sender panicked"))?.recv();
        let Ok(batch) = next else { return Ok(totals) };
        let (entries, bytes) = (batch.entries() as u64, batch.bytes() as u64);
        let body = batch.into_body().context("packing a request")?;
        match send_one(client, &body, &mut totals.retries)? {
            None => {
                totals.entries += entries;
                totals.bytes += bytes;
                sent(entries);
            }
            Some(refusal) => {
                totals.refused_requests += 1;
                totals.refusal = Some(refusal);
            }
        }
    }
}

/// Sends one request; `Some` with the server's words if it refused entries for good.
fn send_one(client: &Client, body: &[u8], retries: &mut u64) -> anyhow::Result<Option<String>> {
    let mut pause = Duration::from_millis(250);
    let mut attempt = 1;
    loop {
        let outcome = client.push(body);
        let (trouble, wait) = match outcome {
            Ok(answer) if answer.status < 300 => return Ok(None),
            Ok(answer) if answer.status == 429 || answer.status >= 500 => (
                anyhow!("the server answers {}: {}", answer.status, answer.text()),
                answer.retry_after,
            ),
            Ok(answer) => return Ok(Some(format!("{}: {}", answer.status, answer.text()))),
            Err(error) => (error, None),
        };
        if attempt == ATTEMPTS {
            return Err(trouble.context(format!("gave up after {ATTEMPTS} attempts")));
        }
        attempt += 1;
        *retries += 1;
        std::thread::sleep(wait.unwrap_or(pause).min(Duration::from_secs(60)));
        pause = (pause * 2).min(Duration::from_secs(10));
    }
}
