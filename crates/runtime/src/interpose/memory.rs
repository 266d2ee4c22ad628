//! The heap: blocks that come and go. The memory itself is the C library's.

use std::ffi::{c_int, c_void};

use foretrace_recording::record::alloc::ZERO;
use foretrace_recording::record::kind;

use crate::thread::enter;
use crate::world::hold;

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

fn allocated(block: *mut c_void, size: usize) -> *mut c_void {
    allocated_with(block, size, 0)
}

fn allocated_with(block: *mut c_void, size: usize, detail: u8) -> *mut c_void {
    if !block.is_null() {
        enter(|thread| {
            let site = thread.call_site;
            hold().stamped(thread, kind::ALLOC, detail, site, [block as u64, size as u64]);
        });
    }
    block
}

/// Before the block is given back, so that nobody can have it again earlier.
fn freed(block: *mut c_void) {
    if !block.is_null() {
        enter(|thread| {
            let site = thread.call_site;
            let mut world = hold();
            world.objects.forget(block as usize, unsafe { libc::malloc_usable_size(block) });
            world.stamped(thread, kind::FREE, 0, site, [block as u64]);
        });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    allocated(unsafe { __libc_malloc(size) }, size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let size_of_all = count.saturating_mul(size);
    allocated_with(unsafe { __libc_calloc(count, size) }, size_of_all, ZERO)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // Another thread may get the old block before we know that it is free; hence it counts as freed first.
    freed(block);
    let new = unsafe { __libc_realloc(block, size) };
    if new.is_null() && size > 0 {
        return new;
    }
    allocated(new, size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    freed(block);
    unsafe { __libc_free(block) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    allocated(unsafe { __libc_memalign(alignment, size) }, size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    allocated(unsafe { __libc_memalign(alignment, size) }, size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let block = unsafe { __libc_memalign(alignment, size) };
    if block.is_null() {
        return libc::ENOMEM;
    }
    unsafe { *to = allocated(block, size) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(size) => unsafe { realloc(block, size) },
        None => {
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            std::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    unsafe { memalign(4096, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    unsafe { memalign(4096, size.next_multiple_of(4096)) }
}

mod next {
    use super::*;
    crate::real::real!(fn mmap(start: *mut c_void, size: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void);
    crate::real::real!(fn munmap(start: *mut c_void, size: usize) -> c_int);
}

/// Pages of the program's own are blocks too, unless they are put over others.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    start: *mut c_void,
    size: usize,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    let pages = unsafe { next::mmap(start, size, access, flags, file, offset) };
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    if pages == libc::MAP_FAILED || fixed { pages } else { allocated(pages, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    start: *mut c_void,
    size: usize,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    unsafe { mmap(start, size, access, flags, file, offset) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(start: *mut c_void, size: usize) -> c_int {
    enter(|thread| {
        let site = thread.call_site;
        let mut world = hold();
        world.objects.forget(start as usize, size);
        world.stamped(thread, kind::FREE, 0, site, [start as u64]);
    });
    unsafe { next::munmap(start, size) }
}
