//! Sleeping and yielding. In scheduled modes no thread really sleeps: the others run first, and the
//! time has passed when they are done.

use std::ffi::{c_int, c_uint};

use libc::timespec;

use super::cancellation::end_if_cancelled;
use crate::config::{Mode, mode};
use crate::errno::{keeping_errno, set_errno};
use crate::real::{pass_on, real};
use crate::thread::enter;
use crate::{futex, schedule, sync};

/// In nanoseconds.
const SECOND: i64 = 1_000_000_000;

mod next {
    use super::*;
    real!(fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int);
    real!(fn clock_nanosleep(clock: libc::clockid_t, flags: c_int, time: *const timespec,
        left: *mut timespec) -> c_int);
    real!(fn usleep(microseconds: c_uint) -> c_int);
    real!(fn sleep(seconds: c_uint) -> c_uint);
    real!(fn sched_yield() -> c_int);
}

/// How a sleep in virtual time ended.
enum Slept {
    Whole,
    /// A handler ran. So much was left.
    Interrupted(timespec),
}

fn later(time: timespec, length: timespec) -> timespec {
    let nanoseconds = time.tv_nsec.saturating_add(length.tv_nsec);
    timespec {
        tv_sec: time
            .tv_sec
            .saturating_add(length.tv_sec)
            .saturating_add(nanoseconds.div_euclid(SECOND)),
        tv_nsec: nanoseconds.rem_euclid(SECOND),
    }
}

/// Sleeps for a time, in virtual time if time is virtual; else `real` does.
fn sleep_for<R>(
    length: timespec,
    real: impl FnOnce() -> R,
    virtually: impl FnOnce(Slept) -> R,
) -> R {
    sleep_until(later(futex::now(), length), real, virtually)
}

fn sleep_until<R>(
    time: timespec,
    real: impl FnOnce() -> R,
    virtually: impl FnOnce(Slept) -> R,
) -> R {
    if !matches!(mode(), Mode::Scheduled | Mode::Free) {
        return real();
    }
    let slept = match mode() {
        Mode::Scheduled => pretend(time),
        _ => {
            enter(|thread| thread.sleeps = true);
            None
        }
    };
    let result = slept.map_or_else(real, virtually);
    keeping_errno(|| enter(|thread| thread.sleeps = false));
    result
}

/// Sleeps in virtual time. `None`: the runtime is off.
fn pretend(until: timespec) -> Option<Slept> {
    end_if_cancelled();
    let is_interrupted = enter(|thread| {
        thread.sleeps = true;
        sync::sleep(thread, until)
    })?;
    end_if_cancelled();
    if !is_interrupted {
        return Some(Slept::Whole);
    }
    let now = futex::now();
    let left = timespec { tv_sec: until.tv_sec - now.tv_sec, tv_nsec: until.tv_nsec - now.tv_nsec };
    let none = timespec { tv_sec: 0, tv_nsec: 0 };
    Some(Slept::Interrupted(if futex::before(now, until) { later(none, left) } else { none }))
}

/// What functions of POSIX return behind a sleep: an error, if it was interrupted.
///
/// # Safety
///
/// `left` is null or a place for what is left.
unsafe fn status(slept: Slept, left: *mut timespec) -> c_int {
    let Slept::Interrupted(rest) = slept else { return 0 };
    // SAFETY: the caller says so.
    if let Some(left) = unsafe { left.as_mut() } {
        *left = rest;
    }
    libc::EINTR
}

fn failed(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    set_errno(error);
    -1
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn nanosleep(
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: the caller gives a time.
    let length = unsafe { *time };
    let real = || pass_on!(next::nanosleep(time, left));
    sleep_for(length, real, |slept| failed(pass_on!(status(slept, left))))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: the caller gives a time.
    let length = unsafe { *time };
    let real = || pass_on!(next::clock_nanosleep(clock, flags, time, left));
    if flags & libc::TIMER_ABSTIME == 0 {
        sleep_for(length, real, |slept| pass_on!(status(slept, left)))
    } else {
        let nothing = std::ptr::null_mut();
        let until = super::monotonic(clock, length);
        sleep_until(until, real, |slept| pass_on!(status(slept, nothing)))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn usleep(microseconds: c_uint) -> c_int {
    let length = timespec {
        tv_sec: i64::from(microseconds / 1_000_000),
        tv_nsec: i64::from(microseconds % 1_000_000) * 1000,
    };
    let real = || pass_on!(next::usleep(microseconds));
    let nothing = std::ptr::null_mut();
    sleep_for(length, real, |slept| failed(pass_on!(status(slept, nothing))))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    let length = timespec { tv_sec: i64::from(seconds), tv_nsec: 0 };
    let real = || pass_on!(next::sleep(seconds));
    sleep_for(length, real, |slept| match slept {
        Slept::Whole => 0,
        // Seconds that have begun count.
        Slept::Interrupted(left) => (left.tv_sec + i64::from(left.tv_nsec > 0)) as c_uint,
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    if mode() == Mode::Scheduled && enter(schedule::give_way).is_some() {
        return 0;
    }
    pass_on!(next::sched_yield())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_yield() {
    pass_on!(sched_yield());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_yield() -> c_int {
    pass_on!(sched_yield())
}
