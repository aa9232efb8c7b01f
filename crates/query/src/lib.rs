//! The query engine: LogQL on DataFusion over data objects and the head.
