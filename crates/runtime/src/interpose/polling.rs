//! Waiting for several descriptors at once: poll, select, epoll.
//!
//! Where threads run one at a time these calls never block in the kernel: they look, give up the turn, and look again. A time limit is
//! over when nobody else can run.

use std::ffi::c_int;

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use crate::config::{Mode, mode};
use crate::kernel::Kernel;
use crate::kernel::calls::{self, Wait, around, around_then, keeping_errno};
use crate::kernel::uses::Uses;
use crate::real::real;
use crate::schedule::Waited;
use crate::thread::enter;

mod next {
    use super::*;
    real!(fn ppoll(list: *mut pollfd, count: nfds_t, time: *const timespec, mask: *const sigset_t) -> c_int);
    real!(fn pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *const timespec, mask: *const sigset_t) -> c_int);
    real!(fn epoll_pwait(fd: c_int, list: *mut epoll_event, count: c_int, milliseconds: c_int, mask: *const sigset_t) -> c_int);
    real!(fn epoll_ctl(fd: c_int, operation: c_int, of: c_int, event: *mut epoll_event) -> c_int);
}

/// For how long a call waits: not at all, for a time, or for ever.
#[derive(Clone, Copy)]
enum Limit {
    Zero,
    After(timespec),
    Never,
}

impl Limit {
    fn milliseconds(time: c_int) -> Limit {
        match time {
            0 => Limit::Zero,
            ..0 => Limit::Never,
            _ => Limit::After(timespec {
                tv_sec: i64::from(time / 1000),
                tv_nsec: i64::from(time % 1000) * 1_000_000,
            }),
        }
    }

    unsafe fn time(time: *const timespec) -> Limit {
        match unsafe { time.as_ref() } {
            None => Limit::Never,
            Some(time) if time.tv_sec == 0 && time.tv_nsec == 0 => Limit::Zero,
            Some(&time) => Limit::After(time),
        }
    }

    fn deadline(self) -> Option<timespec> {
        let Limit::After(time) = self else { return None };
        let now = crate::futex::now();
        let nanoseconds = now.tv_nsec + time.tv_nsec;
        Some(timespec {
            tv_sec: now
                .tv_sec
                .saturating_add(time.tv_sec)
                .saturating_add(nanoseconds / 1_000_000_000),
            tv_nsec: nanoseconds % 1_000_000_000,
        })
    }
}

/// Looks with `look`, again and again, until there is something, the time is over, or a signal comes.
fn wait_for(
    uses: impl Fn(&mut Kernel) -> Uses,
    list: &[pollfd],
    limit: Limit,
    look: impl Fn() -> c_int,
    block: impl FnOnce() -> c_int,
) -> c_int {
    if mode() != Mode::Scheduled || matches!(limit, Limit::Zero) {
        return around(uses, None, block);
    }
    let deadline = limit.deadline();
    let begun = enter(|thread| calls::begin(thread, &uses, Some(Wait { list, deadline })));
    let Some(mut waited) = begun.flatten() else { return block() };
    let result = loop {
        let result = look();
        if result != 0 || waited == Waited::TimedOut {
            break result;
        }
        if waited == Waited::Cancelled {
            super::cancellation::end_if_cancelled();
        }
        waited = wait_again(list, deadline);
    };
    keeping_errno(|| enter(calls::end));
    result
}

/// What made the thread go on was gone when it looked.
fn wait_again(list: &[pollfd], deadline: Option<timespec>) -> Waited {
    enter(|thread| calls::wait_more(thread, Wait { list, deadline })).unwrap_or(Waited::TimedOut)
}

/// The channels of all descriptors.
fn of_all(kernel: &mut Kernel, list: &[pollfd]) -> Uses {
    let mut uses = Uses::default();
    list.iter().filter(|one| one.fd >= 0).for_each(|one| uses.join(&kernel.question(one.fd)));
    uses
}

unsafe fn poll_until(
    list: *mut pollfd,
    count: nfds_t,
    limit: Limit,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let all: &[pollfd] = match count {
        0 => &[],
        _ => unsafe { std::slice::from_raw_parts(list, count as usize) },
    };
    if all.is_empty() && mode() == Mode::Scheduled {
        // Nothing but a sleep.
        if let Limit::After(time) = limit {
            unsafe { super::sleeping::nanosleep(&time, std::ptr::null_mut()) };
            return 0;
        }
    }
    let none = timespec { tv_sec: 0, tv_nsec: 0 };
    let look = || unsafe { next::ppoll(list, count, &none, std::ptr::null()) };
    wait_for(|kernel| of_all(kernel, all), all, limit, look, block)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn poll(list: *mut pollfd, count: nfds_t, time: c_int) -> c_int {
    let limit = Limit::milliseconds(time);
    let native = match limit {
        Limit::Zero => Some(timespec { tv_sec: 0, tv_nsec: 0 }),
        Limit::After(time) => Some(time),
        Limit::Never => None,
    };
    let time = native.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    unsafe { poll_until(list, count, limit, || next::ppoll(list, count, time, std::ptr::null())) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __poll(list: *mut pollfd, count: nfds_t, time: c_int) -> c_int {
    unsafe { poll(list, count, time) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __poll_chk(
    list: *mut pollfd,
    count: nfds_t,
    time: c_int,
    _: usize,
) -> c_int {
    unsafe { poll(list, count, time) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ppoll(
    list: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let block = || unsafe { next::ppoll(list, count, time, mask) };
    if !mask.is_null() {
        // A signal may end it: the kernel alone can change the mask and wait at once.
        let all: &[pollfd] = match count {
            0 => &[],
            _ => unsafe { std::slice::from_raw_parts(list, count as usize) },
        };
        return around(|kernel| of_all(kernel, all), None, block);
    }
    unsafe { poll_until(list, count, Limit::time(time), block) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ppoll_chk(
    list: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
    _: usize,
) -> c_int {
    unsafe { ppoll(list, count, time, mask) }
}

/// The sets of a select as a list.
unsafe fn as_list(
    count: c_int,
    read: *const fd_set,
    write: *const fd_set,
    except: *const fd_set,
) -> Vec<pollfd> {
    let has = |set: *const fd_set, fd: c_int| !set.is_null() && unsafe { libc::FD_ISSET(fd, set) };
    let events = |fd: c_int| {
        let sets = [(read, libc::POLLIN), (write, libc::POLLOUT), (except, libc::POLLPRI)];
        sets.iter().filter(|(set, _)| has(*set, fd)).fold(0, |all, (_, event)| all | event)
    };
    (0..count)
        .map(|fd| pollfd { fd, events: events(fd), revents: 0 })
        .filter(|one| one.events != 0)
        .collect()
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let block = || unsafe { next::pselect(count, read, write, except, time, mask) };
    let Some(list) = enter(|_| unsafe { as_list(count, read, write, except) }) else {
        return block();
    };
    let limit = unsafe { Limit::time(time) };
    if list.is_empty() && mode() == Mode::Scheduled && mask.is_null() {
        if let Limit::After(time) = limit {
            unsafe { super::sleeping::nanosleep(&time, std::ptr::null_mut()) };
            return 0;
        }
    }
    let uses = |kernel: &mut Kernel| of_all(kernel, &list);
    let result = if mask.is_null() {
        let copy = |set: *mut fd_set| unsafe { set.as_ref().copied() };
        let sets = [copy(read), copy(write), copy(except)];
        let look = || unsafe {
            // Each look begins with what was asked for.
            for (set, asked) in [read, write, except].into_iter().zip(&sets) {
                if let Some(asked) = asked {
                    *set = *asked;
                }
            }
            let none = timespec { tv_sec: 0, tv_nsec: 0 };
            next::pselect(count, read, write, except, &none, std::ptr::null())
        };
        wait_for(uses, &list, limit, look, block)
    } else {
        around(uses, None, block)
    };
    keeping_errno(|| enter(|_| drop(list)));
    result
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    let native = unsafe { time.as_ref() }
        .map(|time| timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1000 });
    let time = native.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    unsafe { pselect(count, read, write, except, time, std::ptr::null()) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait(
    fd: c_int,
    list: *mut epoll_event,
    count: c_int,
    milliseconds: c_int,
    mask: *const sigset_t,
) -> c_int {
    let block = || unsafe { next::epoll_pwait(fd, list, count, milliseconds, mask) };
    if !mask.is_null() {
        return around(|kernel| kernel.input(fd), None, block);
    }
    let waits = [pollfd { fd, events: libc::POLLIN, revents: 0 }];
    let look = || unsafe { next::epoll_pwait(fd, list, count, 0, std::ptr::null()) };
    wait_for(|kernel| kernel.input(fd), &waits, Limit::milliseconds(milliseconds), look, block)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_wait(
    fd: c_int,
    list: *mut epoll_event,
    count: c_int,
    milliseconds: c_int,
) -> c_int {
    unsafe { epoll_pwait(fd, list, count, milliseconds, std::ptr::null()) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait2(
    fd: c_int,
    list: *mut epoll_event,
    count: c_int,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let milliseconds = match unsafe { time.as_ref() } {
        None => -1,
        Some(time) => (time.tv_sec * 1000 + (time.tv_nsec + 999_999) / 1_000_000) as c_int,
    };
    unsafe { epoll_pwait(fd, list, count, milliseconds, mask) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_ctl(
    fd: c_int,
    operation: c_int,
    of: c_int,
    event: *mut epoll_event,
) -> c_int {
    let uses = |kernel: &mut Kernel| {
        let mut uses = kernel.both(fd);
        uses.join(&kernel.both(of));
        uses.quiet()
    };
    let call = || unsafe { next::epoll_ctl(fd, operation, of, event) };
    around_then(uses, None, call, |kernel, &status| {
        // From now on, who waits for the one notices the other.
        if status == 0 && operation != libc::EPOLL_CTL_DEL {
            kernel.watch(fd, of);
        }
    })
}
