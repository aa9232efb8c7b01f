//! Any bytes as the body of a series, behind a right checksum, given to RESTORE: refused, or a series that can be read, written and dumped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_series::engine::Engine;
use timberline_series::policy::DuplicatePolicy;
use timberline_series::series::Reach;

fuzz_target!(|input: &[u8]| {
    let mut payload = b"TLD1\x01".to_vec();
    payload.extend_from_slice(input);
    payload.extend_from_slice(&crc32c::crc32c(&payload).to_le_bytes());
    let engine = Engine::in_memory();
    let access = engine.exclusive();
    if access.restore(0, b"key", &payload, None, false).is_err() {
        return;
    }
    let series = access.series(0, b"key").expect("it was restored");
    let last = series
        .last(false)
        .expect("nothing is fetched")
        .map_or(0, |last| last.timestamp);
    let mut writer = access
        .writer(series.clone())
        .expect("nothing is fetched")
        .expect("it is there");
    for timestamp in [0, last / 2, last, last.saturating_add(1)] {
        let _ = writer.add(timestamp, 1.0, Some(DuplicatePolicy::Last));
    }
    drop(writer);
    series
        .view(0, i64::MAX, Reach::Neighbours, true)
        .expect("nothing is fetched");
    series.info().expect("nothing is fetched");
    let dumped = access
        .dump(0, b"key")
        .expect("it is there")
        .expect("nothing is fetched");
    access
        .restore(0, b"again", &dumped, None, false)
        .expect("what was dumped can be restored");
});
