//! `pthread_once`, `call_once`, and the guards of C++ function-local statics: a lock, and a word that says whether it
//! was done.

use std::ffi::c_int;

use foretrace_recording::record::{kind, lock};

use crate::real::real;
use crate::sync::{self, Patience};
use crate::thread::{Thread, enter};

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

fn load(thread: &mut Thread, address: u64, size: u8, read: impl Fn() -> u64) -> u64 {
    let site = thread.call_site;
    thread.point(kind::LOAD, site, address, u64::from(size));
    let value = read();
    thread.record(kind::LOAD, size, site, [address, value]);
    value
}

fn store(thread: &mut Thread, address: u64, size: u8, value: u64, write: impl Fn()) {
    let site = thread.call_site;
    thread.point(kind::STORE, site, address, u64::from(size));
    thread.record(kind::STORE, size, site, [address, value]);
    write();
}

/// Takes the lock; whether the work is still to be done. If not, the lock is given back.
fn begin(thread: &mut Thread, address: usize, size: u8, done: u64, read: impl Fn() -> u64) -> bool {
    sync::lock_acquire(thread, address, lock::PLAIN, false, Patience::Blocking);
    let needed = load(thread, address as u64, size, read) != done;
    if !needed {
        sync::lock_release(thread, address, lock::PLAIN);
    }
    needed
}

/// Gives the lock back when the routine ends by an exception, or by cancellation: the next one tries again.
struct GiveBack(usize);

impl Drop for GiveBack {
    fn drop(&mut self) {
        enter(|thread| sync::lock_release(thread, self.0, lock::PLAIN));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_once(control: *mut c_int, routine: Routine) -> c_int {
    let address = control as usize;
    let begun = enter(|thread| {
        begin(thread, address, 4, DONE as u64, || unsafe { *control } as u32 as u64)
    });
    match begun {
        None => return unsafe { next::pthread_once(control, routine) },
        Some(false) => return 0,
        Some(true) => {}
    }
    let unless_done = GiveBack(address);
    routine();
    std::mem::forget(unless_done);
    enter(|thread| {
        store(thread, address as u64, 4, DONE as u64, || unsafe { *control = DONE });
        sync::lock_release(thread, address, lock::PLAIN);
    });
    0
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __cxa_guard_acquire(guard: *mut u8) -> c_int {
    let begun =
        enter(|thread| begin(thread, guard as usize, 1, 1, || u64::from(unsafe { *guard })));
    begun.map_or_else(|| unsafe { next::__cxa_guard_acquire(guard) }, c_int::from)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __cxa_guard_release(guard: *mut u8) {
    let done = enter(|thread| {
        store(thread, guard as u64, 1, 1, || unsafe { *guard = 1 });
        sync::lock_release(thread, guard as usize, lock::PLAIN);
    });
    done.unwrap_or_else(|| unsafe { next::__cxa_guard_release(guard) });
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __cxa_guard_abort(guard: *mut u8) {
    let done = enter(|thread| {
        sync::lock_release(thread, guard as usize, lock::PLAIN);
    });
    done.unwrap_or_else(|| unsafe { next::__cxa_guard_abort(guard) });
}
