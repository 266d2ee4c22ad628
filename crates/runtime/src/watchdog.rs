//! Keeps scheduled programs alive when a thread blocks where the runtime cannot see it (read, poll,
//! a foreign lock).
//!
//! A thread of ours looks every few milliseconds whether the thread whose turn it is sleeps in the
//! kernel without being in the runtime. If so, its turn is taken away; when it comes back to a
//! visible operation, it queues up again. So it is with a thread that computes for long while
//! another one waits to end the process.

use std::sync::atomic::{AtomicBool, Ordering::*};

use foretrace_recording::file::flags;

use crate::futex::{now, system_call};
use crate::interpose::threads;
use crate::log;
use crate::world::{State, World, hold};

static STARTED: AtomicBool = AtomicBool::new(false);
const TICK: i64 = 5_000_000;
/// After so many ticks in which nobody could run, a replay is over.
const LONGEST_IDLE: u32 = 20;
/// So many looks a thread has to come to a visible operation when another one wants to end the
/// process: half a second.
const LONGEST_COMPUTATION: u32 = 100;

/// The thread whose turn it is, the number of its operations, and how often in a row it was seen
/// there, and asleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Suspicion {
    turn: u32,
    operations: u32,
    seen: u32,
    asleep: u32,
}

/// Starts the watchdog, once.
pub(crate) fn start() {
    if STARTED.swap(true, SeqCst) {
        return;
    }
    // MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED
    system_call(libc::SYS_membarrier, [16, 0, 0, 0, 0, 0]);
    // SAFETY: the sets, the attributes and the handle are local variables that the C library is
    // given to fill in, in the order that it asks for; `watch` takes no argument.
    unsafe {
        let mut old = std::mem::zeroed::<libc::sigset_t>();
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let mut handle = 0;
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstacksize(&mut attributes, 256 * 1024);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        threads::pthread_create_next(&mut handle, &attributes, watch, std::ptr::null_mut());
        libc::pthread_attr_destroy(&mut attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
    }
}

extern "C-unwind" fn watch(_: *mut libc::c_void) -> *mut libc::c_void {
    let (mut suspicion, mut idle) = (None, 0);
    loop {
        let pause = libc::timespec { tv_sec: 0, tv_nsec: TICK };
        system_call(libc::SYS_nanosleep, [std::ptr::from_ref(&pause) as usize, 0, 0, 0, 0, 0]);
        let mut world = hold();
        // The C library ends the process with its last thread, and this one counts as well.
        if world.threads.iter().all(|entry| entry.state == State::Done) {
            return std::ptr::null_mut();
        }
        suspicion = look(&mut world, suspicion);
        idle = if world.scheduler.turn.is_none() { idle + 1 } else { 0 };
        // A replay that has come to its end, and in which all wait for what nobody will send.
        if idle > LONGEST_IDLE && world.is_fed() && !world.planned() {
            crate::message::leave(123);
        }
    }
}

/// One look; what was seen of the thread whose turn it is, if it is outside.
fn look(world: &mut World, before: Option<Suspicion>) -> Option<Suspicion> {
    let Some(turn) = world.scheduler.turn else {
        let due = world.threads.iter().any(|entry| {
            entry.deadline.is_some_and(|time| !crate::futex::before(now(), time))
                || entry.state == State::Live
        });
        if due {
            world.pass_on(u32::MAX);
        }
        return None;
    };
    let entry = &world.threads[turn as usize];
    if entry.state != State::Live || entry.busy().load(Relaxed) {
        return None;
    }
    let operations = entry.operations();
    let same = |known: &Suspicion| known.turn == turn && known.operations == operations;
    let before = before.filter(same).map_or((0, 0), |known| (known.seen, known.asleep));
    let asleep = if sleeps(entry.kernel_id()) { before.1 + 1 } else { 0 };
    let now = Suspicion { turn, operations, seen: before.0 + 1, asleep };
    let computes = world.scheduler.is_ending && now.seen > LONGEST_COMPUTATION;
    if now.asleep < 2 && !computes {
        return Some(now);
    }
    let entry = &world.threads[turn as usize];
    entry.ousted().store(true, SeqCst);
    // Either the thread sees that it is ousted, or we see that it is busy.
    system_call(libc::SYS_membarrier, [8, 0, 0, 0, 0, 0]);
    if entry.busy().load(SeqCst) {
        entry.ousted().store(false, SeqCst);
        return None;
    }
    log::flag(flags::WATCHDOG);
    world.kernel.is_unsure();
    world.threads[turn as usize].state = State::Outside;
    world.pass_on(turn);
    None
}

/// Whether the kernel says that the thread sleeps.
fn sleeps(thread: u32) -> bool {
    let path = format!("/proc/self/task/{thread}/stat\0");
    let mut text = [0u8; 256];
    let file =
        system_call(libc::SYS_open, [path.as_ptr() as usize, libc::O_RDONLY as usize, 0, 0, 0, 0]);
    if file < 0 {
        return false;
    }
    let length = system_call(
        libc::SYS_read,
        [file as usize, text.as_mut_ptr() as usize, text.len(), 0, 0, 0],
    );
    system_call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
    let text = &text[..usize::try_from(length).unwrap_or(0)];
    // The name is in parentheses and may hold anything; the state comes behind the last one.
    let state = text.iter().rposition(|&byte| byte == b')').and_then(|end| text.get(end + 2));
    matches!(state, Some(b'S' | b'D'))
}
