//! The heap: allocations and frees. The memory itself comes from the C library.

use std::ffi::{c_char, c_int, c_void};

use foretrace_recording::channel::direction::BOTH;
use foretrace_recording::channel::{IPC, OUTSIDE};
use foretrace_recording::record::alloc::{INHERITED, MOVED, SHARED, ZERO};
use foretrace_recording::record::{free, kind, unseen};

use crate::config::{Mode, mode};
use crate::errno::{keeping_errno, set_errno};
use crate::kernel::calls::around;
use crate::kernel::uses::Uses;
use crate::real::pass_on;
use crate::thread::{Thread, enter};
use crate::world::hold;

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// Each thread has a heap of its own, however many there are: so the addresses of its blocks depend
/// on what it does itself, and hardly on what others do meanwhile. A replay then finds them in the
/// same order.
pub(crate) fn one_heap_for_each_thread() {
    const MOST: c_int = 1 << 16;
    // SAFETY: only numbers are involved, and no block.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, MOST);
        // Found now, not inside of a `free` that looks for it.
        next::malloc_usable_size(std::ptr::null_mut());
    }
}

/// The calling thread gets its heap. Threads do so in the order in which they are created.
pub(super) fn settle() {
    // SAFETY: the block is one that was just given out, or null.
    unsafe { __libc_free(__libc_malloc(1)) };
}

fn allocated(block: *mut c_void, size: usize) -> *mut c_void {
    allocated_with(block, size, 0)
}

/// A block comes to life.
pub(crate) fn allocated_with(block: *mut c_void, size: usize, detail: u8) -> *mut c_void {
    if !block.is_null() {
        enter(|thread| {
            let site = thread.call_site;
            let mut world = hold();
            if let Some(replay) = &mut world.replay {
                replay.memory.allocated(block as u64, size as u64);
            }
            world.stamped(thread, kind::ALLOC, detail, site, [block as u64, size as u64]);
        });
    }
    block
}

/// Before the block is given back, so that nobody can have it again earlier. Says whether it must
/// not be given back at all.
fn freed(block: *mut c_void, detail: u8) -> bool {
    if matches!(mode(), Mode::Unset | Mode::Off) {
        return false;
    }
    // SAFETY: the program gives the block to `free` or `realloc`, so it is one of the C library's
    // that is in use.
    !block.is_null() && gone_with(block, unsafe { next::malloc_usable_size(block) }, detail)
}

/// A block is about to be given back. Says whether it must not be.
pub(crate) fn gone(block: *mut c_void, size: usize) -> bool {
    gone_with(block, size, 0)
}

fn gone_with(block: *mut c_void, size: usize, detail: u8) -> bool {
    let is_kept = enter(|thread| {
        let site = thread.call_site;
        let mut world = hold();
        world.objects.forget(block as usize, size);
        world.kernel.forget_pages(block as u64);
        super::twice::unmapped(block as u64);
        world.stamped(thread, kind::FREE, detail, site, [block as u64]);
        let block = block as u64;
        if world.replay.as_ref().is_some_and(|replay| replay.memory.was_freed(block)) {
            world.fails(thread);
        }
        let Some(replay) = world.replay.as_mut() else { return false };
        replay.freed(thread.planned);
        replay.memory.freed(thread, block, size as u64)
    });
    is_kept.unwrap_or(false)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    allocated(pass_on!(__libc_malloc(size)), size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let size_of_all = count.saturating_mul(size);
    allocated_with(pass_on!(__libc_calloc(count, size)), size_of_all, ZERO)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // Another thread may get the old block before we know that it is free; hence it counts as freed
    // first.
    let new = match freed(block, free::MOVES) {
        true if size == 0 => std::ptr::null_mut(),
        true => pass_on!(copied(block, size)),
        false => pass_on!(__libc_realloc(block, size)),
    };
    if new.is_null() && size > 0 {
        return new;
    }
    if new == block && !block.is_null() {
        enter(|thread| {
            let mut world = hold();
            if world.kernel.has_several_threads {
                world.kernel.resized.insert(block as usize, thread.index);
            }
        });
    }
    allocated_with(new, size, if block.is_null() { 0 } else { MOVED })
}

/// As `realloc`, but the old block stays.
///
/// # Safety
///
/// It is a block of the C library's that is in use.
unsafe fn copied(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller says so, and no more is copied than either block has.
    unsafe {
        let new = __libc_malloc(size);
        if !new.is_null() {
            let length = size.min(next::malloc_usable_size(block));
            std::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), length);
        }
        new
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    if !freed(block, 0) {
        pass_on!(__libc_free(block));
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    allocated(pass_on!(__libc_memalign(alignment, size)), size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    allocated(pass_on!(__libc_memalign(alignment, size)), size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let block = pass_on!(__libc_memalign(alignment, size));
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller gives a place for the block.
    unsafe { *to = allocated(block, size) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(size) => pass_on!(realloc(block, size)),
        None => {
            set_errno(libc::ENOMEM);
            std::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    pass_on!(memalign(4096, size))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    pass_on!(memalign(4096, size.next_multiple_of(4096)))
}

mod next {
    use super::*;
    crate::real::real!(fn mmap(start: *mut c_void, size: usize, access: c_int, flags: c_int,
        file: c_int, offset: i64) -> *mut c_void);
    crate::real::real!(fn malloc_usable_size(block: *mut c_void) -> usize);
    crate::real::real!(fn munmap(start: *mut c_void, size: usize) -> c_int);
    crate::real::real!(fn mremap(start: *mut c_void, size: usize, new_size: usize, flags: c_int,
        new_start: *mut c_void) -> *mut c_void);
    crate::real::real!(fn shmat(id: c_int, start: *const c_void, flags: c_int) -> *mut c_void);
    crate::real::real!(fn shmdt(start: *const c_void) -> c_int);
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
    let is_anonymous = flags & libc::MAP_ANONYMOUS != 0;
    let call = || pass_on!(next::mmap(start, size, access, flags, file, offset));
    let pages = match is_anonymous {
        true => call(),
        false => around(|kernel| kernel.question(file), None, call),
    };
    let fixed = flags & libc::MAP_FIXED != 0;
    let is_shared = flags & libc::MAP_SHARED != 0;
    if !start.is_null() && pages != start {
        // Others have something where the program wanted it.
        keeping_errno(|| enter(looked));
    }
    if pages == libc::MAP_FAILED {
        return pages;
    }
    if is_shared && !is_anonymous && access & libc::PROT_WRITE != 0 {
        enter(|_| hold().kernel.mapped(file));
        super::twice::mapped(file, offset as u64, pages as u64, size as u64);
    }
    let detail = match is_shared {
        true if is_anonymous => INHERITED,
        true if access & libc::PROT_WRITE != 0 => SHARED,
        _ if !is_anonymous && is_changed(file) => SHARED,
        _ => 0,
    };
    if fixed && detail != SHARED {
        return pages;
    }
    if !is_anonymous && detail == 0 {
        enter(|_| hold().kernel.shown(file, pages as u64, size as u64));
    }
    allocated_with(pages, size, detail)
}

/// What a call returned that fails if another thread has ended: then the caller has seen that.
pub(super) fn seen_by(result: c_int) -> c_int {
    if result != 0 {
        keeping_errno(|| enter(looked));
    }
    result
}

/// The calling thread has seen what other threads have done with memory.
pub(super) fn looked(thread: &mut Thread) {
    let site = thread.call_site;
    hold().stamped(thread, kind::UNSEEN, unseen::LOOKED, site, []);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    enter(|thread| {
        let resized = hold().kernel.resized.get(&(block as usize)).copied();
        if resized.is_some_and(|by| by != thread.index) {
            looked(thread);
        }
    });
    pass_on!(next::malloc_usable_size(block))
}

/// Whether the process changes the content of a file through memory, or can write to it.
fn is_changed(file: c_int) -> bool {
    let is_known = |_: &mut Thread| {
        let kernel = &mut hold().kernel;
        kernel.is_mapped(file) || kernel.is_written(file)
    };
    is_writable(file) || enter(is_known).unwrap_or(false)
}

/// The process opens a file by which it can be changed, or changes it: pages that hold what is in
/// the file may change from now on without a store.
pub(crate) fn changes_file(folder: c_int, path: *const c_char) {
    enter(|thread| {
        let site = thread.call_site;
        let mut world = hold();
        for (start, size) in world.kernel.changes_file(folder, path) {
            world.stamped(thread, kind::ALLOC, SHARED, site, [start, size]);
        }
    });
}

/// Whether the process can write to a file.
fn is_writable(file: c_int) -> bool {
    let arguments = [file as usize, libc::F_GETFL as usize, 0, 0, 0, 0];
    let flags = crate::futex::system_call(libc::SYS_fcntl, arguments);
    flags >= 0 && flags as c_int & libc::O_ACCMODE != libc::O_RDONLY
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
    pass_on!(mmap(start, size, access, flags, file, offset))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(start: *mut c_void, size: usize) -> c_int {
    match gone(start, size) {
        true => 0,
        false => pass_on!(next::munmap(start, size)),
    }
}

/// Pages that stay where they are stay what they are. If they move, they are new ones, and what
/// they hold nobody has stored there.
#[unsafe(no_mangle)]
unsafe extern "C" fn mremap(
    start: *mut c_void,
    size: usize,
    new_size: usize,
    flags: c_int,
    new_start: *mut c_void,
) -> *mut c_void {
    let may_stay = flags & libc::MREMAP_FIXED == 0 && size > 0;
    if may_stay {
        let pages = pass_on!(next::mremap(start, size, new_size, 0, new_start));
        if pages != libc::MAP_FAILED || flags & libc::MREMAP_MAYMOVE == 0 {
            return pages;
        }
    }
    if size > 0 {
        record_gone(start, size);
    }
    match pass_on!(next::mremap(start, size, new_size, flags, new_start)) {
        libc::MAP_FAILED if size > 0 => {
            let errno = crate::errno::errno();
            allocated_with(start, size, SHARED);
            set_errno(errno);
            libc::MAP_FAILED
        }
        libc::MAP_FAILED => libc::MAP_FAILED,
        pages => allocated_with(pages, new_size, SHARED),
    }
}

/// Pages are about to be elsewhere.
fn record_gone(start: *mut c_void, size: usize) {
    enter(|thread| {
        let site = thread.call_site;
        let mut world = hold();
        world.objects.forget(start as usize, size);
        world.stamped(thread, kind::FREE, 0, site, [start as u64]);
    });
}

/// Shared memory of System V: other processes, and other addresses of this one, may have it too.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn shmat(id: c_int, start: *const c_void, flags: c_int) -> *mut c_void {
    let pages = around(|_| ipc(), None, || pass_on!(next::shmat(id, start, flags)));
    if pages == libc::MAP_FAILED {
        return pages;
    }
    // SAFETY: the kernel fills in a local variable.
    let size = unsafe {
        let mut found: libc::shmid_ds = std::mem::zeroed();
        let is_known = libc::shmctl(id, libc::IPC_STAT, &mut found) == 0;
        if is_known { found.shm_segsz } else { 0 }
    };
    super::twice::attached(id, pages as u64, size as u64);
    if size > 0 { allocated_with(pages, size, SHARED) } else { pages }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn shmdt(start: *const c_void) -> c_int {
    record_gone(start.cast_mut(), 0);
    around(|_| ipc(), None, || pass_on!(next::shmdt(start)))
}

fn ipc() -> Uses {
    Uses::of(&[(IPC, BOTH), (OUTSIDE, BOTH)])
}
