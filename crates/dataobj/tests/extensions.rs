//! Extension sections of whole objects: what a query may pass over, and what it may count without reading lines.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use timberline_dataobj::extension::*;
use timberline_dataobj::*;

#[derive(Clone, Debug)]
struct Row {
    stream_id: i64,
    timestamp_ns: i64,
    line: String,
    metadata: Vec<(&'static str, String)>,
}

/// A line with words, an id and an address; about a hundred bytes.
fn row(number: u64) -> Row {
    let id = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = ["timeout", "refused", "completed", "granted"][(number / 400 % 4) as usize];
    Row {
        stream_id: (number / 500) as i64 + 1,
        timestamp_ns: 1_700_000_000_000_000_000 - (number as i64) * 250_000_000,
        line: format!(
            "level=info msg=\"upload {word}\" traceID={id:016x}{:016x} ip=10.0.{}.{}",
            id.wrapping_mul(id | 1),
            id % 256,
            id % 249
        ),
        metadata: vec![
            (
                "detected_level",
                if number.is_multiple_of(3) { "error" } else { "info" }.to_owned(),
            ),
            ("trace_id", format!("{:016x}", id ^ 99)),
        ],
    }
}

fn rows(count: u64) -> Vec<Row> {
    (0..count).map(row).collect()
}

fn options() -> WriterOptions {
    WriterOptions {
        page_rows: 200,
        ..WriterOptions::default()
    }
}

/// Per tenant its logs sections.
fn write(tenants: &[(&str, &[&[Row]])], sort: &SortOrder) -> Vec<u8> {
    let mut object = ObjectWriter::new();
    for (tenant, sections) in tenants {
        for rows in *sections {
            let mut logs = LogsWriter::new(tenant, sort.clone(), &options()).with_extensions();
            for row in *rows {
                let metadata: Vec<(&str, &[u8])> = row.metadata.iter().map(|(k, v)| (*k, v.as_bytes())).collect();
                logs.append(&LogRow {
                    stream_id: row.stream_id,
                    timestamp_ns: row.timestamp_ns,
                    line: row.line.as_bytes(),
                    metadata: &metadata,
                })
                .unwrap();
            }
            object.push_section(logs.finish().unwrap());
        }
    }
    object.finish().unwrap()
}

fn layout(object: &[u8]) -> ObjectLayout {
    match ObjectLayout::parse(object).unwrap() {
        Parsed::Complete(layout) => layout,
        Parsed::NeedBytes(_) => panic!("the whole object is there"),
    }
}

fn bytes<'o>(object: &'o [u8], range: &Range<u64>) -> &'o [u8] {
    &object[range.start as usize..range.end as usize]
}

fn parse<T>(
    object: &[u8],
    tenant: &str,
    kind: &str,
    parse: impl Fn(&Section, &[u8], &[u8]) -> Result<T, Error>,
) -> Option<T> {
    let layout = layout(object);
    let section = find_section(&layout, tenant, kind)?;
    Some(parse(section, bytes(object, &section.metadata), bytes(object, &section.data)).unwrap())
}

/// The pages of a column of a section.
fn pages(object: &[u8], section: usize, logical: &str, tag: &str) -> Vec<PageMeta> {
    let layout = layout(object);
    let section = &layout.sections()[section];
    let meta = SectionMeta::parse(section, bytes(object, &section.metadata)).unwrap();
    meta.column(logical, tag).unwrap().pages.clone()
}

fn logs_page<'a>(section: usize, page: usize, pages: &'a [PageMeta]) -> LogsPage<'a> {
    LogsPage {
        section,
        page,
        meta: &pages[page],
    }
}

#[test]
fn pages_without_a_text_are_excluded_and_none_with_it() {
    let rows = rows(2000);
    let object = write(&[("t", &[&rows[..1000], &rows[1000..]])], &SortOrder::StreamAscending);
    let filters = parse(&object, "t", TEXT_FILTER, TextFilters::parse).unwrap();
    for section in 0..2 {
        let pages = pages(&object, section, column::MESSAGE, "");
        assert_eq!(pages.len(), 5);
        let lines = |page: usize| &rows[section * 1000 + page * 200..][..200];
        let (mut excluded, mut without) = (0, 0);
        for page in 0..pages.len() {
            let at = logs_page(section, page, &pages);
            for row in lines(page) {
                let id = &row.line[row.line.find("traceID=").unwrap() + 8..][..32];
                for needle in [id, &id[4..24], &id.to_uppercase(), &row.line] {
                    assert!(filters.may_contain(at, &TextNeedle::new(needle.as_bytes())), "{needle}");
                }
            }
            for row in &rows {
                let id = &row.line[row.line.find("traceID=").unwrap() + 8..][..32];
                if !lines(page).iter().any(|row| row.line.contains(id)) {
                    without += 1;
                    excluded += u32::from(!filters.may_contain(at, &TextNeedle::new(id.as_bytes())));
                }
            }
            let f = |pattern: &str, words: &[&str]| {
                let condition = required_literals(&regex_syntax::parse(pattern).unwrap());
                let may = condition.may_hold(|needle| filters.may_contain(at, needle));
                let holds = lines(page)
                    .iter()
                    .any(|row| words.iter().any(|word| row.line.contains(word)));
                assert_eq!(may, holds, "{pattern} in page {page} of section {section}");
            };
            f("(?i)TIMEOUT|Refused", &["timeout", "refused"]);
            f("upload (completed|lost)", &["completed"]);
            f("quetzal", &[]);
            f(".*", &["level"]);
        }
        assert!(excluded > without * 95 / 100, "{excluded} of {without}");
    }
}

#[test]
fn pages_without_a_value_are_excluded_and_none_with_it() {
    let rows = rows(1000);
    let object = write(&[("t", &[&rows])], &SortOrder::StreamAscending);
    let filters = parse(&object, "t", VALUE_FILTER, ValueFilters::parse).unwrap();
    let pages = pages(&object, 0, column::METADATA, "trace_id");
    let mut excluded = 0;
    for (number, row) in rows.iter().enumerate() {
        let value = row.metadata[1].1.as_bytes();
        for page in 0..pages.len() {
            let may = filters.may_equal("trace_id", logs_page(0, page, &pages), value);
            assert!(may || page != number / 200, "row {number}");
            excluded += usize::from(!may);
        }
    }
    assert!(excluded > rows.len() * (pages.len() - 1) * 95 / 100, "{excluded}");
    let page = logs_page(0, 0, &pages);
    assert!(
        filters.may_equal("trace_id", page, b""),
        "an absent value equals the empty one"
    );
    assert!(filters.may_equal("unknown", page, b"x"));
}

#[test]
fn a_filter_of_another_page_says_nothing() {
    let rows = rows(400);
    let object = write(&[("t", &[&rows])], &SortOrder::StreamAscending);
    let text = parse(&object, "t", TEXT_FILTER, TextFilters::parse).unwrap();
    let values = parse(&object, "t", VALUE_FILTER, ValueFilters::parse).unwrap();
    let needle = TextNeedle::new(b"quetzal");
    let f = |page: LogsPage<'_>, want: bool| {
        assert_eq!(text.may_contain(page, &needle), want, "{page:?}");
    };
    let lines = pages(&object, 0, column::MESSAGE, "");
    let page = logs_page(0, 0, &lines);
    f(page, false);
    f(LogsPage { page: 1, ..page }, true);
    f(LogsPage { section: 1, ..page }, true);
    let mut other = lines[0].clone();
    other.crc ^= 1;
    f(LogsPage { meta: &other, ..page }, true);
    let mut other = lines[0].clone();
    other.rows += 1;
    f(LogsPage { meta: &other, ..page }, true);
    let ids = pages(&object, 0, column::METADATA, "trace_id");
    assert!(!values.may_equal("trace_id", logs_page(0, 0, &ids), b"quetzal"));
    assert!(values.may_equal("trace_id", page, b"quetzal"));
}

/// Somebody else's decoder, which knows nothing of these sections but the format that all sections have.
#[test]
fn an_independent_decoder_reads_them() {
    let rows = rows(400);
    let object = write(&[("t", &[&rows])], &SortOrder::StreamAscending);
    // The object lacks its streams, which is said of the logs; nothing is wrong with the other sections.
    assert!(
        verify(&object)
            .findings
            .iter()
            .all(|finding| finding.section == Some(0))
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("object.dataobj");
    std::fs::write(&path, &object).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/decode_dataobj.py");
    let output = Command::new("python3").arg(script).arg(&path).arg("--json").output();
    let output = output.expect("python3 runs the independent decoder: please install it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let section = |number: usize| &json["sections"][number];
    let f = |number: usize, kind: &str, rows: u64| {
        let section = section(number);
        assert_eq!(
            (section["namespace"].as_str(), section["kind"].as_str()),
            (Some(NAMESPACE), Some(kind))
        );
        assert_eq!(section["row_count"].as_u64(), Some(rows), "{kind}");
    };
    f(1, TEXT_FILTER, 2);
    f(2, VALUE_FILTER, 2);
    let known = layout(&object)
        .sections()
        .iter()
        .map(|section| section.kind.clone())
        .collect::<Vec<_>>();
    assert_eq!(
        known[1..],
        [SectionKind::TextFilter, SectionKind::ValueFilter, SectionKind::Volume]
    );
    f(3, VOLUME, naive_volume(rows.iter()).len() as u64);
}

type Volumes = BTreeMap<(i64, Vec<u8>, i64), (u64, u64, u64)>;

fn naive_volume<'r>(rows: impl Iterator<Item = &'r Row>) -> Volumes {
    let mut volumes = Volumes::new();
    for row in rows {
        let level = row.metadata.iter().find(|(key, _)| *key == "detected_level");
        let level = level.map_or(Vec::new(), |(_, level)| level.clone().into_bytes());
        let minute = row.timestamp_ns.div_euclid(60_000_000_000);
        let cell = volumes.entry((row.stream_id, level, minute)).or_default();
        cell.0 += 1;
        cell.1 += row.line.len() as u64;
        cell.2 += row.metadata.iter().map(|(_, value)| value.len() as u64).sum::<u64>();
    }
    volumes
}

fn read_volume(object: &[u8], tenant: &str) -> Option<Volumes> {
    let volume = parse(object, tenant, VOLUME, Volume::parse)?;
    let cells: Vec<_> = volume.cells().collect();
    assert!(cells.is_sorted_by_key(|cell| (cell.stream_id, cell.level.to_vec(), cell.minute)));
    let cell = |cell: VolumeCell<'_>| {
        let key = (cell.stream_id, cell.level.to_vec(), cell.minute);
        (key, (cell.rows, cell.line_bytes, cell.metadata_bytes))
    };
    Some(cells.into_iter().map(cell).collect())
}

fn volume_rows() -> impl Strategy<Value = Vec<Row>> {
    let level = prop_oneof![Just(None), Just(Some("info")), Just(Some("error")), Just(Some(""))];
    let row =
        (1i64..4, -3i64..3, 0i64..60_000, level, "[a-z]{0,9}").prop_map(|(stream_id, minute, ms, level, line)| {
            let mut metadata: Vec<(&'static str, String)> = vec![("a", line.clone())];
            metadata.extend(level.map(|level| ("detected_level", level.to_owned())));
            Row {
                stream_id,
                timestamp_ns: minute * 60_000_000_000 + ms * 1_000_000,
                line,
                metadata,
            }
        });
    proptest::collection::vec(row, 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn volume_is_what_a_naive_count_finds(mut rows in volume_rows(), by_time in any::<bool>(), cut in 0.0..1.0) {
        let sort = if by_time { SortOrder::TimestampDescending } else { SortOrder::StreamAscending };
        rows.sort_by_key(|row| match by_time {
            true => (-row.timestamp_ns, row.stream_id),
            false => (row.stream_id, -row.timestamp_ns),
        });
        let cut = (rows.len() as f64 * cut) as usize;
        let other = [row(0), row(1), row(2), row(3), row(6)];
        let object = write(&[("t", &[&rows[..cut], &rows[cut..]]), ("u", &[&other])], &sort);
        let want = naive_volume(rows.iter());
        let is_worth_it = !rows.is_empty() && rows.len() >= 2 * want.len();
        prop_assert_eq!(read_volume(&object, "t"), is_worth_it.then_some(want));
        prop_assert_eq!(read_volume(&object, "u"), Some(naive_volume(other.iter())));
    }
}

#[test]
fn metadata_that_is_no_level_gives_no_volume() {
    let mut rows = rows(400);
    for (number, row) in rows.iter_mut().enumerate() {
        row.metadata[0].1 = format!("{:02}", number % 65);
    }
    let object = write(&[("t", &[&rows])], &SortOrder::StreamAscending);
    assert_eq!(read_volume(&object, "t"), None);
}

/// Each section has few enough levels, both together have not.
#[test]
fn too_many_levels_in_several_sections_give_no_volume() {
    let f = |levels: u64, want: bool| {
        let mut rows = rows(levels * 10);
        for (number, row) in rows.iter_mut().enumerate() {
            (row.stream_id, row.timestamp_ns) = (1, 0);
            row.metadata[0].1 = format!("{:02}", number as u64 / 10);
        }
        let half = rows.len() / 2;
        let object = write(&[("t", &[&rows[..half], &rows[half..]])], &SortOrder::StreamAscending);
        assert_eq!(read_volume(&object, "t").is_some(), want, "{levels} levels");
    };
    f(64, true);
    f(65, false);
}

/// Two columns that share their bytes: otherwise a small section could describe any number of rows.
#[test]
fn pages_that_share_bytes_are_refused() {
    let rows: Vec<Row> = (0..2)
        .map(|_| Row {
            stream_id: 1,
            timestamp_ns: 0,
            line: "x".to_owned(),
            metadata: Vec::new(),
        })
        .collect();
    let object = write(&[("t", &[&rows])], &SortOrder::StreamAscending);
    let layout = layout(&object);
    let section = find_section(&layout, "t", VOLUME).unwrap();
    let mut metadata = bytes(&object, &section.metadata).to_vec();
    let mut data = bytes(&object, &section.data).to_vec();
    assert_eq!(Volume::parse(section, &metadata, &data).unwrap().len(), 1);
    // The columns `rows` and `line_bytes` hold a 2 each, in pages of four bytes at 12 and 16. One goes.
    assert_eq!(data[12..16], data[16..20]);
    data.drain(16..20);
    let mut section = section.clone();
    section.data.end -= 4;
    for (before, after) in [(16, 12), (20, 16)] {
        let offset = metadata.windows(2).position(|bytes| bytes == [7 << 3, before]).unwrap();
        metadata[offset + 1] = after;
    }
    let error = Volume::parse(&section, &metadata, &data).unwrap_err().to_string();
    assert!(
        error.ends_with("pages of 24 bytes in a data region of 20: some share bytes"),
        "{error}"
    );
}

#[test]
fn logs_without_extensions_give_an_object_without() {
    let rows = rows(300);
    let with = write(&[("t", &[&rows])], &SortOrder::StreamAscending);
    assert_eq!(layout(&with).sections().len(), 4);
    // One logs section that doesn't contribute makes the tenant's extensions incomplete: there are none.
    let mut object = ObjectWriter::new();
    for number in 0..2 {
        let mut logs = LogsWriter::new("t", SortOrder::StreamAscending, &options());
        if number == 0 {
            logs = logs.with_extensions();
        }
        for row in &rows {
            let (stream_id, timestamp_ns, line) = (row.stream_id, row.timestamp_ns, row.line.as_bytes());
            logs.append(&LogRow {
                stream_id,
                timestamp_ns,
                line,
                metadata: &[],
            })
            .unwrap();
        }
        object.push_section(logs.finish().unwrap());
    }
    assert_eq!(layout(&object.finish().unwrap()).sections().len(), 2);
}

/// Reads an extension section; whatever it says, texts and values that are there must not be excluded.
fn check_damaged(object: &[u8], kind: &str, row: &Row, lines: &[PageMeta], ids: &[PageMeta]) {
    let layout = layout(object);
    let section = find_section(&layout, "t", kind).unwrap();
    let (metadata, data) = (bytes(object, &section.metadata), bytes(object, &section.data));
    match kind {
        TEXT_FILTER => {
            if let Ok(filters) = TextFilters::parse(section, metadata, data) {
                let needle = TextNeedle::new(row.line.as_bytes());
                assert!(filters.may_contain(logs_page(0, 0, lines), &needle));
            }
        }
        VALUE_FILTER => {
            if let Ok(filters) = ValueFilters::parse(section, metadata, data) {
                let value = row.metadata[1].1.as_bytes();
                assert!(filters.may_equal("trace_id", logs_page(0, 0, ids), value));
            }
        }
        _ => {
            if let Ok(volume) = Volume::parse(section, metadata, data) {
                assert!(volume.cells().len() <= data.len());
            }
        }
    }
}

#[test]
fn flipped_bits_never_lose_a_match() {
    let rows = rows(200);
    let object = write(&[("t", &[&rows])], &SortOrder::StreamAscending);
    let lines = pages(&object, 0, column::MESSAGE, "");
    let ids = pages(&object, 0, column::METADATA, "trace_id");
    let layout = layout(&object);
    let extensions = &layout.sections()[1..];
    assert_eq!(extensions.len(), 3);
    let mut damaged = object.clone();
    for section in extensions {
        // Every bit of the metadata and of the first bytes of data, then some.
        let data = section
            .data
            .clone()
            .enumerate()
            .filter(|(at, _)| *at < 100 || at % 41 == 0);
        for at in section.metadata.clone().chain(data.map(|(_, at)| at)) {
            for bit in 0..8 {
                damaged[at as usize] ^= 1 << bit;
                check_damaged(&damaged, section.kind.name(), &rows[0], &lines, &ids);
                damaged[at as usize] ^= 1 << bit;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_bytes_are_safe(
        kind in 0usize..3,
        metadata in proptest::collection::vec(any::<u8>(), 0..200),
        data in proptest::collection::vec(any::<u8>(), 0..200),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        static OBJECT: LazyLock<Vec<u8>> = LazyLock::new(|| write(&[("t", &[&rows(200)])], &SortOrder::StreamAscending));
        let object = &*OBJECT;
        let layout = layout(object);
        let name = [TEXT_FILTER, VALUE_FILTER, VOLUME][kind];
        let section = find_section(&layout, "t", name).unwrap();
        let parse = |section: &Section, metadata: &[u8], data: &[u8]| match kind {
            0 => TextFilters::parse(section, metadata, data).is_ok(),
            1 => ValueFilters::parse(section, metadata, data).is_ok(),
            _ => Volume::parse(section, metadata, data).is_ok(),
        };
        let mut other = section.clone();
        other.metadata = 0..metadata.len() as u64;
        other.data = other.metadata.end..other.metadata.end + data.len() as u64;
        prop_assert!(!parse(&other, &metadata, &data));

        let mut changed = bytes(object, &section.metadata).to_vec();
        for (at, value) in changes {
            let at = at.index(changed.len());
            changed[at] = value;
        }
        parse(section, &changed, bytes(object, &section.data));
    }
}
