//! Locks of the simulated machine, and their misuse.

use foretrace_trace::*;

use super::{Held, Lock, Machine, Pending};
use crate::profile::Action;

impl Machine {
    pub(super) fn is_destroyed(&self, lock: LockId) -> bool {
        self.locks.iter().any(|known| known.id == lock && known.destroyed)
    }

    fn own(&self, thread: usize, lock: LockId, mode: Mode) -> Option<usize> {
        self.holds.iter().position(|h| h.thread == thread && h.lock == lock && h.mode == mode)
    }

    pub(super) fn is_taken(&self, thread: usize, lock: LockId, mode: Mode) -> bool {
        let conflicts =
            |held: &Held| held.lock == lock && held.thread != thread && held.mode.conflicts(mode);
        self.holds.iter().any(conflicts)
    }

    /// Takes the lock if the thread can have it now.
    pub(super) fn take(&mut self, thread: usize, lock: LockId, mode: Mode) -> bool {
        if self.is_destroyed(lock) || self.is_taken(thread, lock, mode) {
            return false;
        }
        match self.own(thread, lock, mode) {
            Some(own) => {
                let recursive = self.locks.iter().any(|known| known.id == lock && known.recursive);
                if !recursive && mode == Mode::Exclusive {
                    return false;
                }
                self.holds[own].depth += 1;
            }
            None => self.holds.push(Held { thread, lock, mode, depth: 1 }),
        }
        true
    }

    pub(super) fn give(&mut self, held: Held) {
        let index = self.holds.iter().position(|other| *other == held).expect("it is held");
        if held.depth > 1 {
            self.holds[index].depth -= 1;
        } else {
            self.holds.remove(index);
        }
    }

    pub(super) fn lock(&mut self, thread: usize) {
        let chosen = self.random.below(self.locks.len());
        let Lock { id: lock, has_readers, recursive, destroyed } = self.locks[chosen];
        // Locks that are taken twice hang their thread, and then nothing else happens in it.
        let again = self.holds.iter().any(|held| held.thread == thread && held.lock == lock);
        if destroyed || (again && !recursive && !self.random.chance(10)) {
            return;
        }
        let mode =
            if has_readers && self.random.chance(55) { Mode::Shared } else { Mode::Exclusive };
        let patience = self.impatience();
        if patience == Patience::Blocking && self.random.chance(self.habits.requests / 2) {
            self.record(thread, Op::Request(Request::Acquire(lock, mode)));
            self.threads[thread].pending = Some(Pending::Acquire(lock, mode));
        } else if self.take(thread, lock, mode) {
            self.record(thread, Op::Acquire { lock, mode, patience });
        } else if patience == Patience::Blocking {
            self.request(thread, Request::Acquire(lock, mode), Pending::Acquire(lock, mode));
        } else {
            self.record(thread, Op::AcquireFailed { lock, mode, patience });
        }
    }

    /// Takes two or three locks at once and gives them back, in random orders. Undisturbed in the
    /// recorded run, so that it is other schedules that deadlock.
    pub(super) fn nest(&mut self, thread: usize) {
        let depth = if self.random.chance(20) { 3 } else { 2 };
        for _ in 0..depth {
            let chosen = self.random.below(self.locks.len());
            let Lock { id: lock, has_readers, .. } = self.locks[chosen];
            let shared = has_readers && self.random.chance(40);
            let mode = if shared { Mode::Shared } else { Mode::Exclusive };
            let has = |held: &Held| held.thread == thread && held.lock == lock;
            if self.holds.iter().any(has) || !self.take(thread, lock, mode) {
                continue;
            }
            let patience = self.impatience();
            self.record(thread, Op::Acquire { lock, mode, patience });
            let action = self.action();
            if action != Action::Nest && self.random.chance(25) {
                self.act(thread, action);
            }
            if !self.is_idle(thread) {
                return;
            }
        }
        if self.random.chance(85) {
            for _ in 0..depth {
                self.unlock(thread);
            }
        }
    }

    pub(super) fn unlock(&mut self, thread: usize) {
        let own: Vec<Held> = self.holds.iter().filter(|h| h.thread == thread).copied().collect();
        if own.is_empty() {
            return;
        }
        let held = self.random.pick(&own);
        self.give(held);
        self.record(thread, Op::Release { lock: held.lock, mode: held.mode });
    }

    /// A release of a lock that another thread has, or nobody.
    pub(super) fn misuse(&mut self, thread: usize) {
        let chosen = self.random.below(self.locks.len());
        self.misuse_of(thread, self.locks[chosen].id);
    }

    pub(super) fn misuse_of(&mut self, thread: usize, lock: LockId) {
        let known = self.locks.iter().find(|known| known.id == lock).expect("the lock exists");
        let Lock { destroyed, has_readers, .. } = *known;
        let held: Vec<Held> = self.holds.iter().filter(|held| held.lock == lock).copied().collect();
        if destroyed {
            return;
        }
        match held[..] {
            [] => {
                let shared = has_readers && self.random.chance(50);
                let mode = if shared { Mode::Shared } else { Mode::Exclusive };
                self.record(thread, Op::Release { lock, mode });
            }
            [held] if held.thread != thread && held.mode == Mode::Exclusive && held.depth == 1 => {
                self.give(held);
                self.record(thread, Op::Release { lock, mode: Mode::Exclusive });
            }
            _ => {}
        }
    }

    pub(super) fn destroy(&mut self, thread: usize) {
        let chosen = self.random.below(self.locks.len());
        let lock = self.locks[chosen].id;
        let is_free = self.holds.iter().all(|held| held.lock != lock);
        if is_free && !self.locks[chosen].destroyed && self.random.chance(50) {
            self.locks[chosen].destroyed = true;
            self.record(thread, Op::Destroy { lock });
        }
    }
}
