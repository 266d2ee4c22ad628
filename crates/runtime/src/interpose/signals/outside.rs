//! Signals that somebody outside sends, and timers, whose signals come when the world's time says
//! so: a replay gets them as they came in the recorded run, and waits for none. What threads of the
//! process send to each other comes really.

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
    // SAFETY: zeros are a `siginfo_t`.
    let own: Cell<siginfo_t> = Cell::new(unsafe { std::mem::zeroed() });
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        if result > 0 {
            visit(own.as_ptr().cast(), size_of::<siginfo_t>());
        }
    };
    let sent_by_own = || {
        let mut told = own.get();
        let is_own = is_own(&told);
        if is_own {
            numbers::keep_process();
            numbers::show_sender(&mut told);
            own.set(told);
        }
        is_own
    };
    let result =
        wait(&areas, sent_by_own, || pass_on!(next::sigtimedwait(set, own.as_ptr(), time)));
    if result > 0 && !info.is_null() {
        // SAFETY: the caller gives a place for it, or null.
        unsafe { *info = own.get() };
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    pass_on!(sigtimedwait(set, info, std::ptr::null()))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    loop {
        let result = pass_on!(sigtimedwait(set, std::ptr::null_mut(), std::ptr::null()));
        let errno = errno();
        match result {
            1.. => {
                // SAFETY: the caller gives a place for the number.
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
    let call = || pass_on!(next::sigsuspend(set));
    wait(&|_, _| (), || LAST_IS_OWN.load(Relaxed), call)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pause() -> c_int {
    wait(&|_, _| (), || LAST_IS_OWN.load(Relaxed), || pass_on!(next::pause()))
}

/// Makes a call that sets a timer; a replay sets none.
fn set(areas: Areas, call: impl FnOnce() -> i64) -> i64 {
    let always = |_: &mut Kernel| true;
    let source = Source::new(call::TIMER, &always);
    exchange(&source, |_: &mut Kernel| Uses::of(&TIMER), None, areas, call)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn alarm(seconds: u32) -> u32 {
    set(&|_, _| (), || i64::from(pass_on!(next::alarm(seconds)))) as u32
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
    let call = || i64::from(pass_on!(next::setitimer(which, new, old)));
    set(&visit_old(old), call) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timer_settime(
    timer: libc::timer_t,
    flags: c_int,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
) -> c_int {
    let call = || i64::from(pass_on!(next::timer_settime(timer, flags, new, old)));
    set(&visit_old(old), call) as c_int
}
