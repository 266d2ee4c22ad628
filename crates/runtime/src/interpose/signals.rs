//! Whether the program handles signals. If it does, a signal may wake a waiting thread, and waiting
//! for ever is no deadlock.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};

use foretrace_recording::channel::direction::{BOTH, TAKES};
use foretrace_recording::channel::{CLOCK, OUTSIDE, SIGNALS};
use foretrace_recording::input::{Input, SIGNAL_BYTES, call};
use libc::{siginfo_t, sigset_t, timespec};

use super::{numbers, sending};
use crate::config::{Mode, mode};
use crate::errno::{errno, keeping_errno};
use crate::futex::system_call;
use crate::inputs::{Inputs, Signal};
use crate::kernel::Kernel;
use crate::kernel::calls::around;
use crate::kernel::exchange::{Areas, Fate, Source, exchange, finish, give, start};
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real};
use crate::thread::{self, Thread, Told, enter, pending};
use crate::world::hold;

mod outside;

static HANDLED: AtomicBool = AtomicBool::new(false);
/// Whether the process itself has sent the signal that was handled last.
static LAST_IS_OWN: AtomicBool = AtomicBool::new(false);
/// Signals from outside come as they did in the recorded run.
static RECORDED: AtomicBool = AtomicBool::new(false);
static RESTARTS: AtomicBool = AtomicBool::new(false);
static INTERRUPT: AtomicBool = AtomicBool::new(false);

/// In a replay: signals are those of the recorded run, unless it is a live one.
pub(crate) fn expect_recorded(inputs: &Inputs) {
    RECORDED.store(!inputs.is_live(), Relaxed);
    inputs.own_signals().for_each(sending::expect);
}

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
    real!(fn sigaction(signal: c_int, new: *const libc::sigaction,
        old: *mut libc::sigaction) -> c_int);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // Who is interrupted notices that the handler is there, and who asks notices who set it.
    let set =
        |new| around(|_| Uses::of(&WAIT), None, || pass_on!(next::sigaction(signal, new, old)));
    // SAFETY: the caller gives an action, or null.
    let Some(&theirs) = (unsafe { new.as_ref() }) else {
        return pass_on!(with_their_handler(signal, old, set(new)));
    };
    note(signal, theirs.sa_sigaction);
    let before = (handler_of(signal), flags_of(signal));
    let mut ours = theirs;
    ours.sa_sigaction = stand_before(signal, theirs.sa_sigaction);
    if ours.sa_sigaction != theirs.sa_sigaction {
        let flags = &FLAGS[signal as usize];
        flags.store(theirs.sa_flags as u32, Relaxed);
        // We want to know who sends it.
        ours.sa_flags |= libc::SA_SIGINFO;
    }
    let status = set(&raw const ours);
    // SAFETY: the caller gives a place for the old action, or null.
    if let (0, Some(old)) = (status, unsafe { old.as_mut() })
        && old.sa_sigaction == handled_here as *const () as usize
    {
        (old.sa_sigaction, old.sa_flags) = before;
    }
    status
}

/// What we have put in the place of the user's handler is not to be seen.
///
/// # Safety
///
/// `old` is null, or the call with this status has set it.
unsafe fn with_their_handler(signal: c_int, old: *mut libc::sigaction, status: c_int) -> c_int {
    // SAFETY: the caller says so.
    if let (0, Some(old)) = (status, unsafe { old.as_mut() })
        && old.sa_sigaction == handled_here as *const () as usize
    {
        (old.sa_sigaction, old.sa_flags) = (handler_of(signal), flags_of(signal));
    }
    status
}

/// The user's handlers.
static HANDLERS: [AtomicUsize; 65] = [const { AtomicUsize::new(0) }; 65];
/// The flags that the user gave with them.
static FLAGS: [AtomicU32; 65] = [const { AtomicU32::new(0) }; 65];

fn flags_of(signal: c_int) -> c_int {
    let flags = usize::try_from(signal).ok().and_then(|at| FLAGS.get(at));
    flags.map_or(0, |flags| flags.load(Relaxed) as c_int)
}

pub(super) fn handler_of(signal: c_int) -> usize {
    let handler = usize::try_from(signal).ok().and_then(|at| HANDLERS.get(at));
    handler.map_or(0, |handler| handler.load(Relaxed))
}

/// The handler to install for the user's: ours, if his is a function and the signal comes from
/// somewhere.
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

/// A signal arrives. If its thread is inside of the runtime, and will come out, the handler runs
/// then: so what it does is recorded.
extern "C-unwind" fn handled_here(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel says in it what is known of the signal: the handler is installed with
    // SA_SIGINFO.
    let is_own = unsafe { info.as_ref() }.is_some_and(is_own);
    // SAFETY: as above; it is the handler's own.
    if is_own && let Some(info) = unsafe { info.as_mut() } {
        numbers::show_sender(info);
    }
    if !is_own && RECORDED.load(Relaxed) {
        // It comes, or came, where it did in the recorded run.
        return;
    }
    if is_own && sending::arrives(signal) {
        return;
    }
    let recording = matches!(mode(), Mode::Free | Mode::Scheduled);
    let bit = 1u64.checked_shl(signal as u32).unwrap_or(0);
    if let Some(thread) = thread::glance()
        && recording
        && bit != 0
        && thread.busy.load(Relaxed)
        && !thread.waits.load(Relaxed)
    {
        if !is_own {
            thread.outside_signals.fetch_or(bit, Relaxed);
        }
        // SAFETY: the handler runs on the thread itself, inside of the runtime, where nobody looks
        // at what it was told: that is done when it has come out.
        unsafe { (*thread::current()).told[signal as usize % 64] = told(info) };
        thread.pending.fetch_or(bit, Relaxed);
        // It may be about to sleep.
        thread.gate.open();
        return;
    }
    handle(signal, info, context, is_own);
}

/// What a handler is told of a signal.
fn told(info: *const siginfo_t) -> Told {
    // SAFETY: it is as large.
    unsafe { info.cast::<Told>().as_ref() }.copied().unwrap_or([0; SIGNAL_BYTES])
}

/// Whether the process has sent it to itself.
fn is_own(info: &siginfo_t) -> bool {
    let sent = matches!(info.si_code, libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE);
    // SAFETY: signals with these codes say who has sent them.
    sent && unsafe { info.si_pid() } == system_call(libc::SYS_getpid, [0; 6]) as i32
}

/// Calls the user's handler: what it does comes behind what the sender did before.
fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void, is_own: bool) {
    LAST_IS_OWN.store(is_own, Relaxed);
    keeping_errno(|| {
        if is_own && flags_of(signal) & libc::SA_SIGINFO != 0 {
            numbers::keep_process();
        }
        let entered = enter(|thread| {
            let mut world = hold();
            if world.replay.is_none() {
                let call = if is_own { call::OWN_SIGNAL } else { call::SIGNAL };
                let (result, sent) = (i64::from(signal), thread.depth());
                let (thread, ordinal) = (thread.index, thread.ordinal);
                let input = Input { thread, call, ordinal, errno: 0, result, sent };
                world.keep_input(&input, &told(info));
            }
        });
        match entered {
            Some(()) => comes_behind_sender(),
            None => note_handled(),
        }
        if is_own {
            sending::handles(signal);
        }
    });
    let handler = handler_of(signal);
    if handler > libc::SIG_IGN {
        // Those that want only the number do not look at the rest.
        // SAFETY: the program has given this function as the handler, and it is none of the special
        // values.
        let handler: extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void) =
            unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    }
    if flags_of(signal) & libc::SA_RESTART == 0 {
        interrupt_wait();
    }
}

/// The thread knows from here on what the sender of a signal did before.
fn comes_behind_sender() {
    let behind = || around(|_| Uses::of(&[(SIGNALS, BOTH), (OUTSIDE, TAKES)]), None, || ());
    if !RECORDED.load(Relaxed) {
        return behind();
    }
    // A replay knows which operation was last, not how far the thread had come behind it.
    let site = enter(|thread| std::mem::take(&mut thread.call_site));
    behind();
    enter(|thread| thread.call_site = site.unwrap_or(0));
}

/// The calling thread handles a signal inside the runtime: it says so when it has come out.
fn note_handled() {
    if let Some(thread) = thread::glance()
        && thread.busy.load(Relaxed)
    {
        thread.pending.fetch_or(pending::HANDLED, Relaxed);
    }
}

/// Lets the calling thread look whether its wait is over, if it is inside the runtime.
fn interrupt_wait() {
    if let Some(thread) = thread::glance()
        && thread.busy.load(Relaxed)
    {
        thread.interrupted.store(true, Relaxed);
        thread.gate.open();
    }
}

/// The thread has come out of the runtime: calls the handlers of signals that came meanwhile, and
/// of those that came here in the recorded run.
#[cold]
pub(crate) fn handle_deferred(thread: &mut Thread) {
    let came = thread.pending.fetch_and(!(pending::SIGNALS | pending::HANDLED), Relaxed);
    if came & pending::HANDLED != 0 {
        comes_behind_sender();
    }
    let outside = thread.outside_signals.swap(0, Relaxed);
    for signal in (1..64).filter(|signal| came & pending::SIGNALS & 1 << signal != 0) {
        handle_later(signal, &thread.told[signal as usize].clone(), outside & 1 << signal == 0);
    }
    if came & pending::RECORDED != 0 {
        while let Some(Signal { number, told, is_own }) = recorded(thread) {
            handle_later(number, &told, is_own);
        }
    }
}

/// The signal that was handled at this place in the recorded run.
fn recorded(thread: &mut Thread) -> Option<Signal> {
    if thread.sends.load(Relaxed) {
        // It may be the one that is about to be sent.
        return None;
    }
    thread.busy.store(true, Relaxed);
    let (of, ordinal, depth) = (thread.recorded, thread.ordinal, thread.depth());
    let signal = hold().inputs.as_mut().and_then(|inputs| inputs.signal(of, ordinal, depth));
    thread.busy.store(false, Relaxed);
    signal
}

fn handle_later(signal: c_int, told: &Told, is_own: bool) {
    RESTARTS.store(flags_of(signal) & libc::SA_RESTART != 0, Relaxed);
    // SAFETY: zeros are a `siginfo_t` and a `sigset_t`; what is known of the signal is as large as
    // its beginning; and what the kernel is given are local variables.
    unsafe {
        let mut info: siginfo_t = std::mem::zeroed();
        (&raw mut info).cast::<Told>().write(*told);
        info.si_signo = signal;
        let mut blocked: sigset_t = std::mem::zeroed();
        let mut before: sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut blocked, signal);
        let change = |how: c_int, new: &sigset_t, old: *mut sigset_t| {
            let new = std::ptr::from_ref(new) as usize;
            system_call(libc::SYS_rt_sigprocmask, [how as usize, new, old as usize, 8, 0, 0]);
        };
        change(libc::SIG_BLOCK, &blocked, &raw mut before);
        handle(signal, &mut info, std::ptr::null_mut(), is_own);
        change(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(number: c_int, handler: usize) -> usize {
    // SAFETY: zeros are a `sigaction`; the handler is the caller's, and both are local variables.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        match sigaction(number, &new, &mut old) {
            0 => old.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bsd_signal(signal: c_int, handler: usize) -> usize {
    pass_on!(self::signal(signal, handler))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ssignal(signal: c_int, handler: usize) -> usize {
    pass_on!(self::signal(signal, handler))
}

/// What `signal` is in programs that ask for POSIX and nothing else: the handler is called once.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sysv_signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: zeros are a `sigaction`; the handler is the caller's, and both are local variables.
    unsafe {
        let (mut new, mut old): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER;
        if sigaction(signal, &new, &mut old) == 0 { old.sa_sigaction } else { libc::SIG_ERR }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sysv_signal(signal: c_int, handler: usize) -> usize {
    pass_on!(__sysv_signal(signal, handler))
}

fn note(signal: c_int, handler: usize) {
    let asynchronous = is_asynchronous(signal);
    if handler != libc::SIG_DFL && handler != libc::SIG_IGN {
        INTERRUPT.store(true, Relaxed);
        HANDLED.fetch_or(asynchronous, Relaxed);
        if asynchronous {
            crate::log::flag(foretrace_recording::file::flags::WAITS_END);
        }
    }
}

/// Whether calls that the last handler interrupted go on.
pub(crate) fn restarts_calls() -> bool {
    RESTARTS.load(Relaxed)
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
        // SAFETY: zeros are a `sigaction`, and the handler is one for a function without further
        // arguments, as the flags say.
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
    // SAFETY: zeros are a `sigaction`: the default one.
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
                around(|_| Uses::of(&$channels), None, || pass_on!(on_next::$name($($argument),*)))
            }
        )*
    };
}

const WAIT: [(u32, u32); 2] = [(SIGNALS, BOTH), (OUTSIDE, TAKES)];
const TIMER: [(u32, u32); 2] = [(SIGNALS, BOTH), (CLOCK, BOTH)];

on! {
    sigpending(set: *mut sigset_t) -> c_int: WAIT;
    sigprocmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int: WAIT;
    pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int: WAIT;
    getitimer(which: c_int, now: *mut libc::itimerval) -> c_int: TIMER;
    timer_gettime(timer: libc::timer_t, now: *mut libc::itimerspec) -> c_int: TIMER;
    timer_delete(timer: libc::timer_t) -> c_int: TIMER;
    timer_getoverrun(timer: libc::timer_t) -> c_int: TIMER;
}

mod timers {
    use super::*;
    real!(fn timer_create(clock: c_int, event: *mut libc::sigevent,
        timer: *mut libc::timer_t) -> c_int);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_create(
    clock: c_int,
    event: *mut libc::sigevent,
    timer: *mut libc::timer_t,
) -> c_int {
    // SAFETY: the caller gives an event, or null.
    let mut meant = unsafe { event.as_ref() }.copied();
    let notify = meant.map(|event| event.sigev_notify);
    if notify == Some(libc::SIGEV_THREAD) && crate::thread::enter(|_| ()).is_some() {
        super::process::refuse("a timer that starts threads (SIGEV_THREAD)");
    }
    if let Some(meant) = meant.as_mut().filter(|_| notify == Some(libc::SIGEV_THREAD_ID)) {
        meant.sigev_notify_thread_id = numbers::meant(meant.sigev_notify_thread_id);
    }
    let event = meant.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
    around(|_| Uses::of(&TIMER), None, || pass_on!(timers::timer_create(clock, event, timer)))
}

/// A handler may jump out of an access that faulted inside a hook: the thread is then outside of
/// the runtime again.
fn leave_runtime() {
    if let Some(thread) = thread::glance() {
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
            pass_on!(jumps::$name(place, value))
        }
    )* };
}

jumps! { longjmp _longjmp siglongjmp __longjmp_chk }
