//! A decoder written by somebody else from the specification alone, in another language, reads the same from our objects
//! as we do.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;
#[path = "common/index_model.rs"]
mod index_model;
#[path = "common/model.rs"]
mod model;

use common::*;
use index_model::*;
use model::*;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::Value as Json;
use std::path::Path;
use std::process::Command;
use timberline_dataobj::*;

fn decode_independently(object: &[u8]) -> Json {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("object.dataobj");
    std::fs::write(&path, object).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/decode_dataobj.py");
    let output = Command::new("python3").arg(script).arg(&path).arg("--json").output();
    let output = output.expect("python3 runs the independent decoder: please install it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut json: Json = serde_json::from_slice(&output.stdout).unwrap();
    json.as_object_mut().unwrap().remove("sha256");
    json
}

#[test]
fn it_reads_our_log_objects() {
    let mut runner = TestRunner::deterministic();
    for round in 0..6 {
        let sort = if round % 2 == 0 {
            SortOrder::StreamAscending
        } else {
            SortOrder::TimestampDescending
        };
        let mut records = records().new_tree(&mut runner).unwrap().current();
        let labels = labels().new_tree(&mut runner).unwrap().current();
        let options = options().new_tree(&mut runner).unwrap().current();
        sort_records(&mut records, &sort);
        let object = write_object(&labels, &records, &sort, &options);
        assert_same(&object_json(&object).unwrap(), &decode_independently(&object), "object");
    }
}

#[test]
fn it_reads_our_index_objects() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..6 {
        let options = options().new_tree(&mut runner).unwrap().current();
        let object = index_model().new_tree(&mut runner).unwrap().current().write(&options);
        assert_same(&object_json(&object).unwrap(), &decode_independently(&object), "object");
    }
}
