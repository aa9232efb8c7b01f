//! Tables of requests and of numbers.

use super::{Limits, Protocol, ProtocolError, Reply, RequestParser, append_resp2_number, append_resp3_number};

/// All commands of some bytes that come in pieces, each command as its words joined by `|`, and the error that ends them.
fn commands(pieces: &[&[u8]], limits: &Limits) -> (Vec<String>, Option<ProtocolError>) {
    let mut parser = RequestParser::default();
    let (mut bytes, mut found) = (Vec::new(), Vec::new());
    for piece in pieces {
        bytes.extend_from_slice(piece);
        loop {
            match parser.next(&bytes, limits) {
                Ok(None) => break,
                Ok(Some(len)) => {
                    let words = parser.arguments(&bytes);
                    let words: Vec<String> = words.iter().map(|word| word.escape_ascii().to_string()).collect();
                    if !words.is_empty() {
                        found.push(words.join("|"));
                    }
                    bytes.drain(..len);
                }
                Err(error) => return (found, Some(error)),
            }
        }
    }
    (found, None)
}

/// Bytes, the commands in them, and the text of the error behind them.
const REQUESTS: &[(&[u8], &[&str], &str)] = &[
    (b"*1\r\n$4\r\nPING\r\n", &["PING"], ""),
    (
        b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n",
        &["GET|k", "PING"],
        "",
    ),
    (b"*2\r\n$3\r\nGET\r\n$0\r\n\r\n", &["GET|"], ""),
    (b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n", &["GET|a\\r\\nb"], ""),
    (b"*0\r\n*-1\r\n\r\n\nPING\r\nPING\n", &["PING", "PING"], ""),
    (b"  SET  k  v \r\n", &["SET|k|v"], ""),
    (b"SET \"a b\" 'c d'\r\n", &["SET|a b|c d"], ""),
    (b"SET \"\\x41\\n\\\"\" '\\''\r\n", &["SET|A\\n\\\"|\\'"], ""),
    (b"GET \"\"\r\n", &["GET|"], ""),
    (b"GET \"a\r\n", &[], "Protocol error: unbalanced quotes in request"),
    (b"GET \"a\"b\r\n", &[], "Protocol error: unbalanced quotes in request"),
    (b"GET 'a\r\n", &[], "Protocol error: unbalanced quotes in request"),
    (b"PING\r\n*x\r\n", &["PING"], "Protocol error: invalid multibulk length"),
    (b"*01\r\n", &[], "Protocol error: invalid multibulk length"),
    (b"*1\r\n$007\r\n", &[], "Protocol error: invalid bulk length"),
    (b"*1048577\r\n", &[], "Protocol error: invalid multibulk length"),
    (
        b"*99999999999999999999\r\n",
        &[],
        "Protocol error: invalid multibulk length",
    ),
    (b"*1\r\n$x\r\n", &[], "Protocol error: invalid bulk length"),
    (b"*1\r\n$-1\r\n", &[], "Protocol error: invalid bulk length"),
    (b"*1\r\n$536870913\r\n", &[], "Protocol error: invalid bulk length"),
    (b"*1\r\nPING\r\n", &[], "Protocol error: expected '$', got 'P'"),
    (b"*1\r\n\x01PING\r\n", &[], "Protocol error: expected '$', got '?'"),
];

#[test]
fn requests_are_found_however_they_are_cut() {
    let limits = Limits::default();
    for (bytes, want, error) in REQUESTS {
        let check = |pieces: &[&[u8]]| {
            let (found, ended) = commands(pieces, &limits);
            let name = bytes.escape_ascii();
            assert_eq!(found, *want, "{name}");
            assert_eq!(ended.map_or(String::new(), |error| error.to_string()), *error, "{name}");
        };
        check(&[bytes]);
        for place in 0..=bytes.len() {
            let (before, behind) = bytes.split_at(place);
            check(&[before, behind]);
        }
        check(&bytes.chunks(1).collect::<Vec<_>>());
    }
}

#[test]
fn lines_that_do_not_end_are_refused() {
    let check = |start: &[u8], filler: u8, want: ProtocolError| {
        let mut bytes = start.to_vec();
        bytes.resize(start.len() + Limits::MAX_LINE_BYTES + 1, filler);
        assert_eq!(commands(&[&bytes], &Limits::default()).1, Some(want));
    };
    check(b"", b'a', ProtocolError::TooBigInline);
    check(b"*", b'1', ProtocolError::TooBigMultibulkCount);
    check(b"*1\r\n$", b'1', ProtocolError::TooBigBulkCount);
}

#[test]
fn clients_that_did_not_log_in_send_little() {
    let limits = Limits {
        authenticated: false,
        ..Limits::default()
    };
    let check = |bytes: &[u8], want| assert_eq!(commands(&[bytes], &limits).1, want);
    check(b"*10\r\n", None);
    check(b"*11\r\n", Some(ProtocolError::UnauthenticatedMultibulkLength));
    check(b"*1\r\n$16384\r\n", None);
    check(b"*1\r\n$16385\r\n", Some(ProtocolError::UnauthenticatedBulkLength));
    check(
        b"a b c d e f g h i j k\r\n",
        Some(ProtocolError::UnauthenticatedMultibulkLength),
    );
}

#[test]
fn numbers_of_resp2() {
    let check = |value: f64, want: &str| {
        let mut text = Vec::new();
        append_resp2_number(&mut text, value);
        assert_eq!(String::from_utf8_lossy(&text), want);
    };
    check(0.0, "0");
    check(-0.0, "-0");
    check(1.0, "1");
    check(-17.5, "-17.5");
    check(1234567.125, "1234567.125");
    check(1e15, "1000000000000000");
    check(9007199254740992.0, "9007199254740992");
    check(12345678901234568.0, "12345678901234568");
    check(0.1, "1E-1");
    check(0.25, "2.5E-1");
    check(1.2345e-5, "1.2345E-5");
    check(4.51e15, "4.51E15");
    check(1e16, "1E16");
    check(1.2345678901234568e17, "1.2345678901234568E17");
    check(f64::MAX, "1.7976931348623157E308");
    check(5e-324, "5E-324");
    check(-5e-324, "-5E-324");
    check(f64::NAN, "NaN");
    check(f64::INFINITY, "Infinity");
    check(f64::NEG_INFINITY, "-Infinity");
}

#[test]
fn numbers_of_resp3() {
    let check = |value: f64, want: &str| {
        let mut text = Vec::new();
        append_resp3_number(&mut text, value);
        assert_eq!(String::from_utf8_lossy(&text), want);
    };
    check(0.0, "0");
    check(-0.0, "-0");
    check(0.1, "0.1");
    check(0.00001, "0.00001");
    check(-2.5, "-2.5");
    check(1e17, "100000000000000000");
    check(12345678901234567000.0, "12345678901234567000");
    check(1e20, "1e+20");
    check(1.23456789e-4, "1.23456789e-4");
    check(5e-324, "5e-324");
    check(f64::MAX, "1.7976931348623157e+308");
    check(f64::NAN, "nan");
    check(f64::INFINITY, "inf");
    check(f64::NEG_INFINITY, "-inf");
}

#[test]
fn replies_of_both_protocols() {
    let check = |write: fn(&mut Reply), two: &str, three: &str| {
        for (protocol, want) in [(Protocol::Two, two), (Protocol::Three, three)] {
            let mut reply = Reply::new(protocol);
            write(&mut reply);
            assert_eq!(reply.bytes().escape_ascii().to_string(), want);
        }
    };
    check(|reply| reply.simple("a\r\nb"), "+a  b\\r\\n", "+a  b\\r\\n");
    check(|reply| reply.error("ERR x\ny"), "-ERR x y\\r\\n", "-ERR x y\\r\\n");
    check(|reply| reply.integer(-3), ":-3\\r\\n", ":-3\\r\\n");
    check(
        |reply| reply.bulk(b"a\r\n"),
        "$3\\r\\na\\r\\n\\r\\n",
        "$3\\r\\na\\r\\n\\r\\n",
    );
    check(Reply::null, "$-1\\r\\n", "_\\r\\n");
    check(Reply::null_array, "*-1\\r\\n", "_\\r\\n");
    check(|reply| reply.map(2), "*4\\r\\n", "%2\\r\\n");
    check(|reply| reply.set(2), "*2\\r\\n", "~2\\r\\n");
    check(|reply| reply.push(2), "*2\\r\\n", ">2\\r\\n");
    check(|reply| reply.double(0.5), "$3\\r\\n0.5\\r\\n", ",0.5\\r\\n");
    check(|reply| reply.sample_value(0.5), "+5E-1\\r\\n", ",0.5\\r\\n");
    check(|reply| reply.verbatim("ab"), "$2\\r\\nab\\r\\n", "=6\\r\\ntxt:ab\\r\\n");
}
