//! Filling the head from the log when an engine is opened.

use crate::Error;
use crate::limits::Limits;
use crate::record::read_tenant;
use crate::shared::Shared;
use crate::stats::add;
use crate::wal::{list_segments, read_segment, repair};
use std::path::Path;
use timberline_store::TenantId;

/// Whether files may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Faulty segments are repaired, gaps are reported and accepted.
    Owner,
    /// Nothing is changed; a gap means that the owner is at work, and is an error.
    Reader,
}

/// Adds the entries of all segments behind the watermark to the head; returns the number of the last segment that exists.
pub(crate) fn replay(shared: &Shared, wal_dir: &Path, published_up_to: u64, access: Access) -> Result<u64, Error> {
    let mut segments = list_segments(wal_dir)?;
    segments.retain(|segment| segment.sequence > published_up_to);
    let mut last_sequence = published_up_to;
    for (number, file) in segments.iter().enumerate() {
        if file.sequence != last_sequence + 1 {
            let path = file.path.display().to_string();
            if access == Access::Reader {
                return Err(Error::MissingSegment(path));
            }
            let expected = last_sequence + 1;
            tracing::error!(
                segment = path,
                expected,
                "segments of the write-ahead log are missing before this one"
            );
        }
        last_sequence = file.sequence;
        let segment = read_segment(file)?;
        for (offset, payload) in segment.payloads() {
            replay_record(shared, payload).map_err(|message| {
                let segment = file.path.display().to_string();
                Error::Corrupt {
                    segment,
                    offset,
                    message,
                }
            })?;
        }
        if let Some(fault) = segment.fault {
            let torn = number + 1 == segments.len() && !fault.records_follow;
            let counter = if torn {
                &shared.counters.torn_bytes
            } else {
                &shared.counters.damaged_bytes
            };
            add(counter, fault.bad_bytes);
            if access == Access::Owner {
                repair(file, fault, torn)?;
            }
        }
        let mut head = shared.head.lock();
        if access == Access::Owner && shared.is_full(&head) {
            shared.freeze(&mut head, file.sequence);
        }
    }
    // What was accepted under other limits stays.
    let unlimited = Limits {
        max_streams: usize::MAX,
        max_names: usize::MAX,
        ..Limits::default()
    };
    let head = shared.head.lock();
    for (tenant, rows) in head.active.tenants() {
        let active = shared.active_streams(tenant);
        for (labels, encoded) in rows.labels() {
            let _ = active.admit(labels, encoded, &unlimited);
        }
        for name in rows.names() {
            active.admit_name(name, &unlimited);
        }
    }
    Ok(last_sequence)
}

fn replay_record(shared: &Shared, payload: &[u8]) -> Result<(), String> {
    let (tenant, _) = read_tenant(payload).map_err(|e| e.to_string())?;
    let tenant = TenantId::new(tenant).map_err(|e| e.to_string())?;
    let mut head = shared.head.lock();
    let rows = head.active.rows();
    head.active.add(&tenant, payload).map_err(|e| e.to_string())?;
    add(&shared.counters.replayed_entries, head.active.rows() - rows);
    Ok(())
}
