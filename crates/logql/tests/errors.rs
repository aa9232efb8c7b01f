//! What is refused, and with which words (logql.md 13, 14, 15.1, 19).

use timberline_logql::{
    MAX_NESTING, MAX_OPERATORS, MAX_QUERY_BYTES, format, parse, parse_labels, parse_selector, stage_error,
};

const EMPTY_MATCHERS: &str = "queries require at least one regexp or equality matcher that does not have an \
     empty-compatible value. For instance, app=~\".*\" does not meet this requirement, but app=~\".+\" will";

/// `want` with a position: `3:7 message`; without: the message alone.
fn refuse(query: &str, want: &str) {
    let error = parse(query).expect_err(query.get(..200).unwrap_or(query));
    let position = if error.column == 0 {
        String::new()
    } else {
        format!("{}:{} ", error.line, error.column)
    };
    let shown: String = query.chars().take(200).collect();
    assert_eq!(format!("{position}{}", error.message), want, "{shown}");
}

#[test]
fn catalogue() {
    refuse("", "syntax error: unexpected $end");
    refuse(r#"{a="x""#, "1:7 syntax error: unexpected $end, expecting } or ,");
    refuse(r#"{a="x", }"#, "1:9 syntax error: unexpected }, expecting IDENTIFIER");
    refuse("{a='x'}", "1:4 syntax error: unexpected IDENTIFIER, expecting STRING");
    refuse(
        r#"{pattern="x"}"#,
        "1:2 syntax error: unexpected pattern, expecting IDENTIFIER or }",
    );
    refuse(
        "{a=\"x\"}\n|= \"q\"\n| foo bar",
        "3:7 syntax error: unexpected IDENTIFIER",
    );
    refuse(r#"rate({a="x"})"#, "1:13 syntax error: unexpected )");
    refuse(r#"rate({a="x"}[5x])"#, r#"0:13 unknown unit "x" in duration "5x""#);
    refuse(r#"sum(rate({a="x"}[5m]) by (b)"#, "1:29 syntax error: unexpected $end");
    refuse(r#"{a=~"("}"#, "error parsing regexp: missing closing ): `(`");
    refuse(
        r#"1 + {a="x"}"#,
        "unexpected type for right leg of binary operation (+): log query",
    );
    refuse(r#"{a="x"} | unwrap b"#, "1:11 syntax error: unexpected unwrap");
    refuse(
        r#"sum_over_time({a="x"}[1m])"#,
        "invalid aggregation sum_over_time without unwrap",
    );
    refuse(
        r#"rate({a="x"}[5m]) by (a)"#,
        "grouping not allowed for rate aggregation",
    );
    refuse(r#"topk(rate({a="x"}[1m]))"#, "parameter required for operation topk");
}

#[test]
fn display_names_the_position() {
    assert_eq!(
        parse("").unwrap_err().to_string(),
        "parse error : syntax error: unexpected $end"
    );
    assert_eq!(
        parse("{").unwrap_err().to_string(),
        "parse error at line 1, col 2: syntax error: unexpected $end, expecting IDENTIFIER or }"
    );
    assert_eq!(
        parse("rate({a=\"x\"}[5])").unwrap_err().to_string(),
        "parse error at line 0, col 13: not a valid duration string: \"5\""
    );
}

#[test]
fn reports_point_at_the_place() {
    // `§` marks the place in the query; an error without one is reported without lines of the query.
    let f = |marked: &str, first_line: &str, source: &str| {
        let query = marked.replace('§', "");
        let report = parse(&query).unwrap_err().report();
        let mark = match marked.find('§') {
            Some(place) => {
                let before = &marked[..place];
                let before = before.rsplit('\n').next().unwrap_or(before);
                let blanks: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                format!("\n{source}\n{blanks}^")
            }
            None => String::new(),
        };
        assert_eq!(report, format!("{first_line}{mark}"), "{marked}");
    };
    let same = |marked: &str, first_line: &str| f(marked, first_line, &marked.replace('§', ""));
    f("", "parse error : syntax error: unexpected $end", "");
    same(
        "{§",
        "parse error at line 1, col 2: syntax error: unexpected $end, expecting IDENTIFIER or }",
    );
    same(
        r#"rate({a="x"}§)"#,
        "parse error at line 1, col 13: syntax error: unexpected )",
    );
    f(
        "{a=\"x\"}\n|= \"q\"\n\t| foo §bar\n| json",
        "parse error at line 3, col 8: syntax error: unexpected IDENTIFIER",
        "\t| foo bar",
    );
    // The peer says line 0 for errors in a range; the place is known all the same.
    f(
        "sum(\n  rate({a=\"x\"}§[5x])\n)",
        "parse error at line 0, col 15: unknown unit \"x\" in duration \"5x\"",
        "  rate({a=\"x\"}[5x])",
    );
    same("{a=§\"x", "parse error at line 1, col 4: literal not terminated");
    // Errors that are told without a position.
    same(
        r#"{b="c", §a=~"("}"#,
        "parse error : error parsing regexp: missing closing ): `(`",
    );
    same(
        r#"rate({a="b"}[1m]) + rate({b="c"} | json §|~ "*" [1m])"#,
        "parse error : stage '|~ \"*\"' : error parsing regexp: missing argument to repetition operator: `*`",
    );
    same(
        r#"rate({a="b"} | json | unwrap x | z="1" §| y=~"(" [1m])"#,
        "parse error : stage '| y=~\"(\"' : error parsing regexp: missing closing ): `(`",
    );
    same(
        r#"sum(rate({a="b"}[1m])) / §topk(rate({a="b"}[1m]))"#,
        "parse error : parameter required for operation topk",
    );
    same(
        r#"sum(label_replace(rate({a="b"}[1m]), "a", "b", "c", "d")) + avg(§sum_over_time({a="b"}[1m]))"#,
        "parse error : invalid aggregation sum_over_time without unwrap",
    );
    same(
        r#"vector(1) + §label_replace(vector(1), "a", "b", "c", "(")"#,
        "parse error : invalid regex in label_replace: error parsing regexp: missing closing ): `(`",
    );
    same(
        r#"rate({a="x"}[1m]) * §{a="x"} |= "y""#,
        "parse error : unexpected type for right leg of binary operation (*): log query",
    );
    same(
        r#"rate({a="x"}[1m]) + rate(§{b=""}[1m])"#,
        &format!("parse error : {EMPTY_MATCHERS}"),
    );
    f(
        "1 and 2",
        "parse error : unexpected literal for left leg of logical/set binary operation (and): 1.000000",
        "",
    );
    let selector = parse_selector("{a=\"b\", c~\"d\"}").unwrap_err().report();
    assert!(selector.ends_with("\n{a=\"b\", c~\"d\"}\n         ^"), "{selector}");
}

#[test]
fn errors_of_the_compiler_point_at_their_stage() {
    let query = r#"rate({a="b"} | line_format "x" | unwrap y | z="1" [1m]) / rate({a="b"} | line_format "{{"[1m])"#;
    let message = "stage '| line_format \"{{\"' : invalid line template: unclosed action";
    let mark = " ".repeat(query.rfind("| line").unwrap());
    assert_eq!(
        stage_error(query, message).report(),
        format!("parse error : {message}\n{query}\n{mark}^")
    );
    assert_eq!(stage_error(query, "other").report(), "parse error : other");
    assert_eq!(stage_error("{", message).report(), format!("parse error : {message}"));
}

#[test]
fn selectors_that_accept_everything() {
    for query in [
        "{}",
        r#"{a=~".*"}"#,
        r#"{a=""}"#,
        r#"{a!="x"}"#,
        r#"{a!~"x"}"#,
        r#"{a=~"x?", b!=""}"#,
    ] {
        refuse(query, EMPTY_MATCHERS);
        refuse(&format!("rate({query}[1m])"), EMPTY_MATCHERS);
    }
    for query in [r#"{a=~".+"}"#, r#"{a=~".*", b="c"}"#, r#"{a="", b=~"x|y"}"#] {
        parse(query).unwrap();
    }
}

#[test]
fn tokens() {
    refuse(
        "{service.name=\"x\"}",
        "1:9 syntax error: unexpected ., expecting = or =~ or !~ or !=",
    );
    refuse(
        "{a-b=\"x\"}",
        "1:3 syntax error: unexpected -, expecting = or =~ or !~ or !=",
    );
    refuse(
        "{\"a\"=\"x\"}",
        "1:2 syntax error: unexpected STRING, expecting IDENTIFIER or }",
    );
    refuse(r#"{a="\d"}"#, "1:4 invalid char escape");
    refuse(r#"{a="\."}"#, "1:4 invalid char escape");
    refuse(r#"{a="\'"}"#, "1:4 invalid char escape");
    refuse(r#"{a="\400"}"#, "1:4 invalid char escape");
    refuse(r#"{a="\ud800"}"#, "1:4 invalid char escape");
    refuse(r#"{a="\xff"}"#, "1:4 string is not valid UTF-8");
    refuse("{a=\"x", "1:4 literal not terminated");
    refuse("{a=\"x\ny\"}", "1:4 literal not terminated");
    refuse("{a=\"\\", "1:4 literal not terminated");
    refuse("{a=`x", "1:4 literal not terminated");
    refuse("{a=\"x\"} /* y", "1:9 comment not terminated");
    refuse("{a=\"é\"} @", "1:9 syntax error: unexpected @");
    refuse("0x10", "1:1 syntax error: unexpected 0x10");
    refuse("1_000", "1:1 syntax error: unexpected 1_000");
    refuse("1e999", "1:1 number \"1e999\" is out of range");
    refuse("Inf", "1:1 syntax error: unexpected IDENTIFIER");
    refuse("{a=\"b\"} | c > 5kb", "1:15 syntax error: unexpected 5kb");
    refuse("{a=\"b\"} | c > -5KB", "1:16 syntax error: unexpected BYTES");
    for (range, message) in [
        ("1.5h", "not a valid duration string: \"1.5h\""),
        ("1h30", "not a valid duration string: \"1h30\""),
        ("1m1h", "not a valid duration string: \"1m1h\""),
        (" 5m", "not a valid duration string: \" 5m\""),
        ("", "empty duration string"),
    ] {
        refuse(&format!("rate({{a=\"b\"}}[{range}])"), &format!("0:13 {message}"));
    }
    refuse("rate({a=\"b\"}[5m", "0:13 missing closing ']' in duration");
    // An error in the text after the first unexpected token does not matter.
    refuse("{a=} \"", "1:4 syntax error: unexpected }, expecting STRING");
}

#[test]
fn stages() {
    refuse(r#"({a="b"}) |= "x""#, "1:11 syntax error: unexpected |=");
    refuse(r#"{a="b"} | n == "5""#, "1:16 syntax error: unexpected STRING");
    refuse(r#"{a="b"} | n == ip("::1")"#, "1:16 syntax error: unexpected ip");
    refuse(
        r#"{a="b"} | n =~ 5"#,
        "1:16 syntax error: unexpected NUMBER, expecting STRING",
    );
    refuse(
        r#"{a="b"} | json --strict"#,
        "1:18 syntax error: unexpected IDENTIFIER, expecting NUMBER",
    );
    refuse(r#"{a="b"} | logfmt --lax"#, "1:18 syntax error: unexpected --lax");
    refuse(
        r#"{a="b"} | label_format x="#,
        "1:26 syntax error: unexpected $end, expecting IDENTIFIER or STRING",
    );
    refuse(
        r#"{a="b"} | drop json"#,
        "1:16 syntax error: unexpected json, expecting IDENTIFIER",
    );
    refuse(r#"{a="b"} | rate(x)"#, "1:11 syntax error: unexpected RATE");
    refuse(
        r#"{a="b"} |~ "*""#,
        "stage '|~ \"*\"' : error parsing regexp: missing argument to repetition operator: `*`",
    );
    refuse(
        r#"{a="b"} | x=~"*""#,
        "stage '| x=~\"*\"' : error parsing regexp: missing argument to repetition operator: `*`",
    );
    refuse(
        r#"{a="b"} | x=ip("y")"#,
        "stage '| x=ip(\"y\")' : ip: invalid pattern: \"y\"",
    );
    refuse(
        r#"{a="b"} |> "<_><_>""#,
        "stage '|> \"<_><_>\"' : found consecutive capture '<_><_>': invalid expression",
    );
    refuse(
        r#"{a="b"} |> ip("::1")"#,
        "stage '|> ip(\"::1\")' : ip: invalid operation",
    );
    refuse(
        r#"{a="b"} | logfmt x="a b""#,
        "stage '| logfmt x=\"a b\"' : cannot parse expression [a b]: not an identifier",
    );
    refuse(
        r#"{a="b"} | drop x=~"(""#,
        "stage '| drop x=~\"(\"' : error parsing regexp: missing closing ): `(`",
    );
    refuse(
        r#"rate({a="b"} | unwrap x | y=~"(" [1m])"#,
        "stage '| y=~\"(\"' : error parsing regexp: missing closing ): `(`",
    );
}

#[test]
fn aggregations() {
    refuse(
        r#"count_over_time({a="b"} | unwrap x [1m])"#,
        "invalid aggregation count_over_time with unwrap",
    );
    refuse(
        r#"quantile_over_time({a="b"} | unwrap x [1m])"#,
        "parameter required for operation quantile_over_time",
    );
    refuse(
        r#"rate(5, {a="b"}[1m])"#,
        "parameter 5 not supported for operation rate",
    );
    refuse(
        r#"rate({a="b"} | json [1m] | logfmt)"#,
        "1:26 syntax error: unexpected |, expecting )",
    );
    refuse(
        r#"rate({a="b"} | unwrap x |= "y" [1m])"#,
        "1:25 syntax error: unexpected |=",
    );
    refuse(
        r#"rate({a="b"}[1m] offset 5)"#,
        "1:25 syntax error: unexpected NUMBER, expecting DURATION",
    );
    refuse(
        r#"sum(3, rate({a="b"}[1m]))"#,
        "unsupported parameter for operation sum(3,",
    );
    refuse(
        r#"topk(0, rate({a="b"}[1m]))"#,
        "invalid parameter (must be greater than 0) topk(0",
    );
    refuse(r#"topk(1.5, rate({a="b"}[1m]))"#, "invalid parameter topk(1.5,");
    refuse(
        r#"sort(rate({a="b"}[1m])) by (a)"#,
        "grouping not allowed for sort aggregation",
    );
    refuse(
        r#"sum by (a) (rate({a="b"}[1m])) by (a)"#,
        "1:32 syntax error: unexpected by",
    );
    refuse(
        r#"sum by (a,) (rate({a="b"}[1m]))"#,
        "1:11 syntax error: unexpected ), expecting IDENTIFIER",
    );
    refuse("sum(1)", EMPTY_MATCHERS);
    refuse("vector(-1)", "1:8 syntax error: unexpected -, expecting NUMBER");
    refuse(
        "1 and 2",
        "unexpected literal for left leg of logical/set binary operation (and): 1.000000",
    );
    refuse(
        "vector(1) or 1",
        "unexpected literal for right leg of logical/set binary operation (or): 1.000000",
    );
    refuse(
        "vector(1) unless (1 + 2)",
        "unexpected literal for right leg of logical/set binary operation (unless)",
    );
    refuse(
        r#"rate({a="b"}[1m]) + on group_left(a) vector(1)"#,
        "1:24 syntax error: unexpected group_left, expecting (",
    );
    refuse(
        r#"rate({a="b"}[1m]) + group_left(a) vector(1)"#,
        "1:21 syntax error: unexpected group_left",
    );
    refuse(
        r#"rate({a="b"}[1m:1s])"#,
        "0:13 unknown unit \"m:\" in duration \"1m:1s\"",
    );
    refuse(
        r#"label_replace(vector(1), "a", "b", "c", "(")"#,
        "invalid regex in label_replace: error parsing regexp: missing closing ): `(`",
    );
}

#[test]
fn bounds() {
    let long = format!("{{a=\"{}\"}}", "x".repeat(MAX_QUERY_BYTES - 6));
    assert_eq!(long.len(), MAX_QUERY_BYTES);
    refuse(&long, "input size too long (131072 > 131072)");
    parse(&long.replacen('x', "", 1)).unwrap();

    let nested = |levels: usize| format!("{}1{}", "(".repeat(levels), ")".repeat(levels));
    parse(&nested(MAX_NESTING - 1)).unwrap();
    refuse(&nested(MAX_NESTING), "1:129 query nests deeper than 128 levels");
    let sums = format!("{}1", "sum(".repeat(30_000));
    refuse(&sums, "1:513 query nests deeper than 128 levels");
    let filters = format!("{{a=\"b\"}} | {}", "(".repeat(100_000));
    refuse(&filters, "1:139 query nests deeper than 128 levels");
    refuse(
        &format!("rate({}", "(".repeat(100_000)),
        "1:134 query nests deeper than 128 levels",
    );
    refuse(&"2^".repeat(60_000), "1:257 query nests deeper than 128 levels");

    let chain = |operators: usize| format!("1{}", "+1".repeat(operators));
    let expr = parse(&chain(MAX_OPERATORS)).unwrap();
    assert_eq!(parse(&expr.to_string()).unwrap(), expr);
    assert_eq!(parse(&format(&expr)).unwrap(), expr);
    refuse(&chain(60_000), "1:2002 query has more than 1000 operators");
    let filters = format!("{{a=\"b\"}} | x=1{}", " or x=1".repeat(10_000));
    assert!(parse(&filters).unwrap_err().message.starts_with("query has more than"));
}

#[test]
fn selectors_for_listings() {
    let matchers = parse_selector(r#"{a="b", c=~".*"} # all"#).unwrap();
    assert_eq!(matchers.len(), 2);
    assert_eq!(parse_selector("{}").unwrap(), []);
    let refuse = |text: &str, want: &str| assert_eq!(parse_selector(text).unwrap_err().to_string(), want);
    refuse(r#"{a="b"} |= "c""#, "parse error : only label matchers are supported");
    refuse(
        r#"rate({a="b"}[1m])"#,
        "parse error : only label matchers are supported",
    );
    refuse(
        "{bad",
        "parse error at line 1, col 5: syntax error: unexpected $end, expecting = or =~ or !~ or !=",
    );
    refuse(
        r#"{a=~"("}"#,
        "parse error : error parsing regexp: missing closing ): `(`",
    );
    refuse(
        r#"{a="b"}}"#,
        "parse error at line 1, col 8: syntax error: unexpected }",
    );
}

#[test]
fn labels_of_streams() {
    let labels = |text: &str| {
        parse_labels(text)
            .map(|set| set.to_string())
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        labels(r#"{b="2", a="x\"y", json="", rate="1"}"#).unwrap(),
        r#"{a="x\"y", b="2", json="", rate="1"}"#
    );
    assert_eq!(labels("{}").unwrap(), "{}");
    let refuse = |text: &str, want: &str| assert_eq!(labels(text).unwrap_err(), want);
    refuse(
        r#"{a!="b"}"#,
        "parse error at line 1, col 3: syntax error: unexpected !=, expecting =",
    );
    refuse(
        r#"{a="b"} x"#,
        "parse error at line 1, col 9: syntax error: unexpected IDENTIFIER",
    );
    refuse(
        "a",
        "parse error at line 1, col 1: syntax error: unexpected IDENTIFIER, expecting {",
    );
    refuse(
        r#"{a="b""#,
        "parse error at line 1, col 7: syntax error: unexpected $end, expecting } or ,",
    );
}
