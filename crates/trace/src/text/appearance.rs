//! In which order the names of a trace appear in its text.
//!
//! **Computes.** Table by table, whether reading the events back would give every name the id that
//! it has now.
//!
//! **Invariant.** Names are visited in the order in which the parser meets them: declared locks,
//! semaphores and barriers, initial values, benign places, then the events, each from left to
//! right.

use crate::event::*;
use crate::ids::*;
use crate::ops;
use crate::store::{LockKind, Trace};

/// Whether the names of each table first appear in the order of their ids.
#[derive(Default)]
pub(super) struct Appearance {
    pub(super) threads: InOrder,
    pub(super) objects: InOrder,
    pub(super) locks: InOrder,
    pub(super) conds: InOrder,
    pub(super) semaphores: InOrder,
    pub(super) barriers: InOrder,
    pub(super) channels: InOrder,
    pub(super) channel_lists: InOrder,
    pub(super) functions: InOrder,
    pub(super) locations: InOrder,
    pub(super) names: InOrder,
}

/// How many ids have appeared, as long as each new one was the next.
pub(super) struct InOrder(Option<u32>);

impl Default for InOrder {
    fn default() -> InOrder {
        InOrder(Some(0))
    }
}

impl InOrder {
    /// They do not appear in order.
    pub(super) fn none() -> InOrder {
        InOrder(None)
    }

    fn visit(&mut self, id: u32) {
        self.0 = match self.0 {
            Some(seen) if id == seen => Some(seen + 1),
            Some(seen) if id > seen => None,
            unchanged => unchanged,
        };
    }

    /// Whether they are all that there are.
    pub(super) fn holds_for(&self, count: usize) -> bool {
        self.0.is_some_and(|seen| seen as usize == count)
    }
}

impl Appearance {
    pub(super) fn of(trace: &Trace) -> Appearance {
        let mut seen = Appearance::default();
        for lock in (0..trace.locks().len()).map(LockId::from) {
            if trace.lock_kind(lock) != LockKind::Unknown {
                seen.locks.visit(lock.0);
            }
        }
        for sem in (0..trace.semaphores().len()).map(SemId::from) {
            if trace.semaphore_count(sem).is_some() {
                seen.semaphores.visit(sem.0);
            }
        }
        for barrier in (0..trace.barriers().len()).map(BarrierId::from) {
            if trace.barrier_parties(barrier).is_some() {
                seen.barriers.visit(barrier.0);
            }
        }
        for channel in (0..trace.channels().len()).map(ChannelId::from) {
            if trace.is_delayed(channel) {
                seen.channels.visit(channel.0);
            }
        }
        for (at, _) in trace.initial() {
            seen.objects.visit(at.object.0);
        }
        for (at, _) in trace.benign() {
            seen.objects.visit(at.object.0);
        }
        for (id, event) in trace.events() {
            seen.event(trace, id, event);
        }
        seen
    }

    fn event(&mut self, trace: &Trace, id: EventId, event: Event) {
        self.threads.visit(event.thread.0);
        if let Some(name) = trace.binding(id) {
            self.names.visit(name.0);
        }
        match event.op {
            Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => {
                self.objects.visit(at.object.0)
            }
            Op::Alloc { object, .. } | Op::Free { object } => self.objects.visit(object.0),
            Op::Acquire { lock, .. }
            | Op::AcquireFailed { lock, .. }
            | Op::Release { lock, .. }
            | Op::Destroy { lock }
            | Op::Request(Request::Acquire(lock, _)) => self.locks.visit(lock.0),
            Op::Wait { cond, lock, .. } | Op::Wake { cond, lock, .. } => {
                self.conds.visit(cond.0);
                self.locks.visit(lock.0);
            }
            Op::Signal { cond } | Op::Broadcast { cond } => self.conds.visit(cond.0),
            Op::SemWait { sem, .. }
            | Op::SemWaitFailed { sem, .. }
            | Op::SemPost { sem }
            | Op::Request(Request::SemWait(sem)) => self.semaphores.visit(sem.0),
            Op::Arrive { barrier } | Op::Leave { barrier } => self.barriers.visit(barrier.0),
            Op::Fork { child } | Op::Join { child } | Op::Request(Request::Join(child)) => {
                self.threads.visit(child.0)
            }
            Op::EnterCall { on, by } => {
                if let Channels::Only(list) = trace.channels_of(on) {
                    list.iter().for_each(|(channel, _)| self.channels.visit(channel.0));
                }
                if let Some(Awaited { source, piece }) = trace.awaited(on) {
                    self.channels.visit(source.0);
                    piece.inspect(|piece| self.channels.visit(piece.0));
                }
                self.channel_lists.visit(on.0);
                by.inspect(|by| self.functions.visit(by.0));
            }
            ops!(data mark Begin End Exit LeaveCall) => {}
        }
        if let Some(location) = event.location {
            self.locations.visit(location.0);
        }
    }
}
