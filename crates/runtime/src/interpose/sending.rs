//! Sending signals. What threads of the process send to each other comes really. What goes to other processes does not in a replay: none of them may be there, and their numbers may be those of
//! any process by now.

use std::ffi::c_int;

use foretrace_recording::input::call;
use libc::{pid_t, timespec};

use super::numbers;
use super::signals::{SEND, handler_of};
use crate::futex::system_call;
use crate::kernel::Kernel;
use crate::kernel::calls::{around, keeping_errno};
use crate::kernel::exchange::{Source, exchange};
use crate::kernel::uses::Uses;
use crate::real::real;
use crate::sync::Pending;
use crate::thread::{Thread, enter};
use crate::world::{State, hold};

mod next {
    use super::*;
    real!(fn kill(process: pid_t, signal: c_int) -> c_int);
    real!(fn sigqueue(process: pid_t, signal: c_int, value: libc::sigval) -> c_int);
    real!(fn tgkill(process: pid_t, thread: pid_t, signal: c_int) -> c_int);
    real!(fn pthread_kill(thread: libc::pthread_t, signal: c_int) -> c_int);
}

/// Makes a call that sends a signal to a process, or to a process group.
fn send(process: pid_t, call: impl FnOnce(pid_t) -> c_int) -> c_int {
    let process = numbers::process_or_group(process);
    // Children that a replay starts again get their signals.
    let outside = |kernel: &mut Kernel| {
        is_other(process) && !(kernel.objects.children_again && is_child(process))
    };
    let of_child = |_: &mut Kernel| is_child(process);
    let source = Source { of_child: Some(&of_child), ..Source::new(call::KILL, &outside) };
    let uses = |_: &mut Kernel| Uses::of(&SEND);
    exchange(&source, uses, None, &|_, _| (), || i64::from(call(process))) as c_int
}

fn own(number: i64) -> pid_t {
    system_call(number, [0; 6]) as pid_t
}

/// Whether neither the process itself nor its process group is meant, nor everybody.
fn is_other(process: pid_t) -> bool {
    match process {
        1.. => process != own(libc::SYS_getpid),
        -1 | 0 => false,
        _ => -process != own(libc::SYS_getpgid),
    }
}

/// Whether a child is meant; other process groups are those of children.
fn is_child(process: pid_t) -> bool {
    process < 0 || parent(process) == Some(own(libc::SYS_getpid))
}

/// The parent of a process: the second word behind its name, which is in parentheses.
fn parent(process: pid_t) -> Option<pid_t> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn kill(process: pid_t, signal: c_int) -> c_int {
    send(process, |process| unsafe { next::kill(process, signal) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn killpg(group: pid_t, signal: c_int) -> c_int {
    unsafe { kill(-group, signal) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigqueue(process: pid_t, signal: c_int, value: libc::sigval) -> c_int {
    send(process, |process| unsafe { next::sigqueue(process, signal, value) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn tgkill(
    process: pid_t,
    thread: pid_t,
    signal: c_int,
) -> c_int {
    let (process, thread) = (numbers::meant(process), numbers::meant(thread));
    let call = || unsafe { next::tgkill(process, thread, signal) };
    around(|_| Uses::of(&SEND), None, call)
}

/// A thread that waits inside of the runtime notices the signal before the sender goes on: so the same schedule gives the same run.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_kill(to: libc::pthread_t, signal: c_int) -> c_int {
    let call = || unsafe { next::pthread_kill(to, signal) };
    around(
        |_| Uses::of(&SEND),
        None,
        || {
            let status = call();
            if status == 0 && handler_of(signal) > libc::SIG_IGN {
                keeping_errno(|| enter(|thread| notices(thread, to)));
            }
            status
        },
    )
}

fn notices(sender: &Thread, to: libc::pthread_t) {
    /// So many looks, a few microseconds apart; it may also have the signal blocked.
    const LOOKS: u32 = 200;
    for _ in 0..LOOKS {
        let mut world = hold();
        let Some(index) = world.by_handle(to).filter(|&index| index != sender.index) else {
            return;
        };
        let entry = world.entry(index);
        if entry.state != State::Live || !matches!(entry.pending, Pending::Ready(_)) {
            return;
        }
        if entry.was_signalled() {
            entry.interrupted = true;
            return;
        }
        drop(world);
        let pause = timespec { tv_sec: 0, tv_nsec: 10_000 };
        system_call(libc::SYS_nanosleep, [std::ptr::from_ref(&pause) as usize, 0, 0, 0, 0, 0]);
    }
}
