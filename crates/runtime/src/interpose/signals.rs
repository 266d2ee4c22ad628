//! Whether the program handles signals: then a thread that waits may be woken by one, and waiting for ever is no deadlock.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::real::real;

static HANDLED: AtomicBool = AtomicBool::new(false);
static INTERRUPT: AtomicBool = AtomicBool::new(false);

/// Whether the program has installed a handler.
pub(crate) fn handled() -> bool {
    HANDLED.load(Relaxed)
}

/// Whether the program has installed any handler, be it of faults.
#[inline(always)]
pub(crate) fn interrupt() -> bool {
    INTERRUPT.load(Relaxed)
}

mod next {
    use super::*;
    real!(fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int);
    real!(fn signal(signal: c_int, handler: usize) -> usize);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if let Some(new) = unsafe { new.as_ref() } {
        note(signal, new.sa_sigaction);
    }
    unsafe { next::sigaction(signal, new, old) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    note(signal, handler);
    unsafe { next::signal(signal, handler) }
}

fn note(signal: c_int, handler: usize) {
    let asynchronous = !matches!(
        signal,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGABRT | libc::SIGPIPE
    );
    if handler != libc::SIG_DFL && handler != libc::SIG_IGN {
        INTERRUPT.store(true, Relaxed);
        HANDLED.fetch_or(asynchronous, Relaxed);
    }
}

/// Watches for traps, by which failures may end: in replays only.
pub(crate) fn watch_traps() {
    for signal in [libc::SIGILL, libc::SIGTRAP, libc::SIGFPE] {
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = trapped as *const () as usize;
            next::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn trapped(signal: c_int) {
    crate::annotations::fails();
    // It then ends as it would have.
    unsafe {
        let default: libc::sigaction = std::mem::zeroed();
        next::sigaction(signal, &default, std::ptr::null_mut());
        libc::raise(signal);
    }
}

mod jumps {
    use super::*;
    real!(fn longjmp(place: *mut std::ffi::c_void, value: c_int) -> !);
    real!(fn _longjmp(place: *mut std::ffi::c_void, value: c_int) -> !);
    real!(fn siglongjmp(place: *mut std::ffi::c_void, value: c_int) -> !);
    real!(fn __longjmp_chk(place: *mut std::ffi::c_void, value: c_int) -> !);
}

/// A handler may jump out of an access that faulted inside a hook: the thread is then outside of the runtime again.
fn leave_runtime() {
    let thread = crate::thread::current();
    if let Some(thread) = unsafe { thread.as_ref() } {
        thread.busy.store(false, Relaxed);
    }
}

macro_rules! jumps {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(place: *mut std::ffi::c_void, value: c_int) -> ! {
            leave_runtime();
            unsafe { jumps::$name(place, value) }
        }
    )* };
}

jumps! { longjmp _longjmp siglongjmp __longjmp_chk }
