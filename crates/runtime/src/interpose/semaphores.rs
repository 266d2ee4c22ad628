//! POSIX semaphores. The runtime keeps their count; a post from a signal handler that interrupts
//! the runtime is done later.

use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicUsize, Ordering::*};

use foretrace_recording::record::kind;
use libc::{sem_t, timespec};

use super::cancellation::end_if_cancelled;
use crate::config::{Mode, mode};
use crate::errno::set_errno;
use crate::real::{pass_on, real};
use crate::schedule;
use crate::sync::{self, Patience};
use crate::thread::{self, Thread, enter, pending};
use crate::world::{World, hold};

type Semaphore = *mut sem_t;

mod next {
    use super::*;
    real!(fn sem_init(semaphore: Semaphore, shared: c_int, count: c_uint) -> c_int);
    real!(fn sem_destroy(semaphore: Semaphore) -> c_int);
    real!(fn sem_wait(semaphore: Semaphore) -> c_int);
    real!(fn sem_trywait(semaphore: Semaphore) -> c_int);
    real!(fn sem_timedwait(semaphore: Semaphore, time: *const timespec) -> c_int);
    real!(fn sem_clockwait(semaphore: Semaphore, clock: libc::clockid_t,
        time: *const timespec) -> c_int);
    real!(fn sem_post(semaphore: Semaphore) -> c_int);
    real!(fn sem_getvalue(semaphore: Semaphore, count: *mut c_int) -> c_int);
}

/// Takes over a semaphore that was made elsewhere (`sem_open`), with the count that it has.
fn adopt(thread: &mut Thread, semaphore: Semaphore) {
    if !hold().objects.semaphores.contains_key(&(semaphore as usize)) {
        let mut count = 0;
        // SAFETY: the program gives the semaphore to one of its functions.
        unsafe { next::sem_getvalue(semaphore, &mut count) };
        sync::semaphore_init(thread, semaphore as usize, count.max(0) as u32);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_init(semaphore: Semaphore, shared: c_int, count: c_uint) -> c_int {
    enter(|thread| {
        if shared != 0 {
            super::process::note_shared(semaphore as usize);
        }
        sync::semaphore_init(thread, semaphore as usize, count);
    });
    pass_on!(next::sem_init(semaphore, shared, count))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_destroy(semaphore: Semaphore) -> c_int {
    enter(|thread| sync::semaphore_destroy(thread, semaphore as usize));
    pass_on!(next::sem_destroy(semaphore))
}

fn wait(semaphore: Semaphore, patience: Patience) -> Option<c_int> {
    if !matches!(patience, Patience::Try) {
        end_if_cancelled();
    }
    let status = enter(|thread| {
        adopt(thread, semaphore);
        sync::semaphore_wait(thread, semaphore as usize, patience)
    })?;
    if status == 0 {
        return Some(0);
    }
    if status == libc::ECANCELED {
        end_if_cancelled();
    }
    set_errno(status);
    Some(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_wait(semaphore: Semaphore) -> c_int {
    wait(semaphore, Patience::Blocking).unwrap_or_else(|| pass_on!(next::sem_wait(semaphore)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_trywait(semaphore: Semaphore) -> c_int {
    wait(semaphore, Patience::Try).unwrap_or_else(|| pass_on!(next::sem_trywait(semaphore)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_timedwait(semaphore: Semaphore, time: *const timespec) -> c_int {
    // SAFETY: the caller gives a time.
    let until = super::monotonic(libc::CLOCK_REALTIME, unsafe { *time });
    wait(semaphore, Patience::Until(until))
        .unwrap_or_else(|| pass_on!(next::sem_timedwait(semaphore, time)))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_clockwait(
    semaphore: Semaphore,
    clock: libc::clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller gives a time.
    let until = super::monotonic(clock, unsafe { *time });
    wait(semaphore, Patience::Until(until))
        .unwrap_or_else(|| pass_on!(next::sem_clockwait(semaphore, clock, time)))
}

fn post(thread: &mut Thread, semaphore: usize) {
    adopt(thread, semaphore as Semaphore);
    sync::semaphore_post(thread, semaphore);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_post(semaphore: Semaphore) -> c_int {
    if enter(|thread| post(thread, semaphore as usize)).is_some() {
        return 0;
    }
    if matches!(mode(), Mode::Unset | Mode::Off) {
        return pass_on!(next::sem_post(semaphore));
    }
    let Some(thread) = thread::glance() else {
        // A signal handler in a thread that has just begun, or is about to be gone.
        let mut world = hold();
        count_one(&mut world, semaphore as usize);
        went_up(&mut world);
        return 0;
    };
    // A signal handler, while this thread is inside the runtime.
    let free = |slot: &&AtomicUsize| {
        slot.compare_exchange(0, semaphore as usize, Relaxed, Relaxed).is_ok()
    };
    match thread.deferred.iter().find(free) {
        Some(_) => {
            thread.pending.fetch_or(pending::POSTS, Relaxed);
            0
        }
        None => {
            set_errno(libc::EOVERFLOW);
            -1
        }
    }
}

/// Does the posts that signal handlers asked for meanwhile.
#[cold]
pub(crate) fn post_deferred(thread: &mut Thread) {
    for semaphore in asked_for(thread) {
        enter(|thread| post(thread, semaphore));
    }
}

/// Takes what signal handlers asked for; they may go on asking meanwhile.
fn asked_for(thread: &Thread) -> Vec<usize> {
    thread.pending.fetch_and(!pending::POSTS, SeqCst);
    let taken = thread.deferred.iter().map(|slot| slot.swap(0, SeqCst));
    taken.filter(|&semaphore| semaphore != 0).collect()
}

/// While the thread waits: the posts take effect, for it or for others.
pub(crate) fn count_posts(world: &mut World, thread: &mut Thread) {
    for semaphore in asked_for(thread) {
        count_one(world, semaphore);
        thread.posted.push(semaphore);
    }
    went_up(world);
}

fn count_one(world: &mut World, semaphore: usize) {
    let unknown = || {
        let mut count = 0;
        // SAFETY: the program has posted it, so there is a semaphore.
        unsafe { next::sem_getvalue(semaphore as Semaphore, &mut count) };
        count.max(0) as u32
    };
    *world.objects.semaphores.entry(semaphore).or_insert_with(unknown) += 1;
}

/// Those who wait for semaphores look again.
fn went_up(world: &mut World) {
    schedule::changed(world);
    if mode() == Mode::Scheduled && world.scheduler.turn.is_none() {
        world.pass_on(u32::MAX);
    }
}

/// Now that the thread may write to the recording, its posts are recorded.
pub(crate) fn record_posts(world: &mut World, thread: &mut Thread) {
    while let Some(semaphore) = thread.posted.pop() {
        thread.count();
        world.stamped(thread, kind::SEM_POST, 0, 0, [semaphore as u64]);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_getvalue(semaphore: Semaphore, count: *mut c_int) -> c_int {
    let known = enter(|_| hold().objects.semaphores.get(&(semaphore as usize)).copied()).flatten();
    match known {
        Some(value) => {
            // SAFETY: the caller gives a place for the count.
            unsafe { *count = value as c_int };
            0
        }
        None => pass_on!(next::sem_getvalue(semaphore, count)),
    }
}
