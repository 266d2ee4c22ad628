//! Locks: those of `omp.h`, and the one behind each `critical`.
//!
//! A lock is known by its address. Its memory is used only where nothing is recorded.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::*};

use foretrace_recording::record::lock;

use crate::futex;
use crate::sync::{self, GUARD, Patience};
use crate::thread::enter;

/// No lock of the C library's, which a copy of the process would have to take there.
const PLAIN: u8 = lock::PLAIN | GUARD;
const NESTED: u8 = lock::RECURSIVE | GUARD;

type Address = *mut c_void;

/// The lock's own memory, where nothing is recorded.
fn unrecorded<'a>(address: Address) -> &'a futex::Lock {
    // SAFETY: it is the memory of a lock of `omp.h`, or of a `critical`: an aligned word at least,
    // zero before its first use, which only functions like this one touch.
    unsafe { &*address.cast::<futex::Lock>() }
}

pub(super) fn acquire_plain(address: Address) {
    let taken = enter(|thread| {
        sync::lock_acquire(thread, address as usize, PLAIN, false, Patience::Blocking);
    });
    taken.unwrap_or_else(|| unrecorded(address).acquire());
}

pub(super) fn release_plain(address: Address) {
    let released = enter(|thread| {
        sync::lock_release(thread, address as usize, PLAIN);
    });
    released.unwrap_or_else(|| unrecorded(address).release());
}

fn init(address: Address, kind: u8) {
    // GNU's plain lock has four bytes, all others have eight or more.
    // SAFETY: the program gives the memory of a lock of this kind, which nobody uses yet.
    unsafe {
        match kind {
            PLAIN => address.cast::<u32>().write(0),
            _ => address.cast::<u64>().write(0),
        }
    }
    enter(|thread| sync::lock_init(thread, address as usize, kind));
}

fn destroy(address: Address, kind: u8) {
    enter(|thread| sync::lock_destroy(thread, address as usize, kind));
}

#[unsafe(no_mangle)]
extern "C" fn omp_init_lock(lock: Address) {
    init(lock, PLAIN);
}

#[unsafe(no_mangle)]
extern "C" fn omp_init_lock_with_hint(lock: Address, _: c_int) {
    init(lock, PLAIN);
}

#[unsafe(no_mangle)]
extern "C" fn omp_destroy_lock(lock: Address) {
    destroy(lock, PLAIN);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_set_lock(lock: Address) {
    acquire_plain(lock);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_unset_lock(lock: Address) {
    release_plain(lock);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_test_lock(lock: Address) -> c_int {
    let taken =
        enter(|thread| sync::lock_acquire(thread, lock as usize, PLAIN, false, Patience::Try) == 0);
    c_int::from(taken.unwrap_or_else(|| unrecorded(lock).try_acquire()))
}

#[unsafe(no_mangle)]
extern "C" fn omp_init_nest_lock(lock: Address) {
    init(lock, NESTED);
}

#[unsafe(no_mangle)]
extern "C" fn omp_init_nest_lock_with_hint(lock: Address, _: c_int) {
    init(lock, NESTED);
}

#[unsafe(no_mangle)]
extern "C" fn omp_destroy_nest_lock(lock: Address) {
    destroy(lock, NESTED);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_set_nest_lock(lock: Address) {
    let taken = enter(|thread| {
        sync::lock_acquire(thread, lock as usize, NESTED, false, Patience::Blocking);
    });
    taken.unwrap_or_else(|| {
        while Nested(lock).try_acquire() == 0 {
            // SAFETY: it takes nothing.
            unsafe { libc::sched_yield() };
        }
    });
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_unset_nest_lock(lock: Address) {
    let released = enter(|thread| {
        sync::lock_release(thread, lock as usize, NESTED);
    });
    released.unwrap_or_else(|| Nested(lock).release());
}

/// How deep the caller is in the lock; 0 if another thread has it.
#[unsafe(no_mangle)]
extern "C-unwind" fn omp_test_nest_lock(lock: Address) -> c_int {
    let depth = enter(|thread| {
        match sync::lock_acquire(thread, lock as usize, NESTED, false, Patience::Try) {
            0 => sync::lock_depth(lock as usize),
            _ => 0,
        }
    });
    depth.unwrap_or_else(|| Nested(lock).try_acquire()) as c_int
}

/// A nested lock where nothing is recorded: its owner in the upper half of a word, how deep it is
/// in the lower one.
struct Nested(Address);

impl Nested {
    fn word(&self) -> &AtomicU64 {
        // SAFETY: a nested lock has an aligned word of 8 bytes at least, which only these functions
        // touch.
        unsafe { AtomicU64::from_ptr(self.0.cast()) }
    }

    fn try_acquire(&self) -> u32 {
        // SAFETY: it takes nothing.
        let own = unsafe { libc::gettid() } as u64;
        let word = self.word().load(Relaxed);
        let depth = match (word as u32, word >> 32) {
            (0, _) => 0,
            (depth, owner) if owner == own => depth,
            _ => return 0,
        };
        let deeper = own << 32 | u64::from(depth + 1);
        let taken = self.word().compare_exchange(word, deeper, Acquire, Relaxed);
        taken.map_or(0, |_| depth + 1)
    }

    fn release(&self) {
        self.word().fetch_sub(1, Release);
    }
}
