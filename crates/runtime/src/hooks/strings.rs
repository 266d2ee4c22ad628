//! The C library's string functions: which bytes they read and write is recorded, the work is left
//! to them.
//!
//! The plugin puts these hooks in the place of calls of the C library's functions. So what the
//! program promises about its strings is promised here, and each access is to bytes that the
//! function itself accesses.

use std::ffi::{c_char, c_int, c_void};

use foretrace_recording::site::Site;

use super::ranges::{copy, look};
use crate::real::pass_on;
use crate::thread::{Thread, enter};

fn with(site: *const Site, record: impl FnOnce(&mut Thread, u64)) -> bool {
    enter(|thread| {
        let site = thread.site(site);
        record(thread, site);
    })
    .is_some()
}

/// Bytes of a string, its end included, at most `limit`.
///
/// # Safety
///
/// They can be read.
unsafe fn length(text: *const c_char, limit: usize) -> usize {
    // SAFETY: the caller says so.
    unsafe { (libc::strnlen(text, limit) + 1).min(limit) }
}

/// How many bytes a comparison looks at.
///
/// # Safety
///
/// Up to the first difference (and the end of the strings, if they end), `limit` bytes can be read.
unsafe fn compared(a: *const u8, b: *const u8, limit: usize, ends: bool) -> usize {
    // SAFETY: the caller says so, and the search ends at the first difference.
    let differs = |index: &usize| unsafe {
        let (a, b) = (*a.add(*index), *b.add(*index));
        a != b || (ends && a == 0)
    };
    (0..limit).find(differs).map_or(limit, |index| index + 1)
}

/// Records that a text is read, which somebody else does.
///
/// # Safety
///
/// The program may read it.
pub(super) unsafe fn look_at_text(thread: &mut Thread, site: *const Site, text: *const c_char) {
    let site = thread.site(site);
    // SAFETY: the caller says so.
    unsafe { look(thread, site, text.cast(), libc::strlen(text) + 1) };
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strlen(site: *const Site, text: *const c_char) -> usize {
    let size = pass_on!(libc::strlen(text));
    with(site, |thread, site| pass_on!(look(thread, site, text.cast(), size + 1)));
    size
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strnlen(
    site: *const Site,
    text: *const c_char,
    limit: usize,
) -> usize {
    let size = pass_on!(libc::strnlen(text, limit));
    with(site, |thread, site| pass_on!(look(thread, site, text.cast(), (size + 1).min(limit))));
    size
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strcpy(
    site: *const Site,
    to: *mut c_char,
    from: *const c_char,
) -> *mut c_char {
    let size = pass_on!(libc::strlen(from)) + 1;
    if !with(site, |thread, site| pass_on!(copy(thread, site, to.cast(), from.cast(), size))) {
        pass_on!(libc::strcpy(to, from));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strncpy(
    site: *const Site,
    to: *mut c_char,
    from: *const c_char,
    limit: usize,
) -> *mut c_char {
    let size = pass_on!(length(from, limit));
    let recorded = with(site, |thread, site| {
        let mut own = vec![0u8; limit];
        pass_on!(super::ranges::load(&mut *thread, site, from.cast(), size, own.as_mut_ptr()));
        pass_on!(super::ranges::store(thread, site, to.cast(), limit, own.as_ptr()));
    });
    if !recorded {
        pass_on!(libc::strncpy(to, from, limit));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strcat(
    site: *const Site,
    to: *mut c_char,
    from: *const c_char,
) -> *mut c_char {
    let (end, size) = (pass_on!(libc::strlen(to)), pass_on!(libc::strlen(from)) + 1);
    let recorded = with(site, |thread, site| {
        pass_on!(look(&mut *thread, site, to.cast(), end + 1));
        let to = to.wrapping_add(end);
        pass_on!(copy(thread, site, to.cast(), from.cast(), size));
    });
    if !recorded {
        pass_on!(libc::strcat(to, from));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strcmp(
    site: *const Site,
    a: *const c_char,
    b: *const c_char,
) -> c_int {
    with(site, |thread, site| {
        let size = pass_on!(compared(a.cast(), b.cast(), usize::MAX, true));
        pass_on!(look(&mut *thread, site, a.cast(), size));
        pass_on!(look(&mut *thread, site, b.cast(), size));
    });
    pass_on!(libc::strcmp(a, b))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strncmp(
    site: *const Site,
    a: *const c_char,
    b: *const c_char,
    limit: usize,
) -> c_int {
    with(site, |thread, site| {
        let size = pass_on!(compared(a.cast(), b.cast(), limit, true));
        pass_on!(look(&mut *thread, site, a.cast(), size));
        pass_on!(look(&mut *thread, site, b.cast(), size));
    });
    pass_on!(libc::strncmp(a, b, limit))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_memcmp(
    site: *const Site,
    a: *const c_void,
    b: *const c_void,
    size: usize,
) -> c_int {
    with(site, |thread, site| {
        let size = pass_on!(compared(a.cast(), b.cast(), size, false));
        pass_on!(look(&mut *thread, site, a.cast(), size));
        pass_on!(look(&mut *thread, site, b.cast(), size));
    });
    pass_on!(libc::memcmp(a, b, size))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strchr(
    site: *const Site,
    text: *const c_char,
    wanted: c_int,
) -> *mut c_char {
    let found = pass_on!(libc::strchr(text, wanted));
    let size =
        if found.is_null() { pass_on!(libc::strlen(text)) } else { found as usize - text as usize };
    with(site, |thread, site| pass_on!(look(thread, site, text.cast(), size + 1)));
    found
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strrchr(
    site: *const Site,
    text: *const c_char,
    wanted: c_int,
) -> *mut c_char {
    let size = pass_on!(libc::strlen(text));
    with(site, |thread, site| pass_on!(look(thread, site, text.cast(), size + 1)));
    pass_on!(libc::strrchr(text, wanted))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_memchr(
    site: *const Site,
    start: *const c_void,
    wanted: c_int,
    size: usize,
) -> *mut c_void {
    let found = pass_on!(libc::memchr(start, wanted, size));
    let seen = if found.is_null() { size } else { found as usize - start as usize + 1 };
    with(site, |thread, site| pass_on!(look(thread, site, start.cast(), seen)));
    found
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strdup(site: *const Site, text: *const c_char) -> *mut c_char {
    let size = pass_on!(libc::strlen(text)) + 1;
    let block = pass_on!(libc::malloc(size));
    if !block.is_null()
        && !with(site, |thread, site| pass_on!(copy(thread, site, block.cast(), text.cast(), size)))
    {
        // SAFETY: the string has so many bytes, its end included, and so has the new block.
        unsafe { std::ptr::copy_nonoverlapping(text.cast(), block.cast::<u8>(), size) };
    }
    block.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strndup(
    site: *const Site,
    text: *const c_char,
    limit: usize,
) -> *mut c_char {
    let (size, read) = (pass_on!(libc::strnlen(text, limit)), pass_on!(length(text, limit)));
    let block = pass_on!(libc::malloc(size + 1)).cast::<u8>();
    if block.is_null() {
        return block.cast();
    }
    let recorded = with(site, |thread, site| {
        let mut own = vec![0u8; size.max(read) + 1];
        pass_on!(super::ranges::load(&mut *thread, site, text.cast(), read, own.as_mut_ptr()));
        own[size] = 0;
        pass_on!(super::ranges::store(thread, site, block, size + 1, own.as_ptr()));
    });
    if !recorded {
        // SAFETY: the string has so many bytes, and the new block one more.
        unsafe {
            std::ptr::copy_nonoverlapping(text.cast(), block, size);
            block.add(size).write(0);
        }
    }
    block.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_stpcpy(
    site: *const Site,
    to: *mut c_char,
    from: *const c_char,
) -> *mut c_char {
    let size = pass_on!(libc::strlen(from));
    pass_on!(__ft_strcpy(site, to, from));
    to.wrapping_add(size)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_stpncpy(
    site: *const Site,
    to: *mut c_char,
    from: *const c_char,
    limit: usize,
) -> *mut c_char {
    let size = pass_on!(libc::strnlen(from, limit));
    pass_on!(__ft_strncpy(site, to, from, limit));
    to.wrapping_add(size)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strncat(
    site: *const Site,
    to: *mut c_char,
    from: *const c_char,
    limit: usize,
) -> *mut c_char {
    let end = pass_on!(libc::strlen(to));
    let (size, read) = (pass_on!(libc::strnlen(from, limit)), pass_on!(length(from, limit)));
    let recorded = with(site, |thread, site| {
        pass_on!(look(&mut *thread, site, to.cast(), end + 1));
        let mut own = vec![0u8; size.max(read) + 1];
        pass_on!(super::ranges::load(&mut *thread, site, from.cast(), read, own.as_mut_ptr()));
        own[size] = 0;
        let to = to.wrapping_add(end).cast();
        pass_on!(super::ranges::store(thread, site, to, size + 1, own.as_ptr()));
    });
    if !recorded {
        pass_on!(libc::strncat(to, from, limit));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_mempcpy(
    site: *const Site,
    to: *mut c_void,
    from: *const c_void,
    size: usize,
) -> *mut c_void {
    if !with(site, |thread, site| pass_on!(copy(thread, site, to.cast(), from.cast(), size))) {
        pass_on!(libc::memcpy(to, from, size));
    }
    to.wrapping_byte_add(size)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_memccpy(
    site: *const Site,
    to: *mut c_void,
    from: *const c_void,
    last: c_int,
    limit: usize,
) -> *mut c_void {
    let found = pass_on!(libc::memchr(from, last, limit));
    let size = if found.is_null() { limit } else { found as usize - from as usize + 1 };
    let behind = pass_on!(__ft_mempcpy(site, to, from, size));
    if found.is_null() { std::ptr::null_mut() } else { behind }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_memrchr(
    site: *const Site,
    start: *const c_void,
    wanted: c_int,
    size: usize,
) -> *mut c_void {
    let found = pass_on!(libc::memrchr(start, wanted, size));
    let from = if found.is_null() { start } else { found.cast_const() };
    let seen = start as usize + size - from as usize;
    with(site, |thread, site| pass_on!(look(thread, site, from.cast(), seen)));
    found
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ft_strncasecmp(
    site: *const Site,
    a: *const c_char,
    b: *const c_char,
    limit: usize,
) -> c_int {
    let result = pass_on!(libc::strncasecmp(a, b, limit));
    with(site, |thread, site| {
        // Up to the first difference, or the end of both.
        let differs = |size: &usize| {
            let is_end = pass_on!(libc::strnlen(a, *size)) < *size;
            is_end || pass_on!(libc::strncasecmp(a, b, *size)) != 0
        };
        let size = (1..=limit).find(differs).unwrap_or(limit);
        pass_on!(look(&mut *thread, site, a.cast(), size));
        pass_on!(look(&mut *thread, site, b.cast(), size));
    });
    result
}
