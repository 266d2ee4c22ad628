//! The runtime's own memory, kept apart so that the program's heap is laid out as if the runtime
//! were not there.
//!
//! Sizes are rounded to powers of two; freed blocks wait in a list of their size.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::futex::{Spin, system_call};

const SLAB: usize = 1 << 20;
const CLASSES: usize = 20;
/// What the kernel maps is aligned to this, and no block is to more.
const PAGE: usize = 4096;

pub(crate) struct Arena;

struct State {
    free: [*mut u8; CLASSES],
    next: *mut u8,
    left: usize,
}

struct Shared(UnsafeCell<State>);
// SAFETY: whoever uses the content holds LOCK.
unsafe impl Sync for Shared {}

static LOCK: Spin = Spin::new();
static STATE: Shared =
    Shared(UnsafeCell::new(State { free: [null_mut(); CLASSES], next: null_mut(), left: 0 }));

fn class(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(16).next_power_of_two().trailing_zeros() as usize
}

/// Nobody allocates while the process is copied.
pub(crate) fn lock() {
    LOCK.acquire();
}

pub(crate) fn unlock() {
    LOCK.release();
}

/// Fresh zeroed pages.
pub(crate) fn pages(size: usize) -> *mut u8 {
    map(size, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0).unwrap_or(null_mut())
}

/// Where our pages are: far from the program's, so that its own are where they would be without us,
/// in a recording and in a replay.
static PLACE: AtomicUsize = AtomicUsize::new(0x1000_0000_0000);

/// Maps pages for us: not through the program's `mmap`, which is recorded.
pub(crate) fn map(size: usize, flags: i32, file: i32, offset: u64) -> Option<*mut u8> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // A wish: the kernel goes elsewhere if something is there.
    let place = PLACE.fetch_add(size.next_multiple_of(4096), Relaxed);
    let arguments = [place, size, access as usize, flags as usize, file as usize, offset as usize];
    let start = system_call(libc::SYS_mmap, arguments);
    // The last page of addresses is for error numbers.
    (!(-4095..0).contains(&start)).then_some(start as *mut u8)
}

/// Gives pages back that [`map`] gave.
pub(crate) fn unmap(start: *mut u8, size: usize) {
    system_call(libc::SYS_munmap, [start as usize, size, 0, 0, 0, 0]);
}

// SAFETY: a block is at least as large as its class, which is no smaller than the layout's size and
// alignment, and it is in one place at a time: given out, in the list of its class, or untouched.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class(layout);
        if layout.align() > PAGE {
            return null_mut();
        }
        if class >= CLASSES {
            return pages(layout.size());
        }
        // SAFETY: LOCK is held. A block in a list begins with the next one, which `dealloc` wrote
        // there; `next` and `left` are what remains of a slab, and blocks stay within it.
        LOCK.with(|| unsafe {
            let state = &mut *STATE.0.get();
            let reused = state.free[class];
            if !reused.is_null() {
                state.free[class] = reused.cast::<*mut u8>().read();
                return reused;
            }
            let size = 1 << class;
            // Slabs are aligned to pages, and larger blocks come first in none: align within the
            // slab.
            let skip = state.next.align_offset(size.min(PAGE));
            if state.left < size + skip {
                state.next = pages(SLAB);
                state.left = SLAB;
                if state.next.is_null() {
                    state.left = 0;
                    return null_mut();
                }
            } else {
                state.next = state.next.add(skip);
                state.left -= skip;
            }
            let block = state.next;
            state.next = state.next.add(size);
            state.left -= size;
            block
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = class(layout);
        if class >= CLASSES {
            unmap(block, layout.size());
            return;
        }
        // SAFETY: LOCK is held. The block came from `alloc` with the same layout, nobody uses it
        // any more, and it has at least 16 bytes.
        LOCK.with(|| unsafe {
            let state = &mut *STATE.0.get();
            block.cast::<*mut u8>().write(state.free[class]);
            state.free[class] = block;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_apart() {
        let mut blocks: Vec<(usize, usize)> = Vec::new();
        for size in [1, 16, 24, 100, 4096, 5000, 1 << 19, 1 << 20] {
            for align in [1, 8, 64, 4096] {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: the size is not 0.
                let block = unsafe { Arena.alloc(layout) } as usize;
                assert!(block != 0 && block.is_multiple_of(align), "{layout:?}");
                blocks.push((block, block + size));
            }
        }
        blocks.sort_unstable();
        assert!(blocks.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{blocks:x?}");
    }

    #[test]
    fn nothing_is_aligned_to_more_than_a_page() {
        let layout = Layout::from_size_align(8192, 8192).unwrap();
        // SAFETY: the size is not 0.
        assert!(unsafe { Arena.alloc(layout) }.is_null());
    }
}
