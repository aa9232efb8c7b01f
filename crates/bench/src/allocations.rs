//! Counting allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread takes. For benchmarks to install as their global allocator; programs that
/// serve do without, so that they pay nothing for it.
pub struct CountingAllocator;

/// Tells how many allocations the calling thread has made so far.
pub type AllocationCounter = fn() -> u64;

impl CountingAllocator {
    /// Allocations of the calling thread so far, reallocations included.
    pub fn allocations() -> u64 {
        COUNT.get()
    }
}

// SAFETY: every call goes on to the system's allocator unchanged; counting touches a thread-local without a destructor.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `alloc` took the memory from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract of `realloc`, and `alloc` took the memory from the system's allocator.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
