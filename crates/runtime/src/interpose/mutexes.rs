//! Mutexes and spin locks.

use std::cell::UnsafeCell;
use std::ffi::c_int;

use foretrace_recording::record::lock;
use libc::{pthread_mutex_t, pthread_mutexattr_t, timespec};

use crate::real::{pass_on, real};
use crate::sync::{self, Patience};
use crate::thread::enter;

type Mutex = *mut pthread_mutex_t;
type SpinLock = *mut libc::pthread_spinlock_t;

mod next {
    use super::*;
    real!(fn pthread_mutex_init(mutex: Mutex, attributes: *const pthread_mutexattr_t) -> c_int);
    real!(fn pthread_mutex_destroy(mutex: Mutex) -> c_int);
    real!(fn pthread_mutex_lock(mutex: Mutex) -> c_int);
    real!(fn pthread_mutex_trylock(mutex: Mutex) -> c_int);
    real!(fn pthread_mutex_timedlock(mutex: Mutex, time: *const timespec) -> c_int);
    real!(fn pthread_mutex_clocklock(mutex: Mutex, clock: libc::clockid_t,
        time: *const timespec) -> c_int);
    real!(fn pthread_mutex_unlock(mutex: Mutex) -> c_int);
    real!(fn pthread_mutex_consistent(mutex: Mutex) -> c_int);
    real!(fn pthread_spin_init(spin: SpinLock, shared: c_int) -> c_int);
    real!(fn pthread_spin_destroy(spin: SpinLock) -> c_int);
    real!(fn pthread_spin_lock(spin: SpinLock) -> c_int);
    real!(fn pthread_spin_trylock(spin: SpinLock) -> c_int);
    real!(fn pthread_spin_unlock(spin: SpinLock) -> c_int);
}

/// Takes the C library's own mutex.
///
/// # Safety
///
/// There is a mutex at this address.
pub(super) unsafe fn take(mutex: usize) {
    // SAFETY: the caller says so.
    unsafe { next::pthread_mutex_lock(mutex as Mutex) };
}

/// Takes the C library's own spin lock.
///
/// # Safety
///
/// There is a spin lock at this address.
pub(super) unsafe fn take_spin(spin: usize) {
    // SAFETY: the caller says so.
    unsafe { next::pthread_spin_lock(spin as SpinLock) };
}

/// `__data.__kind`: two bits of kind, and what else is special about it.
fn bits_of(mutex: Mutex) -> c_int {
    // SAFETY: the mutex is one that the program gives to one of its functions. The word is the
    // fifth of the C library's structure, and does not change once the mutex is made.
    unsafe { mutex.cast::<c_int>().add(4).read() }
}

const ROBUST: c_int = 16;
const SHARED: c_int = 128;

/// The kind of a mutex, from the C library's own word for it, with [`sync::ROBUST`].
pub(super) fn kind_of(mutex: Mutex) -> u8 {
    let bits = bits_of(mutex);
    let kind = match bits & 3 {
        1 => lock::RECURSIVE,
        2 => lock::ERROR_CHECKING,
        _ => lock::PLAIN,
    };
    if bits & ROBUST != 0 { kind | sync::ROBUST } else { kind }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_init(
    mutex: Mutex,
    attributes: *const pthread_mutexattr_t,
) -> c_int {
    let status = pass_on!(next::pthread_mutex_init(mutex, attributes));
    if status == 0 {
        enter(|thread| {
            if bits_of(mutex) & SHARED != 0 {
                super::process::note_shared(mutex as usize);
            }
            sync::lock_init(thread, mutex as usize, kind_of(mutex));
        });
    }
    status
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_destroy(mutex: Mutex) -> c_int {
    let free = enter(|thread| sync::lock_destroy(thread, mutex as usize, kind_of(mutex)));
    if free == Some(false) { libc::EBUSY } else { pass_on!(next::pthread_mutex_destroy(mutex)) }
}

fn acquire(mutex: Mutex, patience: Patience) -> Option<c_int> {
    enter(|thread| sync::lock_acquire(thread, mutex as usize, kind_of(mutex), false, patience))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_lock(mutex: Mutex) -> c_int {
    acquire(mutex, Patience::Blocking).unwrap_or_else(|| pass_on!(next::pthread_mutex_lock(mutex)))
}

/// The lock of all exclusive sections.
struct Sections(UnsafeCell<pthread_mutex_t>);

// SAFETY: only functions of mutexes touch it, which any thread may call.
unsafe impl Sync for Sections {}

static SECTIONS: Sections = Sections(UnsafeCell::new(libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP));

/// Begins an exclusive section.
pub(crate) fn enter_section() {
    pass_on!(pthread_mutex_lock(SECTIONS.0.get()));
}

/// Ends one.
pub(crate) fn leave_section() {
    pass_on!(pthread_mutex_unlock(SECTIONS.0.get()));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_trylock(mutex: Mutex) -> c_int {
    acquire(mutex, Patience::Try).unwrap_or_else(|| pass_on!(next::pthread_mutex_trylock(mutex)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_timedlock(mutex: Mutex, time: *const timespec) -> c_int {
    // SAFETY: the caller gives a time.
    let until = super::monotonic(libc::CLOCK_REALTIME, unsafe { *time });
    acquire(mutex, Patience::Until(until))
        .unwrap_or_else(|| pass_on!(next::pthread_mutex_timedlock(mutex, time)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: Mutex,
    clock: libc::clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller gives a time.
    let until = super::monotonic(clock, unsafe { *time });
    acquire(mutex, Patience::Until(until))
        .unwrap_or_else(|| pass_on!(next::pthread_mutex_clocklock(mutex, clock, time)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_unlock(mutex: Mutex) -> c_int {
    enter(|thread| sync::lock_release(thread, mutex as usize, kind_of(mutex)))
        .unwrap_or_else(|| pass_on!(next::pthread_mutex_unlock(mutex)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_consistent(mutex: Mutex) -> c_int {
    enter(|_| sync::make_consistent(mutex as usize))
        .unwrap_or_else(|| pass_on!(next::pthread_mutex_consistent(mutex)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_consistent_np(mutex: Mutex) -> c_int {
    pass_on!(pthread_mutex_consistent(mutex))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_init(spin: SpinLock, shared: c_int) -> c_int {
    enter(|thread| {
        if shared != libc::PTHREAD_PROCESS_PRIVATE {
            super::process::note_shared(spin as usize);
        }
        sync::lock_init(thread, spin as usize, lock::SPIN);
    });
    pass_on!(next::pthread_spin_init(spin, shared))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_destroy(spin: SpinLock) -> c_int {
    enter(|thread| sync::lock_destroy(thread, spin as usize, lock::SPIN));
    pass_on!(next::pthread_spin_destroy(spin))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_lock(spin: SpinLock) -> c_int {
    enter(|thread| sync::lock_acquire(thread, spin as usize, lock::SPIN, false, Patience::Blocking))
        .unwrap_or_else(|| pass_on!(next::pthread_spin_lock(spin)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_trylock(spin: SpinLock) -> c_int {
    enter(|thread| sync::lock_acquire(thread, spin as usize, lock::SPIN, false, Patience::Try))
        .unwrap_or_else(|| pass_on!(next::pthread_spin_trylock(spin)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_unlock(spin: SpinLock) -> c_int {
    enter(|thread| sync::lock_release(thread, spin as usize, lock::SPIN))
        .unwrap_or_else(|| pass_on!(next::pthread_spin_unlock(spin)))
}
