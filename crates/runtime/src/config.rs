//! What the command `foretrace` asks of the runtime, through environment variables.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

/// What the hooks do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Mode {
    /// The constructor has not run yet.
    Unset,
    /// Nothing but the operation.
    Off,
    /// Record, all threads at once.
    Free,
    /// Record, one thread at a time.
    Scheduled,
}

static MODE: AtomicU8 = AtomicU8::new(0);
static CONTROL_FLOW: AtomicBool = AtomicBool::new(false);

/// Whether branches, calls and returns are recorded. If so, the mode is one of those that record.
#[inline(always)]
pub(crate) fn keeps_control_flow() -> bool {
    CONTROL_FLOW.load(Relaxed)
}

pub(crate) fn keep_control_flow(keep: bool) {
    CONTROL_FLOW.store(keep, Relaxed);
}

#[inline(always)]
pub(crate) fn mode() -> Mode {
    match MODE.load(Relaxed) {
        0 => Mode::Unset,
        1 => Mode::Off,
        2 => Mode::Free,
        _ => Mode::Scheduled,
    }
}

pub(crate) fn set_mode(mode: Mode) {
    if matches!(mode, Mode::Unset | Mode::Off) {
        keep_control_flow(false);
    }
    MODE.store(mode as u8, Relaxed);
}

/// The value of an environment variable, as bytes that live as long as the process. An empty one
/// counts as none. `foretrace` gives every run variables of the same length: what it has filled one
/// up with, a line of hyphens, is left out.
pub(crate) fn variable(name: &std::ffi::CStr) -> Option<&'static [u8]> {
    // SAFETY: the name is a C string. Nobody changes the environment meanwhile: this is called
    // before the program's constructors, by the only thread.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: it is a string of the environment that the process began with, which stays where it
    // is.
    let value = unsafe { std::ffi::CStr::from_ptr(value) }.to_bytes();
    let filled = value.iter().rposition(|&byte| byte != b'-');
    let value = match filled.map(|last| (value[last], &value[..last])) {
        Some((b'\n', own)) => own,
        _ => value,
    };
    (!value.is_empty()).then_some(value)
}

/// An environment variable that is a number.
pub(crate) fn number(name: &std::ffi::CStr) -> Option<u64> {
    std::str::from_utf8(variable(name)?).ok()?.parse().ok()
}
