//! Any bytes as a frame of the journal: read or refused, and what was read is written again as it was understood.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_series::record::{RecordError, append_record, read_records};

fuzz_target!(|input: &[u8]| {
    let mut written = Vec::new();
    let mut shown = Vec::new();
    let _ = read_records(input, |record| {
        append_record(&record, &mut written);
        shown.push(format!("{record:?}").len());
        Ok::<_, RecordError>(())
    });
    let mut again = Vec::new();
    read_records(&written, |record| {
        append_record(&record, &mut again);
        Ok::<_, RecordError>(())
    })
    .expect("what was written can be read");
    assert_eq!(again, written);
});
