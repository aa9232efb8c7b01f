//! Scans of any bytes: an error or rows, and a predicate and its contrary share all rows out between them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timberline_dataobj::*;
use timberline_fuzz::page;

fuzz_target!(|input: &[u8]| {
    let Some((head, object)) = input.split_first_chunk::<16>() else {
        return;
    };
    let Ok(whole) = WholeObject::parse(object) else { return };
    for section in whole.sections() {
        let Ok(mut meta) = whole.meta(section) else { continue };
        if !page::is_small(&meta) {
            continue;
        }
        page::forge_checksums(&mut meta, object);
        let predicate = predicate(head, &meta);
        let contrary = Predicate::Not(Box::new(predicate.clone()));
        let (some, others) = (
            scan(object, &meta, &predicate, head[0]),
            scan(object, &meta, &contrary, head[0]),
        );
        if let (Ok(some), Ok(others)) = (some, others) {
            assert_eq!(some + others, meta.rows, "{predicate:?}");
        }
    }
});

/// Two tests on columns of the section, joined.
fn predicate(head: &[u8; 16], meta: &SectionMeta) -> Predicate {
    let [_, join, rest @ ..] = head;
    let (one, other) = rest.split_at(7);
    let (one, other) = (test(one, meta), test(other, meta));
    match join % 3 {
        0 => one.and(other),
        1 => one.or(other),
        _ => one.and(Predicate::Not(Box::new(other))),
    }
}

fn test(bytes: &[u8], meta: &SectionMeta) -> Predicate {
    let Some(column) = meta.columns.get(usize::from(bytes[0]) % meta.columns.len().max(1)) else {
        return Predicate::all();
    };
    let name = ColumnName::new(column.logical.clone(), column.tag.clone());
    let text = bytes[3..][..usize::from(bytes[2]) % 4].to_vec();
    // A number near one that the statistics know, where pages are cut off.
    let known = column.stats.as_ref().and_then(|stats| stats.min.clone());
    let number = match known {
        Some(Value::Int64(known)) => known.wrapping_add(i64::from(bytes[3].cast_signed())),
        _ => i64::from(bytes[3]),
    };
    let is_integer = column.physical == Physical::Int64;
    let value = if is_integer {
        Value::Int64(number)
    } else {
        Value::Binary(text.clone())
    };
    match bytes[1] % 6 {
        0 => Predicate::equal(name, value),
        1 => Predicate::is_in(name, [value.clone(), value]),
        2 => Predicate::range(name, ..value),
        3 => Predicate::range(name, value..),
        4 if !is_integer => Predicate::prefix(name, text),
        _ if !is_integer => Predicate::contains(name, text),
        _ => Predicate::all(),
    }
}

/// Scans to the end and counts rows.
fn scan(mut object: &[u8], meta: &SectionMeta, predicate: &Predicate, batch: u8) -> Result<u64, Error> {
    let projection: Vec<ColumnName> = meta
        .columns
        .iter()
        .take(2)
        .map(|column| column.logical.as_str().into())
        .collect();
    let options = ScanOptions {
        batch_rows: usize::from(batch) + 1,
        window_bytes: 600,
        ..ScanOptions::default()
    };
    let mut scan = Scan::new(meta, predicate, &projection, options)?;
    let mut rows = 0;
    while let Some(batch) = scan.next_batch(&mut object)? {
        assert!(!batch.is_empty());
        rows += batch.len() as u64;
        assert!(rows <= meta.rows, "no more rows than there are");
    }
    Ok(rows)
}
