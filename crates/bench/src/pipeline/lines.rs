//! The lines that pipelines run over. Each shape comes in many lines with other values, so that nothing is learned by heart.

use rand::Rng;
use rand::rngs::SmallRng;

/// Lines one after the other, as a page holds them.
pub(super) struct Lines {
    /// Line `i` is `data[offsets[i]..offsets[i + 1]]`.
    pub(super) offsets: Vec<i32>,
    pub(super) data: Vec<u8>,
}

impl Lines {
    fn generate(count: usize, seed: u64, line: impl Fn(&mut SmallRng) -> String) -> Self {
        let mut rng = crate::rng(seed);
        let mut lines = Self {
            offsets: vec![0],
            data: Vec::new(),
        };
        for _ in 0..count {
            lines.data.extend_from_slice(line(&mut rng).as_bytes());
            lines.offsets.push(lines.data.len() as i32);
        }
        lines
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.offsets
            .windows(2)
            .map(|bounds| &self.data[bounds[0] as usize..bounds[1] as usize])
    }
}

/// About 300 bytes of 15 keys, one of them a query with escaped quotes.
pub(super) fn statistics(count: usize) -> Lines {
    Lines::generate(count, 21, |rng| {
        let (second, millis) = (rng.random_range(0..60), rng.random_range(0..1000));
        let tenant = rng.random_range(10..99);
        let trace: u128 = rng.random();
        let latency = pick(rng, &["fast", "slow"]);
        let minutes = rng.random_range(1..10);
        let (bytes, rows) = (rng.random_range(10..1000), rng.random_range(10..1000));
        let (whole, fraction) = (rng.random_range(11..99), rng.random_range(100_000..999_999));
        let range_type = pick(rng, &["range", "instant"]);
        format!(
            "level=info ts=2026-05-04T08:15:{second:02}.{millis:03}Z caller=metrics.go:151 org_id={tenant} traceID={trace:032x} latency={latency} \
             query=\"sum(rate({{shop=\\\"north\\\"}}[{minutes}m]))\" query_type=metric range_type={range_type} length=6h0m0s step=1m0s \
             duration={whole}.{fraction}ms status=200 throughput_mb={bytes}.{rows} total_bytes_mb={rows}.{bytes}"
        )
    })
}

/// About 110 bytes of 4 members.
pub(super) fn small_json(count: usize) -> Lines {
    Lines::generate(count, 22, |rng| {
        let level = pick(rng, &["info", "warn", "error"]);
        let (status, millis) = (pick(rng, &["200", "404", "503"]), rng.random_range(100..999));
        let order: u32 = rng.random_range(100_000..999_999);
        format!(
            r#"{{"level":"{level}","status":{status},"message":"order {order} was handed over to the parcel service","took_ms":{millis}}}"#
        )
    })
}

/// About 300 bytes of 12 members, nested ones among them, as services write them.
pub(super) fn large_json(count: usize) -> Lines {
    Lines::generate(count, 23, |rng| {
        let level = pick(rng, &["info", "warn", "error"]);
        let (status, millis) = (pick(rng, &["200", "404", "503"]), rng.random_range(100..999));
        let (a, b): (u32, u64) = (rng.random(), rng.random());
        let method = pick(rng, &["GET", "PUT", "POST"]);
        format!(
            r#"{{"ts":"2026-05-04T08:15:30.{millis}Z","level":"{level}","service":"checkout","trace":"{b:016x}","request":{{"method":"{method}","path":"/carts/{a}","bytes":{millis},"headers":{{"accept":"*/*","agent":"shop \"app\" 7.1"}}}},"tags":["a","b"],"status":{status},"took_ms":{millis},"message":"cart {a} stored"}}"#
        )
    })
}

/// About 110 bytes in the manner of web servers.
pub(super) fn access(count: usize) -> Lines {
    Lines::generate(count, 24, |rng| {
        let (a, b, c) = (
            rng.random_range(1..255),
            rng.random_range(1..255),
            rng.random_range(1..255),
        );
        let (status, bytes) = (pick(rng, &["200", "404", "503"]), rng.random_range(100..99_999));
        let method = pick(rng, &["GET", "PUT", "POST"]);
        let item = rng.random_range(1000..9999);
        format!(
            r#"10.{a}.{b}.{c} - - [04/May/2026:08:15:30 +0000] "{method} /shop/items/{item}?page=2 HTTP/1.1" {status} {bytes} "-" "curl/8.5""#
        )
    })
}

/// About 100 bytes of prose; one line in fifty tells of a timeout, one of a refusal.
pub(super) fn prose(count: usize) -> Lines {
    Lines::generate(count, 25, |rng| {
        let what = match rng.random_range(0..50) {
            0 => "ran into a timeout",
            1 => "was refused by the peer",
            _ => "was taken from the queue",
        };
        let (job, worker) = (rng.random_range(10_000..99_999), rng.random_range(1..64));
        format!("2026-05-04 08:15:30 worker-{worker}: job {job} of the nightly import {what}, 3 more to do")
    })
}

fn pick<'a>(rng: &mut SmallRng, from: &[&'a str]) -> &'a str {
    from[rng.random_range(0..from.len())]
}
