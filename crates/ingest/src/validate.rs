//! From a decoded request to a log record: each entry is checked against the tenant's limits, normalised and encoded; what
//! fails is counted and told, what passes is kept (http-api.md 3.4 and 16).

use crate::active_streams::{ActiveStreams, Full};
use crate::batch::{BatchEntry, PushBatch, StreamLabels};
use crate::level::{detect, is_level_name};
use crate::limits::Limits;
use crate::names::{is_label_name, push_metadata_name, push_metadata_value, with_service_name};
use crate::record::{RecordWriter, encode_labels};
use crate::shown::{ShownLabels, shown};
use timberline_logql::labels::{Label, LabelSet};
use timberline_store::MAX_TIMESTAMP_NS;

/// The metadata name under which the severity of an entry is stored.
const DETECTED_LEVEL: &str = "detected_level";

/// Entries of one request that were refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Name of the reason as in Loki's metric `loki_discarded_samples_total`.
    pub reason: &'static str,
    /// HTTP status that this refusal asks for.
    pub status: u16,
    /// Names the stream, the value and the limit; of the last entry that was refused for this reason.
    pub message: String,
    /// How many entries.
    pub entries: u64,
    /// Bytes of their lines.
    pub bytes: u64,
}

/// A request ready to be logged.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The reserved bytes, then the payload of the record.
    pub(crate) record: Vec<u8>,
    pub(crate) accepted: u64,
    pub(crate) accepted_bytes: u64,
    /// In order of their last occurrence.
    pub(crate) rejected: Vec<Rejection>,
}

/// Checks and encodes a request. `reserved` bytes are left free in front of the record.
pub(crate) fn prepare(
    tenant: &str,
    batch: &PushBatch,
    limits: &Limits,
    active: &ActiveStreams,
    reserved: usize,
) -> Prepared {
    let mut refusals = Refusals::default();
    let mut record = RecordWriter::new(tenant, reserved);
    let mut pairs = Pairs::default();
    let (mut accepted, mut accepted_bytes) = (0, 0);
    for (labels, entries, unreadable) in batch.streams() {
        let line_bytes = || entries.clone().map(|entry| batch.entry(entry).line.len() as u64).sum();
        let refuse_stream =
            |refusals: &mut Refusals, refusal| refusals.add(refusal, entries.len() as u64, line_bytes());
        let labels = match stream_labels(labels, limits) {
            Ok(labels) => labels,
            Err(refusal) => {
                refuse_stream(&mut refusals, refusal);
                continue;
            }
        };
        if unreadable.entries > 0 {
            let message = format!("entry for stream '{}': {}", shown(&labels), unreadable.error);
            refusals.add(("invalid_entry", 400, message), unreadable.entries, 0);
        }
        if entries.is_empty() {
            continue;
        }
        let encoded = encode_labels(&labels);
        if let Err(full) = active.admit(&labels, &encoded, limits) {
            let refusal = match full {
                Full::Streams => stream_limit(&labels, limits),
                Full::Names => name_limit(&labels, limits),
            };
            refuse_stream(&mut refusals, refusal);
            continue;
        }
        let labels_level = labels
            .iter()
            .find(|(name, _)| is_level_name(name.as_bytes()))
            .map(|(_, value)| value);
        let shown_labels = ShownLabels::new(&labels);
        for entry in entries.clone().map(|entry| batch.entry(entry)) {
            let checked = check_time(entry.timestamp_ns, &shown_labels);
            if let Err(refusal) = checked.and_then(|()| pairs.fill(entry, &shown_labels, labels_level, limits)) {
                refusals.add(refusal, 1, entry.line.len() as u64);
                continue;
            }
            let admitted = |name: &str| record.has_name(name) || active.admit_name(name, limits);
            if !pairs.iter().all(|(name, _)| admitted(name)) {
                refusals.add(name_limit(&labels, limits), 1, entry.line.len() as u64);
                continue;
            }
            record.entry(entry.timestamp_ns, entry.line, pairs.iter());
            accepted += 1;
            accepted_bytes += (entry.line.len() + pairs.value_bytes()) as u64;
        }
        record.end_stream(&encoded);
    }
    Prepared {
        record: record.finish(),
        accepted,
        accepted_bytes,
        rejected: refusals.list,
    }
}

/// Reason, status and message of a refusal.
type Refusal = (&'static str, u16, String);

#[derive(Default)]
struct Refusals {
    list: Vec<Rejection>,
}

impl Refusals {
    fn add(&mut self, (reason, status, message): Refusal, entries: u64, bytes: u64) {
        let mut rejection = Rejection {
            reason,
            status,
            message,
            entries,
            bytes,
        };
        if let Some(at) = self.list.iter().position(|known| known.reason == reason) {
            let known = self.list.remove(at);
            rejection.entries += known.entries;
            rejection.bytes += known.bytes;
        }
        self.list.push(rejection);
    }
}

/// The label set that identifies the stream: empty values dropped, checked, `service_name` added.
fn stream_labels(given: &StreamLabels, limits: &Limits) -> Result<LabelSet, Refusal> {
    let labels = match given {
        StreamLabels::Labels(labels) => labels,
        StreamLabels::Unreadable { text, error } => {
            return Err((
                "invalid_labels",
                400,
                format!("error parsing labels '{}' with error: {}", shown(text), shown(error)),
            ));
        }
    };
    let mut kept: Vec<Label> = labels.iter().filter(|label| !label.value.is_empty()).cloned().collect();
    kept.sort_by(|a, b| a.name.cmp(&b.name));
    let repeated = kept
        .windows(2)
        .find(|pair| pair[0].name == pair[1].name)
        .map(|pair| pair[0].name.clone());
    let set = LabelSet::from_labels(kept);
    if let Some(name) = repeated {
        return Err((
            "duplicate_label_names",
            400,
            format!("stream '{}' has duplicate label name: '{}'", shown(&set), shown(name)),
        ));
    }
    if let Some((name, _)) = set.iter().find(|(name, _)| !is_label_name(name)) {
        let message = format!(
            "error parsing labels '{}' with error: label name '{}' is not of the form [a-zA-Z_][a-zA-Z0-9_]*",
            shown(&set),
            shown(name)
        );
        return Err(("invalid_labels", 400, message));
    }
    let count = set.len() - usize::from(set.get(crate::names::SERVICE_NAME).is_some());
    if count > limits.max_label_names {
        let limit = limits.max_label_names;
        let message = format!(
            "entry for stream '{}' has {count} label names; limit {limit} (max_label_names_per_series)",
            shown(&set)
        );
        return Err(("max_label_names_per_series", 400, message));
    }
    for (name, value) in set.iter() {
        if name.len() > limits.max_label_name_bytes {
            let (length, limit) = (name.len(), limits.max_label_name_bytes);
            let message = format!(
                "stream '{}' has label name too long: '{}' ({length} bytes, limit {limit}, max_label_name_length)",
                shown(&set),
                shown(name)
            );
            return Err(("label_name_too_long", 400, message));
        }
        if value.len() > limits.max_label_value_bytes {
            let (length, limit) = (value.len(), limits.max_label_value_bytes);
            let message = format!(
                "stream '{}' has label value too long: '{}' ({length} bytes, limit {limit}, max_label_value_length)",
                shown(&set),
                shown(value)
            );
            return Err(("label_value_too_long", 400, message));
        }
    }
    let set = with_service_name(set, &limits.service_name_labels);
    if set.is_empty() {
        return Err((
            "missing_labels",
            400,
            "error at least one label pair is required per stream".to_owned(),
        ));
    }
    Ok(set)
}

fn stream_limit(labels: &LabelSet, limits: &Limits) -> Refusal {
    let message = format!(
        "maximum active stream limit exceeded when trying to create stream {}, limit {} (max_global_streams_per_user)",
        shown(labels),
        limits.max_streams
    );
    ("stream_limit", 429, message)
}

/// Refuses a time that no query can ask for; it is a mistake in units anyway.
fn check_time(timestamp_ns: i64, labels: &ShownLabels<'_>) -> Result<(), Refusal> {
    const MOST: i64 = MAX_TIMESTAMP_NS;
    if timestamp_ns >= MOST {
        let message =
            format!("entry for stream '{labels}' has timestamp too new: {timestamp_ns} ns, the limit is {MOST} ns");
        return Err(("too_far_in_future", 400, message));
    }
    if timestamp_ns < -MOST {
        let message = format!(
            "entry for stream '{labels}' has timestamp too old: {timestamp_ns} ns, oldest acceptable timestamp is: -{MOST} ns"
        );
        return Err(("greater_than_max_sample_age", 400, message));
    }
    Ok(())
}

fn name_limit(labels: &LabelSet, limits: &Limits) -> Refusal {
    let message = format!(
        "stream '{}' brings more different names of labels and structured metadata than fit a data object, limit {} (max_names)",
        shown(labels),
        limits.max_names
    );
    ("max_names", 400, message)
}

/// The metadata of one entry as it is stored; reused from entry to entry.
#[derive(Debug, Default)]
struct Pairs {
    text: String,
    /// Start of the name, end of the name and start of the value, end of the value.
    bounds: Vec<(usize, usize, usize)>,
}

impl Pairs {
    /// Takes the metadata of an entry: names normalised, empty values dropped, sorted, of equal names the first one kept, and
    /// `detected_level` added unless the sender gave it.
    fn fill(
        &mut self,
        entry: BatchEntry<'_>,
        labels: &ShownLabels<'_>,
        labels_level: Option<&str>,
        limits: &Limits,
    ) -> Result<(), Refusal> {
        if entry.line.len() > limits.max_line_bytes {
            let (limit, length) = (limits.max_line_bytes, entry.line.len());
            let message = format!(
                "max entry size '{limit}' bytes exceeded for stream '{labels}' while adding an entry with length '{length}' bytes (max_line_size)"
            );
            return Err(("line_too_long", 400, message));
        }
        self.text.clear();
        self.bounds.clear();
        if entry.metadata_len() > 0 {
            self.check_size(entry, labels, limits)?;
        }
        let mut has_level = false;
        for (name, value) in entry.metadata() {
            let start = self.text.len();
            if !push_metadata_name(name, &mut self.text) {
                let message = format!(
                    "stream '{labels}' has structured metadata with the unusable name '{}'",
                    shown(name)
                );
                return Err(("invalid_labels", 400, message));
            }
            let name_end = self.text.len();
            push_metadata_value(value, &mut self.text);
            if self.text.len() == name_end {
                self.text.truncate(start);
                continue;
            }
            has_level |= &self.text[start..name_end] == DETECTED_LEVEL;
            self.bounds.push((start, name_end, self.text.len()));
        }
        if limits.discover_log_levels && !has_level {
            let level = detect(labels_level, &entry.metadata(), entry.line);
            let start = self.text.len();
            self.text.push_str(DETECTED_LEVEL);
            self.text.push_str(level);
            self.bounds.push((start, start + DETECTED_LEVEL.len(), self.text.len()));
        }
        let Self { text, bounds } = self;
        // Stable, so that of equal names the first one given is kept.
        bounds.sort_by(|a, b| text[a.0..a.1].cmp(&text[b.0..b.1]));
        bounds.dedup_by(|later, first| text[later.0..later.1] == text[first.0..first.1]);
        Ok(())
    }

    fn check_size(&self, entry: BatchEntry<'_>, labels: &ShownLabels<'_>, limits: &Limits) -> Result<(), Refusal> {
        let (count, limit) = (entry.metadata_len(), limits.max_metadata_entries);
        if count > limit {
            let message = format!(
                "stream '{labels}' has too many structured metadata labels: '{count}', limit: '{limit}' (max_structured_metadata_entries_count)"
            );
            return Err(("structured_metadata_too_many", 400, message));
        }
        let bytes: usize = entry.metadata().map(|(name, value)| name.len() + value.len()).sum();
        let limit = limits.max_metadata_bytes;
        if bytes > limit {
            let message = format!(
                "stream '{labels}' has structured metadata too large: '{bytes}' bytes, limit: '{limit}' bytes (max_structured_metadata_size)"
            );
            return Err(("structured_metadata_too_large", 400, message));
        }
        Ok(())
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.bounds
            .iter()
            .map(|&(start, name_end, end)| (&self.text[start..name_end], &self.text[name_end..end]))
    }

    fn value_bytes(&self) -> usize {
        self.bounds.iter().map(|(_, name_end, end)| end - name_end).sum()
    }
}
