//! Condition variables.

use std::ffi::c_int;

use foretrace_recording::record::kind;
use libc::{
    PTHREAD_PROCESS_PRIVATE, clockid_t, pthread_cond_t, pthread_condattr_getpshared,
    pthread_condattr_t, pthread_mutex_t, timespec,
};

use super::cancellation::end_if_cancelled;
use super::mutexes::kind_of;
use crate::real::{pass_on, real};
use crate::sync;
use crate::thread::enter;

type Cond = *mut pthread_cond_t;
type Mutex = *mut pthread_mutex_t;

mod next {
    use super::*;
    real!(fn pthread_cond_init(cond: Cond, attributes: *const pthread_condattr_t) -> c_int);
    real!(fn pthread_cond_destroy(cond: Cond) -> c_int);
    real!(fn pthread_cond_wait(cond: Cond, mutex: Mutex) -> c_int);
    real!(fn pthread_cond_timedwait(cond: Cond, mutex: Mutex, time: *const timespec) -> c_int);
    real!(fn pthread_cond_clockwait(cond: Cond, mutex: Mutex, clock: clockid_t,
        time: *const timespec) -> c_int);
    real!(fn pthread_cond_signal(cond: Cond) -> c_int);
    real!(fn pthread_cond_broadcast(cond: Cond) -> c_int);
}

/// The clock that a condition variable was initialised with: glibc's `__wrefs`, bit 1.
fn clock_of(cond: Cond) -> clockid_t {
    // SAFETY: the condition variable is one that the program waits for; its flags are behind nine
    // words of the C library's structure, and do not change once it is made.
    let flags = unsafe { cond.cast::<u32>().add(9).read() };
    if flags & 2 != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

pub(super) fn wait(
    cond: Cond,
    mutex: Mutex,
    until: Option<(clockid_t, timespec)>,
) -> Option<c_int> {
    let until = until.map(|(clock, time)| super::monotonic(clock, time));
    end_if_cancelled();
    let status = enter(|thread| {
        sync::cond_wait(thread, cond as usize, mutex as usize, kind_of(mutex), until)
    });
    if status == Some(libc::ECANCELED) {
        end_if_cancelled();
        return Some(0);
    }
    status
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_init(cond: Cond, attributes: *const pthread_condattr_t) -> c_int {
    enter(|thread| {
        let mut shared = PTHREAD_PROCESS_PRIVATE;
        if !attributes.is_null() {
            pass_on!(pthread_condattr_getpshared(attributes, &mut shared));
        }
        if shared != PTHREAD_PROCESS_PRIVATE {
            super::process::note_shared(cond as usize);
        }
        sync::cond_note(thread, kind::COND_INIT, cond as usize);
    });
    pass_on!(next::pthread_cond_init(cond, attributes))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_destroy(cond: Cond) -> c_int {
    enter(|thread| sync::cond_note(thread, kind::COND_DESTROY, cond as usize));
    pass_on!(next::pthread_cond_destroy(cond))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_wait(cond: Cond, mutex: Mutex) -> c_int {
    wait(cond, mutex, None).unwrap_or_else(|| pass_on!(next::pthread_cond_wait(cond, mutex)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_timedwait(
    cond: Cond,
    mutex: Mutex,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller gives a time.
    wait(cond, mutex, Some((clock_of(cond), unsafe { *time })))
        .unwrap_or_else(|| pass_on!(next::pthread_cond_timedwait(cond, mutex, time)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_clockwait(
    cond: Cond,
    mutex: Mutex,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller gives a time.
    wait(cond, mutex, Some((clock, unsafe { *time })))
        .unwrap_or_else(|| pass_on!(next::pthread_cond_clockwait(cond, mutex, clock, time)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_signal(cond: Cond) -> c_int {
    enter(|thread| sync::cond_notify(thread, cond as usize, false))
        .map_or_else(|| pass_on!(next::pthread_cond_signal(cond)), |()| 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_broadcast(cond: Cond) -> c_int {
    enter(|thread| sync::cond_notify(thread, cond as usize, true))
        .map_or_else(|| pass_on!(next::pthread_cond_broadcast(cond)), |()| 0)
}
