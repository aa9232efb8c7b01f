//! What a scan reads, what it skips, and why.

use super::Fact;
use super::reads::Reads;
use super::words::{bytes, counted, time};
use crate::answer::QueryStats;
use crate::request::with_thousands;
use crate::scan::{Pruning, SampleValue, ScanOutput, ScanSpec, SeriesLabels};
use timberline_logql::ast::{LogExpr, Stage};
use timberline_logql::pipeline::RequiredLabel;

/// Name and facts of a scan.
pub(super) fn describe(spec: &ScanSpec) -> (String, Vec<Fact>) {
    let mut stats = QueryStats::default();
    spec.counters.add_to(&mut stats);
    let selector = LogExpr {
        matchers: spec.log.matchers.clone(),
        stages: Vec::new(),
    };
    let mut facts = vec![Fact::new(
        "times",
        format!(
            "from {} to {}",
            time(spec.span.min_ns.into()),
            time(spec.span.max_ns.into())
        ),
    )];
    facts.push(Fact::new("gives", gives(&spec.output)));
    facts.extend(reads(spec));
    facts.extend(spec.pruning.iter().flat_map(asked));
    facts.extend(funnel(&stats));
    (format!("scan of {selector}"), facts)
}

fn gives(output: &ScanOutput) -> String {
    let ScanOutput::Samples(value, labels, _) = output else {
        return "lines with all their labels".to_owned();
    };
    let value = match value {
        SampleValue::One => "1 for each entry",
        SampleValue::LineBytes => "the length of each line",
        SampleValue::Unwrapped(_) => "the number in a label of each entry",
    };
    match labels {
        SeriesLabels::All => format!("{value}, by all labels"),
        SeriesLabels::Grouped(grouping) => format!("{value}, grouped {grouping} while it is read"),
    }
}

/// Lines, labels and metadata, and who asks for them.
fn reads(spec: &ScanSpec) -> Vec<Fact> {
    let pipeline = &spec.pipeline;
    let line = if spec.output.reads_line() {
        "read, because they are part of the result"
    } else if pipeline.needs_line() {
        "read, because a stage looks at them"
    } else if spec.seen.is_some() {
        "read where two sources may hold the same entry, to tell"
    } else {
        "not read"
    };
    let mut facts = vec![Fact::new("line text", line)];
    let filters: Vec<String> = leading_filters(&spec.log).map(ToString::to_string).collect();
    if !filters.is_empty() {
        let text = format!("{}, before anything else", filters.join(" "));
        facts.push(Fact::new("line filters", text));
    }
    let metadata = match pipeline.metadata_names() {
        None => "all of it, because every label is part of the result".to_owned(),
        Some(names) if names.is_empty() => "not read".to_owned(),
        Some(names) => format!("{}, where entries have them", names.join(", ")),
    };
    facts.push(Fact::new("metadata", metadata));
    let reads = Reads::of(&spec.log, &spec.wants);
    let parsers = (0..spec.log.stages.len()).filter_map(|at| reads.of_parser(&spec.log, at));
    facts.extend(parsers.map(|text| Fact::new("parser", text)));
    facts
}

/// The line filters that see lines as they are stored.
fn leading_filters(log: &LogExpr) -> impl Iterator<Item = &Stage> {
    let changes_line = |stage: &&Stage| matches!(stage, Stage::LineFormat(_) | Stage::Unpack | Stage::Decolorize);
    let unchanged = log.stages.iter().take_while(move |stage| !changes_line(stage));
    unchanged.filter(|stage| matches!(stage, Stage::LineFilter(_)))
}

/// What is asked of the filters of sources.
fn asked(pruning: &Pruning) -> Vec<Fact> {
    let mut facts = Vec::new();
    let quoted = |text: &Vec<u8>| format!("{:?}", String::from_utf8_lossy(text));
    for group in pruning.texts() {
        let texts: Vec<String> = group.iter().map(quoted).collect();
        facts.push(Fact::new(
            "asks filters",
            format!("for lines with {}", texts.join(" or ")),
        ));
    }
    let equal = |label: &RequiredLabel| format!("{}={:?}", label.name, String::from_utf8_lossy(&label.value));
    for group in pruning.labels() {
        let values: Vec<String> = group.iter().map(equal).collect();
        let text = format!(
            "for metadata with {}, where no stream has that label",
            values.join(" or ")
        );
        facts.push(Fact::new("asks filters", text));
    }
    facts
}

/// From everything there is to what was kept.
fn funnel(stats: &QueryStats) -> Vec<Fact> {
    let objects = stats.sources - stats.head_sources;
    let mut facts = vec![Fact::new(
        "considered",
        format!(
            "{} of {} and {} in memory; {}",
            counted(stats.streams, "stream"),
            counted(objects, "object"),
            counted(stats.head_sources, "part"),
            counted(stats.runs, "run")
        ),
    )];
    let skipped = [
        ("skipped", stats.runs_skipped_by_time, "lie outside of the time"),
        ("skipped", stats.runs_skipped_by_stream, "hold no chosen stream"),
        (
            "skipped",
            stats.runs_skipped_by_text,
            "hold none of the texts, as their filters tell",
        ),
        (
            "skipped",
            stats.runs_skipped_by_value,
            "hold none of the metadata, as their filters tell",
        ),
        (
            "skipped",
            stats.runs_skipped_by_limit,
            "are not needed, since enough lines were found",
        ),
    ];
    let skipped = skipped.into_iter().filter(|(_, runs, _)| *runs > 0);
    facts.extend(skipped.map(|(name, runs, why)| Fact::new(name, format!("{}: they {why}", counted(runs, "run")))));
    let read = stats
        .runs
        .saturating_sub(stats.runs_skipped_by_time + stats.runs_skipped_by_stream + stats.runs_skipped_by_text)
        .saturating_sub(stats.runs_skipped_by_value + stats.runs_skipped_by_limit);
    facts.push(Fact::new(
        "searched",
        format!("{} with {}", counted(read, "run"), counted(stats.rows_scanned, "row")),
    ));
    if objects > 0 {
        facts.push(Fact::new(
            "fetched",
            format!(
                "{}, {}; {}, {}; the metadata of {} was not in the cache",
                counted(stats.pages_fetched, "page"),
                bytes(stats.bytes_fetched),
                counted(stats.filters_fetched, "filter"),
                bytes(stats.filter_bytes_fetched),
                counted(stats.objects_opened, "object")
            ),
        ));
        facts.push(Fact::new("decompressed", bytes(stats.bytes_decompressed)));
    }
    if stats.filters_unusable > 0 {
        let text = format!(
            "{} damaged or not understood: the answer is right, but took longer",
            counted(stats.filters_unusable, "filter")
        );
        facts.push(Fact::new("filters", text));
    }
    facts.push(Fact::new(
        "chosen",
        format!("{} of those streams and times", counted(stats.lines_processed, "row")),
    ));
    facts.push(Fact::new(
        "decoded",
        format!(
            "{}, {}; metadata of {}",
            counted(stats.lines_decoded, "line"),
            bytes(stats.bytes_processed),
            bytes(stats.metadata_bytes_processed)
        ),
    ));
    let mut kept = format!("{} passed the pipeline", with_thousands(stats.lines_after_filter));
    if stats.duplicates > 0 {
        kept.push_str(&format!(
            "; {} more are copies of others",
            with_thousands(stats.duplicates)
        ));
    }
    facts.push(Fact::new("kept", kept));
    facts
}
