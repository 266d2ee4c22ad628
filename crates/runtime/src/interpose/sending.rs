//! Sending signals, and those that the process sends to itself.
//!
//! In a recording the handler of such a signal runs where its thread happens to leave the runtime.
//! A replay runs it at the same place of the thread, behind as many operations and inside as many
//! calls, whenever the kernel delivers the signal. It does so only once the signal is really sent:
//! a handler that runs in a schedule in which nobody has called it has diverged.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use foretrace_recording::channel::direction::{BOTH, GIVES};
use foretrace_recording::channel::{OUTSIDE, SIGNALS};
use foretrace_recording::input::{call, problem};
use libc::{pid_t, timespec};

use super::memory;
use super::numbers::{meant, process_or_group};
use super::signals::handler_of;
use crate::errno::keeping_errno;
use crate::futex::system_call;
use crate::kernel::Kernel;
use crate::kernel::calls::around;
use crate::kernel::exchange::{Source, exchange};
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real};
use crate::thread::{self, Thread, enter, pending};
use crate::world::{State, World, hold};

const SEND: [(u32, u32); 2] = [(SIGNALS, BOTH), (OUTSIDE, GIVES)];

/// Of one signal that the process sends to itself: how often each of these happened.
struct Count {
    sent: AtomicU32,
    arrived: AtomicU32,
    handled: AtomicU32,
    /// In the recorded run, at places that are known.
    expected: AtomicU32,
}

static COUNTS: [Count; 65] = [const {
    Count {
        sent: AtomicU32::new(0),
        arrived: AtomicU32::new(0),
        handled: AtomicU32::new(0),
        expected: AtomicU32::new(0),
    }
}; 65];

fn count(signal: c_int) -> Option<&'static Count> {
    COUNTS.get(usize::try_from(signal).ok()?)
}

/// In a replay: the recorded run handled this signal, once more.
pub(super) fn expect(signal: c_int) {
    if let Some(count) = count(signal) {
        count.expected.fetch_add(1, Relaxed);
    }
}

/// A signal of the process itself is there: whether its handler runs elsewhere, since the recording
/// says where.
pub(super) fn arrives(signal: c_int) -> bool {
    let Some(count) = count(signal) else { return false };
    let is_expected = count.arrived.fetch_add(1, Relaxed) < count.expected.load(Relaxed);
    // The handler of a thread that waits for a semaphore or the like runs at once, and is not
    // recorded.
    let runs_at_once = thread::glance().is_some_and(|thread| {
        thread.waits.load(Relaxed) && thread.pending.load(Relaxed) & pending::RECORDED == 0
    });
    is_expected && !runs_at_once
}

/// The handler of a signal of the process itself is about to run. In a replay it must have been
/// sent.
pub(super) fn handles(signal: c_int) {
    let Some(count) = count(signal) else { return };
    let there = count.sent.load(Relaxed).max(count.arrived.load(Relaxed));
    if count.handled.fetch_add(1, Relaxed) >= there {
        enter(|thread| {
            let mut world = hold();
            if world.planned() {
                world.other_call(thread, call::OWN_SIGNAL, problem::NOT_SENT);
            }
        });
    }
}

/// Makes a call that sends a signal, inside of the call's own records.
fn sending(signal: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let before = count(signal).map(|count| count.arrived.load(Relaxed));
    let status = call();
    keeping_errno(|| {
        if let (0, Some(count), Some(before)) = (status, count(signal), before) {
            count.sent.fetch_add(1, Relaxed);
            if handler_of(signal) > libc::SIG_IGN {
                enter(|sender| is_noticed(sender, count, before));
            }
        }
        set_sends(false);
        // Its own handler runs before the call is over.
        enter(|_| ());
    });
    status
}

fn set_sends(sends: bool) {
    if let Some(thread) = thread::glance() {
        thread.sends.store(sends, Relaxed);
    }
}

/// A thread that sleeps or waits for descriptors notices the signal before the sender goes on: so
/// the same schedule gives the same run.
fn is_noticed(sender: &Thread, count: &Count, before: u32) {
    /// So many looks, a few microseconds apart; it may also be blocked, or go to others.
    const LOOKS: u32 = 200;
    for _ in 0..LOOKS {
        if count.arrived.load(Relaxed) != before {
            break;
        }
        let pause = timespec { tv_sec: 0, tv_nsec: 10_000 };
        system_call(libc::SYS_nanosleep, [std::ptr::from_ref(&pause) as usize, 0, 0, 0, 0, 0]);
    }
    let World { threads, .. } = &mut *hold();
    for (index, entry) in threads.iter_mut().enumerate() {
        if index as u32 != sender.index
            && entry.state == State::Live
            && entry.pending.ends_with_signals()
            && entry.was_signalled()
        {
            entry.interrupted = true;
        }
    }
}

mod next {
    use super::*;
    real!(fn kill(process: pid_t, signal: c_int) -> c_int);
    real!(fn sigqueue(process: pid_t, signal: c_int, value: libc::sigval) -> c_int);
    real!(fn tgkill(process: pid_t, thread: pid_t, signal: c_int) -> c_int);
    real!(fn raise(signal: c_int) -> c_int);
    real!(fn pthread_kill(thread: libc::pthread_t, signal: c_int) -> c_int);
    real!(fn pthread_sigqueue(thread: libc::pthread_t, signal: c_int,
        value: libc::sigval) -> c_int);
}

/// Functions that send a signal inside of the process, or to others of which nobody knows.
macro_rules! send {
    ($($name:ident($($argument:ident: $type:ty $(= $meant:path)?),*) sends $signal:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            $($( let $argument = $meant($argument); )?)*
            set_sends(true);
            let call = || sending($signal, || pass_on!(next::$name($($argument),*)));
            memory::seen_by(around(|_| Uses::of(&SEND), None, call))
        }
    )* };
}

send! {
    tgkill(process: pid_t = meant, thread: pid_t = meant, signal: c_int) sends signal;
    raise(signal: c_int) sends signal;
    pthread_kill(thread: libc::pthread_t, signal: c_int) sends signal;
    pthread_sigqueue(thread: libc::pthread_t, signal: c_int, value: libc::sigval) sends signal;
}

/// Makes a call that sends a signal to a process, or to a process group. What goes to others does
/// not go there in a replay: none of them may be there, and their numbers may be those of any
/// process by now.
fn send(process: pid_t, signal: c_int, call: impl FnOnce(pid_t) -> c_int) -> c_int {
    let process = process_or_group(process);
    let is_own = !is_other(process);
    // Before the call: behind it, another thread may have reaped the child.
    let is_child = !is_own && keeping_errno(|| enter(|_| is_child(process))) == Some(true);
    // Children that a replay starts again get their signals.
    let goes_out = |kernel: &Kernel| !(kernel.objects.children_again && is_child);
    let outside = |kernel: &mut Kernel| !is_own && goes_out(kernel);
    let of_child = |_: &mut Kernel| is_child;
    let source = Source { of_child: Some(&of_child), ..Source::new(call::KILL, &outside) };
    let uses = |_: &mut Kernel| Uses::of(&SEND);
    set_sends(is_own);
    let call = || if is_own { sending(signal, || call(process)) } else { call(process) };
    exchange(&source, uses, None, &|_, _| (), || i64::from(call())) as c_int
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
pub(super) unsafe extern "C-unwind" fn kill(process: pid_t, signal: c_int) -> c_int {
    memory::seen_by(send(process, signal, |process| pass_on!(next::kill(process, signal))))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn killpg(group: pid_t, signal: c_int) -> c_int {
    pass_on!(kill(-group, signal))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigqueue(process: pid_t, signal: c_int, value: libc::sigval) -> c_int {
    send(process, signal, |process| pass_on!(next::sigqueue(process, signal, value)))
}
