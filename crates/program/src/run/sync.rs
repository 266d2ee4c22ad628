//! What a step does: locks, condition variables, semaphores, barriers.
//!
//! **Follows.** The rules of `docs/theory.md`, section 3. What is decided there by recorded roles
//! is decided here by the state: an acquire deepens the hold of the same mode that its thread has,
//! if the lock is recursive or the mode is shared; a release without such a hold is a lock error
//! and stops its thread. A wait whose time is up leaves the waiters at any moment; there are no
//! spurious wake-ups.

use foretrace_trace::{CondId, LockId, Mode, Patience, ThreadId, WakeReason};

use crate::ir::*;

use super::state::{Hold, LockError, Phase, State, Undefined, Wait, Why};
use super::{Action, Choice, Event, Machine};

impl Machine<'_> {
    /// Whether an acquire gets the lock now.
    pub(super) fn can_acquire(
        &self,
        state: &State,
        lock: LockId,
        mode: Mode,
        patience: Patience,
        thread: ThreadId,
    ) -> bool {
        if state.is_held_by_others(lock, mode, thread) {
            return false;
        }
        let own = |mode: Mode| state.hold(lock, mode, thread).is_some();
        if own(mode) {
            return mode == Mode::Shared || self.is_recursive(lock);
        }
        // Who holds the lock in the other mode may wait for this one, but a try fails at once.
        let other = if mode == Mode::Shared { Mode::Exclusive } else { Mode::Shared };
        patience == Patience::Blocking || !own(other)
    }

    /// Locks that are known by their address are not recursive.
    fn is_recursive(&self, lock: LockId) -> bool {
        self.program.locks.get(lock.index()).is_some_and(|lock| lock.recursive)
    }

    /// Whether an operation of synchronisation means something that never was in any memory.
    pub(super) fn means_nothing(&self, state: &State, thread: ThreadId, op: &Op) -> bool {
        let addresses = op.synchronised().into_iter().flatten();
        let mut values = addresses.map(|address| self.value(state, thread, address));
        values.any(|address| state.object_at(address).is_none())
    }

    /// Whether a thread is at an operation of synchronisation on what is not in live memory.
    pub(crate) fn is_at_no_object(&self, state: &State, thread: ThreadId) -> bool {
        if state.thread(thread).phase != Phase::Before {
            return false;
        }
        let Some(instruction) = self.instruction(state, thread) else { return false };
        let addresses = instruction.op.synchronised().into_iter().flatten();
        let mut values = addresses.map(|address| self.value(state, thread, address));
        values.any(|address| state.resolve(address, 1).is_none())
    }

    /// The lock that is meant; `None` if it was never used.
    pub(super) fn find_lock(
        &self,
        state: &State,
        thread: ThreadId,
        lock: &SyncRef<LockId>,
    ) -> Option<LockId> {
        self.find(state, thread, lock, &state.lock_addresses, self.program.locks.len())
    }

    pub(super) fn find_cond(
        &self,
        state: &State,
        thread: ThreadId,
        cond: &SyncRef<CondId>,
    ) -> Option<CondId> {
        self.find(state, thread, cond, &state.cond_addresses, self.program.conds.len())
    }

    pub(super) fn find_semaphore(
        &self,
        state: &State,
        thread: ThreadId,
        sem: &SyncRef<SemId>,
    ) -> Option<SemId> {
        self.find(state, thread, sem, &state.sem_addresses, self.program.semaphores.len())
    }

    fn find<Id: Copy + From<usize>>(
        &self,
        state: &State,
        thread: ThreadId,
        object: &SyncRef<Id>,
        addresses: &[u64],
        declared: usize,
    ) -> Option<Id> {
        match *object {
            SyncRef::Named(id) => Some(id),
            SyncRef::At(address) => {
                let address = self.value(state, thread, address);
                let index = addresses.iter().position(|&other| other == address)?;
                Some(Id::from(declared + index))
            }
        }
    }

    /// The same operation on what its addresses mean; what is used for the first time gets an id.
    fn named(&self, state: &mut State, thread: ThreadId, op: &Op) -> Op {
        let mut op = op.clone();
        let (lock, cond, sem) = match &mut op {
            Op::Acquire { lock, .. } | Op::Release { lock, .. } => (Some(lock), None, None),
            Op::Wait { lock, cond, .. } => (Some(lock), Some(cond), None),
            Op::Signal { cond } | Op::Broadcast { cond } => (None, Some(cond), None),
            Op::SemWait { sem, .. } | Op::SemPost { sem } => (None, None, Some(sem)),
            _ => (None, None, None),
        };
        if let Some(lock @ &mut SyncRef::At(address)) = lock {
            let address = self.value(state, thread, address);
            let id = intern(&mut state.lock_addresses, address) + self.program.locks.len();
            state.holds.resize(state.holds.len().max(id + 1), Vec::new());
            *lock = SyncRef::Named(LockId::from(id));
        }
        if let Some(cond @ &mut SyncRef::At(address)) = cond {
            let address = self.value(state, thread, address);
            let id = intern(&mut state.cond_addresses, address) + self.program.conds.len();
            *cond = SyncRef::Named(CondId::from(id));
        }
        if let Some(sem @ &mut SyncRef::At(address)) = sem {
            let address = self.value(state, thread, address);
            let id = intern(&mut state.sem_addresses, address) + self.program.semaphores.len();
            state.semaphores.resize(state.semaphores.len().max(id + 1), 0);
            *sem = SyncRef::Named(SemId::from(id));
        }
        op
    }

    /// The barrier that is meant, and its parties; `None` if these are not what they were.
    fn barrier(
        &self,
        state: &mut State,
        thread: ThreadId,
        barrier: SyncRef<BarrierId>,
        parties: Option<Operand>,
    ) -> Option<(BarrierId, u32)> {
        let address = match barrier {
            SyncRef::Named(id) => return Some((id, self.program.barriers[id.index()].parties)),
            SyncRef::At(address) => self.value(state, thread, address),
        };
        let parties = parties.map_or(0, |parties| self.value(state, thread, parties)) as u32;
        let known = state.barrier_addresses.iter().position(|&(other, _)| other == address);
        let index = known.unwrap_or_else(|| {
            state.barrier_addresses.push((address, parties));
            state.barrier_addresses.len() - 1
        });
        let id = BarrierId::from(index + self.program.barriers.len());
        state.arrivals.resize(state.arrivals.len().max(id.index() + 1), 0);
        let is_right = parties > 0 && state.barrier_addresses[index].1 == parties;
        is_right.then_some((id, parties))
    }

    /// Whether a thread is at an acquire that waits for the thread itself.
    pub(crate) fn is_double_lock(&self, state: &State, thread: ThreadId) -> bool {
        if state.thread(thread).phase != Phase::Before {
            return false;
        }
        match self.instruction(state, thread).map(|instruction| &instruction.op) {
            Some(Op::Acquire { lock, mode: Mode::Exclusive, patience: Patience::Blocking }) => {
                self.find_lock(state, thread, lock).is_some_and(|lock| {
                    let is_own = state.hold(lock, Mode::Exclusive, thread).is_some();
                    is_own && !self.is_recursive(lock)
                })
            }
            _ => false,
        }
    }

    /// Runs an operation of synchronisation that is possible.
    pub(super) fn synchronise(
        &self,
        state: &mut State,
        thread: ThreadId,
        choice: Choice,
        op: &Op,
        result: Option<RegisterId>,
        events: &mut Vec<Event>,
    ) {
        let site = state.site(thread);
        let op = &self.named(state, thread, op);
        let gets = choice != Choice::GivesUp;
        let mut happened = |action: Action| events.push(Event { thread, action, site });
        match *op {
            Op::Acquire { lock: SyncRef::Named(lock), mode, patience } => {
                happened(match gets {
                    true => Action::Acquire { lock, mode, patience },
                    false => Action::AcquireFailed { lock, mode, patience },
                });
                if gets {
                    state.acquire(lock, mode, 1, thread);
                }
            }
            Op::Release { lock: SyncRef::Named(lock), mode } => {
                if let Err(error) = state.release(lock, mode, thread) {
                    return state.stop(thread, Why::LockError(error));
                }
                happened(Action::Release { lock, mode });
            }
            Op::Wait { cond: SyncRef::Named(cond), lock: SyncRef::Named(lock), timed } => {
                let Some(Hold { mode, depth, .. }) = state.take_only_hold(lock, thread) else {
                    return state.stop(thread, Why::LockError(LockError::WaitNotHeld));
                };
                state.thread_mut(thread).phase =
                    Phase::Waiting { cond, lock, mode, depth, wait: Wait::Open };
                happened(Action::Wait { cond, lock, timed });
                return;
            }
            Op::Signal { cond: SyncRef::Named(cond) } => {
                if let Choice::Wakes(woken) = choice {
                    state.notify(woken);
                }
                happened(Action::Signal { cond });
            }
            Op::Broadcast { cond: SyncRef::Named(cond) } => {
                for waiter in state.open_waits(cond) {
                    state.notify(waiter);
                }
                happened(Action::Broadcast { cond });
            }
            Op::SemWait { sem: SyncRef::Named(sem), patience } => {
                happened(match gets {
                    true => Action::SemWait { sem, patience },
                    false => Action::SemWaitFailed { sem, patience },
                });
                state.semaphores[sem.index()] -= u64::from(gets);
            }
            Op::SemPost { sem: SyncRef::Named(sem) } => {
                state.semaphores[sem.index()] += 1;
                happened(Action::SemPost { sem });
            }
            Op::Barrier { barrier, parties } => {
                let Some((barrier, parties)) = self.barrier(state, thread, barrier, parties) else {
                    return state.stop(thread, Why::Undefined(Undefined::BadBarrier));
                };
                let arrivals = &mut state.arrivals[barrier.index()];
                let round = *arrivals / u64::from(parties);
                *arrivals += 1;
                state.thread_mut(thread).phase = Phase::Arrived { barrier, round, parties };
                happened(Action::Arrive { barrier });
                return;
            }
            _ => unreachable!("every other operation is done elsewhere"),
        }
        self.done(state, thread, result, gets.into());
    }

    /// Ends a wait, or goes on behind a barrier.
    pub(super) fn second_half(
        &self,
        state: &mut State,
        thread: ThreadId,
        result: Option<RegisterId>,
        events: &mut Vec<Event>,
    ) {
        let site = state.site(thread);
        let (action, given) = match state.thread(thread).phase {
            Phase::Waiting { cond, lock, mode, depth, wait } => {
                state.acquire(lock, mode, depth, thread);
                let is_notified = wait == Wait::Notified;
                let reason = if is_notified { WakeReason::Notified } else { WakeReason::TimedOut };
                (Action::Wake { cond, lock, reason }, is_notified)
            }
            Phase::Arrived { barrier, .. } => (Action::Leave { barrier }, false),
            Phase::Before => unreachable!("there is a second half only behind a first"),
        };
        state.thread_mut(thread).phase = Phase::Before;
        events.push(Event { thread, action, site });
        self.done(state, thread, result, given.into());
    }
}

/// The place of an address in a list, which takes it if it is new.
fn intern(addresses: &mut Vec<u64>, address: u64) -> usize {
    addresses.iter().position(|&other| other == address).unwrap_or_else(|| {
        addresses.push(address);
        addresses.len() - 1
    })
}

impl State {
    fn hold(&self, lock: LockId, mode: Mode, thread: ThreadId) -> Option<Hold> {
        let holds = self.holds[lock.index()].iter();
        holds.copied().find(|hold| hold.thread == thread && hold.mode == mode)
    }

    /// Whether another thread has a hold that conflicts with this mode.
    pub(super) fn is_held_by_others(&self, lock: LockId, mode: Mode, thread: ThreadId) -> bool {
        let mut holds = self.holds[lock.index()].iter();
        holds.any(|hold| hold.thread != thread && hold.mode.conflicts(mode))
    }

    /// Opens a hold, or deepens the one that there is.
    fn acquire(&mut self, lock: LockId, mode: Mode, depth: u32, thread: ThreadId) {
        let holds = &mut self.holds[lock.index()];
        match holds.iter_mut().find(|hold| hold.thread == thread && hold.mode == mode) {
            Some(hold) => hold.depth += depth,
            None => {
                holds.push(Hold { thread, mode, depth });
                // Equal states are to look equal.
                holds.sort_unstable_by_key(|hold| (hold.thread, hold.mode));
            }
        }
    }

    fn release(&mut self, lock: LockId, mode: Mode, thread: ThreadId) -> Result<(), LockError> {
        let holds = &mut self.holds[lock.index()];
        match holds.iter().position(|hold| hold.thread == thread && hold.mode == mode) {
            Some(place) if holds[place].depth > 1 => holds[place].depth -= 1,
            Some(place) => {
                holds.remove(place);
            }
            None if holds.is_empty() => return Err(LockError::ReleaseNotHeld),
            None => return Err(LockError::ReleaseByOther),
        }
        Ok(())
    }

    /// Closes the hold of a thread, whatever its depth, if there is exactly one.
    fn take_only_hold(&mut self, lock: LockId, thread: ThreadId) -> Option<Hold> {
        let holds = &mut self.holds[lock.index()];
        let mut own = holds.iter().copied().filter(|hold| hold.thread == thread);
        let (Some(hold), None) = (own.next(), own.next()) else { return None };
        holds.retain(|other| *other != hold);
        Some(hold)
    }

    /// The threads whose wait a signal can reach.
    pub(super) fn open_waits(&self, cond: CondId) -> Vec<ThreadId> {
        let is_open = |thread: &ThreadId| {
            let phase = self.thread(*thread).phase;
            matches!(phase, Phase::Waiting { cond: on, wait: Wait::Open, .. } if on == cond)
        };
        self.thread_ids().filter(is_open).collect()
    }

    fn notify(&mut self, thread: ThreadId) {
        if let Phase::Waiting { wait, .. } = &mut self.thread_mut(thread).phase {
            *wait = Wait::Notified;
        }
    }
}
