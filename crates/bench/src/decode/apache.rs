//! Access log lines in Apache's combined format, with the lengths and the repetitiveness of a real site's log.

use rand::Rng;
use rand::rngs::SmallRng;
use std::fmt::Write;

const ADDRESSES: usize = 3_700;
const AGENTS: usize = 300;
const PATHS: usize = 900;
const REFERRERS: usize = 1_200;

/// Makes lines: mean length about 350 bytes, shortest 84, half of them below 310, one of a hundred above 1,580.
pub(super) struct Lines {
    rng: SmallRng,
    addresses: Vec<String>,
    agents: Vec<String>,
    paths: Vec<String>,
    referrers: Vec<String>,
    visitors: Vec<Visitor>,
    second: u32,
    line: String,
}

/// Who asks for page after page.
#[derive(Clone, Copy)]
struct Visitor {
    address: usize,
    agent: usize,
    referrer: Option<usize>,
}

impl Lines {
    pub(super) fn new(seed: u64) -> Lines {
        let mut rng = crate::rng(seed);
        let words = [
            "news", "images", "static", "articles", "search", "projects", "docs", "blog", "files", "tag",
        ];
        let word = |rng: &mut SmallRng| words[rng.random_range(0..words.len())];
        let addresses = (0..ADDRESSES)
            .map(|_| {
                let [a, b, c, d]: [u8; 4] = rng.random();
                format!("{a}.{b}.{c}.{d}")
            })
            .collect();
        let agents = (0..AGENTS)
            .map(|i| {
                let (major, build) = (rng.random_range(20..40), rng.random_range(1000..3000));
                match i % 12 {
                    0 => "-".to_owned(),
                    6 => format!("Mozilla/5.0 (compatible; Crawler{}/2.{}; +http://www.example.com/bot.html)", i, major),
                    1 | 7 => format!("Fetcher/{major}.{build}"),
                    2 | 8 => format!(
                        "Mozilla/5.0 (X11; Linux x86_64; rv:{major}.0) Gecko/20100101 Firefox/{major}.0"
                    ),
                    _ => format!(
                        "Mozilla/5.0 (Windows NT 6.{}; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.{build}.{i} Safari/537.36",
                        i % 4
                    ),
                }
            })
            .collect();
        let mut paths: Vec<String> = (0..PATHS)
            .map(|i| {
                format!(
                    "/{}/{}/{}-{}.html",
                    word(&mut rng),
                    word(&mut rng),
                    word(&mut rng),
                    i * 7919 % 10_007
                )
            })
            .collect();
        paths[0] = "/".to_owned();
        let referrers = (0..REFERRERS)
            .map(|_| {
                let mut referrer = format!("http://www.example.org/{}?", word(&mut rng));
                // Mostly short, now and then very long.
                let parts = if rng.random_bool(0.075) {
                    rng.random_range(48..82)
                } else {
                    rng.random_range(2..13)
                };
                for part in 0..parts {
                    write!(
                        referrer,
                        "{}{part}=%2F{}%3A{:02X}",
                        word(&mut rng).get(..1).unwrap_or("q"),
                        word(&mut rng),
                        rng.random::<u8>()
                    )
                    .expect("writing to memory");
                }
                referrer
            })
            .collect();
        let visitors = vec![
            Visitor {
                address: 0,
                agent: 0,
                referrer: None
            };
            24
        ];
        let mut lines = Lines {
            rng,
            addresses,
            agents,
            paths,
            referrers,
            visitors,
            second: 0,
            line: String::new(),
        };
        for i in 0..lines.visitors.len() {
            lines.visitors[i] = lines.visitor();
        }
        lines
    }

    fn visitor(&mut self) -> Visitor {
        // A few clients come again and again.
        let skew = self.rng.random::<f64>().powi(3);
        Visitor {
            address: (skew * ADDRESSES as f64) as usize,
            agent: self.rng.random_range(0..AGENTS),
            referrer: self.rng.random_bool(0.77).then(|| self.rng.random_range(0..REFERRERS)),
        }
    }

    /// The next line.
    pub(super) fn next_line(&mut self) -> &str {
        let at = self.rng.random_range(0..self.visitors.len());
        if self.rng.random_bool(0.06) {
            self.visitors[at] = self.visitor();
        }
        self.second += u32::from(self.rng.random_bool(0.3));
        let Visitor {
            address,
            agent,
            referrer,
        } = self.visitors[at];
        let (hour, minute, second) = (self.second / 3600 % 24, self.second / 60 % 60, self.second % 60);
        let path = &self.paths[(self.rng.random::<f64>().powi(4) * PATHS as f64) as usize];
        let status = [200, 200, 200, 200, 200, 304, 404, 301][self.rng.random_range(0..8)];
        let bytes = 100 + path.len() * 37;
        self.line.clear();
        write!(
            self.line,
            "{} - - [17/May/2015:{hour:02}:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} {bytes} \"{}\" \"{}\"",
            self.addresses[address],
            referrer.map_or("-", |referrer| &self.referrers[referrer]),
            self.agents[agent]
        )
        .expect("writing to memory");
        &self.line
    }
}
