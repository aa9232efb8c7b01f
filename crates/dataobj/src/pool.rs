//! Buffers for pages, used again once nobody reads them any more.
//!
//! Arrow arrays own their memory through reference counts. The pool keeps one reference to each buffer it has made: a buffer
//! whose count has come back to one is read by nobody else and can be filled again. So an array returns its memory by being dropped,
//! on whichever thread that happens, and neither the memory nor Arrow's header of it is allocated anew.
// hot path: no lock is held while memory is filled, no logging, no allocation in steady state.

use arrow_buffer::{ArrowNativeType, Buffer};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Buffers are aligned to cache lines, which is also what Arrow recommends. It is a matter of speed only.
const ALIGNMENT: usize = 64;

/// Sizes grow by a quarter of a power of two from here on, so that a buffer made for one page fits the next.
const MIN_CLASS_BYTES: usize = 1 << 10;
const STEPS_PER_DOUBLING: usize = 4;
/// The largest class is one of 3.5 GiB; what is larger is not retained.
const CLASSES: usize = 22 * STEPS_PER_DOUBLING;

/// How many buffers of a class are looked at for a free one. If readers hold that many, the next one is likely held too, and looking
/// at all of them each time would take longer than allocating.
const MAX_PROBES: usize = 16;

/// How much a pool retains unless told otherwise: some pages of 2 MiB, in all their columns.
const DEFAULT_RETAINED_BYTES: usize = 32 << 20;

/// Hands out buffers and takes them back when the last array that reads them is dropped. Clones share the buffers.
///
/// ```
/// # use timberline_dataobj::BufferPool;
/// let pool = BufferPool::default();
/// let mut buffer = pool.take(3);
/// buffer.copy_from_slice(b"abc");
/// let read = buffer.freeze(3);
/// assert_eq!(read.as_slice(), b"abc");
/// drop(read);
/// pool.take(3);
/// assert_eq!(pool.stats().allocated, 1);
/// ```
#[derive(Clone)]
pub struct BufferPool {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    max_retained_bytes: usize,
    /// Made as sizes occur.
    classes: Vec<Class>,
    /// Buffers that the pool has refused to keep since it last looked for free ones.
    refused: usize,
    /// Buffers of all classes.
    kept: usize,
    stats: PoolStats,
}

/// Buffers of one size. Each is either free (the pool's reference is the only one) or being read or filled.
#[derive(Default)]
struct Class {
    buffers: Vec<Buffer>,
    /// Where the search for a free one goes on: buffers come back in about the order in which they went.
    next: usize,
}

/// What a pool has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Buffers handed out.
    pub taken: u64,
    /// Of these, buffers that had to be allocated.
    pub allocated: u64,
    /// Memory that the pool holds on to, in use or not, in bytes.
    pub retained_bytes: usize,
}

impl BufferPool {
    /// A pool that holds on to at most so many bytes. What is taken beyond that is freed when it is dropped.
    pub fn new(max_retained_bytes: usize) -> BufferPool {
        let shared = Shared {
            max_retained_bytes,
            classes: Vec::new(),
            refused: 0,
            kept: 0,
            stats: PoolStats::default(),
        };
        BufferPool {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// A buffer of `length` bytes. Its contents are whatever was in it before.
    pub fn take(&self, length: usize) -> PooledBuffer {
        let class = class_of(length);
        let free = self.lock().take(class);
        let buffer = free.unwrap_or_else(|| self.allocate(class, length));
        PooledBuffer { buffer, length }
    }

    /// What the pool has done so far.
    pub fn stats(&self) -> PoolStats {
        self.lock().stats
    }

    fn allocate(&self, class: Option<usize>, length: usize) -> Buffer {
        let Some(class) = class else {
            return allocate(length);
        };
        let buffer = allocate(class_bytes(class));
        self.lock().retain(class, &buffer);
        buffer
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Nothing that panics half-way leaves the lists inconsistent.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for BufferPool {
    /// Retains up to 32 MiB.
    fn default() -> BufferPool {
        BufferPool::new(DEFAULT_RETAINED_BYTES)
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPool")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// A free buffer of the class. If there is none, the caller allocates one.
    fn take(&mut self, class: Option<usize>) -> Option<Buffer> {
        self.stats.taken += 1;
        let free = class
            .and_then(|class| self.classes.get_mut(class))
            .and_then(Class::take_free);
        self.stats.allocated += u64::from(free.is_none());
        free
    }

    /// Keeps a reference to a new buffer of the class if there is room.
    fn retain(&mut self, class: usize, buffer: &Buffer) {
        let bytes = class_bytes(class);
        // Looking through all buffers is paid for by half as many refusals.
        if !self.has_room(bytes) && self.refused >= self.kept / 2 {
            self.release_free();
        }
        if !self.has_room(bytes) {
            self.refused += 1;
            return;
        }
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Class::default);
        }
        self.stats.retained_bytes += bytes;
        self.kept += 1;
        self.classes[class].buffers.push(buffer.clone());
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.stats.retained_bytes + bytes <= self.max_retained_bytes
    }

    /// Frees what nobody reads, to make room for a size that is asked for now.
    fn release_free(&mut self) {
        (self.refused, self.kept) = (0, 0);
        for (class, list) in self.classes.iter_mut().enumerate() {
            let before = list.buffers.len();
            list.buffers.retain(|buffer| !is_free(buffer));
            list.next = 0;
            self.kept += list.buffers.len();
            self.stats.retained_bytes -= (before - list.buffers.len()) * class_bytes(class);
        }
    }
}

impl Class {
    fn take_free(&mut self) -> Option<Buffer> {
        for _ in 0..self.buffers.len().min(MAX_PROBES) {
            let at = self.next;
            self.next = if at + 1 < self.buffers.len() { at + 1 } else { 0 };
            if is_free(&self.buffers[at]) {
                return Some(self.buffers[at].clone());
            }
        }
        None
    }
}

/// True if the pool's reference is the only one. Nobody else can make another one then, since only the pool could clone it.
fn is_free(buffer: &Buffer) -> bool {
    let free = buffer.strong_count() == 1;
    if free {
        // Whatever the last reader did before it dropped its reference happened before we write.
        fence(Ordering::Acquire);
    }
    free
}

fn class_of(length: usize) -> Option<usize> {
    let doublings = (length.saturating_sub(1) / MIN_CLASS_BYTES)
        .checked_ilog2()
        .map_or(0, |log| log as usize + 1);
    // The smallest class of the doubling before that is large enough.
    let first = doublings.saturating_sub(1) * STEPS_PER_DOUBLING;
    (first..CLASSES).find(|&class| class_bytes(class) >= length)
}

/// Size of the buffers of a class.
fn class_bytes(class: usize) -> usize {
    let base = MIN_CLASS_BYTES << (class / STEPS_PER_DOUBLING);
    base + base / STEPS_PER_DOUBLING * (class % STEPS_PER_DOUBLING)
}

/// A zeroed buffer that can be written through its own pointer while nobody reads it.
fn allocate(bytes: usize) -> Buffer {
    let elements = bytes.div_ceil(size_of::<i128>()) + ALIGNMENT / size_of::<i128>() + 1;
    let whole = Buffer::from_vec(vec![0i128; elements]);
    let mut buffer = whole.slice_with_length(whole.as_ptr().align_offset(ALIGNMENT), bytes);
    drop(whole);
    // So far the buffer's pointer was made from a reference for reading: memory must not change under it. There are some bytes to be cut
    // off, and that makes the pointer anew, from the allocation itself. No other way of making a buffer does. (Miri tells.)
    buffer.shrink_to_fit();
    buffer
}

/// A buffer to be filled; its memory goes back to the pool when it, or what it was frozen to, is dropped.
pub struct PooledBuffer {
    /// The whole allocation. Besides the pool's own, this is the only reference.
    buffer: Buffer,
    length: usize,
}

impl PooledBuffer {
    /// The filled buffer, to be read and shared from now on, cut to its first `length` bytes.
    ///
    /// # Panics
    /// If the buffer is shorter.
    pub fn freeze(self, length: usize) -> Buffer {
        // The allocation is mostly longer, but what is there was never this buffer's.
        assert!(
            length <= self.length,
            "{length} bytes of a buffer of {} bytes",
            self.length
        );
        self.buffer.slice_with_length(0, length)
    }

    /// Makes the buffer as long as its allocation.
    pub(crate) fn grow_to_capacity(&mut self) {
        self.length = self.buffer.len();
    }

    /// The buffer as native values, of which it must hold a whole number.
    pub(crate) fn as_mut_values<T: ArrowNativeType>(&mut self) -> &mut [T] {
        // SAFETY: native types of Arrow are plain numbers, for which any bytes are valid.
        let (before, values, after) = unsafe { self.align_to_mut::<T>() };
        assert!(
            before.is_empty() && after.is_empty(),
            "bug: buffer is not a whole number of values"
        );
        values
    }
}

impl Deref for PooledBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer.as_slice()[..self.length]
    }
}

impl DerefMut for PooledBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory is valid for `buffer.len()`, at least `length`, and initialised. The pool hands a buffer out only
        // while its own reference is the only one, and never reads through that. So until `freeze` consumes `self`,
        // nobody else has access. The pointer comes from the allocation, not from a reference for reading: see `allocate`.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.as_ptr().cast_mut(), self.length) }
    }
}

impl fmt::Debug for PooledBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBuffer")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_last_reader_is_gone() {
        let pool = BufferPool::default();
        let mut buffer = pool.take(2000);
        buffer.fill(7);
        let frozen = buffer.freeze(1500);
        let slice = frozen.slice_with_length(10, 20);
        drop(frozen);
        let mut other = pool.take(2000);
        other.fill(1);
        assert_eq!((slice.as_slice(), pool.stats().allocated), ([7; 20].as_slice(), 2));
        drop(slice);
        let again = pool.take(1900);
        assert_eq!((again.len(), pool.stats().allocated), (1900, 2));
        drop(other);
    }

    #[test]
    fn no_more_is_retained_than_allowed() {
        let pool = BufferPool::new(4096);
        let held: Vec<_> = (0..3).map(|_| pool.take(2048)).collect();
        assert_eq!(pool.stats().retained_bytes, 4096);
        drop(held);
        // A larger size pushes the free ones out.
        drop(pool.take(4096));
        assert_eq!(
            pool.stats(),
            PoolStats {
                taken: 4,
                allocated: 4,
                retained_bytes: 4096
            }
        );
        drop(pool.take(4000));
        drop(pool.take(9000));
        assert_eq!(
            pool.stats(),
            PoolStats {
                taken: 6,
                allocated: 5,
                retained_bytes: 0
            }
        );
        assert_eq!(pool.take(0).len(), 0);
    }

    #[test]
    fn readers_on_other_threads_give_buffers_back() {
        let pool = BufferPool::default();
        let rounds = if cfg!(miri) { 20 } else { 2000 };
        std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::sync_channel::<(Buffer, u8)>(2);
            scope.spawn(move || {
                receiver
                    .iter()
                    .for_each(|(read, fill)| assert!(read.iter().all(|b| *b == fill)));
            });
            for round in 0..rounds {
                let mut buffer = pool.take(100);
                buffer.fill(round as u8);
                sender
                    .send((buffer.freeze(100), round as u8))
                    .expect("the reader lives");
            }
        });
        // Two in the channel, one being read, one being filled.
        assert!(pool.stats().allocated <= 4, "{:?}", pool.stats());
    }

    #[test]
    fn a_class_is_the_smallest_that_is_large_enough() {
        let sizes = (0..CLASSES).flat_map(|class| [class_bytes(class) - 1, class_bytes(class), class_bytes(class) + 1]);
        for length in sizes.chain([0, 1, 10]) {
            let want = (0..CLASSES).find(|&class| class_bytes(class) >= length);
            assert_eq!(class_of(length), want, "{length}");
        }
        assert_eq!(class_of(usize::MAX), None);
    }

    #[test]
    #[should_panic(expected = "3 bytes")]
    fn no_more_is_frozen_than_was_taken() {
        BufferPool::default().take(3).freeze(4);
    }

    #[test]
    fn values_are_aligned() {
        let mut buffer = BufferPool::default().take(24);
        buffer.as_mut_values::<i64>().copy_from_slice(&[1, -1, 5]);
        assert_eq!(buffer.freeze(24).typed_data::<i64>(), [1, -1, 5]);
    }
}
