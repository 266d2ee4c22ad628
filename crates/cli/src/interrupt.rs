//! What Ctrl-C and SIGTERM do: the first one asks the work to end, so that what is known by then is
//! still reported; the second one ends the command at once.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use foretrace_trace::Stop;

static IS_ASKED: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);

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
            // The system takes the handler away with its first call.
            action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
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
    SIGNAL.store(signal, Ordering::Relaxed);
    IS_ASKED.store(true, Ordering::Relaxed);
}
