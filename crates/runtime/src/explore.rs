//! Runs the program under schedules that a test chooses, one process for each
//! (`foretrace_recording::explore`). Tests use this to find out what a program can do.
//!
//! The process forks before `main` and has neither threads nor a recording then, so a run costs no
//! start of a program.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use foretrace_recording::explore::{
    ANY, CHOICES, DECISIONS, ENABLED, EXPECTED, EXPECTED_WORDS, LOCAL, NONE, RECORDS, STOPS,
    THREADS, WORDS, stop,
};
use foretrace_recording::record::kind;

use crate::arena;
use crate::futex::system_call;
use crate::log::Writer;
use crate::message;
use crate::sync::Pending;
use crate::thread::{Thread, current};
use crate::world::{State, World, hold};

/// The file that is shared with who chooses.
static AREA: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());

/// What is known of a thread, by its number.
struct Known {
    /// How many outcomes it has had.
    outcomes: AtomicU64,
    /// The first that was not as expected, plus 1.
    left: AtomicU64,
    has_stopped: AtomicU64,
    stack: [AtomicU64; 2],
}

static KNOWN: [Known; THREADS] = [const {
    Known {
        outcomes: AtomicU64::new(0),
        left: AtomicU64::new(0),
        has_stopped: AtomicU64::new(0),
        stack: [AtomicU64::new(0), AtomicU64::new(0)],
    }
}; THREADS];

/// Whether somebody chooses.
pub(crate) fn is_on() -> bool {
    !AREA.load(Relaxed).is_null()
}

fn get(word: usize) -> u64 {
    assert!(word < WORDS);
    // SAFETY: exploring has begun, so AREA leads to WORDS mapped words, and this is one of them.
    unsafe { AREA.load(Relaxed).add(word).read_volatile() }
}

fn put(word: usize, value: u64) {
    assert!(word < RECORDS);
    // SAFETY: exploring has begun, so AREA leads to WORDS mapped words, more than RECORDS.
    unsafe { AREA.load(Relaxed).add(word).write_volatile(value) };
}

fn known(thread: u32) -> &'static Known {
    KNOWN.get(thread as usize).unwrap_or_else(|| {
        message::say("too many threads to explore");
        message::leave(125)
    })
}

/// Runs the program as often as asked: returns in each of the processes that run it.
pub(crate) fn serve(path: &std::ffi::CStr) {
    // SAFETY: the strings end with a 0, what the kernel writes to are local variables, and the
    // process has one thread, which is not the program's yet: it may fork and set handlers.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        let Some(area) = arena::map(WORDS * 8, libc::MAP_SHARED, file, 0).filter(|_| file >= 0)
        else {
            message::say("what is to be explored cannot be read");
            message::leave(125)
        };
        let requests = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 700);
        let answers = libc::fcntl(1, libc::F_DUPFD_CLOEXEC, 700);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for standard in 0..3 {
            libc::dup2(nothing, standard);
        }
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = caught as *const () as usize;
        action.sa_flags = libc::SA_NODEFER;
        for signal in [libc::SIGABRT, libc::SIGILL, libc::SIGFPE, libc::SIGSEGV, libc::SIGBUS] {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
        loop {
            let mut request = 0u8;
            if libc::read(requests, (&raw mut request).cast(), 1) != 1 {
                message::leave(0);
            }
            let child = libc::fork();
            if child == 0 {
                libc::alarm(20);
                AREA.store(area.cast(), Relaxed);
                return;
            }
            let mut status = 0;
            libc::waitpid(child, &mut status, 0);
            libc::write(answers, (&raw const status).cast(), 4);
        }
    }
}

/// Where the records of the run go.
pub(crate) fn writer(stream: u32) -> Writer {
    // SAFETY: exploring has begun: behind RECORDS the mapped area has a chunk, and this is called
    // once, for the only writer.
    unsafe { Writer::over(stream, AREA.load(Relaxed).add(RECORDS)) }
}

/// A thread has this stack.
pub(crate) fn note_stack(thread: u32, bounds: [u64; 2]) {
    for (place, bound) in known(thread).stack.iter().zip(bounds) {
        place.store(bound, Relaxed);
    }
}

/// Where the operation was that was chosen by default, and how often at a stretch.
static LAST: AtomicU64 = AtomicU64::new(u64::MAX);
static AGAIN: AtomicU64 = AtomicU64::new(0);
/// So often somebody may do something at the same address.
const PATIENCE: u64 = 20;

/// Which thread is next, if one can go on.
pub(crate) fn choose(world: &World) -> Option<u32> {
    let live: Vec<u32> = (0..world.threads.len() as u32)
        .filter(|&thread| {
            world.threads[thread as usize].state == State::Live
                && known(thread).has_stopped.load(Relaxed) == 0
        })
        .collect();
    let enabled = |thread: &u32| !world.disabled(*thread);
    let mut can = live.iter().copied().filter(enabled);
    let default = can.clone().find(|&thread| is_local(world, thread)).or_else(|| {
        // Not one for ever that waits in a loop.
        let next = |thread: u32| world.threads[thread as usize].next.address;
        let again = LAST.swap(u64::MAX, Relaxed);
        let is_again = |&thread: &u32| again == next(thread) && AGAIN.load(Relaxed) > PATIENCE;
        let first = can.clone().find(|thread| !is_again(thread)).or_else(|| can.next())?;
        let count = if again == next(first) { AGAIN.load(Relaxed) + 1 } else { 0 };
        AGAIN.store(count, Relaxed);
        LAST.store(next(first), Relaxed);
        Some(first)
    })?;
    static MADE: AtomicU64 = AtomicU64::new(0);
    let made = MADE.fetch_add(1, Relaxed);
    let chosen =
        if made < get(CHOICES) { get(CHOICES + 1 + made as usize) as u32 } else { default };
    if !live.contains(&chosen) || !enabled(&chosen) {
        note_stop(chosen, stop::NO_SUCH_CHOICE, made, 0);
        message::leave(126);
    }
    let mut at = get(DECISIONS);
    let mut write = |word: u64| {
        put(DECISIONS + 1 + at as usize, word);
        at += 1;
    };
    write(u64::from(chosen) | (live.len() as u64) << 8 | (world.events.position() as u64) << 32);
    for &thread in &live {
        let next = world.threads[thread as usize].next;
        let flag = |is: bool, flag: u64| if is { flag } else { 0 };
        write(
            u64::from(thread)
                | flag(enabled(&thread), ENABLED)
                | flag(is_local(world, thread), LOCAL)
                | u64::from(next.kind) << 16
                | next.size << 32,
        );
        write(next.address);
    }
    put(DECISIONS, at);
    Some(chosen)
}

/// Whether no other thread can tell when the next operation of this one happens: it commutes with
/// all that they can do before it.
fn is_local(world: &World, thread: u32) -> bool {
    let next = world.threads[thread as usize].next;
    let [low, high] = &known(thread).stack;
    match next.kind {
        // A call that could not be made at once: others may take what it waits for.
        0 if matches!(world.threads[thread as usize].pending, Pending::Ready(_)) => false,
        0 | kind::BEGIN | kind::END | kind::FORK | kind::JOIN | kind::RELEASE => true,
        kind::FENCE | kind::REGION_BEGIN | kind::REGION_END | kind::ASSERT => true,
        kind::LOAD | kind::STORE => (low.load(Relaxed)..high.load(Relaxed)).contains(&next.address),
        _ => false,
    }
}

/// A branch goes one way.
pub(crate) fn outcome(thread: &mut Thread, taken: bool) {
    let known = known(thread.index);
    if known.left.load(Relaxed) != 0 {
        stop(thread, stop::LEFT);
    }
    let which = known.outcomes.fetch_add(1, Relaxed) as usize;
    let expected = EXPECTED + thread.index as usize * EXPECTED_WORDS;
    let is_expected = get(expected) == ANY
        || which < get(expected) as usize
            && (get(expected + 1 + which / 64) >> (which % 64) & 1 == 1) == taken;
    if !is_expected {
        // Whether that is a failure is to be seen: it goes on until it fails, or does anything
        // else.
        known.left.store(which as u64 + 1, Relaxed);
    }
}

/// A thread comes to a visible operation: none that has left the expected path does another one.
pub(crate) fn arrive(thread: &mut Thread) {
    if known(thread.index).left.load(Relaxed) != 0 {
        stop(thread, stop::LEFT);
    }
}

extern "C" fn caught(signal: i32) {
    let thread = current();
    if thread.is_null() || !is_on() {
        message::leave(127);
    }
    let failed = matches!(signal, libc::SIGABRT | libc::SIGILL);
    // SAFETY: threads are never freed, and what was interrupted never goes on.
    stop(unsafe { &mut *thread }, if failed { stop::FAILED } else { stop::CRASHED })
}

fn note_stop(thread: u32, why: u64, ordinal: u64, outcome: u64) {
    let count = get(STOPS);
    let at = STOPS + 1 + 4 * count as usize;
    for (offset, word) in [u64::from(thread), why, ordinal, outcome].into_iter().enumerate() {
        put(at + offset, word);
    }
    put(STOPS, count + 1);
}

/// The thread does nothing any more.
pub(crate) fn stop(thread: &mut Thread, why: u64) -> ! {
    thread.busy.store(true, Relaxed);
    let me = thread.index;
    let left = known(me).left.load(Relaxed);
    let mut world = hold();
    known(me).has_stopped.store(1, Relaxed);
    note_stop(me, why, u64::from(thread.ordinal), if left == 0 { NONE } else { left - 1 });
    world.pass_on(me);
    drop(world);
    loop {
        system_call(libc::SYS_pause, [0; 6]);
    }
}
