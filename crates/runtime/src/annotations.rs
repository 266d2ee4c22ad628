//! What the user declares about the program through `foretrace.h`.

use std::ffi::{CStr, c_char, c_int, c_void};

use foretrace_recording::file::{flags, table};
use foretrace_recording::record::kind;

use crate::thread::enter;
use crate::world::hold;

fn text<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: `foretrace.h` asks for C strings, and `assert` gives some; they live as long as the
    // call.
    if text.is_null() { b"" } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}

fn mark(kind: u8, detail: u8) {
    enter(|thread| {
        let site = thread.call_site;
        thread.point(kind, site, 0, 0);
        thread.record(kind, detail, site, []);
    });
}

#[unsafe(no_mangle)]
extern "C" fn foretrace_atomic_begin() {
    mark(kind::REGION_BEGIN, 0);
}

#[unsafe(no_mangle)]
extern "C" fn foretrace_atomic_end() {
    mark(kind::REGION_END, 0);
}

/// An assertion of the user's; ends the program when it does not hold, as `assert` does.
#[unsafe(no_mangle)]
unsafe extern "C" fn foretrace_assert(
    holds: c_int,
    expression: *const c_char,
    file: *const c_char,
    line: c_int,
) {
    if holds == 0 {
        fails();
    }
    mark(kind::ASSERT, u8::from(holds != 0));
    if holds == 0 {
        failed(expression, file, line as u32, c"".as_ptr());
        let (file, expression) = (text(file), text(expression));
        let (file, expression) =
            (String::from_utf8_lossy(file), String::from_utf8_lossy(expression));
        crate::message::say(&format!("{file}:{line}: assertion `{expression}' failed"));
        // SAFETY: it may be called at any time.
        unsafe { libc::abort() };
    }
}

/// The calling thread is about to fail: a replay may be waiting for that.
pub(crate) fn fails() {
    enter(|thread| hold().fails(thread));
}

/// Keeps the words of a failed assertion.
pub(crate) fn failed(
    expression: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
) {
    let place = format!(":{line}: ");
    let message = [text(file), place.as_bytes(), text(function), b": ", text(expression)].concat();
    crate::log::flag(flags::ASSERTION_FAILED);
    enter(|_| hold().tables.table(table::ASSERTION, &[&message]));
}

#[unsafe(no_mangle)]
extern "C" fn foretrace_benign_race(start: *const c_void, size: usize, reason: *const c_char) {
    let words = [start as u64, size as u64].map(u64::to_le_bytes);
    enter(|_| hold().tables.table(table::BENIGN, &[words.as_flattened(), text(reason)]));
}

#[unsafe(no_mangle)]
extern "C" fn foretrace_name_lock(lock: *const c_void, name: *const c_char) {
    let address = (lock as u64).to_le_bytes();
    enter(|_| hold().tables.table(table::LOCK_NAME, &[&address, text(name)]));
}
