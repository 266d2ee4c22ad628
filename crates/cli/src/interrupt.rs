//! What Ctrl-C and SIGTERM do: the first one asks the work to end, so that what is known by then is
//! still reported; the second one ends the command at once.
//!
//! Some senders send each signal twice: `timeout` sends it to the command, and then to the group in
//! which the command is. So what comes at once after a signal belongs to it.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

use foretrace_trace::Stop;

static IS_ASKED: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// When the last signal came that counts, in milliseconds since the machine was started; at first,
/// long ago.
static CAME: AtomicI64 = AtomicI64::new(-APART);

/// Signals that come so many milliseconds after another one belong to it.
const APART: i64 = 500;

/// Is set when the user wants the work to end.
pub(crate) const STOP: Stop = Stop::when(&IS_ASKED);

/// From now on, an interrupt asks for a report, and the next one ends the command. Earlier ones are
/// forgotten: they ended what came before.
pub(crate) fn listen() {
    IS_ASKED.store(false, Ordering::Relaxed);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: all fields have a value, and the handler only sets a flag. A signal that the
        // caller has made us ignore stays ignored (a shell does that for jobs in the background).
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            if action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action.sa_sigaction = note as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Whether it was Ctrl-C, which the terminal sends to the program as well.
pub(crate) fn was_typed() -> bool {
    SIGNAL.load(Ordering::Relaxed) == libc::SIGINT
}

extern "C" fn note(signal: libc::c_int) {
    let now = now();
    if now - CAME.load(Ordering::Relaxed) < APART {
        return;
    }
    CAME.store(now, Ordering::Relaxed);
    SIGNAL.store(signal, Ordering::Relaxed);
    if IS_ASKED.swap(true, Ordering::Relaxed) {
        // SAFETY: both calls may be made in a handler. The signal comes when this one returns.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call may be made in a handler, and writes to a local variable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}
