//! The calling thread's `errno`, which belongs to the program: the runtime sets it only where a
//! function of the C library that it stands in for would.

use std::ffi::c_int;

/// The number of the last error.
pub(crate) fn errno() -> c_int {
    // SAFETY: the C library has one for each thread, as long as the thread runs.
    unsafe { *libc::__errno_location() }
}

/// The program is told of an error.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: as above, and nobody else touches the calling thread's own.
    unsafe { *libc::__errno_location() = errno };
}

/// Does something that the program is not to notice by its `errno`.
pub(crate) fn keeping_errno<R>(work: impl FnOnce() -> R) -> R {
    let before = errno();
    let result = work();
    set_errno(before);
    result
}
