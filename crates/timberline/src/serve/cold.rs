//! Old chunks of series in the object store that logs lie in.

use std::io;
use std::ops::Range;
use timberline_series::cold::ColdStore;
use timberline_store::Store;
use tokio::runtime::Handle;

/// Where objects of series lie, apart from those of logs.
const PREFIX: &str = "series/";

/// The object store, for threads that may block.
#[derive(Debug)]
pub(super) struct SharedStore {
    store: Store,
    runtime: Handle,
}

impl SharedStore {
    /// Requests run on `runtime`; whoever asks must not be one of its workers.
    pub(super) fn new(store: Store, runtime: Handle) -> SharedStore {
        SharedStore { store, runtime }
    }

    /// Waits for a request on a thread of its own, since the caller may be a worker of some runtime.
    fn wait<T: Send>(&self, request: impl Future<Output = Result<T, timberline_store::Error>> + Send) -> io::Result<T> {
        let result = std::thread::scope(|scope| scope.spawn(|| self.runtime.block_on(request)).join());
        match result {
            Ok(answer) => answer.map_err(io::Error::other),
            Err(_) => Err(io::Error::other("bug: a request to the object store panicked")),
        }
    }
}

impl ColdStore for SharedStore {
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let bytes = bytes.to_vec().into();
        self.wait(self.store.put(&format!("{PREFIX}{name}"), &bytes))
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let bytes = self.wait(self.store.get_range(&format!("{PREFIX}{name}"), range))?;
        Ok(bytes.to_vec())
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.wait(self.store.delete(&format!("{PREFIX}{name}")))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let objects = self.wait(self.store.list(PREFIX))?;
        let names = objects
            .into_iter()
            .filter_map(|object| object.key.strip_prefix(PREFIX).map(str::to_owned));
        Ok(names.collect())
    }
}
