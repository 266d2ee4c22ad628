//! Streams of the C library that read and write memory of the program: those in memory, and those
//! to which the program gives a buffer.

use std::ffi::{c_char, c_int, c_void};

use foretrace_recording::file::flags;
use foretrace_recording::record::{handed, kind};
use libc::{FILE, size_t};

use crate::real::{pass_on, real};
use crate::thread::{Thread, enter};
use crate::world::hold;

mod next {
    use super::*;
    real!(fn fmemopen(buffer: *mut c_void, size: size_t, how: *const c_char) -> *mut FILE);
    real!(fn open_memstream(text: *mut *mut c_char, size: *mut size_t) -> *mut FILE);
    real!(fn open_wmemstream(text: *mut *mut c_char, size: *mut size_t) -> *mut FILE);
    real!(fn setvbuf(stream: *mut FILE, buffer: *mut c_char, how: c_int, size: size_t) -> c_int);
}

/// Memory that a stream uses.
pub(crate) struct Buffer {
    stream: u64,
    address: u64,
    /// See [`handed`].
    what: u8,
    /// The address is that of an address, and what is there is used as well.
    behind: bool,
}

fn uses(stream: *mut FILE, addresses: &[(u64, bool)], what: u8) -> *mut FILE {
    if !stream.is_null() {
        enter(|_| {
            let mut world = hold();
            for &(address, behind) in addresses.iter().filter(|(address, _)| *address != 0) {
                let stream = stream as u64;
                world.kernel.buffers.push(Buffer { stream, address, what, behind });
            }
        });
    }
    stream
}

/// A stream is no more. What it has in its buffers is written.
pub(super) fn forget(stream: *mut FILE) {
    enter(|thread| {
        hand_over(thread, thread.call_site, stream as u64);
        hold().kernel.buffers.retain(|buffer| buffer.stream != stream as u64);
    });
}

/// A call on a stream may use its buffers.
pub(crate) fn hand_over(thread: &mut Thread, site: u64, stream: u64) {
    let mut world = hold();
    let of_stream = world.kernel.buffers.iter().filter(|buffer| buffer.stream == stream);
    let mut given: Vec<(u64, u8)> = Vec::new();
    for buffer in of_stream {
        given.push((buffer.address, buffer.what));
        if buffer.behind {
            // SAFETY: the program has given the address of an address to `open_memstream`, and it
            // is there as long as the stream is.
            given.push((unsafe { (buffer.address as *const u64).read() }, buffer.what));
        }
    }
    for (address, what) in given.into_iter().filter(|(address, _)| *address != 0) {
        crate::log::flag(flags::HANDED);
        world.stamped(thread, kind::HANDED, what, site, [address]);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fmemopen(
    buffer: *mut c_void,
    size: size_t,
    how: *const c_char,
) -> *mut FILE {
    let stream = pass_on!(next::fmemopen(buffer, size, how));
    uses(stream, &[(buffer as u64, false)], handed::UNDESCRIBED)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn open_memstream(text: *mut *mut c_char, size: *mut size_t) -> *mut FILE {
    let stream = pass_on!(next::open_memstream(text, size));
    uses(stream, &[(text as u64, true), (size as u64, false)], handed::WRITTEN)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn open_wmemstream(
    text: *mut *mut c_char,
    size: *mut size_t,
) -> *mut FILE {
    let stream = pass_on!(next::open_wmemstream(text, size));
    uses(stream, &[(text as u64, true), (size as u64, false)], handed::WRITTEN)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn setvbuf(
    stream: *mut FILE,
    buffer: *mut c_char,
    how: c_int,
    size: size_t,
) -> c_int {
    let status = pass_on!(next::setvbuf(stream, buffer, how, size));
    if status == 0 {
        uses(stream, &[(buffer as u64, false)], handed::WRITTEN);
    }
    status
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn setbuf(stream: *mut FILE, buffer: *mut c_char) {
    let how = if buffer.is_null() { libc::_IONBF } else { libc::_IOFBF };
    pass_on!(setvbuf(stream, buffer, how, libc::BUFSIZ as size_t));
}
