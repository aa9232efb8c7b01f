//! A scan gives what looking at every row gives: any section, any predicate, any projection.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use bytes::Bytes;
use common::Cell;
use proptest::prelude::*;
use std::ops::{Bound, Range};
use timberline_dataobj::*;

/// Columns that sections may have; `c` never is one.
const NAMES: [(&str, &str, Physical); 6] = [
    ("i", "", Physical::Int64),
    ("i", "two", Physical::Int64),
    ("b", "", Physical::Binary),
    ("b", "two", Physical::Binary),
    ("b", "three", Physical::Binary),
    ("c", "absent", Physical::Binary),
];

/// A column to be written: position in `NAMES`, cells, compression, statistics kept, pages cut after so many rows.
#[derive(Clone, Debug)]
struct Column {
    name: usize,
    cells: Vec<Cell>,
    compression: Compression,
    has_stats: bool,
}

fn cell(physical: Physical) -> BoxedStrategy<Cell> {
    match physical {
        Physical::Int64 => prop_oneof![
            2 => Just(Cell::Null),
            6 => (-4i64..5).prop_map(Cell::Int64),
            1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)].prop_map(Cell::Int64),
        ]
        .boxed(),
        _ => prop_oneof![
            2 => Just(Cell::Null),
            1 => Just(Cell::Binary(Vec::new())),
            5 => "[ab]{1,4}".prop_map(|s| Cell::Binary(s.into_bytes())),
            2 => "[abc]{10,30}".prop_map(|s| Cell::Binary(s.into_bytes())),
        ]
        .boxed(),
    }
}

/// Stretches of one cell and stretches of any cells, so that pages differ.
fn cells(physical: Physical, rows: usize) -> impl Strategy<Value = Vec<Cell>> {
    let stretch = prop_oneof![
        (cell(physical), 1usize..30).prop_map(|(cell, count)| vec![cell; count]),
        proptest::collection::vec(cell(physical), 1..30),
    ];
    (proptest::collection::vec(stretch, 1..8), 0..=rows).prop_map(move |(stretches, shorter)| {
        let mut cells = stretches.concat();
        // Columns may end early.
        cells.truncate(if shorter % 3 == 0 { shorter } else { rows });
        cells
    })
}

fn columns() -> impl Strategy<Value = Vec<Column>> {
    let column = |name: usize, rows: usize| {
        let compression = prop_oneof![Just(Compression::None), Just(Compression::Zstd)];
        (cells(NAMES[name].2, rows), compression, any::<bool>()).prop_map(move |(cells, compression, has_stats)| {
            Column {
                name,
                cells,
                compression,
                has_stats,
            }
        })
    };
    (1usize..120, proptest::sample::subsequence(vec![0, 1, 2, 3, 4], 1..=5))
        .prop_flat_map(move |(rows, names)| names.into_iter().map(|name| column(name, rows)).collect::<Vec<_>>())
}

fn test(physical: Physical) -> BoxedStrategy<Test> {
    let value = match physical {
        Physical::Int64 => prop_oneof![(-5i64..6), Just(i64::MIN), Just(i64::MAX)]
            .prop_map(Value::from)
            .boxed(),
        _ => "[ab]{0,3}".prop_map(|s| Value::from(s.as_str())).boxed(),
    };
    let bound = prop_oneof![
        value.clone().prop_map(Bound::Included),
        value.clone().prop_map(Bound::Excluded),
        Just(Bound::Unbounded)
    ];
    let comparison = prop_oneof![
        value.clone().prop_map(Test::Equal),
        proptest::collection::vec(value, 0..4).prop_map(Test::In),
        (bound.clone(), bound).prop_map(|(low, high)| Test::Range(low, high)),
    ];
    if physical == Physical::Int64 {
        return comparison.boxed();
    }
    let regex = |s: &str| Test::Regex(regex::bytes::Regex::new(s).unwrap());
    prop_oneof![
        comparison,
        "[ab]{0,2}".prop_map(|s| Test::Prefix(s.into_bytes())),
        "[abc]{0,3}".prop_map(|s| Test::Contains(s.into_bytes())),
        "[abc]{13,14}".prop_map(|s| Test::Contains(s.into_bytes())),
        prop_oneof![Just("^a"), Just("b$"), Just("a.b"), Just("^$"), Just("(?i)AB|cc")].prop_map(regex),
    ]
    .boxed()
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let leaf = (0..NAMES.len()).prop_flat_map(|name| {
        let (logical, tag, physical) = NAMES[name];
        test(physical).prop_map(move |test| Predicate::Column(ColumnName::new(logical, tag), test))
    });
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Predicate::And),
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Predicate::Or),
            inner.prop_map(|inner| Predicate::Not(Box::new(inner))),
        ]
    })
}

fn write(columns: &[Column], options: &WriterOptions) -> Bytes {
    let kind = SectionKind::Unknown {
        namespace: "test".into(),
        kind: "test".into(),
    };
    let mut section = SectionWriter::new(kind, 1, "t", options);
    let mut order = Vec::new();
    for column in columns {
        let (logical, tag, physical) = NAMES[column.name];
        let id = section.add_column(ColumnSpec {
            physical,
            logical: logical.into(),
            tag: tag.into(),
            compression: column.compression,
            range: column.has_stats,
            cardinality: false,
        });
        order.push(id);
        for (row, cell) in column.cells.iter().enumerate() {
            match cell {
                Cell::Null => section.append_null(id, row as u64).unwrap(),
                Cell::Int64(value) => section.append_int64(id, row as u64, *value).unwrap(),
                Cell::Binary(value) => section.append_binary(id, row as u64, value).unwrap(),
            }
        }
    }
    let mut object = ObjectWriter::new();
    object.push_section(section.finish(&order, None).unwrap());
    object.finish().unwrap().into()
}

/// Takes statistics away, as another writer may have left them out: all of a page's, or one end.
fn weaken(meta: &mut SectionMeta, mut choices: impl Iterator<Item = u8>) {
    for page in meta.columns.iter_mut().flat_map(|column| &mut column.pages) {
        match (choices.next(), &mut page.stats) {
            (Some(0), stats) => *stats = None,
            (Some(1), Some(stats)) => stats.min = None,
            (Some(2), Some(stats)) => stats.max = None,
            _ => {}
        }
    }
}

/// The rules of [`Predicate`], a row at a time.
fn meets(predicate: &Predicate, cell: &dyn Fn(&ColumnName) -> Cell) -> bool {
    match predicate {
        Predicate::And(parts) => parts.iter().all(|part| meets(part, cell)),
        Predicate::Or(parts) => parts.iter().any(|part| meets(part, cell)),
        Predicate::Not(inner) => !meets(inner, cell),
        Predicate::Column(name, test) => passes(test, &cell(name)),
    }
}

fn passes(test: &Test, cell: &Cell) -> bool {
    // Null sorts before everything; beside byte strings it is the empty one.
    let bytes = match cell {
        Cell::Binary(value) => value.as_slice(),
        _ => b"",
    };
    let compare = |value: &Value| match (cell, value) {
        (Cell::Int64(cell), Value::Int64(value)) => cell.cmp(value),
        (Cell::Null, Value::Int64(_)) => std::cmp::Ordering::Less,
        (_, Value::Binary(value)) => bytes.cmp(value.as_slice()),
        _ => panic!("types differ"),
    };
    match test {
        Test::Equal(value) => compare(value).is_eq(),
        Test::In(values) => *cell != Cell::Null && values.iter().any(|value| compare(value).is_eq()),
        Test::Range(low, high) => {
            let is_above = match low {
                Bound::Included(low) => compare(low).is_ge(),
                Bound::Excluded(low) => compare(low).is_gt(),
                Bound::Unbounded => true,
            };
            is_above
                && match high {
                    Bound::Included(high) => compare(high).is_le(),
                    Bound::Excluded(high) => compare(high).is_lt(),
                    Bound::Unbounded => true,
                }
        }
        Test::Prefix(prefix) => bytes.starts_with(prefix),
        Test::Contains(needle) => needle.is_empty() || bytes.windows(needle.len()).any(|window| window == needle),
        Test::Regex(regex) => regex.is_match(bytes),
    }
}

/// Rows with the cells of the projection.
type Rows = Vec<(u64, Vec<Cell>)>;

fn naive(columns: &[Column], rows: u64, predicate: &Predicate, projection: &[ColumnName]) -> Rows {
    let cell = |row: u64, name: &ColumnName| {
        let is_named = |column: &&Column| {
            let (logical, tag, _) = NAMES[column.name];
            *name == ColumnName::new(logical, tag)
        };
        let column = columns.iter().find(is_named);
        column
            .and_then(|column| column.cells.get(row as usize))
            .cloned()
            .unwrap_or(Cell::Null)
    };
    (0..rows)
        .filter(|row| meets(predicate, &|name| cell(*row, name)))
        .map(|row| (row, projection.iter().map(|name| cell(row, name)).collect()))
        .collect()
}

fn scanned(scan: &mut Scan<'_>, mut object: Bytes, batch_rows: usize) -> Rows {
    let mut rows = Rows::new();
    while let Some(batch) = scan.next_batch(&mut object).unwrap() {
        assert!(!batch.is_empty() && batch.len() <= batch_rows);
        assert!(batch.columns.iter().all(|values| values.len() == batch.len()));
        for (i, row) in batch.rows.ranges().iter().cloned().flatten().enumerate() {
            let cell = |values: &ColumnValues| match (values.int64(i), values.bytes(i)) {
                (Some(value), _) => Cell::Int64(value),
                (_, Some(value)) => Cell::Binary(value.to_vec()),
                _ => Cell::Null,
            };
            rows.push((row, batch.columns.iter().map(cell).collect()));
        }
    }
    rows
}

fn check_counters(counters: &ScanCounters, rows: &Rows) {
    let ScanCounters {
        considered,
        pruned,
        skipped,
        fetched,
        ..
    } = *counters;
    assert_eq!(considered.pages, pruned.pages + skipped.pages + fetched.pages);
    assert_eq!(considered.bytes, pruned.bytes + skipped.bytes + fetched.bytes);
    assert_eq!(counters.rows_kept, rows.len() as u64);
    assert!(counters.rows_kept <= counters.rows - counters.rows_pruned);
    assert!(counters.requested_bytes >= fetched.bytes);
    // Once for few rows, once for all.
    assert!(counters.decoded.pages <= 2 * fetched.pages);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_scan_agrees_with_looking_at_every_row(
        columns in columns(),
        predicates in proptest::collection::vec(predicate(), 4),
        projection in proptest::collection::vec(0..NAMES.len(), 0..5),
        (page_bytes, page_rows) in (20usize..300, prop_oneof![Just(0usize), 1usize..40]),
        weakness in proptest::collection::vec(0u8..6, 0..30),
        (batch_rows, window_bytes) in (1usize..50, prop_oneof![Just(0u64), 50u64..1000, Just(u64::MAX)]),
        max_gap_bytes in 0u64..100,
    ) {
        let options = WriterOptions { page_bytes, page_rows, zstd_level: 1, cut: PageCut::Independent };
        let object = write(&columns, &options);
        let layout = common::layout(&object).unwrap();
        let section = &layout.sections()[0];
        let mut meta = SectionMeta::parse(section, common::slice(&object, &section.metadata)).unwrap();
        weaken(&mut meta, weakness.into_iter());
        let projection: Vec<ColumnName> = projection.iter().map(|i| ColumnName::new(NAMES[*i].0, NAMES[*i].1)).collect();

        let coalesce = CoalesceOptions { max_gap_bytes, max_fetch_bytes: 200, min_fetch_bytes: 30, parallelism: 3 };
        let options = ScanOptions { batch_rows, window_bytes, coalesce, ..ScanOptions::default() };
        for predicate in &predicates {
            let mut scan = Scan::new(&meta, predicate, &projection, options.clone()).unwrap();
            let rows = scanned(&mut scan, object.clone(), batch_rows);
            check_counters(scan.counters(), &rows);
            prop_assert_eq!(rows, naive(&columns, meta.rows, predicate, &projection), "{:?}", predicate);
        }
    }
}

/// Hits of a needle in the memory behind values count only if they lie within one of them.
#[test]
fn a_needle_across_two_values_is_in_neither() {
    let lines = [
        "0123456789abcdef",
        "ghijklmnopqrstuv",
        "f",
        "g",
        "0123456789abcdefg",
        "",
        "xfgx",
    ];
    let cells: Vec<Cell> = lines
        .iter()
        .cycle()
        .take(140)
        .map(|s| Cell::Binary(s.as_bytes().to_vec()))
        .collect();
    let columns = [Column {
        name: 2,
        cells,
        compression: Compression::None,
        has_stats: false,
    }];
    let object = write(&columns, &WriterOptions::default());
    let layout = common::layout(&object).unwrap();
    let section = &layout.sections()[0];
    let meta = SectionMeta::parse(section, common::slice(&object, &section.metadata)).unwrap();
    let check = |needle: &str| {
        let predicate = Predicate::contains("b", needle);
        let mut scan = Scan::new(&meta, &predicate, &["b".into()], ScanOptions::default()).unwrap();
        assert_eq!(
            scanned(&mut scan, object.clone(), 8192),
            naive(&columns, 140, &predicate, &["b".into()]),
            "{needle}"
        );
    };
    // The second value's length, 16, stands between.
    check("f\x10g");
    check("fg");
    check("f");
    check("abcdef");
    check("0123456789abcdefg");
    check("");
}

#[test]
fn tests_that_do_not_fit_their_column_are_refused() {
    let columns = [
        Column {
            name: 0,
            cells: vec![Cell::Int64(1)],
            compression: Compression::None,
            has_stats: true,
        },
        Column {
            name: 2,
            cells: vec![Cell::Binary(b"a".to_vec())],
            compression: Compression::None,
            has_stats: true,
        },
    ];
    let object = write(&columns, &WriterOptions::default());
    let layout = common::layout(&object).unwrap();
    let section = &layout.sections()[0];
    let meta = SectionMeta::parse(section, common::slice(&object, &section.metadata)).unwrap();
    let check = |predicate: Predicate, want: &str| {
        let error = Scan::new(&meta, &predicate, &[], ScanOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), want);
    };
    let on_i = "predicate: test of column i \"\" is for byte strings, the column holds integers";
    check(Predicate::equal("i", "a"), on_i);
    check(!Predicate::contains("i", "1"), on_i);
    let on_b = "predicate: test of column b \"\" is for integers, the column holds byte strings";
    check(Predicate::range("b", 1i64..), on_b);
    check(
        Predicate::is_in("b", [Value::from(1), Value::from("a")]),
        "predicate: test of column b \"\" mixes integers and byte strings in one test",
    );
    check(
        Predicate::equal("b", Value::Uint64(1)),
        "predicate: test of column b \"\" compares with an unsigned integer, of which no column can be read",
    );
}

/// Whoever asks again before giving what was asked for gets the same answer; bodies of wrong sizes are refused.
#[test]
fn a_scan_insists_on_what_it_wants() {
    let cells = (0..50).map(Cell::Int64).collect();
    let columns = [Column {
        name: 0,
        cells,
        compression: Compression::None,
        has_stats: true,
    }];
    let object = write(&columns, &WriterOptions::default());
    let layout = common::layout(&object).unwrap();
    let section = &layout.sections()[0];
    let meta = SectionMeta::parse(section, common::slice(&object, &section.metadata)).unwrap();
    let mut scan = Scan::new(&meta, &Predicate::all(), &["i".into()], ScanOptions::default()).unwrap();
    let wanted = |scan: &mut Scan<'_>| match scan.step().unwrap() {
        Step::Fetch(ranges) => ranges,
        other => panic!("{other:?}"),
    };
    let ranges: Vec<Range<u64>> = wanted(&mut scan);
    let page = &meta.columns[0].pages[0].range;
    assert_eq!(ranges, std::slice::from_ref(page));
    for bad in [vec![], vec![Bytes::new()], vec![object.clone()]] {
        let message = scan.supply(&bad).unwrap_err().to_string();
        assert!(message.starts_with("corrupt: section 0"), "{message}");
        assert_eq!(wanted(&mut scan), ranges);
    }
    scan.supply(&[object.slice(page.start as usize..page.end as usize)])
        .unwrap();
    assert!(matches!(scan.step().unwrap(), Step::Batch(batch) if batch.len() == 50));
    assert!(matches!(scan.step().unwrap(), Step::Done));
    assert!(matches!(scan.step().unwrap(), Step::Done));
    let error = scan_of_a_short_object(&meta, &object[..page.end as usize - 1]);
    assert!(error.starts_with("corrupt: header"), "{error}");
}

fn scan_of_a_short_object(meta: &SectionMeta, mut object: &[u8]) -> String {
    let mut scan = Scan::new(meta, &Predicate::all(), &["i".into()], ScanOptions::default()).unwrap();
    scan.next_batch(&mut object).unwrap_err().to_string()
}
