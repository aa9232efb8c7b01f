//! Shapes that several commands answer with (specification, chapter 14).

use crate::protocol::Reply;
use timberline_series::range::Rows;
use timberline_series::sample::Sample;

/// How a row shows its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowShape {
    /// `[timestamp, value, ..]`
    Flat,
    /// `[timestamp, [value, ..]]`
    Nested,
}

/// A sample, or an empty array.
pub(super) fn sample(reply: &mut Reply, sample: Option<Sample>) {
    match sample {
        Some(sample) => {
            reply.array(2);
            reply.integer(sample.timestamp);
            reply.sample_value(sample.value);
        }
        None => reply.array(0),
    }
}

/// Rows of a range.
pub(super) fn rows(reply: &mut Reply, rows: &Rows, shape: RowShape) {
    reply.array(rows.len());
    for (index, timestamp) in rows.timestamps.iter().enumerate() {
        let values = rows.row(index);
        match shape {
            RowShape::Flat => {
                reply.array(1 + values.len());
                reply.integer(*timestamp);
            }
            RowShape::Nested => {
                reply.array(2);
                reply.integer(*timestamp);
                reply.array(values.len());
            }
        }
        for value in values {
            reply.sample_value(*value);
        }
    }
}

/// Labels: pairs in protocol 2, a map in protocol 3; null for a label that a series has not.
pub(super) fn labels<'a>(reply: &mut Reply, labels: impl ExactSizeIterator<Item = (&'a [u8], Option<&'a [u8]>)>) {
    let pairs = !reply.is_resp3();
    if pairs {
        reply.array(labels.len());
    } else {
        reply.map(labels.len());
    }
    for (name, value) in labels {
        if pairs {
            reply.array(2);
        }
        reply.bulk(name);
        match value {
            Some(value) => reply.bulk(value),
            None => reply.null(),
        }
    }
}

/// Texts of which none comes twice: an array in protocol 2, a set in protocol 3.
pub(super) fn set<T: AsRef<[u8]>>(reply: &mut Reply, items: &[T]) {
    reply.set(items.len());
    for item in items {
        reply.bulk(item.as_ref());
    }
}

/// A map with one key, as protocol 3 shows aggregators, reducers and sources.
pub(super) fn named_list<T: AsRef<[u8]>>(reply: &mut Reply, name: &str, items: impl ExactSizeIterator<Item = T>) {
    reply.map(1);
    reply.bulk(name.as_bytes());
    reply.array(items.len());
    for item in items {
        reply.bulk(item.as_ref());
    }
}
