//! Streams of the C library on what others feed: devices, such as `/dev/urandom`, and files that
//! the kernel makes up. The C library reads into its own streams by itself, where nobody can stand
//! before it: so these read like the program does, and a replay gives them what the recorded run
//! got.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::*};

use libc::{FILE, size_t, ssize_t};

use super::standard_input::{Functions, fopencookie};
use super::{descriptors, transfers};
use crate::config::{Mode, mode};
use crate::futex::system_call;
use crate::kernel::system_files;
use crate::real::real;
use crate::thread::enter;

mod next {
    use super::*;
    real!(fn fopen(name: *const c_char, how: *const c_char) -> *mut FILE);
}

/// More of our streams than this are never open at once; others are the C library's own.
const MOST: usize = 64;

/// A stream of ours and its descriptor; no stream is 0. Signal handlers may look at them, too.
struct Open {
    stream: AtomicUsize,
    descriptor: AtomicI32,
}

static OPEN: [Open; MOST] =
    [const { Open { stream: AtomicUsize::new(0), descriptor: AtomicI32::new(-1) } }; MOST];

/// Marks an entry that somebody is about to fill.
const TAKEN: usize = 1;

/// The descriptor of a stream of ours.
pub(super) fn descriptor(stream: *mut FILE) -> Option<c_int> {
    let known = OPEN.iter().find(|open| open.stream.load(Acquire) == stream as usize)?;
    (!stream.is_null()).then(|| known.descriptor.load(Relaxed))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fopen(name: *const c_char, how: *const c_char) -> *mut FILE {
    let is_fed = !name.is_null() && !how.is_null() && is_fed(name, how);
    let take = |open: &&Open| open.stream.compare_exchange(0, TAKEN, Relaxed, Relaxed).is_ok();
    match is_fed.then(|| OPEN.iter().find(take)).flatten() {
        Some(entry) => unsafe { open(entry, name, how) },
        None => unsafe { next::fopen(name, how) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fopen64(name: *const c_char, how: *const c_char) -> *mut FILE {
    unsafe { fopen(name, how) }
}

/// Whether somebody reads what others feed.
fn is_fed(name: *const c_char, how: *const c_char) -> bool {
    matches!(mode(), Mode::Free | Mode::Scheduled)
        && unsafe { *how.cast::<u8>() } == b'r'
        && enter(|_| system_files::is_fed(name)).unwrap_or(false)
}

/// As the C library does, with a stream of our own.
unsafe fn open(entry: &Open, name: *const c_char, how: *const c_char) -> *mut FILE {
    let says = |letter: u8| unsafe { std::ffi::CStr::from_ptr(how) }.to_bytes().contains(&letter);
    let mut flags = if says(b'+') { libc::O_RDWR } else { libc::O_RDONLY };
    if says(b'e') {
        flags |= libc::O_CLOEXEC;
    }
    let arguments = [libc::AT_FDCWD as usize, name as usize, flags as usize, 0, 0, 0];
    let descriptor = system_call(libc::SYS_openat, arguments) as i64 as c_int;
    if descriptor < 0 {
        entry.stream.store(0, Relaxed);
        unsafe { *libc::__errno_location() = -descriptor };
        return std::ptr::null_mut();
    }
    let functions =
        Functions { read: Some(read), write: Some(write), seek: Some(seek), close: Some(close) };
    let cookie = descriptor as usize as *mut c_void;
    let stream = unsafe { fopencookie(cookie, how, functions) };
    if stream.is_null() {
        system_call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]);
    }
    entry.descriptor.store(descriptor, Relaxed);
    entry.stream.store(stream as usize, Release);
    stream
}

unsafe extern "C-unwind" fn read(cookie: *mut c_void, to: *mut c_char, size: size_t) -> ssize_t {
    unsafe { transfers::read(cookie as usize as c_int, to.cast(), size) }
}

unsafe extern "C-unwind" fn write(
    cookie: *mut c_void,
    from: *const c_char,
    size: size_t,
) -> ssize_t {
    // 0 is what the C library takes for an error here.
    unsafe { transfers::write(cookie as usize as c_int, from.cast(), size) }.max(0)
}

unsafe extern "C-unwind" fn seek(cookie: *mut c_void, place: *mut i64, from: c_int) -> c_int {
    let result = unsafe { descriptors::lseek(cookie as usize as c_int, *place, from) };
    if result < 0 {
        return -1;
    }
    unsafe { *place = result };
    0
}

/// Whoever closes the stream has told of it: see `fclose`.
unsafe extern "C-unwind" fn close(cookie: *mut c_void) -> c_int {
    let descriptor = cookie as usize as c_int;
    for open in OPEN.iter().filter(|open| open.descriptor.load(Relaxed) == descriptor) {
        open.descriptor.store(-1, Relaxed);
        open.stream.store(0, Release);
    }
    system_call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) as c_int
}
