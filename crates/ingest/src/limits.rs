//! What a tenant may send. Loki's defaults are not copied: these suit one machine without tuning, and each is finite so
//! that one sender's mistake cannot take the process down.

/// Limits of one tenant on what it pushes. The names are those of Loki's `limits_config` (http-api.md chapter 15).
///
/// There is no limit on the age of an entry, in neither direction: late and future entries are stored like others, as long as
/// a query can ask for their time ([`MAX_TIMESTAMP_NS`](timberline_store::MAX_TIMESTAMP_NS)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `max_line_size`: longest line in bytes.
    pub max_line_bytes: usize,
    /// `max_label_names_per_series`: most labels of a stream as sent; an added `service_name` does not count.
    pub max_label_names: usize,
    /// `max_label_name_length`: longest label name in bytes.
    pub max_label_name_bytes: usize,
    /// `max_label_value_length`: longest label value in bytes.
    pub max_label_value_bytes: usize,
    /// `max_structured_metadata_size`: most bytes of metadata names and values of one entry.
    pub max_metadata_bytes: usize,
    /// `max_structured_metadata_entries_count`: most metadata pairs of one entry.
    pub max_metadata_entries: usize,
    /// `max_global_streams_per_user`: most streams active at once, that is seen since the last cut of the head.
    pub max_streams: usize,
    /// `max_names`: most different names of labels and metadata since the last cut of the head; each becomes a column of the
    /// data object. Loki has no such limit.
    pub max_names: usize,
    /// `discover_service_name`: labels of which the first one present becomes `service_name`; empty turns it off.
    pub service_name_labels: Vec<String>,
    /// `discover_log_levels`: whether `detected_level` is added to the structured metadata.
    pub discover_log_levels: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_line_bytes: 1 << 20,
            max_label_names: 60,
            max_label_name_bytes: 1024,
            max_label_value_bytes: 4096,
            max_metadata_bytes: 64 << 10,
            max_metadata_entries: 256,
            max_streams: 200_000,
            max_names: 10_000,
            service_name_labels: SERVICE_NAME_LABELS.iter().map(ToString::to_string).collect(),
            discover_log_levels: true,
        }
    }
}

/// Where `service_name` comes from by default, in order of preference (http-api.md 3.4).
const SERVICE_NAME_LABELS: [&str; 13] = [
    "service",
    "app",
    "application",
    "app_name",
    "name",
    "app_kubernetes_io_name",
    "container",
    "container_name",
    "k8s_container_name",
    "component",
    "workload",
    "job",
    "k8s_job_name",
];
