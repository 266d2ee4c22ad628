//! Transfers from one descriptor to another that bypass memory.

use std::ffi::{c_int, c_uint};

use foretrace_recording::input::call;
use libc::{off_t, size_t, ssize_t};

use super::transfers::cannot_be_given;
use crate::errno::keeping_errno;
use crate::kernel::Kernel;
use crate::kernel::exchange::{Fate, Source, finish, give, start};
use crate::real::{pass_on, real};

mod next {
    use super::*;
    real!(fn sendfile(to: c_int, from: c_int, at: *mut off_t, size: size_t) -> ssize_t);
    real!(fn splice(from: c_int, at: *mut off_t, to: c_int, there: *mut off_t, size: size_t,
        flags: c_uint) -> ssize_t);
    real!(fn tee(from: c_int, to: c_int, size: size_t, flags: c_uint) -> ssize_t);
    real!(fn copy_file_range(from: c_int, at: *mut off_t, to: c_int, there: *mut off_t,
        size: size_t, flags: c_uint) -> ssize_t);
}

/// Makes a call that moves bytes from one descriptor to another.
fn between(from: c_int, to: c_int, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let uses = |kernel: &mut Kernel| {
        kernel.may_write(to);
        let mut uses = kernel.both(from);
        uses.join(&kernel.both(to));
        uses
    };
    // The bytes never come to memory: what others sent so cannot be given again.
    let outside =
        |kernel: &mut Kernel| kernel.is_answered_by_others(from) || kernel.goes_to_others(to);
    let source = Source::new(call::SPLICE, &outside);
    let Some(begun) = start(&source, uses, None) else { return call() };
    if let Fate::Answered(_) = begun.fate {
        cannot_be_given(call::SPLICE);
    }
    let result = call();
    finish(&begun, &source, result as i64, &|_, _| (), |_| ());
    result
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn sendfile(
    to: c_int,
    from: c_int,
    at: *mut off_t,
    size: size_t,
) -> ssize_t {
    let uses = |kernel: &mut Kernel| {
        let mut uses = kernel.both(from);
        uses.join(&kernel.both(to));
        uses
    };
    let outside = |kernel: &mut Kernel| kernel.goes_to_others(to);
    let areas = |_: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if !at.is_null() {
            visit(at.cast(), size_of::<off_t>());
        }
    };
    let of_child = |kernel: &mut Kernel| kernel.is_given(to);
    let source = Source { of_child: Some(&of_child), ..Source::new(call::WRITE, &outside) };
    let Some(begun) = start(&source, uses, None) else {
        return pass_on!(next::sendfile(to, from, at, size));
    };
    let result = match &begun.fate {
        Fate::Answered(answer) => {
            give(answer, &areas);
            // The place in the file has moved.
            if at.is_null() && answer.result > 0 {
                // SAFETY: only numbers are involved, and the descriptor is one that the program has
                // given.
                keeping_errno(|| unsafe { libc::lseek(from, answer.result, libc::SEEK_CUR) });
            }
            answer.result
        }
        _ => (pass_on!(next::sendfile(to, from, at, size))) as i64,
    };
    finish(&begun, &source, result, &areas, |kernel| kernel.may_write(to));
    result as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn splice(
    from: c_int,
    at: *mut off_t,
    to: c_int,
    there: *mut off_t,
    size: size_t,
    flags: c_uint,
) -> ssize_t {
    between(from, to, || pass_on!(next::splice(from, at, to, there, size, flags)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn tee(from: c_int, to: c_int, size: size_t, flags: c_uint) -> ssize_t {
    between(from, to, || pass_on!(next::tee(from, to, size, flags)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn copy_file_range(
    from: c_int,
    at: *mut off_t,
    to: c_int,
    there: *mut off_t,
    size: size_t,
    flags: c_uint,
) -> ssize_t {
    between(from, to, || pass_on!(next::copy_file_range(from, at, to, there, size, flags)))
}
