//! HTTP: the Loki API over the write path and the query engine.
