//! Whether the program handles signals: then a thread that waits may be woken by one, and waiting
//! for ever is no deadlock.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};

use foretrace_recording::channel::direction::{BOTH, TAKES};
use foretrace_recording::channel::{CLOCK, OUTSIDE, SIGNALS};
use foretrace_recording::input::{Input, SIGNAL_BYTES, call};
use libc::{siginfo_t, sigset_t, timespec};

use super::{numbers, sending};
use crate::config::{Mode, mode};
use crate::futex::system_call;
use crate::inputs::{Inputs, Signal};
use crate::kernel::Kernel;
use crate::kernel::calls::{around, keeping_errno};
use crate::kernel::exchange::{Areas, Fate, Source, exchange, finish, give, start};
use crate::kernel::uses::Uses;
use crate::real::real;
use crate::thread::{self, Thread, Told, enter, pending};
use crate::world::hold;

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
        |new| around(|_| Uses::of(&WAIT), None, || unsafe { next::sigaction(signal, new, old) });
    let Some(&theirs) = (unsafe { new.as_ref() }) else {
        return unsafe { with_their_handler(signal, old, set(new)) };
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
    if let (0, Some(old)) = (status, unsafe { old.as_mut() })
        && old.sa_sigaction == handled_here as *const () as usize
    {
        (old.sa_sigaction, old.sa_flags) = before;
    }
    status
}

/// What we have put in the place of the user's handler is not to be seen.
unsafe fn with_their_handler(signal: c_int, old: *mut libc::sigaction, status: c_int) -> c_int {
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
    let is_own = unsafe { info.as_ref() }.is_some_and(is_own);
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
    if let Some(thread) = unsafe { thread::current().as_mut() }
        && recording
        && bit != 0
        && thread.busy.load(Relaxed)
        && !thread.waits.load(Relaxed)
    {
        if !is_own {
            thread.outside_signals.fetch_or(bit, Relaxed);
        }
        thread.told[signal as usize % 64] = told(info);
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
    sent && unsafe { info.si_pid() } == system_call(libc::SYS_getpid, [0; 6]) as i32
}

/// Calls the user's handler: what it does comes behind what the sender did before.
fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void, is_own: bool) {
    LAST_IS_OWN.store(is_own, Relaxed);
    keeping_errno(|| {
        if is_own && flags_of(signal) & libc::SA_SIGINFO != 0 {
            numbers::keep_process();
        }
        enter(|thread| {
            let mut world = hold();
            if world.replay.is_none() {
                let call = if is_own { call::OWN_SIGNAL } else { call::SIGNAL };
                let (result, sent) = (i64::from(signal), thread.calls.len() as u64);
                let (thread, ordinal) = (thread.index, thread.ordinal);
                let input = Input { thread, call, ordinal, errno: 0, result, sent };
                world.keep_input(&input, &told(info));
            }
        });
        around(|_| Uses::of(&[(SIGNALS, BOTH), (OUTSIDE, TAKES)]), None, || ());
        if is_own {
            sending::handles(signal);
        }
    });
    let handler = handler_of(signal);
    if handler > libc::SIG_IGN {
        // Those that want only the number do not look at the rest.
        let handler: extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void) =
            unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    }
    if flags_of(signal) & libc::SA_RESTART == 0 {
        interrupt_wait();
    }
}

/// Lets the calling thread look whether its wait is over, if it is inside the runtime.
fn interrupt_wait() {
    // SAFETY: a thread is never freed.
    if let Some(thread) = unsafe { crate::thread::current().as_ref() }
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
    let came = thread.pending.fetch_and(!pending::SIGNALS, Relaxed);
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
    if thread.sends {
        // It may be the one that is about to be sent.
        return None;
    }
    thread.busy.store(true, Relaxed);
    let (of, ordinal, depth) = (thread.recorded, thread.ordinal, thread.calls.len());
    let signal = hold().inputs.as_mut().and_then(|inputs| inputs.signal(of, ordinal, depth));
    thread.busy.store(false, Relaxed);
    signal
}

fn handle_later(signal: c_int, told: &Told, is_own: bool) {
    RESTARTS.store(flags_of(signal) & libc::SA_RESTART != 0, Relaxed);
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

/// Signals that somebody outside sends, and timers, whose signals come when the world's time says
/// so: a replay gets them as they came in the recorded run, and waits for none. What threads of the
/// process send to each other comes really.
mod outside {
    use super::*;

    mod next {
        use super::*;
        real!(fn sigtimedwait(set: *const sigset_t, info: *mut siginfo_t,
            time: *const timespec) -> c_int);
        real!(fn sigsuspend(set: *const sigset_t) -> c_int);
        real!(fn pause() -> c_int);
        real!(fn alarm(seconds: u32) -> u32);
        real!(fn setitimer(which: c_int, new: *const libc::itimerval,
            old: *mut libc::itimerval) -> c_int);
        real!(fn timer_settime(timer: libc::timer_t, flags: c_int, new: *const libc::itimerspec,
            old: *mut libc::itimerspec) -> c_int);
    }

    /// Makes a call that waits for a signal. `is_own` says behind it who has sent that one.
    fn wait(areas: Areas, is_own: impl FnOnce() -> bool, call: impl FnOnce() -> c_int) -> c_int {
        let always = |_: &mut Kernel| true;
        let source = Source { optional: true, ..Source::new(call::WAIT_SIGNAL, &always) };
        let uses = |_: &mut Kernel| Uses::of(&WAIT);
        let Some(mut begun) = start(&source, uses, None) else { return call() };
        let result = match &begun.fate {
            Fate::Answered(answer) => {
                give(answer, areas);
                answer.result as c_int
            }
            _ => {
                let result = call();
                if is_own() {
                    begun.fate = Fate::Made;
                }
                result
            }
        };
        finish(&begun, &source, i64::from(result), areas, |_| ());
        result
    }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn sigtimedwait(
        set: *const sigset_t,
        info: *mut siginfo_t,
        time: *const timespec,
    ) -> c_int {
        let mut own: siginfo_t = unsafe { std::mem::zeroed() };
        let own = &raw mut own;
        let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
            if result > 0 {
                visit(own.cast(), size_of::<siginfo_t>());
            }
        };
        let sent_by_own = || {
            let is_own = is_own(unsafe { &*own });
            if is_own {
                numbers::keep_process();
                numbers::show_sender(unsafe { &mut *own });
            }
            is_own
        };
        let result = wait(&areas, sent_by_own, || unsafe { next::sigtimedwait(set, own, time) });
        if result > 0 && !info.is_null() {
            unsafe { *info = *own };
        }
        result
    }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
        unsafe { sigtimedwait(set, info, std::ptr::null()) }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
        loop {
            let result = unsafe { sigtimedwait(set, std::ptr::null_mut(), std::ptr::null()) };
            let errno = unsafe { *libc::__errno_location() };
            match result {
                1.. => {
                    unsafe { *signal = result };
                    return 0;
                }
                _ if errno == libc::EINTR => {}
                _ => return errno,
            }
        }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn sigsuspend(set: *const sigset_t) -> c_int {
        let call = || unsafe { next::sigsuspend(set) };
        wait(&|_, _| (), || LAST_IS_OWN.load(Relaxed), call)
    }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn pause() -> c_int {
        wait(&|_, _| (), || LAST_IS_OWN.load(Relaxed), || unsafe { next::pause() })
    }

    /// Makes a call that sets a timer; a replay sets none.
    fn set(areas: Areas, call: impl FnOnce() -> i64) -> i64 {
        let always = |_: &mut Kernel| true;
        let source = Source::new(call::TIMER, &always);
        exchange(&source, |_: &mut Kernel| Uses::of(&TIMER), None, areas, call)
    }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn alarm(seconds: u32) -> u32 {
        set(&|_, _| (), || i64::from(unsafe { next::alarm(seconds) })) as u32
    }

    fn visit_old<T>(old: *mut T) -> impl Fn(i64, &mut dyn FnMut(*mut u8, usize)) {
        move |result, visit| {
            if result == 0 && !old.is_null() {
                visit(old.cast(), size_of::<T>());
            }
        }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn setitimer(
        which: c_int,
        new: *const libc::itimerval,
        old: *mut libc::itimerval,
    ) -> c_int {
        let call = || i64::from(unsafe { next::setitimer(which, new, old) });
        set(&visit_old(old), call) as c_int
    }

    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn timer_settime(
        timer: libc::timer_t,
        flags: c_int,
        new: *const libc::itimerspec,
        old: *mut libc::itimerspec,
    ) -> c_int {
        let call = || i64::from(unsafe { next::timer_settime(timer, flags, new, old) });
        set(&visit_old(old), call) as c_int
    }
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
    let notify = unsafe { event.as_ref() }.map(|event| event.sigev_notify);
    if notify == Some(libc::SIGEV_THREAD) && crate::thread::enter(|_| ()).is_some() {
        super::process::refuse("a timer that starts threads (SIGEV_THREAD)");
    }
    let mut meant = unsafe { event.as_ref() }.copied();
    if let Some(meant) = meant.as_mut().filter(|_| notify == Some(libc::SIGEV_THREAD_ID)) {
        meant.sigev_notify_thread_id = numbers::meant(meant.sigev_notify_thread_id);
    }
    let event = meant.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
    around(|_| Uses::of(&TIMER), None, || unsafe { timers::timer_create(clock, event, timer) })
}

/// A handler may jump out of an access that faulted inside a hook: the thread is then outside of
/// the runtime again.
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
