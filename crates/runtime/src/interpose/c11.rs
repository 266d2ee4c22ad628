//! C11 threads, mutexes and condition variables. The C library implements them with pthreads
//! internally; we do so from outside.

use std::ffi::{c_int, c_void};

use libc::{pthread_cond_t, pthread_mutex_t, pthread_t, timespec};

use crate::real::pass_on;

mod threads {
    pub(super) const SUCCESS: i32 = 0;
    pub(super) const BUSY: i32 = 1;
    pub(super) const ERROR: i32 = 2;
    pub(super) const NO_MEMORY: i32 = 3;
    pub(super) const TIMED_OUT: i32 = 4;
    pub(super) const RECURSIVE: i32 = 1;
}

fn result(status: c_int) -> c_int {
    match status {
        0 => threads::SUCCESS,
        libc::EBUSY => threads::BUSY,
        libc::ENOMEM | libc::EAGAIN => threads::NO_MEMORY,
        libc::ETIMEDOUT => threads::TIMED_OUT,
        _ => threads::ERROR,
    }
}

struct Start {
    function: extern "C-unwind" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
}

extern "C-unwind" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `thrd_create` has made it, for this thread alone.
    let Start { function, argument } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    function(argument) as isize as *mut c_void
}

unsafe extern "C-unwind" {
    fn pthread_create(
        handle: *mut pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(handle: pthread_t, result: *mut *mut c_void) -> c_int;
    fn pthread_exit(value: *mut c_void) -> !;
    fn pthread_once(control: *mut c_int, routine: extern "C-unwind" fn()) -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn thrd_create(
    handle: *mut pthread_t,
    function: extern "C-unwind" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
) -> c_int {
    let start = Box::into_raw(Box::new(Start { function, argument }));
    let status = pass_on!(pthread_create(handle, std::ptr::null(), run, start.cast()));
    if status != 0 {
        // SAFETY: there is no thread that could have taken it.
        drop(unsafe { Box::from_raw(start) });
    }
    result(status)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn thrd_join(handle: pthread_t, value: *mut c_int) -> c_int {
    let mut end = std::ptr::null_mut();
    let status = pass_on!(pthread_join(handle, &mut end));
    if status == 0 && !value.is_null() {
        // SAFETY: the caller gives a place for the result, or null.
        unsafe { *value = end as isize as c_int };
    }
    result(status)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn thrd_exit(value: c_int) -> ! {
    pass_on!(pthread_exit(value as isize as *mut c_void))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int {
    // SAFETY: the attributes are a local variable, which the C library fills in; the mutex is the
    // caller's.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_mutexattr_t>();
        libc::pthread_mutexattr_init(&mut attributes);
        if kind & threads::RECURSIVE != 0 {
            libc::pthread_mutexattr_settype(&mut attributes, libc::PTHREAD_MUTEX_RECURSIVE);
        }
        result(libc::pthread_mutex_init(mutex, &attributes))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_destroy(mutex: *mut pthread_mutex_t) {
    pass_on!(libc::pthread_mutex_destroy(mutex));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int {
    result(pass_on!(libc::pthread_mutex_lock(mutex)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    result(pass_on!(libc::pthread_mutex_trylock(mutex)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int {
    result(pass_on!(libc::pthread_mutex_timedlock(mutex, time)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    result(pass_on!(libc::pthread_mutex_unlock(mutex)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_init(cond: *mut pthread_cond_t) -> c_int {
    result(pass_on!(libc::pthread_cond_init(cond, std::ptr::null())))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_destroy(cond: *mut pthread_cond_t) {
    pass_on!(libc::pthread_cond_destroy(cond));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    result(pass_on!(libc::pthread_cond_wait(cond, mutex)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    result(pass_on!(libc::pthread_cond_timedwait(cond, mutex, time)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_signal(cond: *mut pthread_cond_t) -> c_int {
    result(pass_on!(libc::pthread_cond_signal(cond)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_broadcast(cond: *mut pthread_cond_t) -> c_int {
    result(pass_on!(libc::pthread_cond_broadcast(cond)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn call_once(control: *mut c_int, routine: extern "C-unwind" fn()) {
    pass_on!(pthread_once(control, routine));
}
