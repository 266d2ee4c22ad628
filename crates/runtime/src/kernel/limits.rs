//! How long calls on a descriptor wait: not at all, for ever, or no longer than `SO_RCVTIMEO` and
//! `SO_SNDTIMEO` say.

use libc::{timespec, timeval};

use crate::futex::system_call;

/// Whether calls on a descriptor wait.
pub(super) fn is_blocking(descriptor: i32) -> bool {
    let arguments = [descriptor as usize, libc::F_GETFL as usize, 0, 0, 0, 0];
    let flags = system_call(libc::SYS_fcntl, arguments);
    flags >= 0 && flags as i32 & libc::O_NONBLOCK == 0
}

/// The limit that an option of a socket sets; `Some(None)`: there is none, `None`: it is no socket.
pub(super) fn of(descriptor: i32, option: i32) -> Option<Option<timeval>> {
    let mut time = timeval { tv_sec: 0, tv_usec: 0 };
    let mut size = size_of::<timeval>();
    let (to, length) = (&raw mut time as usize, &raw mut size as usize);
    let arguments =
        [descriptor as usize, libc::SOL_SOCKET as usize, option as usize, to, length, 0];
    let status = system_call(libc::SYS_getsockopt, arguments);
    (status == 0).then(|| (time.tv_sec != 0 || time.tv_usec != 0).then_some(time))
}

/// What a descriptor's option is, at the level of sockets; `None`: it is no socket.
pub(crate) fn option(descriptor: i32, option: i32) -> Option<i32> {
    let (mut value, mut size) = (0i32, size_of::<i32>());
    let (to, length) = (&raw mut value as usize, &raw mut size as usize);
    let arguments =
        [descriptor as usize, libc::SOL_SOCKET as usize, option as usize, to, length, 0];
    (system_call(libc::SYS_getsockopt, arguments) == 0).then_some(value)
}

/// When a call that begins now fails with `EAGAIN`, by the clock of the program; `None`: it waits
/// for ever.
pub(super) fn deadline(descriptor: i32, option: i32) -> Option<timespec> {
    let limit = of(descriptor, option).flatten()?;
    let now = crate::futex::now();
    let nanoseconds = now.tv_nsec + limit.tv_usec * 1000;
    let seconds = limit.tv_sec.saturating_add(nanoseconds / 1_000_000_000);
    Some(timespec {
        tv_sec: now.tv_sec.saturating_add(seconds),
        tv_nsec: nanoseconds % 1_000_000_000,
    })
}
