//! `format_query` (logql.md 20): queries and their canonical text, one case each in `data/format.txt`.

use timberline_logql::{format, parse};

#[test]
fn canonical_texts() {
    let mut failures = Vec::new();
    let cases: Vec<&str> = include_str!("data/format.txt").split("=== query\n").skip(1).collect();
    for case in &cases {
        let (query, want) = case.split_once("\n---\n").expect("--- before the text");
        let want = want.trim_end();
        let expr = parse(query).unwrap_or_else(|error| panic!("{query}\n{error}"));
        let page = format(&expr);
        if page != want {
            failures.push(format!("{query}\nwant\n{want}\nfound\n{page}"));
        }
        // What was formatted means the same, and formatting it again changes nothing; the one-line form means the same too.
        assert_eq!(parse(&page).as_ref(), Ok(&expr), "{page}");
        assert_eq!(parse(&page).map(|expr| format(&expr)), Ok(page), "{query}");
        assert_eq!(parse(&expr.to_string()).as_ref(), Ok(&expr), "{expr}");
    }
    assert!(cases.len() >= 100, "only {} cases", cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
