//! System calls that the program makes by number.

use std::ffi::{c_int, c_long};

use foretrace_recording::channel::direction::BOTH;

use crate::kernel::calls::around;
use crate::kernel::uses::Uses;
use crate::real::real;

mod next {
    use super::*;
    real!(fn syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long);
}

/// Those that nobody else notices.
const SILENT: [c_long; 15] = [
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getcpu,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_prctl,
    libc::SYS_madvise,
    libc::SYS_mprotect,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
];

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let call = || unsafe { next::syscall(number, a, b, c, d, e, f) };
    match number {
        libc::SYS_getrandom => {
            let to = a as *mut std::ffi::c_void;
            (unsafe { super::random::getrandom(to, b as usize, c as u32) }) as c_long
        }
        _ if SILENT.contains(&number) => call(),
        libc::SYS_clock_gettime => {
            let time = b as *mut libc::timespec;
            c_long::from(unsafe { super::clocks::clock_gettime(a as c_int, time) })
        }
        libc::SYS_futex => around(
            |kernel| {
                let mut uses = Uses::of(&[(kernel.futex(a as u64), BOTH)]);
                // FUTEX_REQUEUE and the like have a second one.
                if b as c_int & 0x7f >= 3 {
                    uses.add(kernel.futex(e as u64), BOTH);
                }
                uses
            },
            None,
            call,
        ),
        _ => around(|_| Uses::every(), None, call),
    }
}
