//! Sleeping and yielding. In scheduled modes no thread really sleeps: the others run first, and the
//! time has passed when they are done.

use std::ffi::{c_int, c_uint};

use libc::timespec;

use super::cancellation::end_if_cancelled;
use crate::config::{Mode, mode};
use crate::real::{pass_on, real};
use crate::thread::enter;
use crate::{futex, schedule, sync};

mod next {
    use super::*;
    real!(fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int);
    real!(fn clock_nanosleep(clock: libc::clockid_t, flags: c_int, time: *const timespec,
        left: *mut timespec) -> c_int);
    real!(fn usleep(microseconds: c_uint) -> c_int);
    real!(fn sleep(seconds: c_uint) -> c_uint);
    real!(fn sched_yield() -> c_int);
}

/// Sleeps in virtual time, if time is virtual.
fn sleep_for(seconds: i64, nanoseconds: i64) -> bool {
    let mut until = futex::now();
    until.tv_sec = until.tv_sec.saturating_add(seconds);
    until.tv_sec = until.tv_sec.saturating_add((until.tv_nsec + nanoseconds) / 1_000_000_000);
    until.tv_nsec = (until.tv_nsec + nanoseconds) % 1_000_000_000;
    sleep_until(until)
}

fn sleep_until(time: timespec) -> bool {
    if mode() != Mode::Scheduled {
        return false;
    }
    end_if_cancelled();
    let slept = enter(|thread| sync::sleep(thread, time)).is_some();
    if slept {
        end_if_cancelled();
    }
    slept
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn nanosleep(
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: the caller gives a time.
    let length = unsafe { *time };
    if sleep_for(length.tv_sec, length.tv_nsec) { 0 } else { pass_on!(next::nanosleep(time, left)) }
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
    let slept = if flags & libc::TIMER_ABSTIME == 0 {
        sleep_for(length.tv_sec, length.tv_nsec)
    } else {
        sleep_until(super::monotonic(clock, length))
    };
    if slept { 0 } else { pass_on!(next::clock_nanosleep(clock, flags, time, left)) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn usleep(microseconds: c_uint) -> c_int {
    let (seconds, rest) = (microseconds / 1_000_000, microseconds % 1_000_000);
    if sleep_for(i64::from(seconds), i64::from(rest) * 1000) {
        0
    } else {
        pass_on!(next::usleep(microseconds))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    if sleep_for(i64::from(seconds), 0) { 0 } else { pass_on!(next::sleep(seconds)) }
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
