//! The time that processes have run on a core, in the kernel and outside of it.

use std::time::Duration;

/// Of this process.
pub(crate) fn of_this_process() -> Duration {
    used(libc::RUSAGE_SELF)
}

/// Of all children that have ended and been waited for.
pub(crate) fn of_children() -> Duration {
    used(libc::RUSAGE_CHILDREN)
}

fn used(who: libc::c_int) -> Duration {
    // SAFETY: all zeros is a value of `rusage`, and `getrusage` writes only to the one that it is
    // given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(who, &mut usage), 0, "`who` is one of the constants");
        usage
    };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}
