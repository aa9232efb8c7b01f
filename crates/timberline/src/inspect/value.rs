//! Values as people read them.

use crate::time;
use jiff::tz::TimeZone;
use timberline_dataobj::{Value, column};

/// Columns of bloom filters.
const BLOOMS: [&str; 2] = ["bloom_filter", "values_bloom_filter"];
/// Columns of sets of streams, one bit each.
const BITMAPS: [&str; 1] = ["stream_id_bitmap"];
/// Columns of times in nanoseconds.
const TIMES: [&str; 3] = [column::TIMESTAMP, column::MIN_TIMESTAMP, column::MAX_TIMESTAMP];

/// Most streams of a set that are listed.
const MAX_LISTED_STREAMS: usize = 8;

/// The text of a value of a column of that logical name; texts that are longer are cut.
pub(super) fn readable(logical: &str, value: &Value, most_chars: usize) -> String {
    match value {
        Value::Int64(ns) if TIMES.contains(&logical) => format!("{} ({ns})", time::display(*ns, &TimeZone::UTC)),
        Value::Int64(number) => number.to_string(),
        Value::Uint64(number) => number.to_string(),
        Value::Binary(bytes) if BLOOMS.contains(&logical) => bloom(bytes),
        Value::Binary(bytes) if BITMAPS.contains(&logical) => bitmap(bytes),
        Value::Binary(bytes) => text(bytes, most_chars),
    }
}

fn text(bytes: &[u8], most_chars: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut short: String = text.chars().take(most_chars).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

/// Number of bits, of hashes, and how many bits are set (format specification, chapter 10.3).
fn bloom(bytes: &[u8]) -> String {
    let (words, rest) = bytes.as_chunks::<8>();
    let [bits, hashes, _, words @ ..] = words else {
        return format!("bloom({} bytes)", bytes.len());
    };
    if !rest.is_empty() {
        return format!("bloom({} bytes)", bytes.len());
    }
    let set: u32 = words.iter().map(|word| u64::from_be_bytes(*word).count_ones()).sum();
    format!(
        "bloom({} bits, {set} set, {} hashes)",
        u64::from_be_bytes(*bits),
        u64::from_be_bytes(*hashes)
    )
}

/// Numbers of the streams in a set (format specification, chapter 8.5).
fn bitmap(bytes: &[u8]) -> String {
    let is_set = |stream: &usize| bytes.get(stream / 8).is_some_and(|byte| byte >> (stream % 8) & 1 == 1);
    let count: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
    let first = (0..bytes.len() * 8).filter(is_set).take(MAX_LISTED_STREAMS);
    let first: Vec<String> = first.map(|stream| stream.to_string()).collect();
    let more = if count as usize > MAX_LISTED_STREAMS {
        ", …"
    } else {
        ""
    };
    format!("{count} streams({}{more})", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_readable() {
        let f = |logical: &str, value: Value, want: &str| assert_eq!(readable(logical, &value, 5), want);
        f(
            "timestamp",
            Value::Int64(1_780_315_200_000_000_000),
            "2026-06-01T12:00:00Z (1780315200000000000)",
        );
        f("rows", Value::Int64(7), "7");
        f("message", Value::Binary(b"a\xffb".to_vec()), "\"a\u{fffd}b\"");
        f("message", Value::Binary(b"abcdef".to_vec()), "\"abcde…\"");
        f("stream_id_bitmap", Value::Binary(vec![0b10, 0b1]), "2 streams(1, 8)");
        f("stream_id_bitmap", Value::Binary(vec![]), "0 streams()");
        f(
            "stream_id_bitmap",
            Value::Binary(vec![0xff, 1]),
            "9 streams(0, 1, 2, 3, 4, 5, 6, 7, …)",
        );
        let bloom: Vec<u8> = [21u64, 8, 21, 0x1d79e1]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect();
        f("bloom_filter", Value::Binary(bloom), "bloom(21 bits, 13 set, 8 hashes)");
        f("bloom_filter", Value::Binary(vec![1, 2]), "bloom(2 bytes)");
    }
}
