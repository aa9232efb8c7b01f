//! While the head is cut into objects all the time, every answer is whole: no gap, no double, nothing forgotten.

use crate::decoder;
use crate::numbered::{Writer, after_all_ns, first_ns, read_numbers, wait_until};
use crate::server::{Client, Server};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Data objects that must have been written before the test is content.
const OBJECTS: f64 = 40.0;
/// Questions that must have been answered.
const QUESTIONS: u64 = 100;

#[test]
fn answers_stay_whole_during_cuts() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--head-max-bytes=128KiB"]);
    let client = server.client();
    let (acknowledged, sent, questions) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let done = AtomicBool::new(false);
    let flushes = || client.metric("timberline_flushes_total");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = Writer::new("cuts", 0, 7, 100);
            while !done.load(Ordering::Relaxed) && writer.next < 45_000 {
                sent.store(writer.next + 10, Ordering::SeqCst);
                assert_eq!(writer.push(&client, 10).unwrap(), 204);
                acknowledged.store(writer.next, Ordering::SeqCst);
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                client.flush();
            }
        });
        for asker in 0..2 {
            let (acknowledged, sent, questions, done, client) = (&acknowledged, &sent, &questions, &done, &client);
            scope.spawn(move || {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let least = acknowledged.load(Ordering::SeqCst).max(last);
                    last = if asker == 0 { counted(client) } else { listed(client) };
                    let most = sent.load(Ordering::SeqCst);
                    assert!(
                        least <= last && last <= most,
                        "{last} lines found; at least {least}, at most {most} are there"
                    );
                    questions.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _stop = StopOnDrop(&done);
        wait_until("enough objects are written and questions asked", || {
            flushes() >= OBJECTS && questions.load(Ordering::Relaxed) >= QUESTIONS
        });
    });
    let lines = acknowledged.load(Ordering::SeqCst);
    assert_eq!((counted(&client), listed(&client)), (lines, lines));
    client.flush();
    let rows = decoder::read(&decoder::objects(data.path()));
    assert_eq!(
        rows.len() as u64,
        lines,
        "rows that the independent decoder finds in the objects"
    );
    println!(
        "cuts: {} questions over {} lines during {} cuts",
        questions.into_inner(),
        lines,
        flushes()
    );
}

/// Ends the other threads also when the test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn counted(client: &Client) -> u64 {
    let time = after_all_ns().to_string();
    let query = "sum(count_over_time({job=\"cuts\"}[2h]))";
    let answer = client.get_json("/loki/api/v1/query", &[("query", query), ("time", &time)]);
    let result = answer["data"]["result"].as_array().unwrap();
    result
        .first()
        .map_or(0, |one| one["value"][1].as_str().unwrap().parse().unwrap())
}

fn listed(client: &Client) -> u64 {
    let numbers = read_numbers(client, "{job=\"cuts\"}", first_ns(), after_all_ns());
    for (place, number) in numbers.iter().enumerate() {
        assert_eq!(
            *number,
            place as u64,
            "a gap or a double at place {place} of {}",
            numbers.len()
        );
    }
    numbers.len() as u64
}
