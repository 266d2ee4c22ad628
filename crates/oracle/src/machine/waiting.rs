//! What threads of the simulated machine wait for: condition variables, semaphores, barriers, and
//! other threads' ends.

use foretrace_trace::*;

use super::{Held, Machine, Pending, Reached, Waiter};

impl Machine {
    pub(super) fn wait(&mut self, thread: usize) {
        let own: Vec<Held> = self.holds.iter().filter(|h| h.thread == thread).copied().collect();
        if own.is_empty() {
            return;
        }
        let held = self.random.pick(&own);
        if own.iter().filter(|other| other.lock == held.lock).count() > 1 {
            return;
        }
        let cond = self.random.pick(&self.conds);
        let timed = self.random.chance(25);
        let plan = match self.random.below(10) {
            0..=3 if timed => WakeReason::TimedOut,
            4 => WakeReason::Spurious,
            _ => WakeReason::Notified,
        };
        self.holds.retain(|other| *other != held);
        self.waiters.push(Waiter { thread, cond, held, plan, reached: Reached::ByNothing });
        self.record(thread, Op::Wait { cond, lock: held.lock, timed });
        self.threads[thread].pending = Some(Pending::Wake);
    }

    pub(super) fn end_wait(&mut self, thread: usize) -> Option<Op> {
        let index = self.waiters.iter().position(|waiter| waiter.thread == thread)?;
        let Waiter { cond, held, plan, reached, .. } = self.waiters[index];
        let over = plan != WakeReason::Notified || reached == Reached::ByNotify;
        if !over || self.is_taken(thread, held.lock, held.mode) || self.is_destroyed(held.lock) {
            return None;
        }
        self.waiters.remove(index);
        self.holds.push(held);
        Some(Op::Wake { cond, lock: held.lock, reason: plan })
    }

    pub(super) fn signal(&mut self, thread: usize) {
        let cond = self.random.pick(&self.conds);
        self.signal_on(thread, cond);
    }

    pub(super) fn signal_on(&mut self, thread: usize, cond: CondId) {
        let waiting: Vec<usize> = (0..self.waiters.len())
            .filter(|&index| {
                let waiter = self.waiters[index];
                waiter.cond == cond && waiter.reached == Reached::ByNothing
            })
            .collect();
        let wakeable: Vec<usize> = waiting
            .iter()
            .copied()
            .filter(|&index| self.waiters[index].plan == WakeReason::Notified)
            .collect();
        if wakeable.is_empty() {
            for index in waiting {
                self.waiters[index].reached = Reached::Passed;
            }
        } else {
            let woken = self.random.pick(&wakeable);
            self.waiters[woken].reached = Reached::ByNotify;
        }
        self.record(thread, Op::Signal { cond });
    }

    pub(super) fn broadcast(&mut self, thread: usize) {
        let cond = self.random.pick(&self.conds);
        self.broadcast_on(thread, cond);
    }

    pub(super) fn broadcast_on(&mut self, thread: usize, cond: CondId) {
        for waiter in &mut self.waiters {
            if waiter.cond == cond && waiter.reached == Reached::ByNothing {
                let notified = waiter.plan == WakeReason::Notified;
                waiter.reached = if notified { Reached::ByNotify } else { Reached::Passed };
            }
        }
        self.record(thread, Op::Broadcast { cond });
    }

    /// Takes one from the semaphore if there is one.
    pub(super) fn decrement(&mut self, sem: SemId) -> bool {
        let entry = self.semaphores.iter_mut().find(|(id, _)| *id == sem);
        let count = &mut entry.expect("the semaphore exists").1;
        let positive = *count > 0;
        *count = count.saturating_sub(1);
        positive
    }

    pub(super) fn sem_wait(&mut self, thread: usize) {
        let chosen = self.random.below(self.semaphores.len());
        let sem = self.semaphores[chosen].0;
        let patience = self.impatience();
        if self.decrement(sem) {
            self.record(thread, Op::SemWait { sem, patience });
        } else if patience == Patience::Blocking {
            self.request(thread, Request::SemWait(sem), Pending::SemWait(sem));
        } else {
            self.record(thread, Op::SemWaitFailed { sem, patience });
        }
    }

    pub(super) fn arrive(&mut self, thread: usize) {
        if self.threads[thread].arrived.is_some() {
            return;
        }
        let barrier = &mut self.barriers[0];
        let (id, round) = (barrier.id, barrier.arrivals / barrier.parties);
        barrier.arrivals += 1;
        self.threads[thread].arrived = Some((id, round));
        self.record(thread, Op::Arrive { barrier: id });
        // Most threads block until the others come; some have something to do first.
        if self.random.chance(75) {
            self.threads[thread].pending = Some(Pending::Leave);
        }
    }

    pub(super) fn leave(&mut self, thread: usize) -> Option<Op> {
        let (barrier, round) = self.threads[thread].arrived?;
        let known = self.barriers.iter().find(|known| known.id == barrier)?;
        if known.arrivals < (round + 1) * known.parties {
            return None;
        }
        self.threads[thread].arrived = None;
        Some(Op::Leave { barrier })
    }

    pub(super) fn join(&mut self, thread: usize) {
        let child = self.some_thread();
        if child == thread || !self.threads[child].started || self.threads[child].id.is_none() {
            return;
        }
        let id = self.thread_id(child);
        if self.threads[child].done {
            self.record(thread, Op::Join { child: id });
        } else {
            self.request(thread, Request::Join(id), Pending::Join(child));
        }
    }
}
