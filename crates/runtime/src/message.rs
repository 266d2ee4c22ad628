//! The few messages that the runtime itself prints on standard error.

use crate::futex::system_call;

/// Writes `foretrace: TEXT` to standard error.
pub(crate) fn say(text: &str) {
    let line = format!("foretrace: {text}\n");
    system_call(libc::SYS_write, [2, line.as_ptr() as usize, line.len(), 0, 0, 0]);
}

/// Ends the process at once: nothing of the program runs any more.
pub(crate) fn leave(status: i32) -> ! {
    loop {
        system_call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]);
    }
}
