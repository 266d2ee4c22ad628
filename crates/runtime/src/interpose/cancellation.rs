//! Cancellation of threads.
//!
//! The C library never hears of the asynchronous type: it would end a thread in the midst of the
//! runtime. A thread of that type is ended at its next hook instead, where nothing of the runtime
//! is half done. A wait that is a cancellation point ends at once, of either type.

use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

use libc::pthread_t;

use crate::kernel::calls;
use crate::real::{pass_on, real};
use crate::thread::{enter, hook, pending};
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

/// Ends the calling thread if it was cancelled.
pub(crate) fn end_if_cancelled() {
    // SAFETY: callers are `C-unwind` functions, and hold nothing of the runtime's that must be
    // given back: it may unwind.
    unsafe { pthread_testcancel() };
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cancel(handle: pthread_t) -> c_int {
    enter(|thread| {
        let other = hold().by_handle(handle);
        calls::begin_cancelling(thread, other.unwrap_or(u32::MAX));
    });
    // The C library first: a thread that we wake must find that it is cancelled.
    let status = pass_on!(next::pthread_cancel(handle));
    hook(|thread| {
        calls::end(thread);
        let mut world = hold();
        if let Some(thread) = world.by_handle(handle) {
            world.entry(thread).cancelled = true;
            crate::schedule::changed(&mut world);
        }
    });
    status
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
    enter(|thread| {
        hold().entry(thread.index).uncancellable = state == DISABLED;
    });
    let status = pass_on!(next::pthread_setcancelstate(state, old));
    hook(|_| ());
    status
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    if ![DEFERRED, ASYNCHRONOUS].contains(&kind) {
        return libc::EINVAL;
    }
    let before = enter(|thread| {
        let before = match kind == ASYNCHRONOUS {
            true => thread.pending.fetch_or(pending::ASYNCHRONOUS, Relaxed),
            false => thread.pending.fetch_and(!pending::ASYNCHRONOUS, Relaxed),
        };
        before & pending::ASYNCHRONOUS != 0
    });
    let Some(was_asynchronous) = before else {
        return pass_on!(next::pthread_setcanceltype(kind, old));
    };
    // SAFETY: the caller gives a place for the old type, or null.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = if was_asynchronous { ASYNCHRONOUS } else { DEFERRED };
    }
    hook(|_| ());
    0
}
