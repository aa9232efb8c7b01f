//! Waiting for the disk before a write is acknowledged (`appendfsync always`).

use crate::server::Server;
use timberline_series::journal::{Fsync, JournalError};
use tokio::sync::oneshot;

/// Waits until everything up to a sequence number is as durable as it was asked for. An error means that it may be lost.
pub(crate) async fn wait(server: &Server, sequence: u64) -> Result<(), JournalError> {
    let journal = server.engine.journal();
    if journal.fsync() != Fsync::Always {
        return Ok(());
    }
    let (sender, receiver) = oneshot::channel();
    journal.when_durable(
        sequence,
        Box::new(move |result| {
            // A connection that ended does not wait any more.
            let _ = sender.send(result);
        }),
    );
    receiver.await.unwrap_or_else(|_| Err(JournalError("it ended".into())))
}
