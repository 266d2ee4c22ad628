//! Barriers.

use std::ffi::{c_int, c_uint};

use libc::{
    PTHREAD_PROCESS_PRIVATE, pthread_barrier_t, pthread_barrierattr_getpshared,
    pthread_barrierattr_t,
};

use crate::real::{pass_on, real};
use crate::sync;
use crate::thread::enter;

type Barrier = *mut pthread_barrier_t;

mod next {
    use super::*;
    real!(fn pthread_barrier_init(barrier: Barrier, attributes: *const pthread_barrierattr_t,
        parties: c_uint) -> c_int);
    real!(fn pthread_barrier_destroy(barrier: Barrier) -> c_int);
    real!(fn pthread_barrier_wait(barrier: Barrier) -> c_int);
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_barrier_init(
    barrier: Barrier,
    attributes: *const pthread_barrierattr_t,
    parties: c_uint,
) -> c_int {
    let status = pass_on!(next::pthread_barrier_init(barrier, attributes, parties));
    if status == 0 {
        enter(|thread| {
            let mut shared = PTHREAD_PROCESS_PRIVATE;
            if !attributes.is_null() {
                pass_on!(pthread_barrierattr_getpshared(attributes, &mut shared));
            }
            if shared != PTHREAD_PROCESS_PRIVATE {
                super::process::note_shared(barrier as usize);
            }
            sync::barrier_init(thread, barrier as usize, parties);
        });
    }
    status
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_barrier_destroy(barrier: Barrier) -> c_int {
    enter(|thread| sync::barrier_destroy(thread, barrier as usize));
    pass_on!(next::pthread_barrier_destroy(barrier))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_barrier_wait(barrier: Barrier) -> c_int {
    match enter(|thread| sync::barrier_wait(thread, barrier as usize)) {
        Some(true) => libc::PTHREAD_BARRIER_SERIAL_THREAD,
        Some(false) => 0,
        None => pass_on!(next::pthread_barrier_wait(barrier)),
    }
}
