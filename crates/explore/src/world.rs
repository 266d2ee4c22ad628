//! A state, and the rules: who may go on, and what happens then.
//!
//! **Computes.** Whether the next event of a thread is enabled, and the states after it.
//!
//! **Follows.** The table of `docs/theory.md`, section 3; `memory` has the lines about accesses.
//!
//! **Invariant.** How far each thread is determines holds, counts, rounds, lives and calls. What it
//! does not determine is kept besides: contents, values, who has strayed, who waits. `exit` is
//! never executed, since no violation lies behind it.

use foretrace_model::{HoldId, Identity, ReleaseRole};
use foretrace_trace::{
    CondId, EventId, LockId, Mode as LockMode, ObjectId, Op, SemId, ThreadId, WakeReason, ops,
};

use crate::fault::{Fault, is_seeded};
use crate::script::Script;

/// A state.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// How many events of each thread are executed.
    pub(crate) cut: Vec<u32>,
    /// What became of the wait that each thread is in.
    pub(crate) waits: Vec<Waits>,
    /// Whether a thread has seen something else than in the recorded run, and an opaque event is to
    /// come.
    pub(crate) strayed: Vec<bool>,
    /// What the cells hold that matter.
    pub(crate) cells: Vec<Identity>,
    /// What reads saw.
    pub(crate) values: Vec<u64>,
    /// The open holds.
    pub(crate) holds: Vec<HoldId>,
    /// The counts of semaphores.
    pub(crate) counts: Vec<u32>,
    pub(crate) mode: Mode,
}

/// What became of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Waits {
    /// The thread is in no wait.
    No,
    /// W
    Waiting,
    /// N
    Notified,
    /// E
    Departed,
}

/// What the schedule has committed itself to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Nothing.
    Plain,
    /// To an atomicity violation: the remote access is executed, and the second one is to become
    /// next. A thread whose last read is free is frozen.
    Armed { part: u32, first: EventId, remote: EventId, second: EventId, frozen: Option<ThreadId> },
    /// To this assertion: a read that is released for it has seen something else.
    Released(EventId),
}

/// Whether a thread can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ready {
    /// The next event is enabled.
    Now,
    /// Only in this mode.
    Otherwise(Mode),
    /// Not now.
    Blocked,
    /// Never: what would have to change is only in the thread itself.
    Never,
}

impl<'s> Script<'s> {
    /// Nothing has happened.
    pub(crate) fn start(&self) -> World {
        let threads = self.trace.threads().len();
        let sems = (0..self.trace.semaphores().len()).map(SemId::from);
        World {
            cut: vec![0; threads],
            waits: vec![Waits::No; threads],
            strayed: vec![false; threads],
            cells: self.initial.clone(),
            values: vec![0; self.value_slots],
            holds: Vec::new(),
            counts: sems.map(|sem| self.skeleton.waiting.semaphore(sem).initial).collect(),
            mode: Mode::Plain,
        }
    }

    pub(crate) fn is_executed(&self, world: &World, event: EventId) -> bool {
        (self.trace.position(event) as u32) < world.cut[self.trace.thread_of(event).index()]
    }

    pub(crate) fn is_started(&self, world: &World, thread: ThreadId) -> bool {
        self.skeleton.fork_of(thread).is_none_or(|fork| self.is_executed(world, fork))
    }

    /// Whether a thread has executed all its events.
    pub(crate) fn is_through(&self, world: &World, thread: ThreadId) -> bool {
        world.cut[thread.index()] as usize == self.trace.thread_events(thread).len()
    }

    /// The next event of a thread.
    pub(crate) fn next(&self, world: &World, thread: ThreadId) -> Option<EventId> {
        let position = world.cut[thread.index()] as usize;
        let event = *self.trace.thread_events(thread).get(position)?;
        let is_frozen = matches!(world.mode, Mode::Armed { frozen, .. } if frozen == Some(thread));
        (!is_frozen && self.is_started(world, thread)).then_some(event)
    }

    /// The last event of a thread, if it is executed.
    pub(crate) fn last_executed(&self, world: &World, thread: ThreadId) -> Option<EventId> {
        let last = *self.trace.thread_events(thread).last()?;
        self.is_through(world, thread).then_some(last)
    }

    pub(crate) fn is_live(&self, world: &World, object: ObjectId) -> bool {
        let lifetimes = &self.skeleton.lifetimes;
        !self.kept.life(object)
            || (lifetimes.alloc_of(object).is_none_or(|alloc| self.is_executed(world, alloc))
                && !lifetimes.free_of(object).is_some_and(|free| self.is_executed(world, free)))
    }

    /// Whether an operation asks for nothing and does nothing, because its object is not kept.
    pub(crate) fn is_left_out(&self, op: Op) -> bool {
        let kept = self.kept;
        match op {
            Op::Acquire { lock, .. }
            | Op::AcquireFailed { lock, .. }
            | Op::Release { lock, .. }
            | Op::Destroy { lock } => !kept.lock(lock),
            Op::Wait { lock, cond, .. } | Op::Wake { lock, cond, .. } => {
                !kept.lock(lock) && !kept.cond(cond)
            }
            Op::Signal { cond } | Op::Broadcast { cond } => !kept.cond(cond),
            Op::SemWait { sem, .. } | Op::SemWaitFailed { sem, .. } | Op::SemPost { sem } => {
                !kept.sem(sem)
            }
            Op::Alloc { object, .. } | Op::Free { object } => !kept.life(object),
            ops!(memory data barrier thread call mark Request) => false,
        }
    }

    fn is_intact(&self, world: &World, lock: LockId) -> bool {
        let destroyed = self.skeleton.locks.destroyed_by(lock);
        !destroyed.is_some_and(|destroy| self.is_executed(world, destroy))
    }

    /// The open holds on a lock, with their threads and modes.
    pub(crate) fn holds_on<'w>(
        &'w self,
        world: &'w World,
        lock: LockId,
    ) -> impl Iterator<Item = (HoldId, ThreadId, LockMode)> + 'w {
        let holds = world.holds.iter().map(|&id| (id, self.skeleton.locks.hold(id)));
        let own = holds.filter(move |(_, hold)| hold.lock == lock);
        own.map(|(id, hold)| (id, hold.thread, hold.mode))
    }

    /// Whether another thread has the lock in a mode that conflicts.
    pub(crate) fn is_taken(
        &self,
        world: &World,
        thread: ThreadId,
        lock: LockId,
        mode: LockMode,
    ) -> bool {
        let mut holds = self.holds_on(world, lock);
        holds.any(|(_, owner, held)| owner != thread && held.conflicts(mode))
    }

    /// Whether the next event of its thread is enabled.
    pub(crate) fn ready(
        &self,
        world: &mut World,
        event: EventId,
        scratch: &mut Vec<u128>,
    ) -> Ready {
        let step = self.step(event);
        let thread = self.trace.thread_of(event);
        if self.trace.position(event) as u32 >= self.reach[thread.index()] {
            return Ready::Never;
        }
        if step.opaque && world.strayed[thread.index()] && !is_seeded(Fault::OpaqueIgnored) {
            // An access that is next can race, whatever its thread has seen.
            return if step.op.access().is_some() { Ready::Blocked } else { Ready::Never };
        }
        if self.is_left_out(step.op) {
            return Ready::Now;
        }
        let (locks, kept) = (&self.skeleton.locks, self.kept);
        let executed = |world: &World, event: EventId| self.is_executed(world, event);
        let is_open = |world: &World| step.hold.is_some_and(|hold| world.holds.contains(&hold));
        let enabled = match step.op {
            Op::Read { .. } | Op::Write { .. } | Op::Rmw { .. } => {
                return self.may_access(world, event, scratch);
            }
            Op::Branch { taken: expected } | Op::Assume { holds: expected } => {
                return self.keeps_its_way(world, event, Some(expected), scratch);
            }
            Op::Assert { holds } => {
                // In this mode the schedule ends here.
                if world.mode == Mode::Released(event) {
                    return Ready::Never;
                }
                return self.keeps_its_way(world, event, holds.then_some(true), scratch);
            }
            Op::Acquire { lock, mode, .. } => {
                self.is_intact(world, lock)
                    && match locks.opened_by(event) {
                        Some(_) => {
                            !self.is_taken(world, thread, lock, mode)
                                && !self
                                    .holds_on(world, lock)
                                    .any(|(_, owner, held)| owner == thread && held == mode)
                        }
                        None => is_open(world),
                    }
            }
            Op::AcquireFailed { lock, mode, .. } => {
                self.is_intact(world, lock)
                    && self.holds_on(world, lock).any(|(_, _, held)| held.conflicts(mode))
            }
            Op::Release { lock, .. } => {
                self.is_intact(world, lock)
                    && match locks.role(self.trace, event) {
                        ReleaseRole::Lowers(hold) => world.holds.contains(&hold),
                        ReleaseRole::Closes(hold) | ReleaseRole::Foreign(hold) => {
                            let changes = locks.inner(hold);
                            world.holds.contains(&hold)
                                && changes.iter().all(|&change| executed(world, change))
                        }
                        ReleaseRole::Unheld => self.holds_on(world, lock).next().is_none(),
                    }
            }
            Op::Destroy { lock } => {
                self.is_intact(world, lock) && self.holds_on(world, lock).next().is_none()
            }
            Op::Wait { lock, .. } => {
                !kept.lock(lock) || (self.is_intact(world, lock) && is_open(world))
            }
            Op::Wake { cond, lock, reason } => {
                let mode = locks.hold(step.hold.expect("a wake opens a hold")).mode;
                let is_over = match (reason, world.waits[thread.index()]) {
                    (WakeReason::Notified, waits) => waits == Waits::Notified,
                    (WakeReason::TimedOut | WakeReason::Spurious, waits) => {
                        matches!(waits, Waits::Waiting | Waits::Departed)
                    }
                };
                let is_free = !kept.lock(lock)
                    || (self.is_intact(world, lock) && !self.is_taken(world, thread, lock, mode));
                is_free && (is_over || !kept.cond(cond))
            }
            Op::SemWait { sem, .. } => world.counts[sem.index()] > 0,
            Op::SemWaitFailed { sem, .. } => world.counts[sem.index()] == 0,
            Op::Arrive { barrier } => {
                let arrival = self.skeleton.waiting.arrival_at(event);
                let rounds = &self.skeleton.waiting.barrier(barrier).rounds;
                let before = arrival.round.checked_sub(1).map(|round| &rounds[round as usize]);
                before.is_none_or(|before| before.iter().all(|&other| executed(world, other)))
            }
            Op::Leave { .. } => self.is_round_complete(world, event),
            Op::Join { child } => {
                let is_frozen =
                    matches!(world.mode, Mode::Armed { frozen, .. } if frozen == Some(child));
                !is_frozen && self.is_started(world, child) && self.is_through(world, child)
            }
            Op::Alloc { .. } => {
                let freed = self.skeleton.lifetimes.freed_before(event);
                freed.iter().all(|&free| executed(world, free))
            }
            Op::Free { object } => self.is_live(world, object),
            Op::LeaveCall => {
                let needed = self.skeleton.calls.needed_by(event);
                needed.iter().all(|&enter| executed(world, enter))
                    || is_seeded(Fault::CallsUnordered)
            }
            Op::Exit => false,
            ops!(mark Let Signal Broadcast SemPost Request Fork Begin End EnterCall) => true,
        };
        if enabled { Ready::Now } else { Ready::Blocked }
    }

    /// Whether a condition has the outcome that it must have.
    fn keeps_its_way(
        &self,
        world: &World,
        event: EventId,
        expected: Option<bool>,
        scratch: &mut Vec<u128>,
    ) -> Ready {
        match (&self.step(event).test, expected) {
            (Some(test), Some(expected)) if self.is_free => {
                let outcome = test.value(&world.values, &self.seen, scratch) != 0;
                if outcome == expected { Ready::Now } else { Ready::Never }
            }
            _ => Ready::Now,
        }
    }

    /// Whether the round of an arrival or leave has as many arrivals as parties, all executed.
    pub(crate) fn is_round_complete(&self, world: &World, event: EventId) -> bool {
        let arrival = self.skeleton.waiting.arrival_at(event);
        let barrier = self.skeleton.waiting.barrier(arrival.barrier);
        let round = &barrier.rounds[arrival.round as usize];
        round.len() == barrier.parties as usize
            && round.iter().all(|&arrival| self.is_executed(world, arrival))
    }

    /// Executes an enabled event that has only one outcome: any but a signal.
    pub(crate) fn execute(&self, world: &mut World, event: EventId, scratch: &mut Vec<u128>) {
        let step = self.step(event);
        let thread = self.trace.thread_of(event).index();
        if !self.is_left_out(step.op) {
            self.take_effect(world, event, scratch);
        }
        world.cut[thread] += 1;
        if world.cut[thread] >= self.opaque_end[thread] {
            world.strayed[thread] = false;
        }
    }

    /// What an event does, besides that it is executed.
    fn take_effect(&self, world: &mut World, event: EventId, scratch: &mut Vec<u128>) {
        let (step, kept) = (self.step(event), self.kept);
        let thread = self.trace.thread_of(event).index();
        match step.op {
            Op::Read { .. } | Op::Write { .. } | Op::Rmw { .. } => {
                self.access(world, event, scratch);
            }
            Op::Acquire { .. } => {
                world.holds.extend(self.skeleton.locks.opened_by(event));
            }
            Op::Release { .. } => match self.skeleton.locks.role(self.trace, event) {
                ReleaseRole::Closes(hold) | ReleaseRole::Foreign(hold) => {
                    world.holds.retain(|&open| open != hold);
                }
                ReleaseRole::Lowers(_) | ReleaseRole::Unheld => {}
            },
            Op::Wait { cond, .. } => {
                world.holds.retain(|&open| Some(open) != step.hold);
                world.waits[thread] = if kept.cond(cond) { Waits::Waiting } else { Waits::No };
            }
            Op::Wake { lock, .. } => {
                world.holds.extend(step.hold.filter(|_| kept.lock(lock)));
                world.waits[thread] = Waits::No;
            }
            Op::Broadcast { cond } => {
                for waiter in self.waiters(world, cond) {
                    let leaves = self
                        .wait_of(world, waiter)
                        .is_some_and(|wait| wait.wake.is_some() && wait.notified().is_none());
                    world.waits[waiter.index()] =
                        if leaves { Waits::Departed } else { Waits::Notified };
                }
            }
            Op::SemWait { sem, .. } => world.counts[sem.index()] -= 1,
            Op::SemPost { sem } => world.counts[sem.index()] += 1,
            ops!(object data barrier thread call mark AcquireFailed Destroy Signal SemWaitFailed
                Request) => {}
        }
    }

    /// The threads that wait on a condition variable.
    fn waiters(&self, world: &World, cond: CondId) -> Vec<ThreadId> {
        let waits_on = |thread: &ThreadId| {
            world.waits[thread.index()] == Waits::Waiting && {
                let last = world.cut[thread.index()] as usize - 1;
                let wait = self.trace.thread_events(*thread)[last];
                matches!(self.step(wait).op, Op::Wait { cond: other, .. } if other == cond)
            }
        };
        self.trace.thread_ids().filter(waits_on).collect()
    }

    /// The wait that a thread is in.
    fn wait_of(&self, world: &World, thread: ThreadId) -> Option<foretrace_model::Wait> {
        let last = (world.cut[thread.index()] as usize).checked_sub(1)?;
        let wait = self.trace.thread_events(thread)[last];
        matches!(self.step(wait).op, Op::Wait { .. }).then(|| self.skeleton.waiting.wait_at(wait).1)
    }

    /// The states after a signal: it wakes any one waiter, or, if all may leave, none.
    pub(crate) fn signal(&self, world: &World, event: EventId, cond: CondId) -> Vec<World> {
        let mut base = world.clone();
        base.cut[self.trace.thread_of(event).index()] += 1;
        if !self.kept.cond(cond) {
            return vec![base];
        }
        let waiters = self.waiters(world, cond);
        let mut all = Vec::new();
        for &chosen in &waiters {
            let mut after = base.clone();
            after.waits[chosen.index()] = Waits::Notified;
            all.push(after);
        }
        let may_leave =
            |&waiter: &ThreadId| self.wait_of(world, waiter).is_some_and(|wait| wait.may_leave());
        let nobody = waiters.is_empty() || !is_seeded(Fault::NobodyLeaves);
        if nobody && waiters.iter().all(may_leave) {
            for waiter in waiters {
                base.waits[waiter.index()] = Waits::Departed;
            }
            all.push(base);
        }
        all
    }
}
