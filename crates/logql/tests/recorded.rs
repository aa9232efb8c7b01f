//! Queries that were sent to the peer: what it accepts must parse, what it refuses must be refused with the same text.

use timberline_logql::{format, parse};

const RECORDED: &str = include_str!("data/recorded.tsv");

/// Our texts where they differ on purpose: Go's type names and spliced expressions help nobody.
const OTHER_TEXTS: [(&str, &str); 2] = [
    (": *syntax.MatchersExpr", ": log query"),
    (
        "invalid regex in label_replace: error parsing regexp: missing closing ]: `[)$`",
        "invalid regex in label_replace: error parsing regexp: missing closing ]: `[`",
    ),
];

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            (_, Some('n')) => plain.push('\n'),
            (_, Some('t')) => plain.push('\t'),
            (_, Some(escaped)) => plain.push(escaped),
            (c, None) => plain.push(c),
        }
    }
    plain
}

#[test]
fn queries_are_accepted_and_refused_as_recorded() {
    let mut failures = Vec::new();
    let mut count = 0;
    for row in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = row.split('\t').collect();
        let [kind, error, query] = fields.as_slice() else {
            panic!("row with {} fields: {row}", fields.len())
        };
        let (query, mut want) = (unescape(query), unescape(error));
        for (theirs, ours) in OTHER_TEXTS {
            want = want.replace(theirs, ours);
        }
        count += 1;
        match (*kind, parse(&query)) {
            ("accept" | "template", Ok(expr)) => {
                for text in [expr.to_string(), format(&expr)] {
                    if parse(&text).as_ref() != Ok(&expr) {
                        failures.push(format!("{query}\n  prints as {text}"));
                    }
                }
            }
            ("accept" | "template", Err(error)) => failures.push(format!("{query}\n  refused: {error}")),
            ("refuse", Err(error)) if error.to_string() == want => {}
            ("refuse", Err(error)) => failures.push(format!("{query}\n  want {want}\n  got  {error}")),
            (_, Ok(_)) => failures.push(format!("{query}\n  accepted, want {want}")),
            (kind, _) => panic!("unknown kind {kind}"),
        }
    }
    assert!(count > 400, "only {count} rows");
    assert!(
        failures.is_empty(),
        "{} of {count} differ\n{}",
        failures.len(),
        failures.join("\n")
    );
}
