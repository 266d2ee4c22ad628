//! Accesses to more than a word: aggregates, vectors, `memcpy` and its kin.
//!
//! Up to [`PIECEWISE`] bytes go piece by piece, each piece of at most 8 bytes and a visible
//! operation of its own; longer ones in blocks, each one operation. How many there are depends on
//! the size only, never on the address: that is another one in a replay if it is on the stack
//! (arguments are).

use std::ffi::{c_int, c_void};

use foretrace_recording::record::{PIECEWISE, kind};
use foretrace_recording::site::Site;

use crate::log::head;
use crate::real::pass_on;
use crate::thread::{Thread, enter};

/// Longest block that one record takes.
const BLOCK: usize = 64 * 1024;

/// The pieces of `size` bytes, as (offset, size).
fn pieces(size: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let left = size - offset;
        let length = left.min(if size <= PIECEWISE { 8 } else { BLOCK });
        let piece = (offset, length);
        offset += length;
        (length > 0).then_some(piece)
    })
}

/// Up to 8 bytes as a number.
///
/// # Safety
///
/// They can be read.
unsafe fn value(start: *const u8, size: usize) -> u64 {
    let mut word = [0; 8];
    assert!(size <= word.len());
    // SAFETY: the caller says so, and the word has room for them.
    unsafe { std::ptr::copy_nonoverlapping(start, word.as_mut_ptr(), size) };
    u64::from_le_bytes(word)
}

/// Records an access whose bytes are at `bytes` now.
///
/// # Safety
///
/// They can be read.
unsafe fn note(
    thread: &mut Thread,
    kind: u8,
    range_kind: u8,
    site: u64,
    address: u64,
    bytes: *const u8,
    size: usize,
) {
    if size <= 8 {
        // SAFETY: the caller says so.
        let value = unsafe { value(bytes, size) };
        thread.access(kind, size as u8, site, address, value);
    } else {
        // SAFETY: the caller says so.
        unsafe { thread.writer().range(head(range_kind, 0, site), address, bytes, size) };
    }
}

/// Loads bytes to memory that is the thread's own.
///
/// # Safety
///
/// The program may read them, and `to` has room for them.
pub(crate) unsafe fn load(
    thread: &mut Thread,
    site: u64,
    from: *const u8,
    size: usize,
    to: *mut u8,
) {
    for (offset, length) in pieces(size) {
        // SAFETY: the pieces are within the bytes that the caller may read, and write to.
        let (at, copy) = unsafe { (from.add(offset), to.add(offset)) };
        thread.point(kind::LOAD, site, at as u64, length as u64);
        // SAFETY: as above; what is recorded is the copy.
        unsafe {
            std::ptr::copy(at, copy, length);
            note(thread, kind::LOAD, kind::LOAD_RANGE, site, at as u64, copy, length);
        }
    }
}

/// Records that bytes are read, which somebody else does.
///
/// # Safety
///
/// The program may read them.
pub(super) unsafe fn look(thread: &mut Thread, site: u64, from: *const u8, size: usize) {
    for (offset, length) in pieces(size) {
        // SAFETY: the pieces are within the bytes that the caller may read.
        let at = unsafe { from.add(offset) };
        thread.point(kind::LOAD, site, at as u64, length as u64);
        // SAFETY: as above.
        unsafe { note(thread, kind::LOAD, kind::LOAD_RANGE, site, at as u64, at, length) };
    }
}

/// Stores bytes of memory that is the thread's own.
///
/// # Safety
///
/// The program may write to them, and `from` has as many.
pub(crate) unsafe fn store(
    thread: &mut Thread,
    site: u64,
    to: *mut u8,
    size: usize,
    from: *const u8,
) {
    for (offset, length) in pieces(size) {
        // SAFETY: the pieces are within the bytes that the caller may write to, and read.
        let (at, copy) = unsafe { (to.add(offset), from.add(offset)) };
        thread.point(kind::STORE, site, at as u64, length as u64);
        // SAFETY: as above; the record has what is about to be written.
        unsafe {
            note(thread, kind::STORE, kind::STORE_RANGE, site, at as u64, copy, length);
            std::ptr::copy(copy, at, length);
        }
    }
}

/// Copies through memory of our own: what was read is what is written.
///
/// # Safety
///
/// The program may read and write so many bytes there; they may overlap.
pub(super) unsafe fn copy(
    thread: &mut Thread,
    site: u64,
    to: *mut u8,
    from: *const u8,
    size: usize,
) {
    let (mut few, mut many);
    let own: &mut [u8] = if size <= PIECEWISE {
        few = [0u8; PIECEWISE];
        &mut few
    } else {
        many = vec![0u8; size];
        &mut many
    };
    // SAFETY: the caller says so of the program's memory, and ours has room for all of it.
    unsafe {
        load(thread, site, from, size, own.as_mut_ptr());
        store(thread, site, to, size, own.as_ptr());
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_load_n(
    site: *const Site,
    address: *const u8,
    size: u64,
    to: *mut u8,
) {
    let size = size as usize;
    // SAFETY: the plugin puts this in the place of a load of so many bytes, and gives memory of the
    // function's own that has room for them.
    unsafe {
        enter(|thread| load(thread, thread.site(site), address, size, to))
            .unwrap_or_else(|| std::ptr::copy(address, to, size));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_store_n(
    site: *const Site,
    address: *mut u8,
    size: u64,
    from: *const u8,
) {
    let size = size as usize;
    // SAFETY: the plugin puts this in the place of a store of so many bytes, and gives memory of
    // the function's own that has them.
    unsafe {
        enter(|thread| store(thread, thread.site(site), address, size, from))
            .unwrap_or_else(|| std::ptr::copy(from, address, size));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_memmove(
    site: *const Site,
    to: *mut u8,
    from: *const u8,
    size: u64,
) -> *mut c_void {
    let size = size as usize;
    // SAFETY: the plugin puts this in the place of a `memmove` of the program, which promises that
    // it may read and write so many bytes there.
    unsafe {
        enter(|thread| copy(thread, thread.site(site), to, from, size))
            .unwrap_or_else(|| std::ptr::copy(from, to, size));
    }
    to.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_memcpy(
    site: *const Site,
    to: *mut u8,
    from: *const u8,
    size: u64,
) -> *mut c_void {
    pass_on!(__ft_memmove(site, to, from, size))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_memset(
    site: *const Site,
    to: *mut u8,
    byte: c_int,
    size: u64,
) -> *mut c_void {
    let size = size as usize;
    // SAFETY: the plugin puts this in the place of a `memset` of the program, which promises that
    // it may write so many bytes there; ours are as many.
    unsafe {
        enter(|thread| {
            let site = thread.site(site);
            let same = [byte as u8; PIECEWISE];
            if size <= PIECEWISE {
                store(thread, site, to, size, same.as_ptr());
            } else {
                store(thread, site, to, size, vec![byte as u8; size].as_ptr());
            }
        })
        .unwrap_or_else(|| std::ptr::write_bytes(to, byte as u8, size));
    }
    to.cast()
}
