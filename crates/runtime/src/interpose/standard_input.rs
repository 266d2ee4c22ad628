//! The stream `stdin`, where others feed it. The C library reads into its streams by itself, where
//! nobody can stand before it: so this one is put in the place of its own, and reads like the
//! program does.

use std::ffi::{c_char, c_int, c_void};

use libc::{FILE, size_t, ssize_t};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::kernel::objects::Kind;
use crate::real::real;
use crate::thread::enter;
use crate::world::hold;

mod next {
    use super::*;
    real!(fn fileno(stream: *mut FILE) -> c_int);
}

/// What a stream of the program's own does (`cookie_io_functions_t`).
#[repr(C)]
pub(super) struct Functions {
    pub(super) read: Option<Read>,
    pub(super) write: Option<Write>,
    pub(super) seek: Option<Seek>,
    pub(super) close: Option<Close>,
}

type Read = unsafe extern "C-unwind" fn(*mut c_void, *mut c_char, size_t) -> ssize_t;
type Write = unsafe extern "C-unwind" fn(*mut c_void, *const c_char, size_t) -> ssize_t;
type Seek = unsafe extern "C-unwind" fn(*mut c_void, *mut i64, c_int) -> c_int;
type Close = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

unsafe extern "C" {
    static mut stdin: *mut FILE;
    static mut stdout: *mut FILE;
    pub(super) fn fopencookie(
        cookie: *mut c_void,
        mode: *const c_char,
        functions: Functions,
    ) -> *mut FILE;
}

static OURS: AtomicPtr<FILE> = AtomicPtr::new(std::ptr::null_mut());

/// Puts our stream in its place, if standard input comes from outside; before `main`.
pub(crate) fn begin() {
    let kind = hold().kernel.slot(0).map(|slot| slot.kind);
    if !matches!(kind, Some(Kind::Outside | Kind::Log | Kind::Socket)) {
        return;
    }
    let functions = Functions { read: Some(read), write: None, seek: None, close: Some(close) };
    // From inside of the runtime: the memory that the C library takes for it is none of the
    // program's.
    let ours = enter(|_| unsafe { fopencookie(std::ptr::null_mut(), c"r".as_ptr(), functions) });
    if let Some(ours) = ours.filter(|ours| !ours.is_null()) {
        OURS.store(ours, Relaxed);
        unsafe { stdin = ours };
    }
}

unsafe extern "C-unwind" fn read(_: *mut c_void, to: *mut c_char, size: size_t) -> ssize_t {
    unsafe {
        // The C library shows what was written before it waits for the user.
        if libc::isatty(0) == 1 {
            libc::fflush(stdout);
        }
        super::transfers::read(0, to.cast(), size)
    }
}

unsafe extern "C-unwind" fn close(_: *mut c_void) -> c_int {
    unsafe { libc::close(0) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fileno(stream: *mut FILE) -> c_int {
    if !stream.is_null() && stream == OURS.load(Relaxed) {
        return 0;
    }
    match super::fed_streams::descriptor(stream) {
        Some(descriptor) => descriptor,
        None => unsafe { next::fileno(stream) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fileno_unlocked(stream: *mut FILE) -> c_int {
    unsafe { fileno(stream) }
}
