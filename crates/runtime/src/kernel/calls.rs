//! The beginning and the end of a call through which threads may affect each other.
//!
//! **Order.** The enter is recorded before the call is made, the leave behind it, so that the
//! effect of the call lies between them whatever else runs. Where threads run one at a time and the
//! call does not have to wait, nothing runs between.
//!
//! Only the enter is a visible operation: a replay makes the call where its plan has the enter.

use std::ffi::c_int;

use foretrace_recording::channel;
use foretrace_recording::file::flags;
use foretrace_recording::record::stream::CANCELS;
use foretrace_recording::record::{kind, unseen};
use libc::{pollfd, timespec};

use super::exchange::Source;
use super::ready::Ready;
use super::uses::Uses;
use super::{Kernel, limits};
use crate::config::{Mode, mode};
use crate::errno::keeping_errno;
use crate::interpose::clocks;
use crate::log;
use crate::schedule::{self, Waited};
use crate::sync::Pending;
use crate::thread::{Thread, enter};
use crate::world::{World, hold};

/// What a call waits for before it can be made.
#[derive(Clone, Copy)]
pub(crate) struct Wait<'a> {
    pub(crate) list: &'a [pollfd],
    pub(crate) limit: Limit,
}

/// How long a call waits.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// For ever, or until then.
    Until(Option<timespec>),
    /// As its descriptor says: perhaps not at all, perhaps as long as this option of a socket.
    OfDescriptor(i32, c_int),
}

impl<'a> Wait<'a> {
    /// What a call on one descriptor waits for, unless its flags say that it does not.
    pub(crate) fn on(list: &'a [pollfd; 1], flags: c_int, option: c_int) -> Option<Wait<'a>> {
        let limit = Limit::OfDescriptor(list[0].fd, option);
        (flags & libc::MSG_DONTWAIT == 0).then_some(Wait { list, limit })
    }

    /// Until when; `None`: it does not wait at all.
    pub(super) fn deadline(&self) -> Option<Option<timespec>> {
        match self.limit {
            Limit::Until(deadline) => Some(deadline),
            Limit::OfDescriptor(descriptor, option) => {
                limits::is_blocking(descriptor).then(|| limits::deadline(descriptor, option))
            }
        }
    }
}

/// Records that a call begins, and waits until it can be made, unless it will not be made. `None`:
/// the call touches no channel, and is none of ours.
pub(crate) fn begin(
    thread: &mut Thread,
    uses: impl Fn(&mut Kernel) -> Uses,
    wait: Option<Wait>,
    is_answered: impl FnOnce(&mut World, &Thread) -> bool,
) -> Option<Waited> {
    begin_on(thread, uses, None, wait, is_answered).map(|(waited, _)| waited)
}

/// The same of a call that may get something from outside; also returns the number of its list of
/// channels.
pub(super) fn begin_on(
    thread: &mut Thread,
    uses: impl Fn(&mut Kernel) -> Uses,
    source: Option<&Source>,
    wait: Option<Wait>,
    is_answered: impl FnOnce(&mut World, &Thread) -> bool,
) -> Option<(Waited, u64)> {
    let changes = source.is_none_or(|source| !source.only_moves_bytes);
    let mut world = hold();
    world.kernel.keep_looks(changes);
    if uses(&mut world.kernel).is_empty() {
        world.kernel.look_anew();
        return None;
    }
    drop(world);
    let (site, ordinal) = (thread.call_site, thread.ordinal);
    thread.point(kind::ENTER_CALL, site, 0, 0);
    let mut world = hold();
    // Another thread may have changed what a number stands for while this one waited for its turn.
    let uses = uses(&mut world.kernel);
    let uses = world.kernel.with_signals(uses);
    let world_ref = &mut *world;
    let list = world_ref.kernel.list(&mut world_ref.tables, &uses);
    let (detail, size) = source
        .and_then(|source| source.stream)
        .map_or((0, 0), |stream| stream(&mut world_ref.kernel, &mut world_ref.tables));
    let size = if detail == 0 { 0 } else { size };
    let detail = if detail == 0 { uses.detail() } else { detail };
    world.stamped(thread, kind::ENTER_CALL, detail, site, [list, size]);
    world.kernel.changing(changes.into());
    thread.calls.push(Open { site: 0, stack: 0, every: uses.is_every(), inside: true, changes });
    if is_answered(&mut world, thread) {
        return Some((Waited::Ready, list));
    }
    world.kernel.expire_if_any();
    let Some(wait) = wait.filter(|_| mode() == Mode::Scheduled) else {
        return Some((Waited::Ready, list));
    };
    if world.kernel.is_there(wait.list) {
        return Some((Waited::Ready, list));
    }
    let Some(deadline) = wait.deadline() else { return Some((Waited::Ready, list)) };
    let outside = wait.list.iter().any(|one| world.kernel.is_fed_from_outside(one.fd));
    let ready = Ready::new(wait.list, outside);
    if let Some(deadline) = deadline
        && !outside
        && world.is_last_step(thread.index, ordinal)
    {
        clocks::jump(deadline);
        return Some((Waited::TimedOut, list));
    }
    let (_world, waited) = schedule::block(world, thread, Pending::Ready(ready), deadline);
    Some((waited, list))
}

/// Records that the innermost call came back.
pub(crate) fn end(thread: &mut Thread) {
    hold().kernel.look_anew();
    end_with(thread, 0);
}

/// The same, with what it returned; what it changed about descriptors is known.
pub(crate) fn end_with(thread: &mut Thread, result: i64) {
    let changes = thread.calls.pop().is_some_and(|call| call.changes);
    let site = thread.call_site;
    let mut world = hold();
    world.kernel.changing(-i32::from(changes));
    world.stamped(thread, kind::LEAVE_CALL, 0, site, [result as u64]);
    world.kernel.knows_numbers(thread.index);
    if world.kernel.has_new_answer(thread.index) {
        world.stamped(thread, kind::UNSEEN, unseen::LOOKED, site, []);
    }
}

/// Records that the thread is about to cancel another one.
pub(crate) fn begin_cancelling(thread: &mut Thread, other: u32) {
    log::flag(flags::WAITS_END);
    let site = thread.call_site;
    thread.point(kind::ENTER_CALL, site, 0, 0);
    hold().stamped(thread, kind::ENTER_CALL, CANCELS, site, [channel::EVERY, u64::from(other)]);
    thread.calls.push(Open { site: 0, stack: 0, every: false, inside: true, changes: false });
}

/// Waits once more for what an open call waits for.
pub(crate) fn wait_more(
    thread: &mut Thread,
    list: &[pollfd],
    deadline: Option<timespec>,
) -> Waited {
    let mut world = hold();
    let outside = list.iter().any(|one| world.kernel.is_fed_from_outside(one.fd));
    let ready = Ready::new(list, outside);
    schedule::block(world, thread, Pending::Ready(ready), deadline).1
}

/// Makes a call. `errno` is as the call leaves it.
pub(crate) fn around<R>(
    uses: impl Fn(&mut Kernel) -> Uses,
    wait: Option<Wait>,
    call: impl FnOnce() -> R,
) -> R {
    around_then(uses, wait, call, |_, _| ())
}

/// Makes a call; `then` brings what is known of the kernel up to date, before others can make
/// calls.
pub(crate) fn around_then<R>(
    uses: impl Fn(&mut Kernel) -> Uses,
    wait: Option<Wait>,
    call: impl FnOnce() -> R,
    then: impl FnOnce(&mut Kernel, &R),
) -> R {
    let is_open = enter(|thread| begin(thread, uses, wait, |_, _| false)).flatten().is_some();
    let result = call();
    keeping_errno(|| {
        enter(|thread| {
            let mut world = hold();
            world.kernel.look_anew();
            then(&mut world.kernel, &result);
            drop(world);
            if is_open {
                end(thread);
            }
        })
    });
    result
}

/// A function of a library that the program calls at `site` begins: one that uses these channels,
/// or one that nothing is known of.
pub(crate) fn begin_library(thread: &mut Thread, site: u64, target: u64, uses: impl Fn() -> Uses) {
    hold().kernel.look_anew();
    if uses().is_empty() {
        return;
    }
    thread.point(kind::ENTER_CALL, site, 0, 0);
    // Another thread may have changed what a number stands for while this one waited for its turn.
    let uses = uses();
    let uses = hold().kernel.with_signals(uses);
    let (every, inside) = (uses.is_every(), uses.is_inside());
    let here = Open { site, stack: stack(), every, inside, changes: true };
    if thread.calls.contains(&here) {
        // The same call of the same frame: it was jumped out of.
        leave_upto(thread, |call| *call == here);
    }
    let mut world = hold();
    let world = &mut *world;
    let list = world.kernel.list(&mut world.tables, &uses);
    if list == channel::EVERY {
        world.kernel.unknown(&mut world.tables, target);
    }
    world.stamped(thread, kind::ENTER_CALL, 0, site, [list, target]);
    world.kernel.changing(1);
    thread.calls.push(here);
}

/// The function that the program called at `site` came back: so have all that it called, if they
/// were jumped out of.
pub(crate) fn end_library(thread: &mut Thread, site: u64) {
    if thread.calls.iter().any(|call| call.site == site) {
        leave_upto(thread, |call| call.site == site);
    }
}

/// Whether the thread is in a call of a library function that the program made at `site`, and other
/// threads of the process may see what it does.
pub(crate) fn is_open(thread: &Thread, site: u64) -> bool {
    thread.calls.last().is_some_and(|call| call.site == site && call.inside)
}

/// Whether the thread is in a call of a function that the program made at `site`, and nothing is
/// known of that.
pub(crate) fn is_unknown(thread: &Thread, site: u64) -> bool {
    thread.calls.last().is_some_and(|call| call.site == site && call.every)
}

fn leave_upto(thread: &mut Thread, is_last: impl Fn(&Open) -> bool) {
    while let Some(call) = thread.calls.pop() {
        let mut world = hold();
        world.kernel.look_anew();
        world.kernel.changing(-i32::from(call.changes));
        world.stamped(thread, kind::LEAVE_CALL, 0, call.site, [0]);
        world.kernel.knows_numbers(thread.index);
        if world.kernel.has_new_answer(thread.index) {
            world.stamped(thread, kind::UNSEEN, unseen::LOOKED, call.site, []);
        }
        if is_last(&call) {
            break;
        }
    }
}

/// A function of the program begins. If code of which nothing is known has called it, that may have
/// waited for others before, and let others go on behind. (Where threads run one at a time the
/// order of records says so.)
pub(crate) fn called_back(thread: &mut Thread) {
    if thread.calls.last().is_some_and(|call| call.every) {
        let site = thread.call_site;
        hold().stamped(thread, kind::UNSEEN, unseen::CALLED_BACK, site, []);
    }
}

/// Whether the thread is in code of which nothing is known, or was called by it.
pub(super) fn is_in_unknown_call(thread: &Thread) -> bool {
    thread.calls.iter().any(|call| call.every)
}

/// The thread has jumped, or was thrown: whatever it was in may have come back, or may go on.
pub(crate) fn landed(thread: &mut Thread) {
    let site = thread.call_site;
    for _ in 0..thread.calls.len() {
        hold().stamped(thread, kind::LEAVE_CALL, 0, site, [0]);
    }
    for _ in 0..thread.calls.len() {
        thread.point(kind::ENTER_CALL, site, 0, 0);
        hold().stamped(thread, kind::ENTER_CALL, 0, site, [channel::EVERY, 0]);
    }
}

/// A call that has not come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    /// Where the program makes it; 0 for those before which the runtime stands.
    site: u64,
    /// How deep the stack is.
    stack: u64,
    /// Nothing is known of what is called.
    every: bool,
    /// It may change what descriptors stand for.
    changes: bool,
    /// Threads of the process may see what it does.
    inside: bool,
}

/// Where the stack of the caller's caller is; always by the same way from the hook.
#[inline(never)]
fn stack() -> u64 {
    let here = 0u8;
    std::hint::black_box(&raw const here) as u64
}
