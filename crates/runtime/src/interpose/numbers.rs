//! Process and thread ids.
//!
//! The kernel gives other ones in each run. A replay shows the program those of the recorded run,
//! so that what it does with them is the same. Where the program hands one back (`kill`, `tgkill`,
//! `sched_setaffinity`), the process or thread is meant that has taken its place.
//!
//! **Invariant.** In a recording, and of processes and threads of which the recorded run never
//! asked, numbers are the kernel's own. A forked child is no thread of the replay, and sees its own
//! number.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

use foretrace_recording::input::{Input, call, number};
use libc::{pid_t, siginfo_t, size_t};

use super::children;
use crate::errno::set_errno;
use crate::futex::system_call;
use crate::inputs::Inputs;
use crate::real::{pass_on, real};
use crate::thread::{Thread, enter};
use crate::world::{World, hold};

/// More numbers than this are not translated.
const MOST: usize = 1 << 14;

/// The numbers that the program sees in the upper 32 bits, those of the kernel in the lower ones;
/// the newest last. Signal handlers look them up at any time.
static PAIRS: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// What the kernel said at the start of parent, process group and session, and what the program
/// sees instead: 0 if that is the same.
static AT_START: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
const PARENT: usize = 0;
const GROUP: usize = 1;
const SESSION: usize = 2;

/// Which numbers of the process the recording has.
static KEPT: [AtomicBool; number::COUNT as usize] =
    [const { AtomicBool::new(false) }; number::COUNT as usize];

fn pair(seen: pid_t, own: pid_t) -> u64 {
    u64::from(seen as u32) << 32 | u64::from(own as u32)
}

/// From now on the program sees the one number instead of the other.
pub(super) fn add(own: pid_t, seen: pid_t) {
    let at = COUNT.fetch_add(1, AcqRel);
    if let Some(slot) = PAIRS.get(at) {
        slot.store(pair(seen, own), Release);
    }
}

fn newest(fits: impl Fn(u64) -> bool) -> Option<u64> {
    let known = PAIRS[..COUNT.load(Acquire).min(MOST)].iter().rev();
    known.map(|slot| slot.load(Acquire)).find(|&pair| pair != 0 && fits(pair))
}

/// What the program sees of a process or thread that has this number.
pub(super) fn seen(own: pid_t) -> pid_t {
    newest(|pair| pair as pid_t == own).map_or(own, |pair| (pair >> 32) as pid_t)
}

/// The process or thread that the program means.
pub(super) fn meant(seen: pid_t) -> pid_t {
    newest(|pair| (pair >> 32) as pid_t == seen).map_or(seen, |pair| pair as pid_t)
}

fn at_start(which: usize) -> (pid_t, pid_t) {
    let pair = AT_START[which].load(Relaxed);
    (pair as pid_t, (pair >> 32) as pid_t)
}

/// The same of process groups and sessions: those of the start have a number of their own.
fn group_seen(which: usize, own: pid_t) -> pid_t {
    match at_start(which) {
        (known, instead) if known == own && own > 0 => instead,
        _ => seen(own),
    }
}

/// The process, or the process group whose number is negative, that the program means.
pub(super) fn process_or_group(seen: pid_t) -> pid_t {
    match seen {
        ..-1 => -group_meant(-seen),
        _ => meant(seen),
    }
}

pub(super) fn group_meant(seen: pid_t) -> pid_t {
    match at_start(GROUP) {
        (known, instead) if instead == seen && seen > 0 => known,
        _ => meant(seen),
    }
}

fn ask(number: i64, of: pid_t) -> pid_t {
    system_call(number, [of as usize, 0, 0, 0, 0, 0]) as pid_t
}

/// The process begins: in a replay, with the numbers that the recorded run asked for.
pub(crate) fn begin(inputs: Option<&mut Inputs>) {
    let own = [ask(libc::SYS_getppid, 0), ask(libc::SYS_getpgid, 0), ask(libc::SYS_getsid, 0)];
    for (slot, own) in AT_START.iter().zip(own) {
        slot.store(pair(own, own), Relaxed);
    }
    let Some(inputs) = inputs else { return };
    let mut recorded = |what: u32| inputs.number(Some(0), what);
    let process = recorded(number::PROCESS);
    let others = [number::PARENT, number::GROUP, number::SESSION].map(recorded);
    if let Some(seen) = process {
        add(ask(libc::SYS_getpid, 0), seen);
    }
    for (which, seen) in others.into_iter().enumerate() {
        if let Some(seen) = seen {
            AT_START[which].store(pair(seen, own[which]), Relaxed);
        }
    }
}

/// A thread begins, and has this number.
pub(crate) fn thread_begins(thread: &Thread, own: pid_t) {
    let mut world = hold();
    let inputs = world.inputs.as_mut();
    if let Some(seen) = inputs.and_then(|inputs| inputs.number(thread.recorded, number::THREAD)) {
        add(own, seen);
    }
}

/// The program asks for a number of the process: the recording keeps it, once.
fn keep(what: u32, value: pid_t) {
    let is_kept = &KEPT[what as usize];
    if !is_kept.load(Relaxed) {
        enter(|_| {
            if !is_kept.swap(true, Relaxed) {
                keep_in(&mut hold(), 0, what, value);
            }
        });
    }
}

/// The same of the calling thread's own.
fn keep_thread(value: pid_t) {
    enter(|thread| {
        if !std::mem::replace(&mut thread.number_is_kept, true) {
            keep_in(&mut hold(), thread.index, number::THREAD, value);
        }
    });
}

fn keep_in(world: &mut World, thread: u32, what: u32, value: pid_t) {
    if world.replay.is_none() {
        let (result, call) = (i64::from(value), call::NUMBER);
        world.keep_input(&Input { thread, call, ordinal: what, errno: 0, result, sent: 0 }, &[]);
    }
}

/// The program sees the number of the process.
pub(super) fn keep_process() {
    keep(number::PROCESS, ask(libc::SYS_getpid, 0));
}

/// A signal that the process has sent to itself arrives, or a child has ended: the program sees who
/// it was.
pub(super) fn show_sender(info: &mut siginfo_t) {
    /// `si_pid`, as a signal that was sent has it.
    #[repr(C)]
    struct Sent {
        signal: c_int,
        errno: c_int,
        code: c_int,
        _padding: c_int,
        process: pid_t,
    }
    // SAFETY: that is how the kernel lays it out.
    let sent = unsafe { &mut *std::ptr::from_mut(info).cast::<Sent>() };
    sent.process = seen(sent.process);
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getpid() -> pid_t {
    let own = ask(libc::SYS_getpid, 0);
    keep(number::PROCESS, own);
    seen(own)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn gettid() -> pid_t {
    let own = ask(libc::SYS_gettid, 0);
    keep_thread(own);
    seen(own)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getppid() -> pid_t {
    let own = ask(libc::SYS_getppid, 0);
    keep(number::PARENT, at_start(PARENT).0);
    match at_start(PARENT) {
        (known, instead) if known == own => instead,
        _ => seen(own),
    }
}

/// Asks for the process group or the session of a process.
fn ask_group(which: usize, number: i64, of: pid_t) -> pid_t {
    let what = [number::PARENT, number::GROUP, number::SESSION][which];
    keep_process();
    keep(what, at_start(which).0);
    let of = meant(of);
    let ask = || {
        let own = ask(number, of);
        if own < 0 {
            set_errno(-own);
            return -1;
        }
        i64::from(group_seen(which, own))
    };
    children::about(of, ask) as pid_t
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getpgid(of: pid_t) -> pid_t {
    ask_group(GROUP, libc::SYS_getpgid, of)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getpgrp() -> pid_t {
    pass_on!(getpgid(0))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getsid(of: pid_t) -> pid_t {
    ask_group(SESSION, libc::SYS_getsid, of)
}

mod next {
    use super::*;
    real!(fn setpgid(process: pid_t, group: pid_t) -> c_int);
    real!(fn setsid() -> pid_t);
    real!(fn getpriority(which: u32, who: u32) -> c_int);
    real!(fn setpriority(which: u32, who: u32, value: c_int) -> c_int);
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn setpgid(process: pid_t, group: pid_t) -> c_int {
    let (process, group) = (meant(process), group_meant(group));
    let set = || i64::from(pass_on!(next::setpgid(process, group)));
    children::about(process, set) as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn setsid() -> pid_t {
    keep_process();
    seen(pass_on!(next::setsid()))
}

/// The process, thread or process group whose priority is meant.
fn whose(which: u32, who: u32) -> u32 {
    match which {
        libc::PRIO_PROCESS => meant(who as pid_t) as u32,
        libc::PRIO_PGRP => group_meant(who as pid_t) as u32,
        _ => who,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpriority(which: u32, who: u32) -> c_int {
    pass_on!(next::getpriority(which, whose(which, who)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setpriority(which: u32, who: u32, value: c_int) -> c_int {
    pass_on!(next::setpriority(which, whose(which, who), value))
}

/// Calls about the process or thread that is the first argument.
macro_rules! about {
    ($($name:ident(process $(, $argument:ident: $type:ty)*);)*) => {
        mod about_next { use super::*; $( real!(fn $name(process: pid_t $(,
            $argument: $type)*) -> c_int); )* }
        $(
            #[unsafe(no_mangle)]
            pub(super) unsafe extern "C" fn $name(process: pid_t $(, $argument: $type)*) -> c_int {
                pass_on!(about_next::$name(meant(process) $(, $argument)*))
            }
        )*
    };
}

about! {
    sched_getaffinity(process, size: size_t, set: *mut c_void);
    sched_setaffinity(process, size: size_t, set: *const c_void);
    sched_getscheduler(process);
    sched_setscheduler(process, policy: c_int, how: *const c_void);
    sched_getparam(process, how: *mut c_void);
    sched_setparam(process, how: *const c_void);
    sched_rr_get_interval(process, time: *mut c_void);
}
