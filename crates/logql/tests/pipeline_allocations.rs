//! Pipelines do not allocate per line in steady state: an allocator that counts says so.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use timberline_logql::ast::{Expr, LogExpr};
use timberline_logql::labels::LabelSet;
use timberline_logql::parse;
use timberline_logql::pipeline::{GroupLabels, Pipeline, Runner, Wants};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes on to the system allocator unchanged; counting touches a thread-local without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `alloc` took the memory from the system allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LINES: [&str; 6] = [
    r#"{"level":"error","status":503,"user":{"id":7,"name":"caf\u00e9 \"x\""},"roles":["a"],"latency":"1.5s","size":"2KB"}"#,
    r#"{"level":"info","status":"none","user":{"id":"#,
    r#"level=error status=503 msg="a \"quoted\" message" latency=1.5s size=2KB empty= "#,
    "\u{1b}[31mERROR\u{1b}[0m step 7 from 10.1.2.3 took 12ms",
    r#"{"pod":"p","_entry":"level=warn n=1"}"#,
    "plain text without structure",
];

const STAGES: [&str; 21] = [
    r#"|= "e" |~ "[a-z]+o" != "zzz" or "yyy" |> "<_> <_>""#,
    r#"|= ip("10.0.0.0/8")"#,
    "| json",
    "| json | status >= 500 | level=~\"err|warn\"",
    r#"| json name="user.name", id="user.id", missing"#,
    "| logfmt --keep-empty",
    "| logfmt --strict",
    r#"| logfmt level, text="msg" | level="error" or status > 5"#,
    r#"| regexp "(?P<word>[a-z]+) (?P<number>\\d+)?""#,
    r#"| pattern "<first> <second> <rest>""#,
    "| unpack | logfmt",
    r#"| json | line_format "{{.level}} {{.status}}" | logfmt"#,
    r#"| logfmt | label_format lvl=level, both="{{.lvl}}-{{.status}}" | latency > 1s | size < 1GB"#,
    r#"| decolorize | json | drop level, status="503" | keep user_id, pod"#,
    r#"| logfmt | line_format `{{.level | ToUpper | printf "%-8s|%q" .status}} {{trunc 3 .msg}} {{len __line__}}`"#,
    r#"| json | line_format `{{range $k, $v := .}}{{$k}}={{$v}} {{end}}{{.}}`"#,
    r#"| line_format `{{with fromJson __line__}}{{.user.name}} {{range .roles}}{{.}},{{end}}{{end}}`"#,
    r#"| logfmt | label_format x=`{{if and (eq .level "error") (gt (int .status) 500)}}{{add .status 1 | mul 2}}{{else}}{{divf .status 7}}{{end}}`"#,
    r#"| line_format `{{regexReplaceAll "(e)(r)" __line__ "$2$1"}} {{count "[0-9]+" __line__}} {{__line__ | replace "a" "bb" | title}}`"#,
    r#"| line_format `{{__timestamp__ | date "Mon Jan _2 15:04:05.000 MST 2006"}} {{toDateInZone "2006" "Europe/Paris" "2021" | unixEpoch}}`"#,
    r#"| logfmt | line_format `{{duration .latency}} {{bytes .size}} {{substr 9 10 .level}} {{urlencode .msg}} {{b64enc .msg}} {{html .msg}}`"#,
];

#[test]
fn no_stage_allocates_per_line() {
    for stages in STAGES {
        for wants in [Wants::All, Wants::Only(vec!["level".to_owned(), "status".to_owned()])] {
            let query = format!(r#"{{app="shop"}} {stages}"#);
            let Ok(Expr::Log(LogExpr { stages, .. })) = parse(&query) else {
                panic!("not a log query: {query}");
            };
            let mut runner = Runner::new(Arc::new(Pipeline::compile(&stages, &wants).unwrap()));
            let groups = [GroupLabels::all(), GroupLabels::by(["level", "app"])];
            let mut key = Vec::new();
            runner.start_stream(&LabelSet::from_pairs([("app", "shop"), ("level", "of the stream")]));
            let mut pass = || {
                for line in LINES {
                    let metadata = [("trace_id", &b"abc"[..]), ("app", b"other")];
                    if let Some(entry) = runner.process(0, line.as_bytes(), &metadata, false) {
                        key.clear();
                        entry.labels_key(&mut key);
                        groups.iter().for_each(|group| entry.group_key(group, &mut key));
                    }
                }
            };
            pass();
            pass();
            let before = ALLOCATIONS.get();
            pass();
            assert_eq!(ALLOCATIONS.get() - before, 0, "{query} {wants:?}");
        }
    }
}
