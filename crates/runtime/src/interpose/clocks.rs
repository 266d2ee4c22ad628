//! What time it is. Where one thread runs at a time, a timed wait is over when nobody can run otherwise, not when its time has
//! come: the clocks then jump to that time, so that nobody sees that it was too early.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use libc::{clockid_t, time_t, timespec, timeval};

use foretrace_recording::channel::CLOCK;
use foretrace_recording::channel::direction::BOTH;

use crate::kernel::calls::around;
use crate::kernel::uses::Uses;
use crate::real::real;

mod next {
    use super::*;
    real!(fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int);
}

const SECOND: i64 = 1_000_000_000;
/// Waits that are longer than this are meant to be for ever.
const FOR_EVER: i64 = 10 * 365 * 24 * 3600;

/// How far the clocks are ahead of the world's, in nanoseconds.
static AHEAD: AtomicI64 = AtomicI64::new(0);

/// Time goes on to `time`, of the monotonic clock.
pub(crate) fn jump(time: timespec) {
    let now = crate::futex::now();
    let seconds = time.tv_sec.saturating_sub(now.tv_sec);
    if seconds < FOR_EVER {
        AHEAD.fetch_add((seconds * SECOND + time.tv_nsec - now.tv_nsec).max(0), Relaxed);
    }
}

/// Time never goes back: who reads a clock notices who has read it before.
fn noticed<R>(read: impl FnOnce() -> R) -> R {
    around(|_| Uses::of(&[(CLOCK, BOTH)]), None, read)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    noticed(|| unsafe { get(clock, time) })
}

/// The time of a clock, for us.
pub(crate) unsafe fn get(clock: clockid_t, time: *mut timespec) -> c_int {
    let status = unsafe { next::clock_gettime(clock, time) };
    let ahead = AHEAD.load(Relaxed);
    let of_processor =
        matches!(clock, libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID);
    if ahead > 0 && status == 0 && clock >= 0 && !of_processor {
        let time = unsafe { &mut *time };
        let sum = time.tv_nsec + ahead % SECOND;
        time.tv_sec += ahead / SECOND + sum / SECOND;
        time.tv_nsec = sum % SECOND;
    }
    status
}

fn wall() -> timespec {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { get(libc::CLOCK_REALTIME, &mut time) };
    time
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, _: *mut c_void) -> c_int {
    let now = noticed(wall);
    if let Some(time) = unsafe { time.as_mut() } {
        *time = timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 };
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(seconds: *mut time_t) -> time_t {
    let now = noticed(wall).tv_sec;
    if let Some(seconds) = unsafe { seconds.as_mut() } {
        *seconds = now;
    }
    now
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
    const UTC: c_int = 1;
    if base != UTC {
        return 0;
    }
    unsafe { *time = noticed(wall) };
    base
}
