//! The end of the process, and its forked copies.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

use foretrace_recording::channel::direction::{BOTH, GIVES, TAKES};
use foretrace_recording::channel::{LIBRARY, THREADS};
use foretrace_recording::file::{child, flags};
use foretrace_recording::record::{kind, lock};

use super::{children, mutexes, rwlocks};
use crate::config::{Mode, mode, set_mode};
use crate::futex::system_call;
use crate::kernel::Kernel;
use crate::kernel::calls::around;
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real};
use crate::thread::{self, Thread, enter};
use crate::world::{self, hold};
use crate::{annotations, arena, ending, explore, log};

mod next {
    use super::*;
    real!(fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int);
    real!(fn __libc_start_main(main: Main, count: c_int, arguments: *mut *mut c_char,
        start: Handler, end: Handler, linker_end: Handler, stack: *mut c_void) -> c_int);
    real!(fn exit(status: c_int) -> !);
    real!(fn _exit(status: c_int) -> !);
    real!(fn quick_exit(status: c_int) -> !);
    real!(fn abort() -> !);
    real!(fn __assert_fail(expression: *const c_char, file: *const c_char, line: c_uint,
        function: *const c_char) -> !);
}

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Handler = *mut c_void;

unsafe extern "C" {
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    fn pthread_atfork(
        before: extern "C" fn(),
        parent: extern "C" fn(),
        child: extern "C" fn(),
    ) -> c_int;
}

/// Registered first, so that they are called last: behind the program's own handlers.
pub(crate) fn register() {
    // SAFETY: the handlers are there as long as the process: the runtime is never unloaded.
    unsafe {
        on_exit(exiting, null_mut());
        pthread_atfork(before_fork, behind_fork, in_child);
    }
}

extern "C" fn exiting(status: c_int, _: *mut c_void) {
    end(status);
}

fn end(status: c_int) {
    // A child of `vfork` has our memory until it starts its program, or ends.
    if matches!(mode(), Mode::Unset | Mode::Off) || !log::is_own_process() {
        return;
    }
    if enter(|thread| hold().exit(Some(thread), status)).is_none() {
        hold().exit(None, status);
    }
    // Others may still run for a moment; what they do is behind the end.
    set_mode(Mode::Off);
}

/// The calling thread is about to end the process: the others go first, before any handler.
fn come_last() {
    if !matches!(mode(), Mode::Unset | Mode::Off) && log::is_own_process() {
        enter(ending::come_last);
    }
}

/// The program's own `main`.
static MAIN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Stands before the C library's own, which calls `main` and then ends the process without calling
/// any function by its name.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __libc_start_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    start: Handler,
    end: Handler,
    linker_end: Handler,
    stack: *mut c_void,
) -> c_int {
    MAIN.store(main as *mut c_void, Relaxed);
    pass_on!(next::__libc_start_main(run_main, count, arguments, start, end, linker_end, stack))
}

unsafe extern "C-unwind" fn run_main(
    count: c_int,
    arguments: *mut *mut c_char,
    variables: *mut *mut c_char,
) -> c_int {
    let status = pass_on!(far_below(count, arguments, variables));
    come_last();
    status
}

/// Calls `main`, far enough below that what runs when it has returned does not overwrite its
/// variables: threads may still use them. (That is a mistake of theirs, but none that we should
/// make worse.)
#[inline(never)]
unsafe extern "C-unwind" fn far_below(
    count: c_int,
    arguments: *mut *mut c_char,
    variables: *mut *mut c_char,
) -> c_int {
    let mut room = std::mem::MaybeUninit::<[u8; 64 * 1024]>::uninit();
    std::hint::black_box(&mut room);
    // SAFETY: it is the function that the C library was to call.
    unsafe {
        let main: Main = std::mem::transmute(MAIN.load(Relaxed));
        let status = main(count, arguments, variables);
        std::hint::black_box(&mut room);
        status
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn exit(status: c_int) -> ! {
    come_last();
    pass_on!(next::exit(status))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _exit(status: c_int) -> ! {
    come_last();
    end(status);
    pass_on!(next::_exit(status))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Exit(status: c_int) -> ! {
    pass_on!(_exit(status))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn quick_exit(status: c_int) -> ! {
    come_last();
    end(status);
    pass_on!(next::quick_exit(status))
}

/// The thread that copies the process, while it does.
static FORKING: AtomicPtr<Thread> = AtomicPtr::new(null_mut());

/// Something was made that processes can share.
static SHARED: AtomicBool = AtomicBool::new(false);

/// Called by those who make such things. As long as there is one process they are as good as its
/// own.
pub(super) fn note_shared(address: usize) {
    SHARED.store(true, Relaxed);
    log::flag(flags::SHARED);
    super::twice::made(address);
}

/// What cannot be recorded rightly is refused: a wrong verdict would be worse.
pub(crate) fn refuse(what: &str) -> ! {
    log::flag(flags::UNSUPPORTED);
    crate::message::say(&format!("{what}: this cannot be recorded yet"));
    crate::message::leave(125)
}

/// Whether it was inside the runtime before.
static WAS_BUSY: AtomicBool = AtomicBool::new(false);

/// Behind the program's own handlers before the copy, and before them behind it: what they do with
/// locks is theirs.
pub(super) extern "C" fn before_fork() {
    let thread = thread::current();
    if matches!(mode(), Mode::Unset | Mode::Off) || thread.is_null() {
        return;
    }
    if SHARED.load(Relaxed) {
        refuse("the program forks, and has locks or the like that are shared between processes");
    }
    log::flag(flags::FORKED | flags::WAITS_END);
    children::look_up();
    // A handler that comes now must not want the world.
    // SAFETY: threads are never freed, and the field may be touched at any time.
    let was_busy = unsafe { &(*thread).busy }.swap(true, Relaxed);
    let mut world = hold();
    WAS_BUSY.store(was_busy, Relaxed);
    // From now on another process has our descriptors too.
    world.kernel.inherit();
    // SAFETY: it is the caller's own thread, and is inside of the runtime now.
    unsafe { (*thread).child = log::add_child(child::COPY) };
    std::mem::forget(world);
    arena::lock();
    FORKING.store(thread, Relaxed);
}

pub(super) extern "C" fn behind_fork() {
    if thread::current() == FORKING.load(Relaxed) && !thread::current().is_null() {
        FORKING.store(null_mut(), Relaxed);
        let was_busy = WAS_BUSY.load(Relaxed);
        arena::unlock();
        world::let_go();
        if let Some(thread) = thread::glance() {
            thread.busy.store(was_busy, Relaxed);
        }
    }
}

/// The child has one thread and no recording. The locks that it holds are taken from the C library,
/// so that they can be given back to it.
pub(super) extern "C" fn in_child() {
    let thread = FORKING.load(Relaxed);
    if thread.is_null() {
        return;
    }
    // SAFETY: the thread that copies the process is the only one of the child.
    let (place, index) = unsafe { ((*thread).child, (*thread).index) };
    children::is_child(place);
    log::abandon();
    set_mode(Mode::Off);
    behind_fork();
    let world = hold();
    for (&address, state) in &world.objects.locks {
        if state.guard {
            continue;
        }
        let mine = state.readers.iter().filter(|&&reader| reader == index).count() as u32;
        let depth = if state.owner == Some(index) { state.depth } else { 0 };
        // SAFETY: the program has taken the lock, so there is one at this address, of this kind.
        unsafe {
            match state.kind {
                lock::READER_WRITER => {
                    (0..depth).for_each(|_| rwlocks::take_alone(address));
                    (0..mine).for_each(|_| rwlocks::take_shared(address));
                }
                lock::SPIN => (0..depth).for_each(|_| mutexes::take_spin(address)),
                _ => (0..depth).for_each(|_| mutexes::take(address)),
            }
        }
    }
}

/// A child that must not do anything.
pub(super) fn vanish() -> ! {
    loop {
        system_call(libc::SYS_exit_group, [0; 6]);
    }
}

/// `std::terminate` comes here too. The C library's own lets no second thread in, be the first one
/// stopped or not.
#[unsafe(no_mangle)]
unsafe extern "C" fn abort() -> ! {
    annotations::fails();
    if explore::is_on() {
        enter(|thread| explore::stop(thread, foretrace_recording::explore::stop::FAILED));
    }
    pass_on!(next::abort())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __assert_fail(
    expression: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
) -> ! {
    annotations::fails();
    enter(|thread| {
        if explore::is_on() {
            explore::stop(thread, foretrace_recording::explore::stop::FAILED);
        }
        let site = thread.call_site;
        thread.point(kind::ASSERT, site, 0, 0);
        thread.record(kind::ASSERT, 0, site, []);
    });
    annotations::failed(expression, file, line, function);
    pass_on!(next::__assert_fail(expression, file, line, function))
}

/// What is set of the process as a whole others may ask for. Names are those of single threads.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn prctl(
    option: c_int,
    a: c_ulong,
    b: c_ulong,
    c: c_ulong,
    d: c_ulong,
) -> c_int {
    let uses = |_: &mut Kernel| match option {
        libc::PR_SET_TIMERSLACK => Uses::default(),
        // Other threads set it and ask for it, too.
        libc::PR_SET_NAME => Uses::of(&[(THREADS, GIVES)]),
        libc::PR_GET_NAME => Uses::of(&[(THREADS, TAKES)]),
        _ => Uses::of(&[(LIBRARY, BOTH)]),
    };
    around(uses, None, || pass_on!(next::prctl(option, a, b, c, d)))
}
