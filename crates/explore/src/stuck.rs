//! Whether nobody can ever go on, and who waits.
//!
//! **Follows.** `docs/theory.md`, section 4, *lock cycle* and *stuck*.

use foretrace_trace::{
    EventId, LockId, Mode as LockMode, Op, Patience, Request, ThreadId, WakeReason, ops,
};

use crate::fault::{Fault, is_seeded};
use crate::script::Script;
use crate::world::{Waits, World};

/// A thread at a blocked acquire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) point: EventId,
    pub(crate) lock: LockId,
    pub(crate) mode: LockMode,
}

/// Why a thread does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Halt {
    /// It waits at this point.
    Waits(EventId),
    /// It is not started, finished, or blocked, but does not wait.
    Idle,
    /// It goes on, or what it would do is not known.
    No,
}

impl Script<'_> {
    /// The point of a thread, and its last event if it has executed all.
    fn point(&self, world: &World, thread: ThreadId) -> Option<(EventId, bool)> {
        match self.next(world, thread) {
            Some(next) => Some((next, false)),
            None => self.last_executed(world, thread).map(|last| (last, true)),
        }
    }

    /// The lock that a thread wants, if it is at a blocked acquire. (Whether somebody has the lock
    /// is not asked here.)
    pub(crate) fn wants(&self, world: &World, thread: ThreadId) -> Option<Wanted> {
        let (point, is_last) = self.point(world, thread)?;
        let locks = &self.skeleton.locks;
        let hold_mode = |event: EventId| locks.hold_at(event).map(|hold| locks.hold(hold).mode);
        let (lock, mode) = match (self.step(point).op, is_last) {
            (Op::Acquire { lock, mode, patience: Patience::Blocking }, false) => {
                locks.opened_by(point)?;
                (lock, mode)
            }
            (Op::Wake { lock, .. }, false) | (Op::Wait { lock, .. }, true) => {
                (lock, hold_mode(point)?)
            }
            (Op::Request(Request::Acquire(lock, mode)), true) => (lock, mode),
            (ops!(memory object data sync call mark), _) => return None,
        };
        Some(Wanted { point, lock, mode })
    }

    /// Whether the last event of the thread is `end`, and executed.
    fn is_finished(&self, world: &World, thread: ThreadId) -> bool {
        self.last_executed(world, thread).is_some_and(|last| self.step(last).op == Op::End)
    }

    /// Why a thread does not go on.
    pub(crate) fn halts(&self, world: &World, thread: ThreadId) -> Halt {
        if !self.is_started(world, thread) || self.is_finished(world, thread) {
            return Halt::Idle;
        }
        let Some((point, is_last)) = self.point(world, thread) else { return Halt::No };
        if self.waits(world, thread, point, is_last) {
            return Halt::Waits(point);
        }
        match self.is_blocked(world, thread, point, is_last) {
            true => Halt::Idle,
            false => Halt::No,
        }
    }

    fn waits(&self, world: &World, thread: ThreadId, point: EventId, is_last: bool) -> bool {
        let is_untimed = |wait: Option<EventId>| {
            wait.is_some_and(|wait| matches!(self.step(wait).op, Op::Wait { timed: false, .. }))
        };
        let is_waiting = world.waits[thread.index()] == Waits::Waiting;
        match (self.step(point).op, is_last) {
            (Op::Acquire { lock, mode, patience: Patience::Blocking }, false) => {
                self.skeleton.locks.opened_by(point).is_some()
                    && self.is_left_locked(world, thread, lock, mode)
            }
            (Op::Request(Request::Acquire(lock, mode)), true) => {
                self.is_left_locked(world, thread, lock, mode)
            }
            (Op::Wake { reason: WakeReason::Notified, .. }, false) => {
                is_waiting && is_untimed(self.trace.previous(point))
            }
            (Op::Wait { .. }, true) => is_waiting && is_untimed(Some(point)),
            (Op::SemWait { sem, patience: Patience::Blocking }, false)
            | (Op::Request(Request::SemWait(sem)), true) => world.counts[sem.index()] == 0,
            (Op::Leave { .. }, false) | (Op::Arrive { .. }, true) => {
                !self.is_round_complete(world, point)
            }
            (Op::LeaveCall, false) | (Op::EnterCall { .. }, true) => self.is_unfed(world, point),
            (ops!(memory object data sync call mark), _) => false,
        }
    }

    /// Whether a thread that is finished has the lock in a mode that conflicts.
    fn is_left_locked(
        &self,
        world: &World,
        thread: ThreadId,
        lock: LockId,
        mode: LockMode,
    ) -> bool {
        self.holds_on(world, lock).any(|(_, owner, held)| {
            owner != thread && held.conflicts(mode) && self.is_finished(world, owner)
        })
    }

    /// Whether the thread is in a call that waits, and nothing that it waits for is there.
    pub(crate) fn is_unfed(&self, world: &World, point: EventId) -> bool {
        let Some((_, source, _)) = self.skeleton.waiting_calls.at(point) else { return false };
        let executed = |event: EventId| self.is_executed(world, event);
        !self.is_fed_for_good(world, point)
            && source.calls.iter().all(|call| {
                call.leave.is_some_and(executed) || !call.feeds.iter().copied().any(executed)
            })
    }

    /// Whether the thread is in no call that waits, or will not be unfed before it leaves it: what
    /// feeds itself is there until then, but what feeds others only until these have left.
    pub(crate) fn is_fed_for_good(&self, world: &World, point: EventId) -> bool {
        let Some((_, source, own)) = self.skeleton.waiting_calls.at(point) else { return true };
        let executed = |event: EventId| self.is_executed(world, event);
        let closers = source.closers.iter().filter(|&&closer| closer != own.enter);
        closers.chain(&own.feeds).copied().any(executed)
            || (is_seeded(Fault::FedWithOthers)
                && source.calls.iter().any(|call| {
                    !call.leave.is_some_and(executed) && call.feeds.iter().copied().any(executed)
                }))
    }

    fn is_blocked(&self, world: &World, thread: ThreadId, point: EventId, is_last: bool) -> bool {
        if let Some(wanted) = self.wants(world, thread) {
            return self.is_taken(world, thread, wanted.lock, wanted.mode)
                || (wanted.mode == LockMode::Exclusive
                    && self.would_lock_twice(world, thread, wanted.lock));
        }
        match (self.step(point).op, is_last) {
            (Op::Join { child }, false) => {
                !self.is_started(world, child) || !self.is_through(world, child)
            }
            (Op::Request(Request::Join(child)), true) => !self.is_finished(world, child),
            (ops!(memory object data sync call mark), _) => false,
        }
    }

    /// Whether the thread has the lock already, and may not take it again.
    pub(crate) fn would_lock_twice(&self, world: &World, thread: ThreadId, lock: LockId) -> bool {
        !self.skeleton.locks.is_recursive(lock)
            && self
                .holds_on(world, lock)
                .any(|(_, owner, held)| owner == thread && held == LockMode::Exclusive)
    }
}
