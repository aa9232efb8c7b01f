//! What is refused, and where: queries with the start of the message, one case each in `data/errors.txt` (logql.md 2, 3,
//! 13 to 15, 19).

use timberline_logql::parse;

#[test]
fn refused_where_and_with_the_words_of_the_catalogue() {
    let mut failures = Vec::new();
    let cases: Vec<&str> = include_str!("data/errors.txt").split("=== query\n").skip(1).collect();
    for case in &cases {
        let (query, want) = case.split_once("\n---\n").expect("--- before the message");
        match parse(query) {
            Ok(expr) => failures.push(format!("{query}\n  accepted as {expr}")),
            Err(error) if error.to_string().starts_with(want.trim_end()) => {}
            Err(error) => failures.push(format!("{query}\n  want  {}\n  found {error}", want.trim_end())),
        }
    }
    assert!(cases.len() >= 150, "only {} cases", cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
