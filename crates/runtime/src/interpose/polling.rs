//! Waiting for several descriptors at once: poll, select, epoll.
//!
//! Where threads run one at a time these calls never block in the kernel: they look, give up the
//! turn, and look again. A time limit is over when nobody else can run.

use std::ffi::c_int;

use foretrace_recording::channel::OUTSIDE;
use foretrace_recording::channel::direction::{GIVES, TAKES};
use foretrace_recording::input::{Input, call, problem};
use foretrace_recording::record::stream;
use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use crate::config::{Mode, mode};
use crate::errno::{keeping_errno, set_errno};
use crate::kernel::Kernel;
use crate::kernel::calls::{self, Wait};
use crate::kernel::exchange::{Areas, Begun, Fate, Source, finish, follow, give, start};
use crate::kernel::ready;
use crate::kernel::uses::Uses;
use crate::log::Writer;
use crate::real::{pass_on, real, variants};
use crate::schedule::Waited;
use crate::thread::enter;
use crate::world::hold;

mod next {
    use super::*;
    real!(fn ppoll(list: *mut pollfd, count: nfds_t, time: *const timespec,
        mask: *const sigset_t) -> c_int);
    real!(fn pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        time: *const timespec, mask: *const sigset_t) -> c_int);
    real!(fn epoll_pwait(fd: c_int, list: *mut epoll_event, count: c_int, milliseconds: c_int,
        mask: *const sigset_t) -> c_int);
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

    /// # Safety
    ///
    /// It is null, or leads to a time.
    unsafe fn time(time: *const timespec) -> Limit {
        // SAFETY: the caller says so.
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

/// Visits the descriptors that an answer says to be ready, and how.
type Said<'a> = &'a dyn Fn(&mut Kernel, i64, &mut dyn FnMut(c_int, i16));

/// A call that waits for descriptors.
struct Call<'a> {
    number: u32,
    list: &'a [pollfd],
    limit: Limit,
    /// Visits the memory that it sets.
    areas: Areas<'a>,
    /// The descriptors that it says to be ready, and how, once that memory is set.
    said: Said<'a>,
}

/// Looks with `look`, again and again, until there is something, the time is over, or a signal
/// comes.
fn wait_for(
    call: &Call,
    uses: impl Fn(&mut Kernel) -> Uses,
    look: impl Fn() -> c_int,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let outside = |kernel: &mut Kernel| {
        call.list.iter().any(|one| one.fd >= 0 && kernel.is_answered_by_others(one.fd))
    };
    // A replay may begin the wait when more is watched already than in the recorded run.
    let looks = |kernel: &mut Kernel, tables: &mut Writer| looks_at(kernel, tables, call);
    let source = Source {
        optional: true,
        stream: Some(&looks),
        only_moves_bytes: true,
        ..Source::new(call.number, &outside)
    };
    let gives_way = mode() == Mode::Scheduled && !matches!(call.limit, Limit::Zero);
    let (list, deadline) = (call.list, call.limit.deadline());
    let wait = gives_way.then_some(Wait { list, limit: calls::Limit::Until(deadline) });
    let Some(mut begun) = start(&source, &uses, wait) else { return block() };
    let result = match &begun.fate {
        Fate::Answered(answer) => {
            give(answer, call.areas);
            is_true(call, answer.result);
            answer.result as c_int
        }
        _ if !gives_way => block(),
        _ => {
            let mut waited = begun.waited;
            loop {
                let result = look();
                if result != 0 || waited == Waited::TimedOut {
                    break result;
                }
                if waited == Waited::Cancelled {
                    super::cancellation::end_if_cancelled();
                }
                if waited == Waited::Interrupted {
                    set_errno(libc::EINTR);
                    break -1;
                }
                waited = wait_again(list, deadline);
            }
        }
    };
    let is_late = is_late(&mut begun, &outside);
    finish(&begun, &source, i64::from(result), call.areas, |_| ());
    keeping_errno(|| follow(&begun, &source, &uses));
    if is_late {
        // What was sent before the answer came stays before it.
        calls::around(|_| Uses::of(&[(OUTSIDE, TAKES)]), None, || ());
    }
    result
}

/// How it looks at streams and counters alone, and whether they have something to read; (0, 0) if
/// there is anything else, see [`stream::LOOKS`].
fn looks_at(kernel: &mut Kernel, tables: &mut Writer, call: &Call) -> (u8, u64) {
    let mut sources = Uses::default();
    for one in call.list.iter().filter(|one| one.fd >= 0) {
        let how = if one.events == libc::POLLIN { kernel.stream(one.fd, false) } else { 0 };
        match kernel.slot(one.fd) {
            Some(slot) if how != 0 => {
                sources.add(slot.channel, if how & stream::BACK == 0 { TAKES } else { GIVES });
            }
            _ => return (0, 0),
        }
    }
    if sources.is_empty() || sources.is_every() {
        return (0, 0);
    }
    let waits = if let Limit::Never = call.limit { stream::WAITS } else { 0 };
    (stream::LOOKS | waits, kernel.list(tables, &sources))
}

/// Whether others began to decide what a call says only while it waited, since somebody let it
/// watch more. Its result is kept then, too.
fn is_late(begun: &mut Begun, outside: &dyn Fn(&mut Kernel) -> bool) -> bool {
    let is_late = keeping_errno(|| {
        enter(|thread| {
            let mut world = hold();
            let ordinal = begun.ordinal;
            match &begun.fate {
                Fate::Answered(_) => world.answer(thread, ordinal, call::LATE).is_some(),
                Fate::Kept | Fate::Unanswered => false,
                Fate::Made if world.replay.is_some() || !outside(&mut world.kernel) => false,
                Fate::Made => {
                    begun.fate = Fate::Kept;
                    let (thread, call) = (thread.index, call::LATE);
                    let late = Input { thread, call, ordinal, errno: 0, result: 0, sent: 0 };
                    world.keep_input(&late, &[]);
                    true
                }
            }
        })
    });
    is_late.unwrap_or(false)
}

/// An answer may also say of descriptors that only the process itself feeds that they are ready:
/// then they must be, at the latest when the plan lets the thread go on.
fn is_true(call: &Call, result: i64) {
    keeping_errno(|| {
        enter(|thread| {
            let mut world = hold();
            let mut said: Vec<(c_int, i16)> = Vec::new();
            (call.said)(&mut world.kernel, result, &mut |fd, events| said.push((fd, events)));
            said.retain(|&(fd, events)| events != 0 && !world.kernel.is_answered_by_others(fd));
            drop(world);
            for (fd, events) in said {
                let list = [pollfd { fd, events, revents: 0 }];
                if !ready::is_ready(fd, events) {
                    calls::wait_more(thread, &list, None);
                }
                if !ready::is_ready(fd, events) {
                    hold().other_call(thread, call.number, problem::NOT_READY);
                }
            }
        })
    });
}

/// What made the thread go on was gone when it looked.
fn wait_again(list: &[pollfd], deadline: Option<timespec>) -> Waited {
    enter(|thread| calls::wait_more(thread, list, deadline)).unwrap_or(Waited::TimedOut)
}

/// The channels of all descriptors.
fn of_all(kernel: &mut Kernel, list: &[pollfd]) -> Uses {
    let mut uses = Uses::default();
    list.iter().filter(|one| one.fd >= 0).for_each(|one| uses.join(&kernel.question(one.fd)));
    uses
}

/// A copy of the program's list, which the kernel changes while others of ours look at this one.
/// `None` from inside of the runtime.
///
/// # Safety
///
/// The list has so many elements.
unsafe fn copy_of(list: *const pollfd, count: nfds_t) -> Option<Vec<pollfd>> {
    // SAFETY: the caller says so, and nothing changes it while it is copied.
    keeping_errno(|| enter(|_| (0..count as usize).map(|at| unsafe { *list.add(at) }).collect()))
}

/// # Safety
///
/// The program has given the list to `poll` or `ppoll`, and it has so many elements.
unsafe fn poll_until(
    list: *mut pollfd,
    count: nfds_t,
    limit: Limit,
    block: impl FnOnce() -> c_int,
) -> c_int {
    if count == 0 && mode() == Mode::Scheduled {
        // Nothing but a sleep.
        if let Limit::After(time) = limit {
            pass_on!(super::sleeping::nanosleep(&time, std::ptr::null_mut()));
            return 0;
        }
    }
    let none = timespec { tv_sec: 0, tv_nsec: 0 };
    let look = || pass_on!(next::ppoll(list, count, &none, std::ptr::null()));
    let Some(all) = pass_on!(copy_of(list, count)) else { return block() };
    let (areas, said) = (poll_areas(list, count), poll_said(list, count));
    let call = poll_call(&all, limit, &areas, &said);
    let result = wait_for(&call, |kernel| of_all(kernel, &all), look, block);
    keeping_errno(|| enter(|_| drop(all)));
    result
}

/// The list is what a poll sets.
fn poll_areas(list: *mut pollfd, count: nfds_t) -> impl Fn(i64, &mut dyn FnMut(*mut u8, usize)) {
    move |_, visit| {
        if count > 0 {
            visit(list.cast(), count as usize * size_of::<pollfd>());
        }
    }
}

fn poll_said(
    list: *const pollfd,
    count: nfds_t,
) -> impl Fn(&mut Kernel, i64, &mut dyn FnMut(c_int, i16)) {
    move |_, _, each| {
        for at in 0..count as usize {
            // SAFETY: the program has given so many.
            let one = unsafe { *list.add(at) };
            each(one.fd, one.revents);
        }
    }
}

fn poll_call<'a>(list: &'a [pollfd], limit: Limit, areas: Areas<'a>, said: Said<'a>) -> Call<'a> {
    Call { number: call::POLL, list, limit, areas, said }
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
    let block = || pass_on!(next::ppoll(list, count, time, std::ptr::null()));
    pass_on!(poll_until(list, count, limit, block))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ppoll(
    list: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let block = || pass_on!(next::ppoll(list, count, time, mask));
    if !mask.is_null() {
        // A signal may end it: the kernel alone can change the mask and wait at once.
        let Some(all) = pass_on!(copy_of(list, count)) else { return block() };
        let (areas, said) = (poll_areas(list, count), poll_said(list, count));
        let call = poll_call(&all, Limit::Zero, &areas, &said);
        let result = wait_for(&call, |kernel| of_all(kernel, &all), || 0, block);
        keeping_errno(|| enter(|_| drop(all)));
        return result;
    }
    let limit = pass_on!(Limit::time(time));
    pass_on!(poll_until(list, count, limit, block))
}

/// The sets of a select as a list.
///
/// # Safety
///
/// Each is null, or has room for so many descriptors.
unsafe fn as_list(
    count: c_int,
    read: *const fd_set,
    write: *const fd_set,
    except: *const fd_set,
) -> Vec<pollfd> {
    // SAFETY: the caller says so.
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
    let block = || pass_on!(next::pselect(count, read, write, except, time, mask));
    let Some(list) = enter(|_| pass_on!(as_list(count, read, write, except))) else {
        return block();
    };
    let limit = pass_on!(Limit::time(time));
    if list.is_empty()
        && mode() == Mode::Scheduled
        && mask.is_null()
        && let Limit::After(time) = limit
    {
        pass_on!(super::sleeping::nanosleep(&time, std::ptr::null_mut()));
        return 0;
    }
    let uses = |kernel: &mut Kernel| of_all(kernel, &list);
    let sets = [(read, libc::POLLIN), (write, libc::POLLOUT), (except, libc::POLLPRI)];
    let words = (count.max(0) as usize).div_ceil(64);
    let areas = |_: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        for (set, _) in sets.iter().filter(|(set, _)| !set.is_null()) {
            visit(set.cast(), 8 * words);
        }
    };
    let said = |_: &mut Kernel, result: i64, each: &mut dyn FnMut(c_int, i16)| {
        for (set, events) in sets.iter().filter(|(set, _)| result > 0 && !set.is_null()) {
            // SAFETY: the set is one that the program has given, for `count` descriptors.
            let is_set = |fd: &c_int| unsafe { libc::FD_ISSET(*fd, *set) };
            (0..count).filter(is_set).for_each(|fd| each(fd, *events));
        }
    };
    let limit = if mask.is_null() { limit } else { Limit::Zero };
    let call = Call { number: call::SELECT, list: &list, limit, areas: &areas, said: &said };
    // SAFETY: a set is null, or one that the program has given.
    let copy = |set: *mut fd_set| unsafe { set.as_ref().copied() };
    let asked = [copy(read), copy(write), copy(except)];
    // SAFETY: sets that were copied are not null, and all are the program's; so is the rest.
    let look = || unsafe {
        // Each look begins with what was asked for.
        for (set, asked) in [read, write, except].into_iter().zip(&asked) {
            if let Some(asked) = asked {
                *set = *asked;
            }
        }
        let none = timespec { tv_sec: 0, tv_nsec: 0 };
        next::pselect(count, read, write, except, &none, std::ptr::null())
    };
    let result = wait_for(&call, uses, look, block);
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
    // SAFETY: the caller gives a time, or null.
    let native = unsafe { time.as_ref() }
        .map(|time| timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1000 });
    let time = native.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    pass_on!(pselect(count, read, write, except, time, std::ptr::null()))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait(
    fd: c_int,
    list: *mut epoll_event,
    count: c_int,
    milliseconds: c_int,
    mask: *const sigset_t,
) -> c_int {
    let room = usize::try_from(count).unwrap_or(0);
    // What the program has said of a descriptor may be an address, and another one in a replay: so
    // the descriptors are kept, too.
    let Some(mut numbers) = enter(|_| vec![-1; room]) else {
        return pass_on!(next::epoll_pwait(fd, list, count, milliseconds, mask));
    };
    let watched = numbers.as_mut_ptr();
    let find = |found: c_int| {
        keeping_errno(|| {
            enter(|_| {
                let mut world = hold();
                for at in 0..found.max(0) as usize {
                    // SAFETY: the kernel has set so many events of the caller's list, at most
                    // `count`, and there are as many numbers.
                    unsafe {
                        let says = list.add(at).read_unaligned().u64;
                        *watched.add(at) = world.kernel.watched(fd, says).unwrap_or(-1);
                    }
                }
            })
        });
        found
    };
    let block = || find(pass_on!(next::epoll_pwait(fd, list, count, milliseconds, mask)));
    let waits = [pollfd { fd, events: libc::POLLIN, revents: 0 }];
    let areas = |result: i64, visit: &mut dyn FnMut(*mut u8, usize)| {
        // In a replay the result is that of the recorded call, which may have had more room.
        let result = room.min(usize::try_from(result).unwrap_or(0));
        if result > 0 {
            visit(list.cast(), result * size_of::<epoll_event>());
            visit(watched.cast(), result * size_of::<c_int>());
        }
    };
    let said = |kernel: &mut Kernel, result: i64, each: &mut dyn FnMut(c_int, i16)| {
        for at in 0..room.min(usize::try_from(result).unwrap_or(0)) {
            // SAFETY: the caller's list has room for `count` events, and there are as many numbers;
            // those before `result` are set.
            unsafe {
                let (watched, place) = (*watched.add(at), list.add(at));
                if let Some(says) = kernel.says(fd, watched) {
                    let mut event = place.read_unaligned();
                    event.u64 = says;
                    place.write_unaligned(event);
                    each(watched, event.events as i16);
                }
            }
        }
    };
    let limit = Limit::milliseconds(if mask.is_null() { milliseconds } else { 0 });
    let call = Call { number: call::EPOLL, list: &waits, limit, areas: &areas, said: &said };
    let look = || find(pass_on!(next::epoll_pwait(fd, list, count, 0, std::ptr::null())));
    let result = wait_for(&call, |kernel| kernel.input(fd), look, block);
    keeping_errno(|| enter(|_| drop(numbers)));
    result
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait2(
    fd: c_int,
    list: *mut epoll_event,
    count: c_int,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller gives a time, or null.
    let milliseconds = match unsafe { time.as_ref() } {
        None => -1,
        Some(time) => (time.tv_sec * 1000 + (time.tv_nsec + 999_999) / 1_000_000) as c_int,
    };
    pass_on!(epoll_pwait(fd, list, count, milliseconds, mask))
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
    // What is fed from outside may be something else in a replay, which cannot be watched: that
    // makes no difference.
    let outside = |kernel: &mut Kernel| kernel.is_answered_by_others(of);
    let source = Source::new(call::WATCH, &outside);
    let make = || pass_on!(next::epoll_ctl(fd, operation, of, event));
    let Some(begun) = start(&source, uses, None) else { return make() };
    let made = make();
    let status = match &begun.fate {
        Fate::Answered(answer) => {
            give(answer, &|_, _| ());
            answer.result as c_int
        }
        _ => made,
    };
    finish(&begun, &source, i64::from(status), &|_, _| (), |kernel| {
        // From now on, who waits for the one notices the other.
        match (status, operation) {
            (0, libc::EPOLL_CTL_DEL) => kernel.unwatch(fd, of),
            // SAFETY: the caller gives an event, or null.
            (0, _) => kernel.watch(fd, of, unsafe { event.as_ref() }.map_or(0, |event| event.u64)),
            _ => {}
        }
    });
    status
}

// The same under other names, and special cases.
variants! {
    fn __poll(list: *mut pollfd, count: nfds_t, time: c_int) -> c_int = poll(list, count, time);
    fn __poll_chk(list: *mut pollfd, count: nfds_t, time: c_int, _: usize) -> c_int
        = poll(list, count, time);
    fn __ppoll_chk(list: *mut pollfd, count: nfds_t, time: *const timespec, mask: *const sigset_t,
        _: usize) -> c_int = ppoll(list, count, time, mask);
    fn epoll_wait(fd: c_int, list: *mut epoll_event, count: c_int, milliseconds: c_int) -> c_int
        = epoll_pwait(fd, list, count, milliseconds, std::ptr::null());
}
