//! Hidden cells: words that the threads of a team change in one step, and that the recording shows.
//!
//! A cell has an address of its own, which nothing else ever has, so it begins with 0 whatever
//! happened before. Nothing is stored at that address; the value is kept by the team.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

use foretrace_recording::record::kind;
use foretrace_recording::site::order;

use crate::futex::{Guarded, system_call};
use crate::interpose::process::refuse;
use crate::thread::enter;
use crate::world::hold;

/// Stores a result where the caller wants it, as compiled code would do it: with a record.
///
/// # Safety
///
/// There is room for it.
pub(super) unsafe fn give<T: Copy>(to: *mut T, value: T) {
    const { assert!(size_of::<T>() <= size_of::<u64>()) };
    let size = size_of::<T>();
    enter(|thread| {
        let site = thread.call_site;
        let mut bits = 0u64;
        // SAFETY: a `T` is not larger, see above, and not aligned to more.
        unsafe { (&raw mut bits).cast::<T>().write_unaligned(value) };
        thread.point(kind::STORE, site, to as u64, size as u64);
        thread.access(kind::STORE, size as u8, site, to as u64, bits);
    });
    // SAFETY: the caller says so.
    unsafe { to.write(value) };
}

/// Addresses that are set aside, in bytes.
const RANGE: usize = 1 << 36;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The addresses of `words` words that nothing else has.
pub(super) fn addresses(words: u64) -> usize {
    let size = usize::try_from(words).ok().and_then(|words| words.checked_mul(8));
    let Some(size) = size.filter(|size| *size < RANGE) else {
        refuse("an ordered loop has more than 2^33 iterations")
    };
    if NEXT.load(Acquire) == 0 {
        // Whoever comes second leaves its pages alone.
        let _ = NEXT.compare_exchange(0, reserve(), AcqRel, Acquire);
    }
    NEXT.fetch_add(size, AcqRel)
}

/// Memory at such addresses: zeroed, and the same in every run with the same schedule. The C
/// library's own is not, since which block it gives out next depends on when threads are really
/// gone.
pub(super) struct Store(Guarded<Stored>);

struct Stored {
    /// Where the next new block begins, and where the memory ends that can be touched.
    next: usize,
    end: usize,
    /// Blocks that were given back, with their sizes.
    free: Vec<(usize, usize)>,
}

/// Memory is made ready to be touched in such pieces.
const PIECE: usize = 1 << 20;

impl Store {
    pub(super) const fn new() -> Store {
        Store(Guarded::new(Stored { next: 0, end: 0, free: Vec::new() }))
    }

    pub(super) fn take(&self, size: usize) -> *mut u8 {
        let size = size.next_multiple_of(16);
        let block = self.0.with(|state| {
            if let Some(at) = state.free.iter().rposition(|(_, free)| *free == size) {
                return state.free.swap_remove(at).0;
            }
            if state.next + size > state.end {
                let piece = size.next_multiple_of(PIECE);
                state.next = addresses((piece / 8 + 512) as u64).next_multiple_of(4096);
                state.end = state.next + piece;
                let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
                let arguments = [state.next, piece, access, 0, 0, 0];
                if system_call(libc::SYS_mprotect, arguments) != 0 {
                    refuse("there is no memory for the tasks of OpenMP");
                }
            }
            state.next += size;
            state.next - size
        });
        let block = block as *mut u8;
        // SAFETY: the block is within memory that was made ready, and nobody else has it.
        unsafe { block.write_bytes(0, size) };
        block
    }

    pub(super) fn give_back(&self, block: *mut u8, size: usize) {
        let size = size.next_multiple_of(16);
        self.0.with(|state| state.free.push((block as usize, size)));
    }
}

/// Pages that nobody can touch.
fn reserve() -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let arguments = [0, RANGE, libc::PROT_NONE as usize, flags as usize, usize::MAX, 0];
    let start = system_call(libc::SYS_mmap, arguments);
    if (-4095..0).contains(&start) {
        refuse("there is no room for the addresses that OpenMP needs");
    }
    start as usize
}

pub(super) struct Cell {
    address: u64,
    value: AtomicU64,
}

impl Cell {
    pub(super) fn new() -> Cell {
        Cell { address: addresses(1) as u64, value: AtomicU64::new(0) }
    }

    /// Changes the value in one step, which is recorded; returns the one before.
    pub(super) fn update(&self, change: impl Fn(u64) -> u64) -> u64 {
        let perform = || {
            let done = self.value.fetch_update(SeqCst, SeqCst, |old| Some(change(old)));
            done.unwrap_or_else(|old| old)
        };
        let done = enter(|thread| {
            let site = thread.call_site;
            thread.point(kind::RMW, site, self.address, 8);
            let mut world = hold();
            let old = perform();
            let detail = 8 | (order::ACQ_REL as u8) << 4;
            world.stamped(thread, kind::RMW, detail, site, [self.address, old, change(old)]);
            old
        });
        done.unwrap_or_else(perform)
    }

    /// Counts one up, which is recorded, and does the work in the same step: while nobody else does
    /// any such work.
    pub(super) fn step<R>(&self, work: impl FnOnce() -> R) -> R {
        let mut work = Some(work);
        let done = enter(|thread| {
            let site = thread.call_site;
            thread.point(kind::RMW, site, self.address, 8);
            let mut world = hold();
            let old = self.value.fetch_add(1, SeqCst);
            let detail = 8 | (order::ACQ_REL as u8) << 4;
            world.stamped(thread, kind::RMW, detail, site, [self.address, old, old + 1]);
            work.take().map(|work| work())
        });
        match (done.flatten(), work) {
            (Some(result), _) => result,
            (None, Some(work)) => {
                // Nothing is recorded any more, but others may still do the same.
                let _alone = hold();
                work()
            }
            (None, None) => unreachable!("work that was taken has a result"),
        }
    }
}
