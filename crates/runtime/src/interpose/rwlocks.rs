//! Reader-writer locks.

use std::ffi::c_int;

use foretrace_recording::record::lock::READER_WRITER;
use libc::{
    PTHREAD_PROCESS_PRIVATE, clockid_t, pthread_rwlock_t, pthread_rwlockattr_getpshared,
    pthread_rwlockattr_t, timespec,
};

use crate::real::{pass_on, real};
use crate::sync::{self, Patience};
use crate::thread::enter;

type RwLock = *mut pthread_rwlock_t;

mod next {
    use super::*;
    real!(fn pthread_rwlock_init(lock: RwLock, attributes: *const pthread_rwlockattr_t) -> c_int);
    real!(fn pthread_rwlock_destroy(lock: RwLock) -> c_int);
    real!(fn pthread_rwlock_rdlock(lock: RwLock) -> c_int);
    real!(fn pthread_rwlock_wrlock(lock: RwLock) -> c_int);
    real!(fn pthread_rwlock_tryrdlock(lock: RwLock) -> c_int);
    real!(fn pthread_rwlock_trywrlock(lock: RwLock) -> c_int);
    real!(fn pthread_rwlock_timedrdlock(lock: RwLock, time: *const timespec) -> c_int);
    real!(fn pthread_rwlock_timedwrlock(lock: RwLock, time: *const timespec) -> c_int);
    real!(fn pthread_rwlock_clockrdlock(lock: RwLock, clock: clockid_t,
        time: *const timespec) -> c_int);
    real!(fn pthread_rwlock_clockwrlock(lock: RwLock, clock: clockid_t,
        time: *const timespec) -> c_int);
    real!(fn pthread_rwlock_unlock(lock: RwLock) -> c_int);
}

/// Takes the C library's own lock.
///
/// # Safety
///
/// There is a reader-writer lock at this address.
pub(super) unsafe fn take_alone(lock: usize) {
    // SAFETY: the caller says so.
    unsafe { next::pthread_rwlock_wrlock(lock as RwLock) };
}

/// Takes the C library's own lock, shared.
///
/// # Safety
///
/// As for [`take_alone`].
pub(super) unsafe fn take_shared(lock: usize) {
    // SAFETY: the caller says so.
    unsafe { next::pthread_rwlock_rdlock(lock as RwLock) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_init(
    lock: RwLock,
    attributes: *const pthread_rwlockattr_t,
) -> c_int {
    enter(|thread| {
        let mut shared = PTHREAD_PROCESS_PRIVATE;
        if !attributes.is_null() {
            pass_on!(pthread_rwlockattr_getpshared(attributes, &mut shared));
        }
        if shared != PTHREAD_PROCESS_PRIVATE {
            super::process::note_shared(lock as usize);
        }
        sync::lock_init(thread, lock as usize, READER_WRITER);
    });
    pass_on!(next::pthread_rwlock_init(lock, attributes))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_destroy(lock: RwLock) -> c_int {
    let free = enter(|thread| sync::lock_destroy(thread, lock as usize, READER_WRITER));
    if free == Some(false) { libc::EBUSY } else { pass_on!(next::pthread_rwlock_destroy(lock)) }
}

macro_rules! acquires {
    ($($name:ident($shared:literal, $patience:expr $(, $argument:ident: $type:ty)*);)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(lock: RwLock $(, $argument: $type)*) -> c_int {
            enter(|thread| {
                sync::lock_acquire(thread, lock as usize, READER_WRITER, $shared, $patience)
            })
                .unwrap_or_else(|| pass_on!(next::$name(lock $(, $argument)*)))
        }
    )* };
}

fn until(clock: clockid_t, time: *const timespec) -> Patience {
    // SAFETY: it is the time that the caller of one of these functions gives.
    Patience::Until(super::monotonic(clock, unsafe { *time }))
}

acquires! {
    pthread_rwlock_rdlock(true, Patience::Blocking);
    pthread_rwlock_wrlock(false, Patience::Blocking);
    pthread_rwlock_tryrdlock(true, Patience::Try);
    pthread_rwlock_trywrlock(false, Patience::Try);
    pthread_rwlock_timedrdlock(true, until(libc::CLOCK_REALTIME, time), time: *const timespec);
    pthread_rwlock_timedwrlock(false, until(libc::CLOCK_REALTIME, time), time: *const timespec);
    pthread_rwlock_clockrdlock(true, until(clock, time), clock: clockid_t, time: *const timespec);
    pthread_rwlock_clockwrlock(false, until(clock, time), clock: clockid_t, time: *const timespec);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_unlock(lock: RwLock) -> c_int {
    enter(|thread| sync::lock_release(thread, lock as usize, READER_WRITER))
        .unwrap_or_else(|| pass_on!(next::pthread_rwlock_unlock(lock)))
}
