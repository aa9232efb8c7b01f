//! Query texts: an error, or a tree that prints as a text of the same meaning, on one line and formatted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_fuzz::memory;
use timberline_logql::{format, parse, parse_labels, parse_selector};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    memory::bounded(memory::of_query(text.len()), || {
        if let Ok(labels) = parse_labels(text) {
            assert_eq!(parse_labels(&labels.to_string()).as_ref(), Ok(&labels));
        }
        let _ = parse_selector(text);
        let Ok(expr) = parse(text) else { return };
        let line = expr.to_string();
        assert_eq!(parse(&line).as_ref(), Ok(&expr), "{line}");
        let page = format(&expr);
        assert_eq!(parse(&page).as_ref(), Ok(&expr), "{page}");
        assert_eq!(parse(&page).map(|expr| format(&expr)), Ok(page));
    });
});
