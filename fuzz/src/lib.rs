//! An allocator that counts, so that a target can say how much memory its input is worth.
//!
//! This is the one place of the project with `unsafe`: there is no other way to see allocations, and
//! nothing but the fuzz targets is linked with it.

pub mod served;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The bytes that are allocated now.
static NOW: AtomicUsize = AtomicUsize::new(0);

/// The most that were allocated at a time since somebody began to watch.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a count.
pub struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller keeps the same promises to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the same promises to us.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `work` and fails where it held more than `bytes_max` bytes at a time.
pub fn within<T>(bytes_max: usize, work: impl FnOnce() -> T) -> T {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    let held = PEAK.load(Relaxed) - before;
    assert!(held <= bytes_max, "{held} bytes were held, {bytes_max} are allowed");
    result
}
