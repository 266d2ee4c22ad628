//! `pthread_once`, `call_once`, and the guards of C++ function-local statics: a lock, and a word
//! that says whether it was done.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::*};

use foretrace_recording::record::kind;
use foretrace_recording::site::order;

use crate::real::{pass_on, real};
use crate::sync::{self, GUARD, Patience};
use crate::thread::{Thread, enter};
use crate::world::hold;

type Routine = extern "C-unwind" fn();

mod next {
    use super::*;
    real!(fn pthread_once(control: *mut c_int, routine: Routine) -> c_int);
    real!(fn __cxa_guard_acquire(guard: *mut u8) -> c_int);
    real!(fn __cxa_guard_release(guard: *mut u8));
    real!(fn __cxa_guard_abort(guard: *mut u8));
}

/// glibc's word for a routine that has run.
const DONE: c_int = 2;

/// Atomic, as all accesses of guards are: compiled code looks at them without the lock.
fn load(thread: &mut Thread, address: u64, size: u8, read: impl Fn() -> u64) -> u64 {
    let site = thread.call_site;
    thread.point(kind::ATOMIC_LOAD, site, address, u64::from(size));
    let (mut world, value) = (hold(), read());
    let detail = size | (order::ACQUIRE as u8) << 4;
    world.stamped(thread, kind::ATOMIC_LOAD, detail, site, [address, value]);
    value
}

fn store(thread: &mut Thread, address: u64, size: u8, value: u64, write: impl Fn()) {
    let site = thread.call_site;
    thread.point(kind::ATOMIC_STORE, site, address, u64::from(size));
    let mut world = hold();
    write();
    let detail = size | (order::RELEASE as u8) << 4;
    world.stamped(thread, kind::ATOMIC_STORE, detail, site, [address, value]);
}

/// Takes the lock; whether the work is still to be done. If not, the lock is given back.
fn begin(thread: &mut Thread, address: usize, size: u8, done: u64, read: impl Fn() -> u64) -> bool {
    sync::lock_acquire(thread, address, GUARD, false, Patience::Blocking);
    let needed = load(thread, address as u64, size, read) != done;
    if !needed {
        sync::lock_release(thread, address, GUARD);
    }
    needed
}

/// Gives the lock back when the routine ends by an exception, or by cancellation: the next one
/// tries again.
struct GiveBack(usize);

impl Drop for GiveBack {
    fn drop(&mut self) {
        enter(|thread| sync::lock_release(thread, self.0, GUARD));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_once(control: *mut c_int, routine: Routine) -> c_int {
    let address = control as usize;
    // SAFETY: the caller gives a control variable, which is an aligned word; the C library uses it
    // atomically too.
    let state = unsafe { AtomicU32::from_ptr(control.cast()) };
    let begun =
        enter(|thread| begin(thread, address, 4, DONE as u64, || u64::from(state.load(Acquire))));
    match begun {
        None => return pass_on!(next::pthread_once(control, routine)),
        Some(false) => return 0,
        Some(true) => {}
    }
    let unless_done = GiveBack(address);
    routine();
    std::mem::forget(unless_done);
    let done = enter(|thread| {
        store(thread, address as u64, 4, DONE as u64, || state.store(DONE as u32, Release));
        sync::lock_release(thread, address, GUARD);
    });
    // The routine may have forked.
    done.unwrap_or_else(|| state.store(DONE as u32, Release));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __cxa_guard_acquire(guard: *mut u8) -> c_int {
    // SAFETY: the compiler gives the guard of a variable, whose first byte code tests atomically.
    let state = unsafe { AtomicU8::from_ptr(guard) };
    let read = || u64::from(state.load(Acquire));
    let begun = enter(|thread| begin(thread, guard as usize, 1, 1, read));
    begun.map_or_else(|| pass_on!(next::__cxa_guard_acquire(guard)), c_int::from)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __cxa_guard_release(guard: *mut u8) {
    // SAFETY: as in `__cxa_guard_acquire`.
    let state = unsafe { AtomicU8::from_ptr(guard) };
    let done = enter(|thread| {
        store(thread, guard as u64, 1, 1, || state.store(1, Release));
        sync::lock_release(thread, guard as usize, GUARD);
    });
    done.unwrap_or_else(|| pass_on!(next::__cxa_guard_release(guard)));
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __cxa_guard_abort(guard: *mut u8) {
    let done = enter(|thread| {
        sync::lock_release(thread, guard as usize, GUARD);
    });
    done.unwrap_or_else(|| pass_on!(next::__cxa_guard_abort(guard)));
}
