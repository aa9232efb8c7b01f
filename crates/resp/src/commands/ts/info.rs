//! TS.INFO (specification, chapter 12).

use super::refusal::Refusal;
use super::{keys, replies};
use crate::context::{Context, Flow};
use crate::protocol::{Arguments, Reply};
use timberline_series::codec::Encoding;
use timberline_series::series::{ChunkInfo, Info, RuleInfo};

/// Fields without DEBUG.
const FIELDS: usize = 14;
/// Fields that DEBUG adds.
const DEBUG_FIELDS: usize = 2;
/// Fields of a chunk.
const CHUNK_FIELDS: usize = 5;

/// The chunk of a series without samples.
const NO_SAMPLES: ChunkInfo = ChunkInfo {
    first_timestamp: 0,
    last_timestamp: 0,
    len: 0,
    bytes: 0,
};

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let key = arguments.get(1).ok_or(Refusal::Arity)?;
    if arguments.len() > 3 {
        return Err(Refusal::Arity);
    }
    // Any other third word is accepted, as the peer does.
    let debug = arguments.get(2).is_some_and(|word| word.eq_ignore_ascii_case(b"DEBUG"));
    let info = keys::series(context, key)?.info()?;
    write(context.reply, &info, debug);
    Ok(Flow::Done)
}

fn write(reply: &mut Reply, info: &Info, debug: bool) {
    let encoding = match info.encoding {
        Encoding::Compressed => "compressed",
        Encoding::Uncompressed => "uncompressed",
    };
    // The peer never shows none: a series begins with an empty chunk.
    let chunks = if info.chunks.is_empty() {
        &[NO_SAMPLES]
    } else {
        &info.chunks[..]
    };
    let integer = |reply: &mut Reply, name: &str, value: i64| {
        reply.simple(name);
        reply.integer(value);
    };
    reply.map(if debug { FIELDS + DEBUG_FIELDS } else { FIELDS });
    integer(reply, "totalSamples", signed(info.total_samples));
    integer(reply, "memoryUsage", signed(info.memory_bytes));
    integer(reply, "firstTimestamp", info.first_timestamp);
    integer(reply, "lastTimestamp", info.last_timestamp);
    integer(reply, "retentionTime", info.retention_ms);
    integer(reply, "chunkCount", signed(chunks.len() as u64));
    integer(reply, "chunkSize", i64::from(info.chunk_bytes));
    reply.simple("chunkType");
    reply.simple(encoding);
    reply.simple("duplicatePolicy");
    match info.duplicate_policy {
        Some(policy) => reply.simple(policy.name()),
        None => reply.null(),
    }
    reply.simple("labels");
    replies::labels(reply, info.labels.iter().map(|(name, value)| (name, Some(value))));
    reply.simple("sourceKey");
    match &info.source_key {
        Some(key) => reply.bulk(key),
        None => reply.null(),
    }
    reply.simple("rules");
    rules(reply, &info.rules);
    integer(reply, "ignoreMaxTimeDiff", info.ignore_time_ms);
    reply.simple("ignoreMaxValDiff");
    reply.double(info.ignore_value);
    if debug {
        reply.simple("keySelfName");
        reply.bulk(&info.key);
        reply.simple("Chunks");
        reply.array(chunks.len());
        for each in chunks {
            chunk(reply, each);
        }
    }
}

fn rules(reply: &mut Reply, rules: &[RuleInfo]) {
    let resp3 = reply.is_resp3();
    if resp3 {
        reply.map(rules.len());
    } else {
        reply.array(rules.len());
    }
    for rule in rules {
        if resp3 {
            reply.bulk(&rule.destination_key);
            reply.array(3);
        } else {
            reply.array(4);
            reply.bulk(&rule.destination_key);
        }
        reply.integer(rule.bucket_ms);
        reply.simple(rule.aggregator.capital_name());
        reply.integer(rule.align_ms);
    }
}

fn chunk(reply: &mut Reply, chunk: &ChunkInfo) {
    reply.map(CHUNK_FIELDS);
    reply.simple("startTimestamp");
    reply.integer(chunk.first_timestamp);
    reply.simple("endTimestamp");
    reply.integer(chunk.last_timestamp);
    reply.simple("samples");
    reply.integer(signed(chunk.len as u64));
    reply.simple("size");
    reply.integer(signed(chunk.bytes as u64));
    reply.simple("bytesPerSample");
    reply.double(chunk.bytes as f64 / chunk.len.max(1) as f64);
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
