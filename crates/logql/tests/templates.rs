//! Templates against what Go's `text/template` and its `fmt`, `strconv` and `time` make of them: cases in a file.

use std::sync::Arc;

use proptest::prelude::*;
use timberline_logql::ast::Stage;
use timberline_logql::labels::LabelSet;
use timberline_logql::pipeline::{Environment, Pipeline, Runner, Wants};

const CASES: &str = include_str!("cases/templates.txt");

/// The labels of the entry.
const LABELS: [(&str, &[u8]); 9] = [
    ("a", b"Hello, World"),
    ("b", b"7.9"),
    ("bad", b"x\xff\xc3y"),
    ("d", b"1m30s"),
    ("e", b""),
    ("j", br#"{"a":{"b":[1,2.5,"x",null,true]},"k":1e6,"s":"q"}"#),
    ("n", b"42"),
    ("u", "héllo wörld ☃".as_bytes()),
    ("z", b"0"),
];
const LINE: &[u8] = br#"level=info msg="a line""#;
const TIMESTAMP_NS: i64 = 1_780_318_497_123_450_000;
const NOW_NS: i64 = 1_780_318_800_000_000_000;

/// What becomes of a template: `= output`, `! error of the expansion` or `? error of the template`.
fn outcome(template: &str) -> String {
    let environment = Environment {
        now_ns: NOW_NS,
        ..Environment::default()
    };
    let stages = [Stage::LineFormat(template.to_owned())];
    let pipeline = match Pipeline::compile_in(&stages, &Wants::All, &environment) {
        Ok(pipeline) => pipeline,
        Err(error) => {
            let text = error.to_string();
            let message = text
                .split_once("invalid line template: ")
                .map_or(text.as_str(), |(_, m)| m);
            return format!("? {}", escaped(message.as_bytes()));
        }
    };
    let mut runner = Runner::new(Arc::new(pipeline));
    runner.start_stream(&LabelSet::default());
    // What a first entry leaves in the buffers must not matter.
    let _ = runner.process(1, b"first", &[("a", b"[]"), ("left", b"over")], false);
    let entry = runner
        .process(TIMESTAMP_NS, LINE, &LABELS, false)
        .expect("no stage drops the entry");
    match entry.get("__error_details__") {
        Some(details) => {
            assert_eq!(entry.get("__error__"), Some(&b"TemplateFormatErr"[..]));
            assert_eq!(entry.line, LINE, "a template that fails leaves the line");
            format!("! {}", escaped(details))
        }
        None => format!("= {}", escaped(entry.line)),
    }
}

fn escaped(text: &[u8]) -> String {
    let mut out = String::new();
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

#[test]
fn templates_do_as_in_go() {
    let mut lines = CASES.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut failures = Vec::new();
    let mut count = 0;
    while let (Some(template), Some(want)) = (lines.next(), lines.next()) {
        let template = template.strip_prefix("> ").expect("a case begins with `> `");
        let got = outcome(&template.replace("⏎", "\n"));
        count += 1;
        if got != want {
            failures.push(format!("{template}\n  want {want}\n  got  {got}"));
        }
    }
    assert!(count > 280, "only {count} cases");
    assert!(
        failures.is_empty(),
        "{} of {count} differ\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Scraps that templates are made of, so that many of them parse and all of the functions are called.
fn any_template() -> impl Strategy<Value = String> {
    let names: Vec<String> = CASES
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.len() > 1 && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .map(str::to_owned)
        .collect();
    let operand = prop_oneof![
        prop::sample::select(vec![
            ".",
            "$",
            ".a",
            ".bad",
            ".b",
            ".u",
            ".j",
            ".e",
            "-1",
            "0",
            "3",
            "99999999",
            "1.5",
            "nil",
            "true",
            "now",
            "__line__",
            "\"%v %5.2f %q\"",
            "\"x*\"",
            "\"\"",
            "\"2006 Jan _2 MST .000\"",
            "(fromJson .j)",
            "(fromJson .j).a.b",
        ])
        .prop_map(str::to_owned),
        prop::sample::select(names),
    ];
    let command = prop::collection::vec(operand, 1..5).prop_map(|words| words.join(" "));
    let pipeline = prop::collection::vec(command, 1..4).prop_map(|commands| commands.join(" | "));
    let piece = (pipeline, 0..9_usize).prop_map(|(pipeline, form)| match form {
        0 => format!("{{{{if {pipeline}}}}}x{{{{else}}}}y{{{{end}}}}"),
        1 => format!("{{{{range $k, $v := {pipeline}}}}}{{{{$k}}}}{{{{printf \"%v\" .}}}}{{{{end}}}}"),
        2 => format!("{{{{with {pipeline}}}}}{{{{.}}}}{{{{end}}}}"),
        3 => format!("{{{{$x := {pipeline}}}}}{{{{$x}}}}"),
        4 => pipeline,
        _ => format!("{{{{{pipeline}}}}}"),
    });
    prop_oneof![
        prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat()),
        prop::collection::vec(
            prop::sample::select(vec![
                "{{", "}}", "-", " ", "/*", "*/", "(", ")", "|", ".", "$", "x", ":=", "\"", "`", "'", "\\", "if",
                "end", "else", "1", "é",
            ]),
            0..25
        )
        .prop_map(|scraps| scraps.concat()),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_template_panics(template in any_template()) {
        // Twice, because the second run meets the caches of the first.
        prop_assert_eq!(outcome(&template), outcome(&template));
    }
}
