//! Creating, joining and ending threads.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::*};

use foretrace_recording::record::kind;
use libc::{pthread_attr_t, pthread_t};

use super::cancellation::end_if_cancelled;
use crate::config::{Mode, mode};
use crate::futex::{Gate, system_call};
use crate::kernel::calls;
use crate::kernel::uses::Uses;
use crate::real::{pass_on, real, variants};
use crate::schedule::Waited;
use crate::thread::{self, Thread, enter};
use crate::world::{State, hold};
use crate::{explore, module, sync, watchdog};

type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

mod next {
    use super::*;
    real!(fn pthread_create(handle: *mut pthread_t, attributes: *const pthread_attr_t, start: Start,
        argument: *mut c_void) -> c_int);
    real!(fn pthread_join(handle: pthread_t, result: *mut *mut c_void) -> c_int);
    real!(fn pthread_tryjoin_np(handle: pthread_t, result: *mut *mut c_void) -> c_int);
    real!(fn pthread_clockjoin_np(handle: pthread_t, result: *mut *mut c_void,
        clock: libc::clockid_t, time: *const libc::timespec) -> c_int);
}
pub(crate) use next::pthread_create as pthread_create_next;

/// What a new thread needs before it is the user's.
struct Birth {
    start: Start,
    argument: *mut c_void,
    thread: *mut Thread,
    /// Opened once the thread has a heap of its own; the parent waits for that.
    settled: *const Gate,
}

/// The stack of the calling thread: lowest address and the one behind the highest.
pub(crate) fn stack() -> [u64; 2] {
    // SAFETY: the C library fills in the attributes, which are destroyed once they were read.
    unsafe {
        let mut attributes = std::mem::zeroed::<pthread_attr_t>();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return [0, 0];
        }
        let (mut low, mut size) = (null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut low, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        [low as u64, low as u64 + size as u64]
    }
}

/// Its destructor runs at the end of each thread, however it ends.
fn end_key() -> libc::pthread_key_t {
    static KEY: AtomicU32 = AtomicU32::new(u32::MAX);
    let known = KEY.load(Acquire);
    if known != u32::MAX {
        return known;
    }
    let mut key = 0;
    // SAFETY: the destructor is there as long as the process.
    unsafe { libc::pthread_key_create(&mut key, Some(ended)) };
    match KEY.compare_exchange(u32::MAX, key, AcqRel, Acquire) {
        Ok(_) => key,
        Err(other) => other,
    }
}

/// The destructors of the program's own keys may still want to be recorded: we wait for the last
/// round.
extern "C" fn ended(round: *mut c_void) {
    if (round as usize) < 4 {
        // SAFETY: the key is one that was made; its value is a number, and leads nowhere.
        unsafe { libc::pthread_setspecific(end_key(), (round as usize + 1) as *const c_void) };
        return;
    }
    enter(sync::end);
    thread::set_current(null_mut());
}

/// Destructors run only for values that are not null.
const FIRST_ROUND: *const c_void = std::ptr::without_provenance(1);

/// [`ended`] is called at the end of the calling thread.
fn await_end_of_thread() {
    // SAFETY: the key is one that was made; its value is a number, and leads nowhere.
    unsafe { libc::pthread_setspecific(end_key(), FIRST_ROUND) };
}

/// The main thread may end before the process does.
pub(crate) fn main_begins() {
    await_end_of_thread();
    // SAFETY: it takes nothing.
    hold().handles.push((unsafe { libc::pthread_self() }, 0));
}

/// Whether a function that a thread begins with is in code that is not instrumented. C++'s own
/// library only calls what it was given, and our threads are ours.
fn is_of_a_library(start: *const c_void) -> bool {
    if module::is_instrumented(start as u64) {
        return false;
    }
    // SAFETY: `dladdr` takes any address and fills in what it finds. Names are C strings, and those
    // of libraries that have threads stay.
    let object_of = |address: *const c_void| unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let is_known = libc::dladdr(address, &mut found) != 0 && !found.dli_fname.is_null();
        is_known.then(|| (found.dli_fbase, std::ffi::CStr::from_ptr(found.dli_fname).to_bytes()))
    };
    let own = object_of(born as *const c_void);
    let is_innocent = |(base, name): (*mut c_void, &[u8])| {
        let is_cxx = name.windows(9).any(|part| part == b"libstdc++" || part == b"libc++.so");
        is_cxx || own.is_some_and(|(own, _)| own == base)
    };
    !object_of(start).is_some_and(is_innocent)
}

extern "C-unwind" fn born(birth: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` has made it, for this thread alone.
    let Birth { start, argument, thread, settled } =
        *unsafe { Box::from_raw(birth.cast::<Birth>()) };
    super::memory::settle();
    // SAFETY: the parent waits for it.
    unsafe { (*settled).open() };
    await_end_of_thread();
    // SAFETY: threads are never freed, and this one is the caller.
    module::begin(unsafe { &mut *thread });
    enter(|thread| {
        if is_of_a_library(start as *const c_void) {
            // What the library waits for before it calls back is not seen: the whole thread is a
            // call of which nothing is known.
            calls::begin(thread, |_| Uses::every(), None, |_, _| false);
        }
    });
    start(argument)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_create(
    handle: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let created = enter(|parent| {
        if mode() == Mode::Scheduled && !explore::is_on() {
            watchdog::start();
        }
        let site = parent.call_site;
        parent.point(kind::FORK, site, 0, 0);
        let mut world = hold();
        let child = world.add_thread(Some(parent));
        // SAFETY: it was just made, and does not run yet.
        let index = unsafe { (*child).index };
        world.stamped(parent, kind::FORK, 0, site, [u64::from(index)]);
        drop(world);
        let settled = Gate::new();
        let birth = Box::new(Birth { start, argument, thread: child, settled: &raw const settled });
        let birth = Box::into_raw(birth);
        let status = pass_on!(next::pthread_create(handle, attributes, born, birth.cast()));
        if status == 0 {
            settled.pass(None, || false);
        }
        let mut world = hold();
        if status == 0 {
            // SAFETY: the caller gives a place for the handle, which the C library has set.
            world.handles.push((unsafe { *handle }, index));
        } else {
            // SAFETY: there is no thread that could have taken it.
            drop(unsafe { Box::from_raw(birth) });
            world.entry(index).state = State::Done;
        }
        status
    });
    created.unwrap_or_else(|| pass_on!(next::pthread_create(handle, attributes, start, argument)))
}

/// Waits for the end of the thread with this handle, as far as the runtime knows it. A thread that
/// joins itself is left to the C library, which says no.
fn await_end(handle: pthread_t, deadline: Option<libc::timespec>) -> Waited {
    enter(|thread| {
        let child = hold().by_handle(handle);
        match child {
            Some(child) if child != thread.index => sync::join(thread, child, deadline),
            _ => Waited::Ready,
        }
    })
    .unwrap_or(Waited::Ready)
}

/// Joins a thread that has come to its end.
///
/// # Safety
///
/// The arguments are those of `pthread_join`.
unsafe fn reap(handle: pthread_t, result: *mut *mut c_void) -> c_int {
    let child = enter(|_| hold().by_handle(handle)).flatten();
    // The kernel may take its time to end the thread. Who waits for that is inside of the runtime
    // meanwhile: it must not lose its turn.
    let reaped = enter(|_| {
        let is_done = child.is_some_and(|child| hold().entry(child).state == State::Done);
        if mode() != Mode::Scheduled || !is_done {
            return None;
        }
        let mut looks = 0;
        loop {
            // Other than `pthread_join`, this does not end the thread if it is cancelled.
            let status = pass_on!(next::pthread_tryjoin_np(handle, result));
            if status != libc::EBUSY {
                return Some(status);
            }
            looks += 1;
            let pause = libc::timespec { tv_sec: 0, tv_nsec: if looks < 16 { 0 } else { 20_000 } };
            system_call(libc::SYS_nanosleep, [&raw const pause as usize, 0, 0, 0, 0, 0]);
        }
    });
    let status = reaped.flatten().unwrap_or_else(|| pass_on!(next::pthread_join(handle, result)));
    if let (0, Some(child)) = (status, child) {
        // A new thread may have got the same handle meanwhile.
        enter(|_| hold().handles.retain(|(_, index)| *index != child));
    }
    status
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_join(
    handle: pthread_t,
    result: *mut *mut c_void,
) -> c_int {
    end_if_cancelled();
    if await_end(handle, None) == Waited::Cancelled {
        end_if_cancelled();
    }
    pass_on!(reap(handle, result))
}

/// Whether the thread with this handle is at its end; if so, the caller has joined it.
fn joined_at_once(handle: pthread_t) -> bool {
    enter(|thread| {
        let mut world = hold();
        let child = world.by_handle(handle);
        let done = child.is_none_or(|child| world.entry(child).state == State::Done);
        drop(world);
        if !done {
            crate::schedule::give_way(thread);
            return false;
        }
        child.is_none_or(|child| sync::join(thread, child, None) == Waited::Ready)
    })
    .unwrap_or(true)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_tryjoin_np(
    handle: pthread_t,
    result: *mut *mut c_void,
) -> c_int {
    if matches!(mode(), Mode::Unset | Mode::Off) {
        return pass_on!(next::pthread_tryjoin_np(handle, result));
    }
    if !joined_at_once(handle) {
        return libc::EBUSY;
    }
    // Behind its last event, but perhaps not quite gone.
    pass_on!(reap(handle, result))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_clockjoin_np(
    handle: pthread_t,
    result: *mut *mut c_void,
    clock: libc::clockid_t,
    time: *const libc::timespec,
) -> c_int {
    if matches!(mode(), Mode::Unset | Mode::Off) {
        return pass_on!(next::pthread_clockjoin_np(handle, result, clock, time));
    }
    end_if_cancelled();
    // SAFETY: the caller gives a time, or null.
    let deadline = unsafe { time.as_ref() }.map(|time| super::monotonic(clock, *time));
    match await_end(handle, deadline) {
        Waited::Ready | Waited::Interrupted => {}
        Waited::TimedOut => return libc::ETIMEDOUT,
        Waited::Cancelled => end_if_cancelled(),
    }
    pass_on!(reap(handle, result))
}

variants! {
    fn pthread_timedjoin_np(handle: pthread_t, result: *mut *mut c_void,
        time: *const libc::timespec) -> c_int
        = pthread_clockjoin_np(handle, result, libc::CLOCK_REALTIME, time);
}
