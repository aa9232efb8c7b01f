//! The statistics of a query answer (http-api.md 6.3). Members that make no sense for this engine are there and 0, because
//! clients read them without asking.

use super::numbers::display;
use timberline_query::QueryStats;

/// Caches of the peer; ours are counted in metrics.
const CACHES: [&str; 10] = [
    "chunk",
    "index",
    "result",
    "statsResult",
    "volumeResult",
    "seriesResult",
    "labelResult",
    "instantMetricResult",
    "logResult",
    "taskResult",
];

const CACHE: &str = r#"{"entriesFound":0,"entriesRequested":0,"entriesStored":0,"bytesReceived":0,"bytesSent":0,"requests":0,"downloadTime":0,"queryLengthServed":0}"#;

const INDEX: &str =
    r#""index":{"totalChunks":0,"postFilterChunks":0,"shardsDuration":0,"usedBloomFilters":false,"totalStreams":"#;

/// What one side of the engine read: objects on the store, or the head.
#[derive(Default)]
struct StoreStats {
    sources: u64,
    bytes: u64,
    lines: u64,
    lines_after_filter: u64,
    duplicates: u64,
    metadata_bytes: u64,
    referenced_metadata: bool,
}

/// Writes the object.
pub(super) fn write(out: &mut Vec<u8>, stats: &QueryStats, queue_seconds: f64) {
    let metadata_bytes = stats.metadata_bytes_processed;
    let all_bytes = stats.bytes_processed.saturating_add(metadata_bytes);
    let per_second = |amount: u64| {
        if stats.exec_seconds > 0.0 {
            (amount as f64 / stats.exec_seconds) as u64
        } else {
            0
        }
    };

    out.extend_from_slice(br#"{"summary":{"#);
    number(out, "bytesProcessedPerSecond", per_second(all_bytes));
    number(out, ",linesProcessedPerSecond", per_second(stats.lines_processed));
    number(out, ",totalBytesProcessed", all_bytes);
    number(out, ",totalLinesProcessed", stats.lines_processed);
    number(out, ",execTime", stats.exec_seconds);
    number(out, ",queueTime", queue_seconds);
    number(out, ",subqueries", 0);
    number(out, ",totalEntriesReturned", stats.entries_returned);
    number(out, ",splits", 0);
    number(out, ",shards", 0);
    number(out, ",totalPostFilterLines", stats.lines_after_filter);
    number(out, ",totalStructuredMetadataBytesProcessed", metadata_bytes);

    out.extend_from_slice(br#"},"querier":{"store":"#);
    let objects = StoreStats {
        sources: stats.sources.saturating_sub(stats.head_sources),
        bytes: stats.bytes_processed,
        lines: stats.lines_processed,
        lines_after_filter: stats.lines_after_filter,
        duplicates: stats.duplicates,
        metadata_bytes,
        referenced_metadata: metadata_bytes > 0,
    };
    store(out, &objects, stats);
    number(out, ",querierExecTime", stats.exec_seconds);

    out.extend_from_slice(br#"},"ingester":{"#);
    number(out, "totalReached", u64::from(stats.head_sources > 0));
    number(out, ",totalChunksMatched", stats.head_sources);
    out.extend_from_slice(br#","totalBatches":0,"totalLinesSent":0,"store":"#);
    // The engine reads the head and objects through one scan and does not count them apart.
    store(out, &StoreStats::default(), &QueryStats::default());

    out.extend_from_slice(br#"},"cache":{"#);
    for (i, name) in CACHES.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        out.extend_from_slice(CACHE.as_bytes());
    }
    out.extend_from_slice(b"},");

    out.extend_from_slice(INDEX.as_bytes());
    display(out, stats.streams);
    out.extend_from_slice(br#","chunkRefsLookupTime":0,"bloomFilterTime":0}}"#);
}

fn store(out: &mut Vec<u8>, store: &StoreStats, counters: &QueryStats) {
    out.push(b'{');
    number(out, "totalChunksRef", store.sources);
    number(out, ",totalChunksDownloaded", store.sources);
    number(out, ",chunksDownloadTime", 0);
    number(out, ",queryReferencedStructuredMetadata", store.referenced_metadata);
    out.extend_from_slice(
        br#","queryUsedV2Engine":false,"chunkRefsFetchTime":0,"congestionControlLatency":0,"pipelineWrapperFilteredLines":0,"chunk":{"headChunkBytes":0,"headChunkLines":0"#,
    );
    number(out, ",decompressedBytes", store.bytes);
    number(out, ",decompressedLines", store.lines);
    number(out, ",compressedBytes", counters.bytes_fetched);
    number(out, ",totalDuplicates", store.duplicates);
    number(out, ",postFilterLines", store.lines_after_filter);
    number(out, ",headChunkStructuredMetadataBytes", 0);
    number(out, ",decompressedStructuredMetadataBytes", store.metadata_bytes);
    out.extend_from_slice(br#"},"dataobj":{"#);
    number(out, "objectsOpened", counters.objects_opened);
    number(out, ",pagesFetched", counters.pages_fetched);
    number(out, ",bytesFetched", counters.bytes_fetched);
    number(out, ",bytesDecompressed", counters.bytes_decompressed);
    number(out, ",runs", counters.runs);
    number(out, ",runsSkippedByStream", counters.runs_skipped_by_stream);
    number(out, ",runsSkippedByTime", counters.runs_skipped_by_time);
    number(out, ",runsSkippedByLimit", counters.runs_skipped_by_limit);
    number(out, ",runsSkippedByText", counters.runs_skipped_by_text);
    number(out, ",runsSkippedByValue", counters.runs_skipped_by_value);
    number(out, ",filtersFetched", counters.filters_fetched);
    number(out, ",filterBytesFetched", counters.filter_bytes_fetched);
    number(out, ",filtersUnusable", counters.filters_unusable);
    number(out, ",rowsScanned", counters.rows_scanned);
    number(out, ",linesDecoded", counters.lines_decoded);
    number(out, ",memoryPeakBytes", counters.memory_peak_bytes);
    out.extend_from_slice(b"}}");
}

/// Writes `"name":value`, after a comma if the name starts with one.
fn number(out: &mut Vec<u8>, name: &str, value: impl std::fmt::Display) {
    let bare = name.trim_start_matches(',');
    if bare.len() < name.len() {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(bare.as_bytes());
    out.extend_from_slice(b"\":");
    display(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// All members of http-api.md 6.3.
    const MEMBERS: &str = "summary: bytesProcessedPerSecond linesProcessedPerSecond totalBytesProcessed totalLinesProcessed execTime queueTime subqueries totalEntriesReturned splits shards totalPostFilterLines totalStructuredMetadataBytesProcessed
querier: store querierExecTime
ingester: totalReached totalChunksMatched totalBatches totalLinesSent store
querier/store: totalChunksRef totalChunksDownloaded chunksDownloadTime queryReferencedStructuredMetadata queryUsedV2Engine chunkRefsFetchTime congestionControlLatency pipelineWrapperFilteredLines chunk dataobj
ingester/store/chunk: headChunkBytes headChunkLines decompressedBytes decompressedLines compressedBytes totalDuplicates postFilterLines headChunkStructuredMetadataBytes decompressedStructuredMetadataBytes
cache: chunk index result statsResult volumeResult seriesResult labelResult instantMetricResult logResult taskResult
cache/taskResult: entriesFound entriesRequested entriesStored bytesReceived bytesSent requests downloadTime queryLengthServed
index: totalChunks postFilterChunks shardsDuration usedBloomFilters totalStreams chunkRefsLookupTime bloomFilterTime";

    #[test]
    fn all_members_exist() {
        let stats = QueryStats {
            exec_seconds: 0.5,
            bytes_processed: 100,
            lines_processed: 10,
            entries_returned: 3,
            sources: 4,
            head_sources: 1,
            ..QueryStats::default()
        };
        let mut out = Vec::new();
        write(&mut out, &stats, 0.25);
        let stats: Value = serde_json::from_slice(&out).unwrap();
        for line in MEMBERS.lines() {
            let (path, names) = line.split_once(": ").unwrap();
            for name in names.split(' ') {
                assert!(
                    stats.pointer(&format!("/{path}/{name}")).is_some(),
                    "{path}/{name} is missing"
                );
            }
        }
        let f = |path: &str, want: f64| assert_eq!(stats.pointer(path).and_then(Value::as_f64), Some(want), "{path}");
        f("/summary/bytesProcessedPerSecond", 200.0);
        f("/summary/totalLinesProcessed", 10.0);
        f("/summary/execTime", 0.5);
        f("/summary/queueTime", 0.25);
        f("/summary/totalEntriesReturned", 3.0);
        f("/querier/store/totalChunksRef", 3.0);
        f("/ingester/totalReached", 1.0);
    }
}
