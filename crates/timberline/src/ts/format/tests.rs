use super::*;

/// Series with awkward keys, labels, timestamps and values.
fn awkward() -> Vec<Record> {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let series = |key: &[u8], labels: Labels, samples: Vec<Sample>| Record {
        line: 0,
        key: key.to_vec(),
        labels,
        samples,
    };
    let values = [
        0.1,
        -0.0,
        5e-324,
        f64::MAX,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e15,
        9007199254740993.0,
    ];
    vec![
        series(
            b"plain",
            vec![(bytes("site"), bytes("north"))],
            vec![(0, 1.0), (i64::MAX, 2.0)],
        ),
        series(
            "komma, \"quote\"\nline\r\n\u{1f600}".as_bytes(),
            vec![
                (bytes("a,\"b"), bytes("c\\\n")),
                (bytes("twice"), bytes("1")),
                (bytes("twice"), bytes("2")),
            ],
            values.iter().enumerate().map(|(i, value)| (i as i64, *value)).collect(),
        ),
        series(b"\xff\x00raw", vec![(bytes("a"), vec![0xfe])], vec![(7, 7.0)]),
        series(b"", Labels::new(), vec![(1, 1.0)]),
        series(
            b" blanks ",
            Labels::new(),
            (0..2500).map(|i| (i * 10, i as f64 / 4.0)).collect(),
        ),
    ]
}

fn written(format: Format, series: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = format.writer(Box::new(&mut bytes)).unwrap();
    for record in series {
        writer.start(&record.key, &record.labels).unwrap();
        writer.samples(&record.samples).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    bytes
}

fn read(format: Format, bytes: &[u8]) -> Vec<Result<Record, (u64, String)>> {
    let mut reader = format.reader(Box::new(io::Cursor::new(bytes.to_vec()))).unwrap();
    std::iter::from_fn(|| reader.next())
        .map(|record| {
            record.map_err(|error| match error {
                Unreadable::Line { line, mistake } => (line, mistake),
                Unreadable::File(error) => panic!("{error}"),
            })
        })
        .collect()
}

/// Puts records of the same series together.
fn joined(records: Vec<Result<Record, (u64, String)>>) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    for record in records.into_iter().map(Result::unwrap) {
        match all.last_mut() {
            Some(last) if last.key == record.key => last.samples.extend(record.samples),
            _ => all.push(record),
        }
    }
    all
}

/// Everything that a record holds, to the bit.
fn exactly(record: &Record) -> (Vec<u8>, Vec<(i64, u64)>) {
    let samples = record
        .samples
        .iter()
        .map(|(timestamp, value)| (*timestamp, value.to_bits()));
    (record.key.clone(), samples.collect())
}

#[test]
fn what_is_written_is_read_back() {
    for format in [Format::Csv, Format::JsonLines] {
        let series = awkward();
        let back = joined(read(format, &written(format, &series)));
        assert_eq!(
            back.iter().map(exactly).collect::<Vec<_>>(),
            series.iter().map(exactly).collect::<Vec<_>>(),
            "{format:?}"
        );
        if format == Format::JsonLines {
            for (got, want) in back.iter().zip(&series) {
                assert_eq!(got.labels, want.labels);
            }
        }
    }
}

#[test]
fn series_without_samples_are_kept_by_json_lines() {
    let empty = Record {
        key: b"empty".to_vec(),
        labels: vec![(b"a".to_vec(), b"b".to_vec())],
        ..Record::default()
    };
    let series = [empty.clone(), awkward().remove(0), empty];
    let back = joined(read(Format::JsonLines, &written(Format::JsonLines, &series)));
    assert_eq!(
        back.iter().map(exactly).collect::<Vec<_>>(),
        series.iter().map(exactly).collect::<Vec<_>>()
    );
    assert_eq!(joined(read(Format::Csv, &written(Format::Csv, &series))).len(), 1);
}

#[test]
fn how_lines_look() {
    let series = &awkward()[..1];
    let text = |format| String::from_utf8(written(format, series)).unwrap();
    assert_eq!(
        text(Format::Csv),
        "key,timestamp,value\nplain,0,1\nplain,9223372036854775807,2\n"
    );
    assert_eq!(
        text(Format::JsonLines),
        "{\"key\":\"plain\",\"labels\":{\"site\":\"north\"},\"timestamps\":[0,9223372036854775807],\"values\":[1,2]}\n"
    );
}

#[test]
fn lines_of_others() {
    let f = |format, text: &str, want: &[(i64, f64)]| {
        let samples: Vec<Sample> = joined(read(format, text.as_bytes()))
            .into_iter()
            .flat_map(|record| record.samples)
            .collect();
        assert_eq!(samples, want, "{text}");
    };
    f(Format::Csv, "value,key,timestamp\n5,a,1\n", &[(1, 5.0)]);
    f(
        Format::Csv,
        "key, timestamp, value\na, 1, 5e0\n\n\"a\",2,+.5",
        &[(1, 5.0), (2, 0.5)],
    );
    f(
        Format::Csv,
        "key,timestamp,value\na,1970-01-01T00:00:01.5Z,1\n",
        &[(1500, 1.0)],
    );
    f(
        Format::JsonLines,
        "\n{\"key\":\"a\",\"timestamp\":3,\"value\":\"inf\"}\r\n",
        &[(3, f64::INFINITY)],
    );
    f(Format::JsonLines, "{\"key\":\"a\"}", &[]);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let f = |format, text: &str, line: u64, mistake: &str| {
        let records = read(format, text.as_bytes());
        let wrong: Vec<_> = records.iter().filter_map(|record| record.as_ref().err()).collect();
        assert_eq!(wrong.len(), 1, "{text}: {records:?}");
        assert!(
            wrong[0].0 == line && wrong[0].1.contains(mistake),
            "{text}: {:?}",
            wrong[0]
        );
        assert!(records.last().unwrap().is_ok(), "{text}: the next line is read");
    };
    let csv = |row: &str| format!("key,timestamp,value\na,1,1\n{row}\na,2,2\n");
    f(Format::Csv, &csv("a,x,1"), 3, "not a timestamp");
    f(Format::Csv, &csv("a,-1,1"), 3, "a timestamp before 0");
    f(Format::Csv, &csv("a,1,one"), 3, "not a value");
    f(Format::Csv, &csv("a,1"), 3, "2 fields");
    let json = |line: &str| format!("{{\"key\":\"a\"}}\n{line}\n{{\"key\":\"b\"}}\n");
    f(Format::JsonLines, &json("{\"key\":1}"), 2, "not as expected");
    f(Format::JsonLines, &json("{}"), 2, "missing field `key`");
    f(
        Format::JsonLines,
        &json("{\"key\":\"a\",\"time\":1}"),
        2,
        "unknown field `time`",
    );
    f(
        Format::JsonLines,
        &json("{\"key\":\"a\",\"timestamps\":[1],\"values\":[]}"),
        2,
        "not as many",
    );
    f(
        Format::JsonLines,
        &json("{\"key\":\"a\",\"timestamp\":1}"),
        2,
        "not as many",
    );
    f(
        Format::JsonLines,
        &json("{\"key\":\"a\",\"timestamps\":[1],\"values\":[null]}"),
        2,
        "not a value",
    );
    f(Format::JsonLines, &json("{\"key\":{\"hex\":\"0\"}}"), 2, "hexadecimal");
}

#[test]
fn files_without_headings_are_refused() {
    for text in ["", "a,1,2\n", "key,timestamp\n", "key,timestamp,value,more\n"] {
        assert!(
            Format::Csv
                .reader(Box::new(io::Cursor::new(text.as_bytes().to_vec())))
                .is_err(),
            "{text}"
        );
    }
}

#[test]
fn formats_by_name() {
    let f = |name: Option<&str>, want| assert_eq!(Format::of(name.map(Path::new)), want, "{name:?}");
    f(None, Format::Csv);
    f(Some("a.csv"), Format::Csv);
    f(Some("a.jsonl"), Format::JsonLines);
    f(Some("a.ndjson"), Format::JsonLines);
    f(Some("-"), Format::Csv);
}
