//! Single moves that scenes and spices are made of: each does its operation if the thread can, and
//! else nothing.

use foretrace_trace::*;

use super::{Held, Machine, Pending, Reached, Waiter};
use crate::profile::Action;

impl Machine {
    /// Takes the lock if it can be had.
    pub(super) fn acquire(&mut self, thread: usize, lock: LockId, mode: Mode) {
        if self.is_idle(thread) && self.take(thread, lock, mode) {
            let patience = self.impatience();
            self.record(thread, Op::Acquire { lock, mode, patience });
        }
    }

    /// Gives the lock back if the thread has it.
    pub(super) fn release(&mut self, thread: usize, lock: LockId) {
        let held = self.holds.iter().rev().find(|held| held.thread == thread && held.lock == lock);
        if let Some(&held) = held.filter(|_| self.is_idle(thread) && !self.is_destroyed(lock)) {
            self.give(held);
            self.record(thread, Op::Release { lock, mode: held.mode });
        }
    }

    pub(super) fn holder(&self, lock: LockId) -> Option<usize> {
        self.holds.iter().find(|held| held.lock == lock).map(|held| held.thread)
    }

    /// Touches memory if the thread is in the middle of nothing.
    pub(super) fn touch(&mut self, thread: usize, action: Action) {
        if self.is_idle(thread) {
            self.access(thread, action);
        }
    }

    /// Begins or ends a region.
    pub(super) fn mark(&mut self, thread: usize, action: Action) {
        if self.is_idle(thread) {
            self.act(thread, action);
        }
    }

    pub(super) fn post(&mut self, thread: usize, sem: Option<SemId>) {
        if !self.is_idle(thread) {
            return;
        }
        if let Some(entry) = self.semaphores.iter_mut().find(|(id, _)| Some(*id) == sem) {
            entry.1 += 1;
            let sem = entry.0;
            self.record(thread, Op::SemPost { sem });
        }
    }

    /// Waits, if the thread has the lock in exactly one mode. Returns whether it does.
    pub(super) fn wait_on(
        &mut self,
        thread: usize,
        lock: LockId,
        timed: bool,
        plan: WakeReason,
    ) -> bool {
        let own = |held: &&Held| held.thread == thread && held.lock == lock;
        let mut holds = self.holds.iter().filter(own).copied();
        let (Some(held), None) = (holds.next(), holds.next()) else { return false };
        if !self.is_idle(thread) || self.is_destroyed(lock) {
            return false;
        }
        let cond = self.conds[0];
        self.holds.retain(|other| *other != held);
        self.waiters.push(Waiter { thread, cond, held, plan, reached: Reached::ByNothing });
        self.record(thread, Op::Wait { cond, lock, timed });
        self.threads[thread].pending = Some(Pending::Wake);
        true
    }

    pub(super) fn notify(&mut self, thread: usize, cond: CondId) {
        if !self.is_idle(thread) {
            return;
        }
        if self.random.chance(70) {
            self.signal_on(thread, cond);
        } else {
            self.broadcast_on(thread, cond);
        }
    }

    /// Waits for a token that nobody ever posts.
    pub(super) fn hang(&mut self, thread: usize) {
        let sem = self.trace.semaphore("never");
        self.trace.set_semaphore(sem, 0);
        if self.semaphores.iter().all(|(known, _)| *known != sem) {
            self.semaphores.push((sem, 0));
        }
        self.record(thread, Op::Request(Request::SemWait(sem)));
        self.threads[thread].pending = Some(Pending::SemWait(sem));
    }

    /// Destroys the lock if nobody has it.
    pub(super) fn destroy_lock(&mut self, thread: usize, known: usize) {
        let lock = self.locks[known].id;
        let waited_for = self.waiters.iter().any(|waiter| waiter.held.lock == lock);
        if self.is_idle(thread)
            && self.holder(lock).is_none()
            && !self.is_destroyed(lock)
            && !waited_for
        {
            self.locks[known].destroyed = true;
            self.record(thread, Op::Destroy { lock });
        }
    }
}
