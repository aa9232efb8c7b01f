//! Commands of random words: whatever they are, each gets one reply and the server goes on.

use crate::client::Connection;
use crate::server::TestServer;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const COMMANDS: usize = 30_000;
/// Commands that are sent together.
const BATCH: usize = 50;

#[rustfmt::skip]
const NAMES: &[&str] = &[
    "TS.CREATE", "TS.ALTER", "TS.ADD", "TS.ADD", "TS.MADD", "TS.INCRBY", "TS.DECRBY", "TS.DEL", "TS.CREATERULE", "TS.DELETERULE",
    "TS.RANGE", "TS.REVRANGE", "TS.MRANGE", "TS.MREVRANGE", "TS.NRANGE", "TS.NREVRANGE", "TS.READ", "TS.GET", "TS.MGET", "TS.INFO",
    "TS.QUERYINDEX", "TS.QUERYLABELS", "DEL", "RENAME", "COPY",
];

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "a", "b", "c", "d", "1", "2", "3", "10", "17", "100", "0", "-1", "-", "+", "*", "$", "", "1.5", "nan", "inf", "-inf", "1e300", "0.1",
    "9223372036854775807", "9223372036854775806", "9223372036854775808", "4611686018427387904", "48", "RETENTION", "ENCODING",
    "COMPRESSED", "UNCOMPRESSED", "CHUNK_SIZE", "DUPLICATE_POLICY", "ON_DUPLICATE", "LAST", "SUM", "BLOCK", "IGNORE", "LABELS",
    "TIMESTAMP", "LATEST", "COUNT", "AGGREGATION", "ALIGN", "start", "end", "BUCKETTIMESTAMP", "mid", "EMPTY", "FILTER_BY_VALUE",
    "FILTER_BY_TS", "WITHLABELS", "SELECTED_LABELS", "EXCLUDEEMPTY", "FILTER", "a=b", "a!=", "a=(b,c)", "a!=x", "GROUPBY", "REDUCE",
    "twa", "avg", "sum", "std.s", "var.p", "count", "first", "last", "min,max", "sum,twa,last", "VALUES", "MAX_COUNT", "DEBUG", "REPLACE",
];

/// Beginnings that get past the first checks, to be gone on with at random.
const BEGINNINGS: &[&str] = &[
    "TS.RANGE a - + AGGREGATION",
    "TS.RANGE a - + AGGREGATION twa 10 EMPTY",
    "TS.REVRANGE b - + FILTER_BY_VALUE",
    "TS.MRANGE - + WITHLABELS FILTER a=b GROUPBY a REDUCE",
    "TS.MRANGE - + AGGREGATION avg 7 EMPTY FILTER a=(b,c)",
    "TS.NRANGE 2 a b - + AGGREGATION sum twa",
    "TS.ADD a 5 1 LABELS a b",
    "TS.ADD a",
    "TS.ADD b",
    "TS.MADD a 100 1 b 17 2 c",
    "TS.CREATERULE a c AGGREGATION sum 10",
    "TS.CREATERULE b d AGGREGATION twa 10",
    "TS.READ a - MAX_COUNT",
    "TS.READ a 0 BLOCK 1",
    "TS.INCRBY c 1 TIMESTAMP",
];

#[test]
fn every_command_is_answered() {
    let server = TestServer::start();
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut connection = Connection::open(server.address()).unwrap();
    for batch in 0..COMMANDS / BATCH {
        if batch % 20 == 0 {
            connection.call(&["FLUSHALL"]).unwrap();
        }
        let commands: Vec<Vec<Vec<u8>>> = (0..BATCH).map(|_| command(&mut random)).collect();
        for words in &commands {
            connection.send(words).unwrap();
        }
        for words in &commands {
            let reply = connection.read();
            let shown: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
            assert!(reply.is_ok(), "seed {seed}: {}: {reply:?}", shown.join(" "));
        }
        assert_eq!(
            connection.call(&["ECHO", "here"]).unwrap()["bulk"],
            "here",
            "seed {seed}"
        );
    }
}

fn command(random: &mut StdRng) -> Vec<Vec<u8>> {
    let pick = |random: &mut StdRng, words: &[&str]| words[random.random_range(0..words.len())].to_owned();
    let beginning = if random.random_bool(0.5) {
        pick(random, BEGINNINGS)
    } else {
        pick(random, NAMES)
    };
    let mut words: Vec<Vec<u8>> = beginning.split(' ').map(|word| word.as_bytes().to_vec()).collect();
    for _ in 0..random.random_range(0..9) {
        words.push(pick(random, WORDS).into_bytes());
    }
    // Nobody else writes, so what waits for ever would.
    if words[0] == b"TS.READ" {
        for place in 0..words.len() {
            if words[place].eq_ignore_ascii_case(b"BLOCK") && place + 1 < words.len() {
                words[place + 1] = b"1".to_vec();
            }
        }
    }
    words
}
