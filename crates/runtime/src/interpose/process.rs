//! The end of the process, and its copies.

use std::ffi::{c_char, c_int, c_uint, c_void};

use foretrace_recording::file::flags;
use foretrace_recording::record::kind;

use crate::config::{Mode, mode, set_mode};
use crate::real::real;
use crate::thread::{self, enter};
use crate::world::hold;
use crate::{annotations, log};

mod next {
    use super::*;
    real!(fn _exit(status: c_int) -> !);
    real!(fn quick_exit(status: c_int) -> !);
    real!(fn fork() -> libc::pid_t);
    real!(fn __assert_fail(expression: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) -> !);
}

unsafe extern "C" {
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Registered first, so that it is called last: behind the program's own handlers.
pub(crate) unsafe fn register_exit() {
    unsafe { on_exit(exiting, std::ptr::null_mut()) };
}

extern "C" fn exiting(status: c_int, _: *mut c_void) {
    end(status);
}

fn end(status: c_int) {
    if matches!(mode(), Mode::Unset | Mode::Off) {
        return;
    }
    if enter(|thread| hold().exit(Some(thread), status)).is_none() {
        hold().exit(None, status);
    }
    // Others may still run for a moment; what they do is behind the end.
    set_mode(Mode::Off);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(status: c_int) -> ! {
    end(status);
    unsafe { next::_exit(status) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Exit(status: c_int) -> ! {
    unsafe { _exit(status) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn quick_exit(status: c_int) -> ! {
    end(status);
    unsafe { next::quick_exit(status) }
}

/// The child has one thread and no recording; locks that it holds go on to work.
#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> libc::pid_t {
    let on = !matches!(mode(), Mode::Unset | Mode::Off);
    if !on || thread::current().is_null() {
        return unsafe { next::fork() };
    }
    log::flag(flags::FORKED);
    let world = hold();
    let child = unsafe { next::fork() };
    drop(world);
    if child == 0 {
        log::abandon();
        set_mode(Mode::Off);
    }
    child
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __assert_fail(
    expression: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
) -> ! {
    enter(|thread| {
        let site = thread.call_site;
        thread.point(kind::ASSERT, site, 0, 0);
        thread.record(kind::ASSERT, 0, site, []);
    });
    annotations::failed(expression, file, line, function);
    unsafe { next::__assert_fail(expression, file, line, function) }
}
