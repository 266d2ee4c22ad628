//! Cancellation of threads.
//!
//! The C library never hears of the asynchronous type: it would end a thread in the midst of the
//! runtime. A thread of that type is ended at its next hook instead, where nothing of the runtime
//! is half done. A wait that is a cancellation point ends at once, of either type.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::pthread_t;

use crate::config::{Mode, mode};
use crate::kernel::calls;
use crate::real::real;
use crate::thread::{self, enter};
use crate::world::hold;

mod next {
    use super::*;
    real!(fn pthread_cancel(handle: pthread_t) -> c_int);
    real!(fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int);
    real!(fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int);
}

unsafe extern "C-unwind" {
    fn pthread_testcancel();
}

const DISABLED: c_int = 1;
const DEFERRED: c_int = 0;
const ASYNCHRONOUS: c_int = 1;

/// Whether a thread ever had the asynchronous type.
static ANY_ASYNCHRONOUS: AtomicBool = AtomicBool::new(false);

/// Ends the calling thread if it was cancelled.
pub(super) fn end_if_cancelled() {
    unsafe { pthread_testcancel() };
}

/// At the end of a hook: a thread of the asynchronous type may be ended here.
#[inline(always)]
pub(crate) fn after_hook() {
    if ANY_ASYNCHRONOUS.load(Relaxed) {
        end_if_asynchronous();
    }
}

#[cold]
fn end_if_asynchronous() {
    let thread = thread::current();
    let is_off = matches!(mode(), Mode::Unset | Mode::Off);
    // SAFETY: a thread is never freed.
    if let Some(thread) = unsafe { thread.as_ref() }
        && !is_off
        && thread.is_asynchronous
        && !thread.busy.load(Relaxed)
    {
        end_if_cancelled();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cancel(handle: pthread_t) -> c_int {
    enter(|thread| {
        let other = hold().by_handle(handle);
        calls::begin_cancelling(thread, other.unwrap_or(u32::MAX));
    });
    // The C library first: a thread that we wake must find that it is cancelled.
    let status = unsafe { next::pthread_cancel(handle) };
    enter(|thread| {
        calls::end(thread);
        let mut world = hold();
        if let Some(thread) = world.by_handle(handle) {
            world.entry(thread).cancelled = true;
            crate::schedule::changed(&mut world);
        }
    });
    after_hook();
    status
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
    enter(|thread| {
        hold().entry(thread.index).uncancellable = state == DISABLED;
    });
    let status = unsafe { next::pthread_setcancelstate(state, old) };
    after_hook();
    status
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    if ![DEFERRED, ASYNCHRONOUS].contains(&kind) {
        return libc::EINVAL;
    }
    let before = enter(|thread| {
        let before = std::mem::replace(&mut thread.is_asynchronous, kind == ASYNCHRONOUS);
        ANY_ASYNCHRONOUS.fetch_or(kind == ASYNCHRONOUS, Relaxed);
        before
    });
    let Some(was_asynchronous) = before else {
        return unsafe { next::pthread_setcanceltype(kind, old) };
    };
    if let Some(old) = unsafe { old.as_mut() } {
        *old = if was_asynchronous { ASYNCHRONOUS } else { DEFERRED };
    }
    after_hook();
    0
}
