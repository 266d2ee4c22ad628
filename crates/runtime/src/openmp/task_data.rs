//! The memory of tasks, as compiled code and the runtime share it; and `taskloop`, which makes many
//! tasks of one.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use foretrace_recording::record::alloc::ZERO;

use super::cell::{Store, give};
use super::iterations::share;
use super::tasks::{begin_group, create, end_group};
use super::team::current;
use super::{Number, Place};
use crate::interpose::memory;

type Entry = extern "C-unwind" fn(c_int, *mut Data) -> c_int;

/// What compiled code knows of a task; its variables follow.
#[repr(C)]
pub(super) struct Data {
    shared: *mut c_void,
    pub(super) entry: Option<Entry>,
    part: c_int,
    pub(super) destructors: Option<Entry>,
    priority: usize,
}

/// Before each [`Data`].
#[repr(C, align(16))]
pub(super) struct Header {
    size: usize,
    shared_size: usize,
    pub(super) flags: c_int,
}

pub(super) const FINAL: c_int = 2;
pub(super) const HAS_DESTRUCTORS: c_int = 8;
pub(super) const IS_DETACHED: c_int = 64;

/// # Safety
///
/// [`allocate`] has made it, and it was not given back. This is so for all of the functions here.
pub(super) unsafe fn header<'a>(data: *mut Data) -> &'a Header {
    // SAFETY: the caller says so, and `allocate` puts a header before it.
    unsafe { &*data.byte_sub(size_of::<Header>()).cast() }
}

/// Gives the memory of a task back.
///
/// # Safety
///
/// As for [`header`], and nobody uses it any more.
pub(super) unsafe fn free(data: *mut Data) {
    // SAFETY: the caller says so; the header says how large the block is.
    unsafe {
        let Header { size, shared_size, .. } = *header(data);
        let (block, all) =
            (data.byte_sub(size_of::<Header>()), size_of::<Header>() + size + shared_size);
        if !memory::gone(block.cast(), all) {
            STORE.give_back(block.cast(), all);
        }
    }
}

static STORE: Store = Store::new();

/// Makes the memory of a task, recorded as a block of the heap.
fn allocate(flags: c_int, size: usize, shared_size: usize, entry: Option<Entry>) -> *mut Data {
    let size = size.max(size_of::<Data>()).next_multiple_of(16);
    let shared_size = shared_size.next_multiple_of(16);
    // SAFETY: the new block has room for the header, the data behind it, and what is shared behind
    // that; it is aligned to 16 bytes, and nobody else has it.
    unsafe {
        let all = size_of::<Header>() + size + shared_size;
        let block: *mut c_void = STORE.take(all).cast();
        memory::allocated_with(block, all, ZERO);
        block.cast::<Header>().write(Header { size, shared_size, flags });
        let data: *mut Data = block.byte_add(size_of::<Header>()).cast();
        let shared = if shared_size > 0 { data.byte_add(size).cast() } else { null_mut() };
        give(&raw mut (*data).shared, shared);
        (*data).entry = entry;
        data
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_omp_task_alloc(
    _: *const Place,
    _: Number,
    flags: c_int,
    size: usize,
    shared_size: usize,
    entry: Option<Entry>,
) -> *mut Data {
    allocate(flags, size, shared_size, entry)
}

/// Copies what compiled code has put into a task.
///
/// # Safety
///
/// As for [`header`].
unsafe fn copy(from: *mut Data) -> *mut Data {
    // SAFETY: the caller says so; both have as many bytes as the header says, in whole words.
    unsafe {
        let Header { size, shared_size, flags } = *header(from);
        let to = allocate(flags, size, shared_size, (*from).entry);
        // Behind what the runtime has set itself, one word after the other, and recorded.
        for offset in (size_of::<Data>()..size).step_by(8) {
            give(to.byte_add(offset).cast::<u64>(), from.byte_add(offset).cast::<u64>().read());
        }
        for offset in (0..shared_size).step_by(8) {
            let word = (*from).shared.byte_add(offset).cast::<u64>().read();
            give((*to).shared.byte_add(offset).cast::<u64>(), word);
        }
        (*to).destructors = (*from).destructors;
        to
    }
}

/// What `__kmpc_taskloop` is told about the number of tasks.
const GRAIN_SIZE: c_int = 1;
const NUMBER_OF_TASKS: c_int = 2;

/// Makes tasks of the iterations of a loop: copies of `data`, each with bounds of its own.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_taskloop(
    _: *const Place,
    _: Number,
    data: *mut Data,
    condition: c_int,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    no_group: c_int,
    kind: c_int,
    size: u64,
    duplicate: Option<extern "C-unwind" fn(*mut Data, *mut Data, c_int)>,
) {
    // SAFETY: compiled code gives places of the bounds within the data.
    let (first, last) = unsafe { (*lower, *upper) };
    let distance = if step < 0 { first.wrapping_sub(last) } else { last.wrapping_sub(first) };
    let count = match (distance as i64) < 0 {
        true => 0,
        false => distance / step.unsigned_abs().max(1) + 1,
    };
    let tasks = match kind {
        GRAIN_SIZE => count / size.max(1),
        NUMBER_OF_TASKS => size,
        _ => 2 * u64::from(current().team.size),
    };
    let tasks = tasks.clamp(1, count.max(1));
    if no_group == 0 {
        begin_group();
    }
    for number in (0..tasks).filter(|_| count > 0) {
        let (start, length) = share(count, tasks, number);
        let at = |iteration: u64| first.wrapping_add(iteration.wrapping_mul(step as u64));
        // SAFETY: compiled code gives data that `__kmpc_omp_task_alloc` made. The places of the
        // bounds are within it, and at the same distance within the copy, which is as large.
        unsafe {
            let one = copy(data);
            let moved = |place: *mut u64| one.byte_add(place.addr() - data.addr()).cast::<u64>();
            give(moved(lower), at(start));
            give(moved(upper), at(start + length - 1));
            if let Some(duplicate) = duplicate {
                duplicate(one, data, c_int::from(number + 1 == tasks));
            }
            create(one, &[], condition != 0);
        }
    }
    if no_group == 0 {
        end_group();
    }
    // SAFETY: it was only a pattern, and compiled code does not use it any more.
    unsafe { free(data) };
}

/// The same with a modifier of the number of tasks, which they may ignore.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_taskloop_5(
    place: *const Place,
    number: Number,
    data: *mut Data,
    condition: c_int,
    lower: *mut u64,
    upper: *mut u64,
    step: i64,
    no_group: c_int,
    kind: c_int,
    size: u64,
    _: c_int,
    duplicate: Option<extern "C-unwind" fn(*mut Data, *mut Data, c_int)>,
) {
    // SAFETY: compiled code gives what the other asks for, too.
    unsafe {
        __kmpc_taskloop(
            place, number, data, condition, lower, upper, step, no_group, kind, size, duplicate,
        );
    }
}
