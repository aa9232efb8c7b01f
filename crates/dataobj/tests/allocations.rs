//! Decoding page after page allocates nothing, once the pool has the sizes that occur.

#![allow(clippy::unwrap_used, reason = "a test")]

use arrow_array::Array;
use arrow_buffer::Buffer;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use timberline_dataobj::*;

/// Counts what the current thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn count(bytes: usize) {
    // During a thread's end there is nothing to count.
    let _ = ALLOCATIONS.try_with(|counter| {
        let (calls, total) = counter.get();
        counter.set((calls + 1, total + bytes as u64));
    });
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller vouches.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        // SAFETY: as the caller vouches.
        unsafe { System.realloc(memory, layout, bytes) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls and bytes of what `work` allocates.
fn allocations(work: impl FnOnce()) -> (u64, u64) {
    let before = ALLOCATIONS.get();
    work();
    let after = ALLOCATIONS.get();
    (after.0 - before.0, after.1 - before.1)
}

/// A column of several pages, and its stored pages.
fn column(physical: Physical, compression: Compression, with_nulls: bool) -> (ColumnMeta, Vec<Buffer>) {
    let options = WriterOptions {
        page_bytes: 0,
        page_rows: 1000,
        ..WriterOptions::default()
    };
    let mut section = SectionWriter::new(SectionKind::Logs, 2, "", &options);
    let id = section.add_column(ColumnSpec {
        physical,
        logical: "values".to_owned(),
        tag: String::new(),
        compression,
        range: false,
        cardinality: false,
    });
    for row in (0..10_000u64).filter(|row| !with_nulls || row % 3 > 0) {
        match physical {
            Physical::Int64 => section.append_int64(id, row, (row * row) as i64).unwrap(),
            _ => section
                .append_binary(id, row, "value ".repeat(row as usize % 40).as_bytes())
                .unwrap(),
        }
    }
    let mut object = ObjectWriter::new();
    object.push_section(section.finish(&[id], None).unwrap());
    let object = object.finish().unwrap();
    let whole = WholeObject::parse(&object).unwrap();
    let column = whole.meta(&whole.sections()[0]).unwrap().columns.remove(0);
    let page = |page: &PageMeta| Buffer::from(&object[page.range.start as usize..page.range.end as usize]);
    let pages = column.pages.iter().map(page).collect();
    (column, pages)
}

#[test]
fn sizes_that_the_stored_bytes_cannot_reach_set_no_memory_aside() {
    let rows = [0, 5];
    for (physical, compression) in [
        (Physical::Int64, Compression::Zstd),
        (Physical::Binary, Compression::Zstd),
        (Physical::Binary, Compression::Snappy),
    ] {
        let (mut column, pages) = column(physical, compression, false);
        let bytes = &pages[0];
        column.pages[0].raw_bytes = MAX_PAGE_BYTES;
        let page = &column.pages[0];
        let mut scratch = Scratch::new();
        let mut errors = Vec::new();
        let (_, allocated) = allocations(|| match physical {
            Physical::Int64 => {
                errors.extend(decode_int64(&column, page, bytes, &mut scratch).err());
                errors.extend(decode_int64_rows(&column, page, bytes, &rows, &mut scratch).err());
            }
            _ => {
                errors.extend(decode_binary(&column, page, bytes, &mut scratch).err());
                errors.extend(decode_binary_rows(&column, page, bytes, &rows, &mut scratch).err());
                errors.extend(decode_binary_view(&column, page, bytes, &mut scratch).err());
            }
        });
        let refused = |error: &Error| error.to_string().contains("can't hold");
        assert!(!errors.is_empty() && errors.iter().all(refused), "{errors:?}");
        assert!(allocated < 64 << 10, "{physical:?} {compression:?}: {allocated} bytes");
    }
}

#[test]
fn none_in_steady_state() {
    let some_rows: Vec<u32> = (0..900).step_by(7).collect();
    let mut scratch = Scratch::new();
    let mut decode = |column: &ColumnMeta, pages: &[Buffer]| {
        let mut rows = 0;
        for (page, bytes) in column.pages.iter().zip(pages) {
            if column.physical == Physical::Int64 {
                rows += decode_int64(column, page, bytes, &mut scratch).unwrap().len();
                rows += decode_int64_rows(column, page, bytes, &some_rows, &mut scratch)
                    .unwrap()
                    .len();
            } else {
                rows += decode_binary(column, page, bytes, &mut scratch).unwrap().len();
                rows += decode_binary_rows(column, page, bytes, &some_rows, &mut scratch)
                    .unwrap()
                    .len();
                rows += decode_binary_view(column, page, bytes, &mut scratch).unwrap().len();
            }
        }
        rows
    };
    for physical in [Physical::Int64, Physical::Binary] {
        for compression in [Compression::None, Compression::Zstd] {
            for with_nulls in [false, true] {
                let (column, pages) = column(physical, compression, with_nulls);
                let first = allocations(|| assert!(decode(&column, &pages) > 10_000));
                let again = allocations(|| assert!(decode(&column, &pages) > 10_000));
                println!("{physical:?} {compression:?} nulls {with_nulls}: first {first:?}, again {again:?}");
                assert_eq!(again, (0, 0), "{physical:?} {compression:?} nulls {with_nulls}");
            }
        }
    }
    let stats = scratch.pool().stats();
    assert!(stats.taken > 500 && stats.allocated < 50, "{stats:?}");
}
