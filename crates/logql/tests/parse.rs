//! How texts are read: spellings that mean the same, and the canonical text of each.

use timberline_logql::{format, parse};

/// The query prints as `want`, and that reads back as the same tree.
fn prints(query: &str, want: &str) {
    let expr = parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    assert_eq!(expr.to_string(), want, "{query}");
    assert_eq!(parse(want), Ok(expr), "{query}");
}

/// Both texts mean the same.
fn same(left: &str, right: &str) {
    let read = |text: &str| parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(read(left), read(right), "{left} and {right}");
}

/// The text with each word of one of the letters `a` to `d` as a metric of that name.
fn metrics(text: &str) -> String {
    let metric = |word: &str| match word {
        "a" | "b" | "c" | "d" => format!("rate({{m=\"{word}\"}}[1m])"),
        other => other.to_owned(),
    };
    text.split(' ').map(metric).collect::<Vec<_>>().join(" ")
}

#[test]
fn operator_precedence() {
    let equal = |left: &str, right: &str| same(&metrics(left), &metrics(right));
    equal("a or b and c", "a or ( b and c )");
    equal("a or b or c", "( a or b ) or c");
    equal("a and b unless c", "( a and b ) unless c");
    equal("a and b == c", "a and ( b == c )");
    equal("a == b + c", "a == ( b + c )");
    equal("a > bool 1 == 2", "( a > bool 1 ) == 2");
    equal("a - b - c", "( a - b ) - c");
    equal("a + b * c", "a + ( b * c )");
    equal("a / b % c", "( a / b ) % c");
    equal("a * b ^ c", "a * ( b ^ c )");
    equal("a ^ b ^ c", "a ^ ( b ^ c )");
    equal("-2 ^ 2", "( -2 ) ^ 2");
    equal("1 - -2", "1 - ( - 2 )");
    equal("1 -2", "1 - 2");
    equal("a != b", "( a ) != ( b )");
    equal("a + on ( x ) group_left b", "a + on ( x ) group_left ( ) b");
}

#[test]
fn label_filter_precedence() {
    let equal = |left: &str, right: &str| same(&format!("{{s=\"t\"}} | {left}"), &format!("{{s=\"t\"}} | {right}"));
    equal("a=1 and b=2 or c=3", "(a=1 and b=2) or c=3");
    equal("a=1 or b=2 and c=3", "a=1 or (b=2 and c=3)");
    equal("a=1 or b=2 or c=3", "(a=1 or b=2) or c=3");
    equal("a=1, b=2 or c=3", "a=1, (b=2 or c=3)");
    equal("a=1 b=2 or c=3", "a=1, (b=2 or c=3)");
    equal("a=1 or b=2, c=3", "a=1 or (b=2, c=3)");
    equal("a=1 and b=2, c=3 or d=4", "a=1 and (b=2, (c=3 or d=4))");
    equal("a=1 (b=2 or c=3)", "a=1, (b=2 or c=3)");
    equal("(a=1)", "a=1");
    equal("a==1", "a=1");
    assert_ne!(
        parse("{s=\"t\"} | a=1 | b=2 or c=3"),
        parse("{s=\"t\"} | a=1 b=2 or c=3")
    );
}

#[test]
fn canonical_text() {
    prints("  {app = `a\"b`,c!=\"\"}#x\n|=\"x\"", r#"{app="a\"b", c!=""} |= "x""#);
    prints(
        "{a=\"b\"} // x\n /* y */ |~ \"c\" or \"d\" != ip(\"::1\") !~`e` |> \"<_>\" !> ``",
        r#"{a="b"} |~ "c" or "d" != ip("::1") !~ "e" |> "<_>" !> """#,
    );
    prints(
        "{a=\"\\x41\\102\\u00e9\\U0001F600\\a\\b\\f\\n\\r\\t\\v\\\\\\\"\\xc3\\xa9\"}",
        "{a=\"ABé😀\\x07\\x08\\x0c\\n\\r\\t\\x0b\\\\\\\"é\"}",
    );
    prints(
        "{ip=\"x\",rate=\"y\",größe=\"z\"} | rate > 3 | Bytes > 5KB",
        r#"{ip="x", rate="y", größe="z"} | rate>3 | Bytes>5.0kB"#,
    );
    prints(
        "{a=\"b\"} | JSON x, y=\"z[0]\" | logfmt --strict --keep-empty k | Unpack | decolorize",
        r#"{a="b"} | json x="x",y="z[0]" | logfmt --strict --keep-empty k="k" | unpack | decolorize"#,
    );
    prints(
        "{a=\"b\"} | regexp `(?P<x>y)` | pattern \"<x> y\" | line_format `{{.x}}` | label_format a=b, c=`{{.d}}`",
        r#"{a="b"} | regexp "(?P<x>y)" | pattern "<x> y" | line_format "{{.x}}" | label_format a=b,c="{{.d}}""#,
    );
    prints(
        "{a=\"b\"} | drop x, y=\"z\", w!~\"v\" | keep x",
        r#"{a="b"} | drop x,y="z",w!~"v" | keep x"#,
    );
    prints(
        "{a=\"b\"} | n > -5s or n <= 250us | n >= 1d12h, m < 2MiB and o != ip(\"10.0.0.0/8\")",
        r#"{a="b"} | n>-5s or n<=250µs | ( n>=36h0m0s , m<2097152B and o!=ip("10.0.0.0/8") )"#,
    );
    prints(
        "{a=\"b\"} | n > -5 and n = +.5 | n == 1e3",
        r#"{a="b"} | n>-5 and n=0.5 | n=1000"#,
    );
    prints("({a=\"b\"} |= \"x\")", r#"{a="b"} |= "x""#);
    prints("((1))", "1");
    prints("- 5", "-5");
    prints("5 --3", "5 - -3");
    prints("Vector(.5)", "vector(0.5)");
    prints("SUM(RATE({app=\"a\"}[1h30m]))", r#"sum(rate({app="a"}[1h30m]))"#);
    prints(
        "sum by(b,a)(rate({a=\"b\"}[5m] offset 1d)) ",
        r#"sum by (b,a)(rate({a="b"}[5m] offset 24h0m0s))"#,
    );
    prints(
        "topk(3, rate({a=\"b\"}[5m])) without (rate)",
        r#"topk without (rate)(3,rate({a="b"}[5m]))"#,
    );
    prints("sum(rate({a=\"b\"}[5m])) by ()", r#"sum by ()(rate({a="b"}[5m]))"#);
    prints(
        "quantile_over_time(.99, {a=\"b\"} | json | unwrap duration(took) | __error__ = \"\" [5m] offset -1m) by (x)",
        r#"quantile_over_time(0.99,{a="b"} | json | unwrap duration(took) | __error__=""[5m] offset -1m0s) by (x)"#,
    );
    prints("rate({a=\"b\"}[0])", r#"rate({a="b"}[0s])"#);
    prints("1 > Bool 2", "1 > bool 2");
    prints(
        "(vector(1) + vector(2)) * 3 ^ (2 ^ 2) - (1 - (2 - 3))",
        "(vector(1) + vector(2)) * 3 ^ 2 ^ 2 - (1 - (2 - 3))",
    );
    prints(
        "vector(1) / ignoring(a, b) group_right(c) vector(2)",
        "vector(1) / ignoring (a,b) group_right (c) vector(2)",
    );
    prints(
        "vector(1) == bool on() group_left (vector) vector(2)",
        "vector(1) == bool on () group_left (vector) vector(2)",
    );
    prints(
        "label_replace(vector(1), `a`, `$1`, `b`, `(.*)`)",
        r#"label_replace(vector(1),"a","$1","b","(.*)")"#,
    );
}

#[test]
fn forms_of_the_range_argument() {
    let plain = r#"rate({a="b"} |= "c" [5m])"#;
    for form in [
        r#"rate({a="b"}[5m] |= "c")"#,
        r#"rate(({a="b"} |= "c")[5m])"#,
        r#"rate(({a="b"} |= "c" [5m]))"#,
        r#"rate((({a="b"}[5m] |= "c")))"#,
    ] {
        same(plain, form);
    }
    let unwrapped = r#"sum_over_time({a="b"} | unwrap x | y=1 [5m] offset 1m)"#;
    for form in [
        r#"sum_over_time({a="b"}[5m] offset 1m | unwrap x | y=1)"#,
        r#"sum_over_time(({a="b"} | unwrap x | y=1)[5m] offset 60s)"#,
        r#"sum_over_time(({a="b"})[5m] offset 1m | unwrap x | y=1)"#,
        r#"sum_over_time(({a="b"} | unwrap x | y=1 [5m] offset 1m))"#,
    ] {
        same(unwrapped, form);
    }
}

#[test]
fn layout() {
    let lines = |query: &str, want: &str| {
        let expr = parse(query).unwrap();
        let text = format(&expr);
        assert_eq!(text, want);
        assert_eq!(parse(&text).unwrap(), expr, "{text}");
    };
    lines("{app=\"a\"} |= `x`", r#"{app="a"} |= "x""#);
    lines(
        r#"{cluster="production-eu-west-1", namespace="shop"} |= "error" | json | level="error" | line_format "{{.message}}""#,
        r#"{cluster="production-eu-west-1", namespace="shop"}
  |= "error"
  | json
  | level="error"
  | line_format "{{.message}}""#,
    );
    lines(
        r#"topk(5, sum by (path) (rate({cluster="production-eu-west-1", namespace="shop", service="checkout"} |= "error" | json [5m])) / on(path) group_left sum(rate({cluster="production-eu-west-1", namespace="shop"}[5m])) > 0.5)"#,
        r#"topk(
  5,
      sum by (path)(
        rate({cluster="production-eu-west-1", namespace="shop", service="checkout"} |= "error" | json[5m])
      )
    / on (path) group_left ()
      sum(rate({cluster="production-eu-west-1", namespace="shop"}[5m]))
  >
    0.5
)"#,
    );
    lines(
        r#"label_replace(quantile_over_time(0.99, {cluster="production-eu-west-1", namespace="shop"} | json | level="error" | unwrap duration(took) | __error__="" [5m]) by (path), "a", "$1", "path", "/(.*)/.*")"#,
        r#"label_replace(
  quantile_over_time(
    0.99,
    {cluster="production-eu-west-1", namespace="shop"}
      | json
      | level="error"
      | unwrap duration(took) | __error__=""[5m]
  ) by (path),
  "a",
  "$1",
  "path",
  "/(.*)/.*"
)"#,
    );
}
