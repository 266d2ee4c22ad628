//! Reading and writing under other names: with offsets of 64 bits, and with checked buffer sizes.

use std::ffi::{c_int, c_void};

use libc::{iovec, off_t, size_t, sockaddr, socklen_t, ssize_t};

use super::between::sendfile;
use super::transfers::{pread, preadv, preadv2, pwrite, pwritev, pwritev2, read, recv, recvfrom};
use crate::real::pass_on;
use crate::thread::enter;

/// `name(arguments) as function(values)`; with `[size <= room]` the call is refused otherwise.
macro_rules! transfers {
    ($(
        $name:ident($($argument:ident: $type:ty),*) $([$size:ident <= $room:ident])?
            as $function:ident($($value:ident),*);
    )*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name($($argument: $type),*) -> ssize_t {
            $( check($size, $room); )?
            as_called($name as *const () as usize, $function as *const () as usize);
            pass_on!($function($($value),*))
        }
    )* };
}

transfers! {
    pread64(fd: c_int, to: *mut c_void, size: size_t, at: off_t) as pread(fd, to, size, at);
    pwrite64(fd: c_int, from: *const c_void, size: size_t, at: off_t) as pwrite(fd, from, size, at);
    sendfile64(to: c_int, from: c_int, at: *mut off_t, size: size_t)
        as sendfile(to, from, at, size);
    preadv64(fd: c_int, list: *const iovec, count: c_int, at: off_t) as preadv(fd, list, count, at);
    preadv64v2(fd: c_int, list: *const iovec, count: c_int, at: off_t, flags: c_int)
        as preadv2(fd, list, count, at, flags);
    pwritev64(fd: c_int, list: *const iovec, count: c_int, at: off_t)
        as pwritev(fd, list, count, at);
    pwritev64v2(fd: c_int, list: *const iovec, count: c_int, at: off_t, flags: c_int)
        as pwritev2(fd, list, count, at, flags);
    __read_chk(fd: c_int, to: *mut c_void, size: size_t, room: size_t) [size <= room]
        as read(fd, to, size);
    __recv_chk(fd: c_int, to: *mut c_void, size: size_t, room: size_t, flags: c_int) [size <= room]
        as recv(fd, to, size, flags);
    __pread_chk(fd: c_int, to: *mut c_void, size: size_t, at: off_t, room: size_t) [size <= room]
        as pread(fd, to, size, at);
    __pread64_chk(fd: c_int, to: *mut c_void, size: size_t, at: off_t, room: size_t) [size <= room]
        as pread(fd, to, size, at);
    __recvfrom_chk(fd: c_int, to: *mut c_void, size: size_t, room: size_t, flags: c_int,
        from: *mut sockaddr, length: *mut socklen_t) [size <= room]
        as recvfrom(fd, to, size, flags, from, length);
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
