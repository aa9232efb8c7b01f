//! Text and tree are two forms of the same thing, for any query; and no text makes the parser panic.

mod generator;

use proptest::prelude::*;
use timberline_logql::{format, parse, parse_labels, parse_selector, validate};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_queries_read_back(expr in generator::expr()) {
        prop_assert_eq!(validate(&expr), Ok(()));
        let line = expr.to_string();
        prop_assert_eq!(parse(&line), Ok(expr.clone()), "{}", line);
        let page = format(&expr);
        prop_assert_eq!(parse(&page), Ok(expr), "{}", page);
    }

    #[test]
    fn formatting_twice_changes_nothing(expr in generator::expr()) {
        let page = format(&expr);
        let again = parse(&page).map(|expr| format(&expr));
        prop_assert_eq!(again.as_ref(), Ok(&page));
    }

    /// Queries with a part cut out or doubled get far into the grammar before they fail.
    #[test]
    fn damaged_queries_do_not_panic(
        expr in generator::expr(),
        from in any::<prop::sample::Index>(),
        length in 0..20_usize,
        double in any::<bool>(),
    ) {
        let chars: Vec<char> = expr.to_string().chars().collect();
        let from = from.index(chars.len());
        let to = (from + length).min(chars.len());
        let middle = if double { &chars[from..to] } else { &[] };
        let damaged: String = [&chars[..to], middle, &chars[to..]].concat().into_iter().collect();
        let cut: String = [&chars[..from], middle, &chars[to..]].concat().into_iter().collect();
        for text in [damaged, cut] {
            if let Ok(expr) = parse(&text) {
                prop_assert_eq!(parse(&expr.to_string()), Ok(expr), "{}", text);
            }
            let _ = (parse_selector(&text), parse_labels(&text));
        }
    }

    #[test]
    fn arbitrary_texts_do_not_panic(text in "\\PC{0,40}") {
        let _ = (parse(&text), parse_selector(&text), parse_labels(&text));
    }
}
