//! The time-series store of the whole program: its port, its folder, `kill -9`.

use crate::server::{Server, program};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A connection that speaks just enough of the protocol.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn open(server: &Server) -> Connection {
        let stream = TcpStream::connect(server.resp_address().expect("it listens")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Connection {
            stream: BufReader::new(stream),
        }
    }

    fn send(&mut self, words: &[&str]) -> std::io::Result<()> {
        let mut command = format!("*{}\r\n", words.len());
        for word in words {
            command += &format!("${}\r\n{word}\r\n", word.len());
        }
        self.stream.get_mut().write_all(command.as_bytes())
    }

    /// A reply as text: arrays in brackets, no types.
    fn reply(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let (kind, rest) = line.trim_end().split_at(1);
        Ok(match kind {
            "$" if rest != "-1" => {
                let mut text = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.stream.read_exact(&mut text)?;
                String::from_utf8_lossy(&text[..text.len() - 2]).into_owned()
            }
            "*" => {
                let parts = (0..rest.parse::<usize>().unwrap()).map(|_| self.reply());
                format!("[{}]", parts.collect::<Result<Vec<_>, _>>()?.join(" "))
            }
            _ => rest.to_owned(),
        })
    }

    fn call(&mut self, words: &[&str]) -> String {
        self.send(words).unwrap();
        self.reply().unwrap()
    }
}

#[test]
fn series_survive_a_clean_stop_and_kill() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut client = Connection::open(&server);
    assert_eq!(client.call(&["TS.CREATE", "s", "LABELS", "app", "shop"]), "OK");
    assert_eq!(client.call(&["TS.CREATE", "d"]), "OK");
    assert_eq!(
        client.call(&["TS.CREATERULE", "s", "d", "AGGREGATION", "sum", "1000"]),
        "OK"
    );
    assert_eq!(client.call(&["TS.ADD", "s", "1000", "1.5"]), "1000");
    assert_eq!(client.call(&["TS.ADD", "s", "500", "0.25"]), "500");
    assert_eq!(client.call(&["SET", "text", "hello"]), "OK");
    let (status, _) = server.stop(libc::SIGTERM);
    assert!(status.success());

    let server = Server::start(data.path(), &["--resp-fsync", "always"]);
    let mut client = Connection::open(&server);
    assert_eq!(client.call(&["TS.RANGE", "s", "-", "+"]), "[[500 2.5E-1] [1000 1.5]]");
    assert_eq!(client.call(&["TS.ADD", "s", "2000", "2"]), "2000");
    server.kill();

    let server = Server::start(data.path(), &[]);
    let mut client = Connection::open(&server);
    assert_eq!(
        client.call(&["TS.RANGE", "s", "-", "+"]),
        "[[500 2.5E-1] [1000 1.5] [2000 2]]"
    );
    assert_eq!(client.call(&["TS.RANGE", "d", "-", "+"]), "[[0 2.5E-1] [1000 1.5]]");
    assert_eq!(client.call(&["TS.QUERYINDEX", "app=shop"]), "[s]");
    assert_eq!(client.call(&["GET", "text"]), "hello");
}

/// Four connections write, in order and late, until the process is killed; what was acknowledged must be there, once.
fn kill_rounds(fsync: &str, rounds: usize) {
    let data = tempfile::tempdir().unwrap();
    let seed = std::env::var("TIMBERLINE_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("seed {seed}, fsync {fsync}");
    let mut random = SmallRng::seed_from_u64(seed);
    let mut acknowledged: Vec<BTreeSet<(i64, Instant)>> = vec![BTreeSet::new(); 4];
    for round in 0..rounds {
        let server = Server::start(data.path(), &["--resp-fsync", fsync]);
        let writers: Vec<_> = (0..4)
            .map(|number: usize| {
                let mut client = Connection::open(&server);
                let seed = random.random::<u64>();
                std::thread::spawn(move || write_until_it_ends(&mut client, number, round, seed))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(random.random_range(200..1500)));
        let killed = Instant::now();
        server.kill();
        for (all, writer) in acknowledged.iter_mut().zip(writers) {
            all.extend(writer.join().unwrap());
        }
        let server = Server::start(data.path(), &["--resp-fsync", fsync]);
        let mut client = Connection::open(&server);
        for (number, all) in acknowledged.iter_mut().enumerate() {
            let found = client.call(&["TS.RANGE", &format!("s{number}"), "-", "+"]);
            let found: BTreeSet<i64> = found
                .split(['[', ']'])
                .filter_map(|row| row.split_once(' ')?.0.parse().ok())
                .collect();
            let must_be_there = |at: Instant| fsync == "always" || killed.duration_since(at) > Duration::from_secs(1);
            let lost = all
                .iter()
                .filter(|(timestamp, at)| must_be_there(*at) && !found.contains(timestamp))
                .count();
            assert_eq!(lost, 0, "series {number} after round {round} lost acknowledged samples");
            // What a lenient policy lost is gone for good; the rest is older than a second in the next round.
            all.retain(|(timestamp, _)| found.contains(timestamp));
        }
        server.kill();
    }
    println!(
        "acknowledged and found: {}",
        acknowledged.iter().map(BTreeSet::len).sum::<usize>()
    );
}

fn write_until_it_ends(client: &mut Connection, number: usize, round: usize, seed: u64) -> Vec<(i64, Instant)> {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut acknowledged = Vec::new();
    let key = format!("s{number}");
    let base = 1_000_000_000 * (round as i64 + 1);
    let mut newest = base;
    loop {
        let batch: Vec<i64> = (0..20)
            .map(|_| {
                newest += 10;
                // Every other sample is late, on a timestamp that nobody uses again with a good chance.
                if random.random() {
                    newest
                } else {
                    random.random_range(base - 500_000_000..newest) | 1
                }
            })
            .collect();
        for timestamp in &batch {
            if client
                .send(&["TS.ADD", &key, &timestamp.to_string(), "1", "ON_DUPLICATE", "LAST"])
                .is_err()
            {
                return acknowledged;
            }
        }
        for timestamp in &batch {
            match client.reply() {
                Ok(reply) if reply == timestamp.to_string() => acknowledged.push((*timestamp, Instant::now())),
                Ok(reply) => panic!("{key} {timestamp}: {reply}"),
                Err(_) => return acknowledged,
            }
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_with_fsync_always() {
    kill_rounds("always", 4);
}

#[test]
fn at_most_a_second_is_lost_with_fsync_everysec() {
    kill_rounds("everysec", 4);
}

#[test]
fn the_port_can_be_left_out_or_taken() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--resp", "off"]);
    assert_eq!(server.resp_address(), None);
    drop(server);
    let server = Server::start(data.path(), &[]);
    let taken = server.resp_address().unwrap().to_owned();
    let other = tempfile::tempdir().unwrap();
    let mut command = program();
    command
        .args(["serve", "--http", "127.0.0.1:0", "--resp", &taken, "--data"])
        .arg(other.path());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains(&taken) && text.contains("--resp off"), "{text}");
}

#[test]
fn a_password_is_asked_for_and_not_shown() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--resp-password", "open sesame"]);
    let mut client = Connection::open(&server);
    assert!(client.call(&["TS.GET", "s"]).starts_with("NOAUTH"));
    assert_eq!(client.call(&["AUTH", "open sesame"]), "OK");
    assert_eq!(client.call(&["TS.ADD", "s", "1", "1"]), "1");
    let shown = server.client().get("/config", &[]);
    assert!(!format!("{shown:?}").contains("sesame") && !server.greeting.join("\n").contains("sesame"));
}
