//! Whether the program handles signals: then a thread that waits may be woken by one, and waiting for ever is no deadlock.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use foretrace_recording::channel::direction::{BOTH, GIVES, TAKES};
use foretrace_recording::channel::{CHILDREN, CLOCK, OUTSIDE, SIGNALS};
use libc::{pid_t, sigset_t, timespec};

use crate::kernel::calls::{around, keeping_errno};
use crate::kernel::uses::Uses;
use crate::real::real;

static HANDLED: AtomicBool = AtomicBool::new(false);
static INTERRUPT: AtomicBool = AtomicBool::new(false);

/// Whether the program has installed a handler.
pub(crate) fn handled() -> bool {
    HANDLED.load(Relaxed)
}

/// Whether the program has installed any handler, be it of faults.
#[inline(always)]
pub(crate) fn interrupt() -> bool {
    INTERRUPT.load(Relaxed)
}

mod next {
    use super::*;
    real!(fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int);
    real!(fn signal(signal: c_int, handler: usize) -> usize);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // Who is interrupted notices that the handler is there, and who asks notices who set it.
    let set =
        |new| around(|_| Uses::of(&WAIT), None, || unsafe { next::sigaction(signal, new, old) });
    let Some(&theirs) = (unsafe { new.as_ref() }) else {
        return unsafe { with_their_handler(signal, old, set(new)) };
    };
    note(signal, theirs.sa_sigaction);
    let before = handler_of(signal);
    let mut ours = theirs;
    ours.sa_sigaction = stand_before(signal, theirs.sa_sigaction);
    let status = set(&raw const ours);
    if let (0, Some(old)) = (status, unsafe { old.as_mut() })
        && old.sa_sigaction == handled_here as *const () as usize
    {
        old.sa_sigaction = before;
    }
    status
}

/// What we have put in the place of the user's handler is not to be seen.
unsafe fn with_their_handler(signal: c_int, old: *mut libc::sigaction, status: c_int) -> c_int {
    if let (0, Some(old)) = (status, unsafe { old.as_mut() })
        && old.sa_sigaction == handled_here as *const () as usize
    {
        old.sa_sigaction = handler_of(signal);
    }
    status
}

/// The user's handlers.
static HANDLERS: [AtomicUsize; 65] = [const { AtomicUsize::new(0) }; 65];

fn handler_of(signal: c_int) -> usize {
    let handler = usize::try_from(signal).ok().and_then(|at| HANDLERS.get(at));
    handler.map_or(0, |handler| handler.load(Relaxed))
}

/// The handler to install for the user's: ours, if his is a function and the signal comes from somewhere.
fn stand_before(signal: c_int, handler: usize) -> usize {
    let slot = usize::try_from(signal).ok().and_then(|at| HANDLERS.get(at));
    match slot {
        Some(slot)
            if is_asynchronous(signal) && ![libc::SIG_DFL, libc::SIG_IGN].contains(&handler) =>
        {
            slot.store(handler, Relaxed);
            handled_here as *const () as usize
        }
        _ => handler,
    }
}

/// A signal arrives: what its handler does comes behind what its sender did before.
extern "C-unwind" fn handled_here(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut std::ffi::c_void,
) {
    keeping_errno(|| around(|_| Uses::of(&[(SIGNALS, BOTH), (OUTSIDE, TAKES)]), None, || ()));
    let handler = handler_of(signal);
    if handler > libc::SIG_IGN {
        // Those that want only the number do not look at the rest.
        let handler: extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut std::ffi::c_void) =
            unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: usize) -> usize {
    note(signal, handler);
    let before = handler_of(signal);
    let ours = stand_before(signal, handler);
    let old = around(|_| Uses::of(&WAIT), None, || unsafe { next::signal(signal, ours) });
    if old == handled_here as *const () as usize { before } else { old }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bsd_signal(signal: c_int, handler: usize) -> usize {
    unsafe { self::signal(signal, handler) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ssignal(signal: c_int, handler: usize) -> usize {
    unsafe { self::signal(signal, handler) }
}

/// What `signal` is in programs that ask for POSIX and nothing else: the handler is called once.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sysv_signal(signal: c_int, handler: usize) -> usize {
    unsafe {
        let (mut new, mut old): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER;
        if sigaction(signal, &new, &mut old) == 0 { old.sa_sigaction } else { libc::SIG_ERR }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sysv_signal(signal: c_int, handler: usize) -> usize {
    unsafe { __sysv_signal(signal, handler) }
}

fn note(signal: c_int, handler: usize) {
    let asynchronous = is_asynchronous(signal);
    if handler != libc::SIG_DFL && handler != libc::SIG_IGN {
        INTERRUPT.store(true, Relaxed);
        HANDLED.fetch_or(asynchronous, Relaxed);
    }
}

/// Whether a signal can come from elsewhere than the thread's own instructions.
fn is_asynchronous(signal: c_int) -> bool {
    !matches!(
        signal,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGABRT | libc::SIGPIPE
    )
}

/// Watches for traps, by which failures may end: in replays only.
pub(crate) fn watch_traps() {
    for signal in [libc::SIGILL, libc::SIGTRAP, libc::SIGFPE] {
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = trapped as *const () as usize;
            next::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn trapped(signal: c_int) {
    crate::annotations::fails();
    // It then ends as it would have.
    unsafe {
        let default: libc::sigaction = std::mem::zeroed();
        next::sigaction(signal, &default, std::ptr::null_mut());
        libc::raise(signal);
    }
}

mod jumps {
    use super::*;
    real!(fn longjmp(place: *mut std::ffi::c_void, value: c_int) -> !);
    real!(fn _longjmp(place: *mut std::ffi::c_void, value: c_int) -> !);
    real!(fn siglongjmp(place: *mut std::ffi::c_void, value: c_int) -> !);
    real!(fn __longjmp_chk(place: *mut std::ffi::c_void, value: c_int) -> !);
}

/// Calls on fixed channels: `name(arguments) -> result: channels;`
macro_rules! on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty: $channels:expr;)*) => {
        mod on_next { use super::*; $( real!(fn $name($($argument: $type),*) -> $result); )* }
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
                around(|_| Uses::of(&$channels), None, || unsafe { on_next::$name($($argument),*) })
            }
        )*
    };
}

const SEND: [(u32, u32); 2] = [(SIGNALS, BOTH), (OUTSIDE, GIVES)];
const WAIT: [(u32, u32); 2] = [(SIGNALS, BOTH), (OUTSIDE, TAKES)];
const TIMER: [(u32, u32); 2] = [(SIGNALS, BOTH), (CLOCK, BOTH)];
const CHILD: [(u32, u32); 2] = [(CHILDREN, BOTH), (OUTSIDE, TAKES)];

on! {
    kill(process: pid_t, signal: c_int) -> c_int: SEND;
    killpg(group: pid_t, signal: c_int) -> c_int: SEND;
    tgkill(process: pid_t, thread: pid_t, signal: c_int) -> c_int: SEND;
    sigqueue(process: pid_t, signal: c_int, value: libc::sigval) -> c_int: SEND;
    raise(signal: c_int) -> c_int: SEND;
    pthread_kill(thread: libc::pthread_t, signal: c_int) -> c_int: SEND;
    pthread_sigqueue(thread: libc::pthread_t, signal: c_int, value: libc::sigval) -> c_int: SEND;
    sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int: WAIT;
    sigwaitinfo(set: *const sigset_t, info: *mut libc::siginfo_t) -> c_int: WAIT;
    sigtimedwait(set: *const sigset_t, info: *mut libc::siginfo_t, time: *const timespec) -> c_int: WAIT;
    sigsuspend(set: *const sigset_t) -> c_int: WAIT;
    pause() -> c_int: WAIT;
    sigpending(set: *mut sigset_t) -> c_int: WAIT;
    sigprocmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int: WAIT;
    pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int: WAIT;
    alarm(seconds: u32) -> u32: TIMER;
    setitimer(which: c_int, new: *const libc::itimerval, old: *mut libc::itimerval) -> c_int: TIMER;
    getitimer(which: c_int, now: *mut libc::itimerval) -> c_int: TIMER;
    timer_settime(timer: libc::timer_t, flags: c_int, new: *const libc::itimerspec, old: *mut libc::itimerspec) -> c_int: TIMER;
    timer_gettime(timer: libc::timer_t, now: *mut libc::itimerspec) -> c_int: TIMER;
    timer_delete(timer: libc::timer_t) -> c_int: TIMER;
    timer_getoverrun(timer: libc::timer_t) -> c_int: TIMER;
    wait(status: *mut c_int) -> pid_t: CHILD;
    waitpid(process: pid_t, status: *mut c_int, flags: c_int) -> pid_t: CHILD;
    waitid(kind: libc::idtype_t, of: libc::id_t, info: *mut libc::siginfo_t, flags: c_int) -> c_int: CHILD;
    wait3(status: *mut c_int, flags: c_int, usage: *mut libc::rusage) -> pid_t: CHILD;
    wait4(process: pid_t, status: *mut c_int, flags: c_int, usage: *mut libc::rusage) -> pid_t: CHILD;
    clock() -> libc::clock_t: [(CLOCK, BOTH)];
    times(to: *mut libc::tms) -> libc::clock_t: [(CLOCK, BOTH)];
}

mod timers {
    use super::*;
    real!(fn timer_create(clock: c_int, event: *mut libc::sigevent, timer: *mut libc::timer_t) -> c_int);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_create(
    clock: c_int,
    event: *mut libc::sigevent,
    timer: *mut libc::timer_t,
) -> c_int {
    let notify = unsafe { event.as_ref() }.map(|event| event.sigev_notify);
    if notify == Some(libc::SIGEV_THREAD) && crate::thread::enter(|_| ()).is_some() {
        super::process::refuse("a timer that starts threads (SIGEV_THREAD)");
    }
    around(|_| Uses::of(&TIMER), None, || unsafe { timers::timer_create(clock, event, timer) })
}

/// A handler may jump out of an access that faulted inside a hook: the thread is then outside of the runtime again.
fn leave_runtime() {
    let thread = crate::thread::current();
    if let Some(thread) = unsafe { thread.as_ref() } {
        thread.busy.store(false, Relaxed);
    }
    crate::thread::enter(|thread| {
        if !thread.calls.is_empty() {
            crate::kernel::calls::landed(thread);
        }
    });
}

macro_rules! jumps {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(place: *mut std::ffi::c_void, value: c_int) -> ! {
            leave_runtime();
            unsafe { jumps::$name(place, value) }
        }
    )* };
}

jumps! { longjmp _longjmp siglongjmp __longjmp_chk }
