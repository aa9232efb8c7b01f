//! The server on a socket, from the first connection to a clean end.

use crate::{AppState, Error, router};
use axum::serve::ListenerExt;
use std::future::Future;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Serves until `shutdown` is ready; then takes no new connections and gives open requests
/// [`shutdown_deadline`](crate::ServerOptions::shutdown_deadline) to finish.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    let deadline = state.options().shutdown_deadline;
    let listener = listener.tap_io(|stream| {
        // Without it, small answers wait for the client's delayed acknowledgements.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY was not set");
        }
    });
    let (stopping, stopped) = oneshot::channel::<()>();
    let stop = {
        let state = state.clone();
        async move {
            shutdown.await;
            state.begin_stopping();
            let _ = stopping.send(()); // The other end is gone only when the server is.
        }
    };
    let server = axum::serve(listener, router(state)).with_graceful_shutdown(stop);
    let too_late = async {
        match stopped.await {
            Ok(()) => tokio::time::sleep(deadline).await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        result = server => result?,
        () = too_late => {
            tracing::warn!(deadline_seconds = deadline.as_secs_f64(), "open requests were cut off at the shutdown deadline");
        }
    }
    Ok(())
}
