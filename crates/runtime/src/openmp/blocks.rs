//! Barriers, blocks that one thread runs, blocks that one thread runs at a time, and reductions.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::*;

use super::locks::{acquire_plain, release_plain};
use super::settings::is_true;
use super::team::current;
use super::{Number, Place};
use crate::config::variable;
use crate::interpose::process::refuse;

/// Whether the calling thread is the one that runs a `single` block.
pub(super) fn is_chosen() -> bool {
    let member = current();
    let number = member.next_construct();
    member.team.size == 1 || member.team.construct(number).cell.update(|_| 1) == 0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_barrier(_: *const Place, _: Number) {
    current().team.meet();
}

/// Where `cancel` would be acted upon; it never is, as if `OMP_CANCELLATION` were false.
#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_cancel_barrier(_: *const Place, _: Number) -> c_int {
    current().team.meet();
    0
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_cancel(_: *const Place, _: Number, _: c_int) -> c_int {
    if variable(c"OMP_CANCELLATION").is_some_and(is_true) {
        refuse("the program uses cancel of OpenMP, and OMP_CANCELLATION is true (__kmpc_cancel)");
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_cancellationpoint(_: *const Place, _: Number, _: c_int) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_single(_: *const Place, _: Number) -> c_int {
    c_int::from(is_chosen())
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_end_single(_: *const Place, _: Number) {}

/// Hands what the `single` block computed to the other threads: the copying is compiled code, and
/// recorded.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_copyprivate(
    _: *const Place,
    _: Number,
    _: usize,
    data: *mut c_void,
    copy: extern "C-unwind" fn(*mut c_void, *mut c_void),
    is_source: c_int,
) {
    let team = current().team.clone();
    if is_source != 0 {
        team.copied.store(data, Release);
    }
    team.meet_alone();
    if is_source == 0 {
        copy(data, team.copied.load(Acquire));
    }
    team.meet();
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_master(_: *const Place, _: Number) -> c_int {
    c_int::from(current().number == 0)
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_end_master(_: *const Place, _: Number) {}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_masked(_: *const Place, _: Number, filter: c_int) -> c_int {
    c_int::from(current().number as c_int == filter)
}

#[unsafe(no_mangle)]
extern "C" fn __kmpc_end_masked(_: *const Place, _: Number) {}

/// A fence; where one thread runs at a time there is nothing to do.
#[unsafe(no_mangle)]
extern "C" fn __kmpc_flush(_: *const Place) {
    std::sync::atomic::fence(SeqCst);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_critical(_: *const Place, _: Number, name: *mut c_void) {
    acquire_plain(name);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_critical_with_hint(
    _: *const Place,
    _: Number,
    name: *mut c_void,
    _: u32,
) {
    acquire_plain(name);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_end_critical(_: *const Place, _: Number, name: *mut c_void) {
    release_plain(name);
}

/// The answer to [`__kmpc_reduce`] that means: the caller combines its values with the shared ones,
/// alone.
const COMBINE: c_int = 1;

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_reduce_nowait(
    _: *const Place,
    _: Number,
    _: c_int,
    _: usize,
    _: *mut c_void,
    _: *const c_void,
    name: *mut c_void,
) -> c_int {
    if current().team.size > 1 {
        acquire_plain(name);
    }
    COMBINE
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_end_reduce_nowait(
    _: *const Place,
    _: Number,
    name: *mut c_void,
) {
    if current().team.size > 1 {
        release_plain(name);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_reduce(
    place: *const Place,
    number: Number,
    count: c_int,
    size: usize,
    data: *mut c_void,
    combine: *const c_void,
    name: *mut c_void,
) -> c_int {
    // SAFETY: compiled code gives what the other asks for, too.
    unsafe { __kmpc_reduce_nowait(place, number, count, size, data, combine, name) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __kmpc_end_reduce(
    place: *const Place,
    number: Number,
    name: *mut c_void,
) {
    // SAFETY: as above.
    unsafe { __kmpc_end_reduce_nowait(place, number, name) };
    current().team.meet();
}
