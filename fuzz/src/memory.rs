//! The stated bounds on memory (for objects in chapter "Limits" of `docs/format.md`), and an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that one byte of object header or section metadata may cost: the smallest entry takes two bytes of a list and
/// several hundred in memory.
const PER_METADATA_BYTE: usize = 512;
/// Bytes that one row of a page may cost: a view, its presence, its place while rows are selected; buffers are powers of two.
const PER_ROW: usize = 48;
/// Bytes that one raw byte of a page may cost: decompressed, and as values of its array.
const PER_RAW_BYTE: usize = 4;
/// Bytes that one byte of a query may cost: the smallest operand is a digit, and a node of the tree takes some hundred bytes.
const PER_QUERY_BYTE: usize = 1024;
/// Bytes that compiling one regular expression may cost: the bound on its program, and what stands beside it meanwhile.
const REGULAR_EXPRESSION: usize = 64 << 20;
/// Bytes that one byte of a line may cost: the smallest label of a line takes two or three bytes of it.
const PER_LINE_BYTE: usize = 512;
/// Bytes that one byte of a request may cost: a word of an array takes at least six bytes of it, one of a line two; its place, and
/// twice a copy of it, as the target keeps them.
const PER_REQUEST_BYTE: usize = 256;
/// Contexts, error messages, first sizes of buffers.
const FIXED: usize = 256 << 10;

/// Most bytes that are allocated at once for parsing metadata of that many bytes.
pub fn of_metadata(bytes: usize) -> usize {
    FIXED + PER_METADATA_BYTE * bytes
}

/// Most bytes that are allocated at once for decoding a page of which that much is claimed.
pub fn of_page(rows: u64, raw_bytes: u64) -> usize {
    FIXED + PER_ROW * rows as usize + PER_RAW_BYTE * raw_bytes as usize
}

/// Most bytes that are allocated at once for reading a query of that length, printing it and reading it again: nodes of the
/// tree, their texts, and one regular expression at a time, whose compiled size is bounded.
pub fn of_query(bytes: usize) -> usize {
    REGULAR_EXPRESSION + PER_QUERY_BYTE * bytes
}

/// Most bytes that are allocated at once for running a pipeline over lines of that length together: their values, names
/// that were met, and copies of the line.
pub fn of_lines(bytes: usize) -> usize {
    FIXED + PER_LINE_BYTE * bytes
}

/// Most bytes that are allocated at once for finding the commands of a request of that length, whatever it announces.
pub fn of_request(bytes: usize) -> usize {
    FIXED + PER_REQUEST_BYTE * bytes
}

/// Runs `f` and panics if it needs more than `most_bytes` at once.
pub fn bounded<T>(most_bytes: usize, f: impl FnOnce() -> T) -> T {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = f();
    let needed = PEAK.load(Relaxed).saturating_sub(before);
    assert!(
        needed <= most_bytes,
        "{needed} bytes of memory needed, the bound is {most_bytes}"
    );
    result
}

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn grow(bytes: usize) {
    let now = NOW.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        grow(new_size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
