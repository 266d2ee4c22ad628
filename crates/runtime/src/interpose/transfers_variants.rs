//! Reading and writing under other names: offsets always have 64 bits, and sizes are checked by
//! those who ask for it.

use std::ffi::{c_int, c_void};

use libc::{iovec, off_t, size_t, sockaddr, socklen_t, ssize_t};

use super::between::sendfile;
use super::transfers::{pread, preadv, preadv2, pwrite, pwritev, pwritev2, read, recv, recvfrom};
use crate::real::pass_on;
use crate::thread::enter;

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pread64(
    fd: c_int,
    to: *mut c_void,
    size: size_t,
    at: off_t,
) -> ssize_t {
    as_called(pread64 as *const () as usize, pread as *const () as usize);
    pass_on!(pread(fd, to, size, at))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pwrite64(
    fd: c_int,
    from: *const c_void,
    size: size_t,
    at: off_t,
) -> ssize_t {
    as_called(pwrite64 as *const () as usize, pwrite as *const () as usize);
    pass_on!(pwrite(fd, from, size, at))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendfile64(
    to: c_int,
    from: c_int,
    at: *mut off_t,
    size: size_t,
) -> ssize_t {
    pass_on!(sendfile(to, from, at, size))
}

/// `name as function(fd, list, count, offset and what follows)`.
macro_rules! vectors {
    ($($name:ident as $function:ident($($argument:ident: $type:ty),*);)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            fd: c_int,
            list: *const iovec,
            count: c_int,
            $($argument: $type),*
        ) -> ssize_t {
            as_called($name as *const () as usize, $function as *const () as usize);
            pass_on!($function(fd, list, count, $($argument),*))
        }
    )* };
}

vectors! {
    preadv64 as preadv(at: off_t);
    preadv64v2 as preadv2(at: off_t, flags: c_int);
    pwritev64 as pwritev(at: off_t);
    pwritev64v2 as pwritev2(at: off_t, flags: c_int);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __read_chk(
    fd: c_int,
    to: *mut c_void,
    size: size_t,
    room: size_t,
) -> ssize_t {
    check(size, room);
    as_called(__read_chk as *const () as usize, read as *const () as usize);
    pass_on!(read(fd, to, size))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __recv_chk(
    fd: c_int,
    to: *mut c_void,
    size: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    check(size, room);
    as_called(__recv_chk as *const () as usize, recv as *const () as usize);
    pass_on!(recv(fd, to, size, flags))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __pread_chk(
    fd: c_int,
    to: *mut c_void,
    size: size_t,
    at: off_t,
    room: size_t,
) -> ssize_t {
    check(size, room);
    as_called(__pread_chk as *const () as usize, pread as *const () as usize);
    pass_on!(pread(fd, to, size, at))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __pread64_chk(
    fd: c_int,
    to: *mut c_void,
    size: size_t,
    at: off_t,
    room: size_t,
) -> ssize_t {
    check(size, room);
    as_called(__pread64_chk as *const () as usize, pread as *const () as usize);
    pass_on!(pread(fd, to, size, at))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __recvfrom_chk(
    fd: c_int,
    to: *mut c_void,
    size: size_t,
    room: size_t,
    flags: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    check(size, room);
    as_called(__recvfrom_chk as *const () as usize, recvfrom as *const () as usize);
    pass_on!(recvfrom(fd, to, size, flags, from, length))
}

/// The user called one name, and we go on with another.
fn as_called(called: usize, function: usize) {
    enter(|thread| {
        if thread.callee == called as u64 {
            thread.callee = function as u64;
        }
    });
}

fn check(size: size_t, room: size_t) {
    if size > room {
        crate::message::say("buffer overflow detected by a checked function");
        // SAFETY: it may be called at any time.
        unsafe { libc::abort() };
    }
}
