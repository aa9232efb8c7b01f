//! What a scan reads: requests, bytes and pages for given selections over sections of known layout.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use bytes::Bytes;
use std::ops::Range;
use timberline_dataobj::*;

const ROWS: u64 = 1000;
const PAGE_ROWS: u64 = 100;

/// Row `i` has `id` = i / 250 (four ids), `time` = 10 000 - i, `line` = "line i" with padding, `user` = "u(i)" in every tenth row. Pages of
/// 100 rows in every column, the lines stored as they are.
fn section() -> (Bytes, SectionMeta) {
    let options = WriterOptions {
        page_bytes: 0,
        page_rows: PAGE_ROWS as usize,
        zstd_level: 1,
        cut: PageCut::Independent,
    };
    let kind = SectionKind::Unknown {
        namespace: "test".into(),
        kind: "test".into(),
    };
    let mut section = SectionWriter::new(kind, 1, "t", &options);
    let mut add = |physical, logical: &str, range| {
        section.add_column(ColumnSpec {
            physical,
            logical: logical.into(),
            tag: String::new(),
            compression: Compression::None,
            range,
            cardinality: false,
        })
    };
    let id = add(Physical::Int64, "id", true);
    let time = add(Physical::Int64, "time", true);
    let user = add(Physical::Binary, "user", true);
    let line = add(Physical::Binary, "line", false);
    for i in 0..ROWS {
        section.append_int64(id, i, i as i64 / 250).unwrap();
        section.append_int64(time, i, 10_000 - i as i64).unwrap();
        if i % 10 == 0 {
            section.append_binary(user, i, format!("u{i:04}").as_bytes()).unwrap();
        } else {
            section.append_null(user, i).unwrap();
        }
        section
            .append_binary(line, i, format!("line {i:04} {:->90}", "").as_bytes())
            .unwrap();
    }
    let mut object = ObjectWriter::new();
    object.push_section(section.finish(&[id, time, user, line], None).unwrap());
    let object: Bytes = object.finish().unwrap().into();
    let layout = common::layout(&object).unwrap();
    let section = &layout.sections()[0];
    let meta = SectionMeta::parse(section, common::slice(&object, &section.metadata)).unwrap();
    assert!(
        meta.is_aligned()
            && meta
                .columns
                .iter()
                .all(|column| column.pages.len() as u64 == ROWS / PAGE_ROWS)
    );
    (object, meta)
}

/// Counts on its own what it is asked for.
struct CountingReader {
    object: Bytes,
    requests: u64,
    bytes: u64,
    most_at_once: usize,
}

impl ReadRanges for CountingReader {
    type Error = Error;

    fn read(&mut self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Error> {
        assert!(
            ranges.is_sorted_by(|a, b| a.end <= b.start),
            "requests ascend and don't overlap"
        );
        self.requests += ranges.len() as u64;
        self.bytes += ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        self.most_at_once = self.most_at_once.max(ranges.len());
        self.object.read(ranges)
    }
}

fn page_bytes(meta: &SectionMeta, pages: &[(&str, Range<usize>)]) -> u64 {
    let bytes = |(column, pages): &(&str, Range<usize>)| {
        let pages = &meta.column(column, "").unwrap().pages[pages.clone()];
        pages.iter().map(|page| page.range.end - page.range.start).sum::<u64>()
    };
    pages.iter().map(bytes).sum()
}

struct Want<'a> {
    rows: u64,
    /// Requests, and the pages that they bring.
    requests: u64,
    fetched: &'a [(&'a str, Range<usize>)],
    /// Pages passed over because of statistics, and because no row of theirs was left.
    pruned: u64,
    skipped: u64,
}

/// Only what touches is read together, so that every byte requested is one of a page.
const TOUCHING: CoalesceOptions = CoalesceOptions {
    max_gap_bytes: 0,
    max_fetch_bytes: 8 << 20,
    min_fetch_bytes: 1 << 20,
    parallelism: 1,
};

#[test]
fn pages_and_requests_of_selections() {
    let (object, meta) = section();
    let check = |predicate: Predicate, projection: &[&str], want: Want<'_>| {
        let projection: Vec<ColumnName> = projection.iter().map(|name| ColumnName::from(*name)).collect();
        let options = ScanOptions {
            coalesce: TOUCHING,
            ..ScanOptions::default()
        };
        let mut scan = Scan::new(&meta, &predicate, &projection, options).unwrap();
        let mut reader = CountingReader {
            object: object.clone(),
            requests: 0,
            bytes: 0,
            most_at_once: 0,
        };
        let mut rows = 0;
        while let Some(batch) = scan.next_batch(&mut reader).unwrap() {
            rows += batch.len() as u64;
        }
        let counters = scan.counters();
        let bytes = page_bytes(&meta, want.fetched);
        let pages: u64 = want.fetched.iter().map(|(_, pages)| pages.len() as u64).sum();
        assert_eq!(
            (rows, reader.requests, reader.bytes),
            (want.rows, want.requests, bytes),
            "{predicate:?}"
        );
        assert_eq!(
            (counters.requests, counters.requested_bytes),
            (want.requests, bytes),
            "{predicate:?}"
        );
        assert_eq!(counters.fetched, PageCount { pages, bytes }, "{predicate:?}");
        assert_eq!(
            (counters.pruned.pages, counters.skipped.pages),
            (want.pruned, want.skipped),
            "{predicate:?}"
        );
        assert_eq!(counters.decoded.pages, pages, "{predicate:?}");
    };
    let id = |id: i64| Predicate::equal("id", id);
    let user = |user: &str| Predicate::equal("user", user);
    let line = |needle: &str| Predicate::contains("line", needle);

    // Everything: columns stand one behind the other, so one request.
    let fetched = [("id", 0..10), ("time", 0..10), ("user", 0..10), ("line", 0..10)];
    check(
        Predicate::all(),
        &["id", "time", "user", "line"],
        Want {
            rows: 1000,
            requests: 1,
            fetched: &fetched,
            pruned: 0,
            skipped: 0,
        },
    );
    // Two columns with another one between.
    let fetched = [("id", 0..10), ("user", 0..10)];
    check(
        Predicate::all(),
        &["user", "id"],
        Want {
            rows: 1000,
            requests: 2,
            fetched: &fetched,
            pruned: 0,
            skipped: 0,
        },
    );
    // Nothing but a count, of all rows and of rows that statistics decide: nothing is read.
    check(
        Predicate::all(),
        &[],
        Want {
            rows: 1000,
            requests: 0,
            fetched: &[],
            pruned: 0,
            skipped: 0,
        },
    );
    check(
        Predicate::range("time", 9_401..=9_700),
        &[],
        Want {
            rows: 300,
            requests: 0,
            fetched: &[],
            pruned: 10,
            skipped: 0,
        },
    );

    // Ids change within pages 2, 5 and 7: of id 1, pages 3 and 4 are decided by statistics, 2 and 5 are not.
    let fetched = [("id", 2..3), ("line", 2..5)];
    check(
        id(1),
        &["line"],
        Want {
            rows: 250,
            requests: 2,
            fetched: &fetched,
            pruned: 9 + 7,
            skipped: 0,
        },
    );
    // In the opposite direction: what certainly is id 1 is out, pages 2 and 5 are open.
    let fetched = [("id", 2..3), ("time", 0..3), ("time", 5..10)];
    check(
        !id(1),
        &["time"],
        Want {
            rows: 750,
            requests: 3,
            fetched: &fetched,
            pruned: 9 + 2,
            skipped: 0,
        },
    );
    // An id that is not there: statistics say so.
    check(
        id(7),
        &["id", "line"],
        Want {
            rows: 0,
            requests: 0,
            fetched: &[],
            pruned: 20,
            skipped: 0,
        },
    );

    // Statistics narrow the user down to one page; its lines and times are read for that page only.
    let fetched = [("user", 4..5), ("time", 4..5), ("line", 4..5)];
    check(
        user("u0420"),
        &["time", "line"],
        Want {
            rows: 1,
            requests: 3,
            fetched: &fetched,
            pruned: 9 + 9 + 9,
            skipped: 0,
        },
    );
    // A user that could be in a page and is not: its line is not read.
    let fetched = [("user", 4..5)];
    check(
        user("u0421"),
        &["line"],
        Want {
            rows: 0,
            requests: 1,
            fetched: &fetched,
            pruned: 9 + 9,
            skipped: 1,
        },
    );
    // Both conditions: statistics of one narrow the other, the cheaper column goes first, and as no row is left the line never is read.
    check(
        user("u0421").and(line("0421")),
        &["time"],
        Want {
            rows: 0,
            requests: 1,
            fetched: &fetched,
            pruned: 9 + 9 + 9,
            skipped: 2,
        },
    );
    check(
        line("0421").and(user("u0421")),
        &["time"],
        Want {
            rows: 0,
            requests: 1,
            fetched: &fetched,
            pruned: 9 + 9 + 9,
            skipped: 2,
        },
    );
    // Lines have no statistics: all are searched, then the page of the one hit of the other column.
    let fetched = [("line", 0..10), ("time", 7..8)];
    check(
        line(" 0777 "),
        &["time"],
        Want {
            rows: 1,
            requests: 2,
            fetched: &fetched,
            pruned: 0,
            skipped: 9,
        },
    );
    // Either: the cheaper condition first, and where it holds for every row the other is not asked. Here ids decide pages 0 to 1 and
    // a part of page 2.
    let fetched = [("id", 2..3), ("line", 2..10)];
    check(
        id(0).or(line("9 ")),
        &[],
        Want {
            rows: 250 + 75,
            requests: 2,
            fetched: &fetched,
            pruned: 9 + 2,
            skipped: 0,
        },
    );
    // Neither: the contrary.
    check(
        !(id(0).or(line("9 "))),
        &[],
        Want {
            rows: 750 - 75,
            requests: 2,
            fetched: &fetched,
            pruned: 9 + 2,
            skipped: 0,
        },
    );
    // Where the cheaper one turns out to hold for every row, the other is not read at all.
    let fetched = [("user", 0..10)];
    let anybody = Predicate::regex("user", regex::bytes::Regex::new("^(u|$)").unwrap());
    check(
        anybody.or(line("9 ")),
        &[],
        Want {
            rows: 1000,
            requests: 1,
            fetched: &fetched,
            pruned: 0,
            skipped: 10,
        },
    );
    // An absent column is null: a condition on it may decide everything.
    check(
        Predicate::equal("none", "x").and(line("0")),
        &["line"],
        Want {
            rows: 0,
            requests: 0,
            fetched: &[],
            pruned: 10,
            skipped: 0,
        },
    );
}

/// What is stored counts as well: it is fetched, whatever it claims to become.
#[test]
fn windows_bound_what_is_fetched() {
    let (_, mut meta) = section();
    for page in meta.columns.iter_mut().flat_map(|column| &mut column.pages) {
        page.raw_bytes = 0;
    }
    let options = ScanOptions {
        window_bytes: 25_000,
        ..ScanOptions::default()
    };
    let mut scan = Scan::new(&meta, &Predicate::all(), &["line".into()], options).unwrap();
    let Step::Fetch(ranges) = scan.step().unwrap() else {
        panic!("lines have to be fetched");
    };
    let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    assert_eq!(bytes, page_bytes(&meta, &[("line", 0..2)]));
}

#[test]
fn windows_bound_what_is_held_and_near_pages_share_requests() {
    let (object, meta) = section();
    let check = |window_bytes: u64, coalesce: CoalesceOptions, requests: u64, most_at_once: usize, requested: u64| {
        let options = ScanOptions {
            window_bytes,
            coalesce,
            ..ScanOptions::default()
        };
        let projection = ["id".into(), "line".into()];
        let mut scan = Scan::new(&meta, &Predicate::all(), &projection, options).unwrap();
        let mut reader = CountingReader {
            object: object.clone(),
            requests: 0,
            bytes: 0,
            most_at_once: 0,
        };
        let mut rows = 0;
        while let Some(batch) = scan.next_batch(&mut reader).unwrap() {
            rows += batch.len() as u64;
        }
        assert_eq!(rows, ROWS);
        assert_eq!(
            (reader.requests, reader.most_at_once, reader.bytes),
            (requests, most_at_once, requested)
        );
        assert_eq!(scan.counters().fetched.pages, 20);
    };
    let both = page_bytes(&meta, &[("id", 0..10), ("line", 0..10)]);
    let between = page_bytes(&meta, &[("time", 0..10), ("user", 0..10)]);
    let window = page_bytes(&meta, &[("id", 0..3), ("line", 0..3)]);
    // The two columns, apart.
    check(u64::MAX, TOUCHING, 2, 2, both);
    // Page by page, and three pages of each at a time: three windows of three and one of one.
    check(0, TOUCHING, 20, 2, both);
    check(window + 200, TOUCHING, 8, 2, both);
    // With what stands between read along, in one request.
    let near = CoalesceOptions {
        max_gap_bytes: between,
        ..TOUCHING
    };
    check(u64::MAX, near, 1, 1, both + between);
    // Large ranges are cut so that four are on their way at once, and never more pieces than lanes are made.
    let lanes = CoalesceOptions {
        min_fetch_bytes: 10_000,
        max_fetch_bytes: 1 << 20,
        parallelism: 4,
        max_gap_bytes: 0,
    };
    check(u64::MAX, lanes, 3, 3, both);
}
