//! States and steps: `docs/theory.md`, section 3.
//!
//! **Computes.** Which events are enabled in a state, and the states that executing one leads to.
//!
//! **Follows.** The table of section 3, one arm of [`Recorded::enabled`] and of
//! [`Recorded::execute`] per line. Read them side by side with it. What reads see is in `contents`.
//!
//! **Invariant.** A [`State`] is the whole state of the theory: the set of executed events says how
//! far each thread is, which barrier arrivals are executed, which objects live, which locks are
//! destroyed, the semaphore counts, and whether the process has exited; the rest is spelt out, in
//! the coarsest way that tells states with different futures apart: a byte by its identity, a read
//! only if it has strayed.
//!
//! **Cost.** A few hundred nanoseconds per step; nothing is incremental.

use foretrace_trace::*;

use crate::contents::Strayed;
use crate::event_set::EventSet;
use crate::recorded::{Hold, Identity, Recorded, Role};

/// What a schedule leads to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct State {
    pub(crate) executed: EventSet,
    /// By byte.
    pub(crate) contents: Vec<Identity>,
    /// In the order of the reads.
    pub(crate) strayed: Vec<Strayed>,
    /// In the order of their opening events, so that equal states are equal values.
    pub(crate) holds: Vec<Hold>,
    /// W of all condition variables: waits that nothing has reached.
    pub(crate) waiters: EventSet,
    /// N of all condition variables: waits that a signal or broadcast has woken.
    notified: EventSet,
    /// E of all condition variables: waits that are over for another reason.
    departed: EventSet,
}

impl State {
    /// Nothing has happened.
    pub(crate) fn initial(recorded: &Recorded) -> State {
        State {
            executed: EventSet::default(),
            contents: recorded.initial_contents(),
            strayed: Vec::new(),
            holds: Vec::new(),
            waiters: EventSet::default(),
            notified: EventSet::default(),
            departed: EventSet::default(),
        }
    }

    fn is_open(&self, hold: EventId) -> bool {
        self.hold(hold).is_some()
    }

    fn hold(&self, opened_by: EventId) -> Option<&Hold> {
        self.holds.iter().find(|hold| hold.opened_by == opened_by)
    }

    fn hold_mut(&mut self, opened_by: EventId) -> &mut Hold {
        let hold = self.holds.iter_mut().find(|hold| hold.opened_by == opened_by);
        hold.expect("the rule asks for the hold to be open")
    }

    fn open(&mut self, hold: Hold) {
        self.holds.push(hold);
        self.holds.sort();
    }

    fn close(&mut self, opened_by: EventId) {
        self.holds.retain(|hold| hold.opened_by != opened_by);
    }

    /// All holds on a lock.
    pub(crate) fn holds_on(&self, lock: LockId) -> impl Iterator<Item = &Hold> {
        self.holds.iter().filter(move |hold| hold.lock == lock)
    }

    /// Whether another thread than this has a hold that conflicts with this mode.
    pub(crate) fn other_conflicts(&self, thread: ThreadId, lock: LockId, mode: Mode) -> bool {
        self.holds_on(lock).any(|hold| hold.thread != thread && hold.mode.conflicts(mode))
    }

    /// Whether the thread has a hold on the lock in exactly this mode.
    pub(crate) fn has(&self, thread: ThreadId, lock: LockId, mode: Mode) -> bool {
        self.holds_on(lock).any(|hold| hold.thread == thread && hold.mode == mode)
    }
}

impl Recorded<'_> {
    /// Whether the trace has no fork of the thread, or it is executed.
    pub(crate) fn is_started(&self, state: &State, thread: ThreadId) -> bool {
        self.fork[thread.index()].is_none_or(|fork| state.executed.contains(fork))
    }

    /// Whether a thread has executed all its recorded events.
    pub(crate) fn is_through(&self, state: &State, thread: ThreadId) -> bool {
        self.trace.thread_events(thread).iter().all(|&event| state.executed.contains(event))
    }

    pub(crate) fn has_exited(&self, state: &State) -> bool {
        self.events().any(|(event, op)| op == Op::Exit && state.executed.contains(event))
    }

    /// The first event of the thread that is not executed, if the thread can go on at all.
    pub(crate) fn next(&self, state: &State, thread: ThreadId) -> Option<EventId> {
        if !self.is_started(state, thread) || self.has_exited(state) {
            return None;
        }
        let events = self.trace.thread_events(thread);
        events.iter().copied().find(|&event| !state.executed.contains(event))
    }

    pub(crate) fn is_live(&self, state: &State, object: ObjectId) -> bool {
        let born = self.alloc[object.index()].is_none_or(|alloc| state.executed.contains(alloc));
        born && !self.is_freed(state, object)
    }

    fn is_freed(&self, state: &State, object: ObjectId) -> bool {
        self.free[object.index()].is_some_and(|free| state.executed.contains(free))
    }

    fn is_destroyed(&self, state: &State, lock: LockId) -> bool {
        self.destroy[lock.index()].is_some_and(|destroy| state.executed.contains(destroy))
    }

    pub(crate) fn count(&self, state: &State, sem: SemId) -> u32 {
        let executed = |counts: &dyn Fn(Op) -> bool| {
            let executed = state.executed.iter();
            executed.filter(|&event| counts(self.op(event))).count() as u32
        };
        let posts = executed(&|op| op == Op::SemPost { sem });
        let waits = executed(&|op| matches!(op, Op::SemWait { sem: s, .. } if s == sem));
        self.initial_counts[sem.index()] + posts - waits
    }

    /// Whether the round of an arrival has as many arrivals as parties, all executed.
    pub(crate) fn is_round_complete(
        &self,
        state: &State,
        barrier: BarrierId,
        arrival: EventId,
    ) -> bool {
        let round = self.round_of(barrier, arrival);
        round.len() == self.parties[barrier.index()]
            && round.iter().all(|&arrival| state.executed.contains(arrival))
    }

    /// Whether a wait may end without a notification.
    fn may_leave(&self, wait: EventId) -> bool {
        let timed = matches!(self.op(wait), Op::Wait { timed: true, .. });
        timed || self.leaves(wait)
    }

    /// Whether its recorded wake is timed out or spurious.
    fn leaves(&self, wait: EventId) -> bool {
        matches!(self.wake_reason(wait), Some(WakeReason::TimedOut | WakeReason::Spurious))
    }

    /// W of one condition variable.
    fn waiters_on(&self, state: &State, cond: CondId) -> Vec<EventId> {
        let on = |wait: &EventId| matches!(self.op(*wait), Op::Wait { cond: c, .. } if c == cond);
        state.waiters.iter().filter(on).collect()
    }

    /// Whether the event can be executed: it is next in its thread, and its line of the table
    /// holds.
    pub(crate) fn enabled(&self, state: &State, event: EventId) -> bool {
        let thread = self.trace.thread_of(event);
        self.next(state, thread) == Some(event)
            && self.rule(state, event)
            && self.keeps_its_way(state, event)
    }

    /// Whether no other thread touches what the read touches, and nothing of it is declared.
    pub(crate) fn is_private(&self, read: EventId) -> bool {
        let at = self.op(read).access().expect("a read is an access").at;
        let thread = self.trace.thread_of(read);
        let declared = self.trace.initial().iter().any(|(place, _)| place.overlaps(at));
        let others = self.trace.events().any(|(_, event)| {
            event.thread != thread && event.op.access().is_some_and(|other| other.at.overlaps(at))
        });
        !declared && !others
    }

    fn rule(&self, state: &State, event: EventId) -> bool {
        let thread = self.trace.thread_of(event);
        let role = self.role(event);
        let intact = |lock: LockId| !self.is_destroyed(state, lock);
        match self.op(event) {
            Op::Read { .. } | Op::Rmw { .. } => self.may_read(state, event),
            Op::Write { at, .. } => self.is_live(state, at.object),
            Op::Acquire { lock, mode, .. } => match role {
                Role::Opens => {
                    !state.other_conflicts(thread, lock, mode)
                        && !state.has(thread, lock, mode)
                        && intact(lock)
                }
                Role::Deepens(hold) => state.is_open(hold) && intact(lock),
                Role::None
                | Role::Lowers(_)
                | Role::Closes(_)
                | Role::Unheld
                | Role::Unsupported => false,
            },
            Op::AcquireFailed { lock, mode, .. } => {
                state.holds_on(lock).any(|hold| hold.mode.conflicts(mode)) && intact(lock)
            }
            Op::Release { lock, .. } => match role {
                Role::Lowers(hold) => state.is_open(hold) && intact(lock),
                Role::Closes(hold) => {
                    state.hold(hold).is_some_and(|hold| hold.depth == 1)
                        && self.changes_of(hold).all(|change| state.executed.contains(change))
                        && intact(lock)
                }
                Role::Unheld => state.holds_on(lock).next().is_none() && intact(lock),
                Role::None | Role::Opens | Role::Deepens(_) | Role::Unsupported => false,
            },
            Op::Destroy { lock } => state.holds_on(lock).next().is_none() && intact(lock),
            Op::Wait { lock, .. } => match role {
                Role::Closes(hold) => state.is_open(hold) && intact(lock),
                Role::None
                | Role::Opens
                | Role::Deepens(_)
                | Role::Lowers(_)
                | Role::Unheld
                | Role::Unsupported => false,
            },
            Op::Wake { lock, reason, .. } => match (role, self.wait_of(event)) {
                (Role::Opens, Some(wait)) => {
                    let over = match reason {
                        WakeReason::Notified => state.notified.contains(wait),
                        WakeReason::TimedOut | WakeReason::Spurious => {
                            state.waiters.contains(wait) || state.departed.contains(wait)
                        }
                    };
                    let mode = self.opens(event).mode;
                    over && !state.other_conflicts(thread, lock, mode) && intact(lock)
                }
                _ => false,
            },
            Op::Signal { .. } | Op::Broadcast { .. } => true,
            Op::SemWait { sem, .. } => self.count(state, sem) > 0,
            Op::SemWaitFailed { sem, .. } => self.count(state, sem) == 0,
            Op::SemPost { .. } => true,
            Op::Arrive { barrier } => {
                let before = self.round_before(barrier, event);
                before.iter().all(|&arrival| state.executed.contains(arrival))
            }
            Op::Leave { barrier } => self
                .arrival_of(event, barrier)
                .is_some_and(|arrival| self.is_round_complete(state, barrier, arrival)),
            Op::Fork { .. } => true,
            Op::Join { child } => self.is_started(state, child) && self.is_through(state, child),
            Op::Exit => true,
            Op::Alloc { object, .. } => {
                self.earlier_tenants(event, object).all(|tenant| self.is_freed(state, tenant))
            }
            Op::Free { object } => self.is_live(state, object),
            ops!(data mark Begin End Request EnterCall) => true,
            Op::LeaveCall => {
                self.rests_on[event.index()].iter().all(|enter| state.executed.contains(enter))
            }
        }
    }

    /// The objects that were freed before this alloc in the recorded run, and whose address range
    /// overlaps that of the new object.
    pub(crate) fn earlier_tenants(
        &self,
        alloc: EventId,
        object: ObjectId,
    ) -> impl Iterator<Item = ObjectId> {
        let range = self.address_range(object);
        let others = (0..self.alloc.len()).map(ObjectId::from);
        others.filter(move |&other| {
            let freed_before = self.free[other.index()].is_some_and(|free| free < alloc);
            let overlaps = match (range, self.address_range(other)) {
                (Some((start, end)), Some((s, e))) => start < e && s < end,
                _ => false,
            };
            other != object && freed_before && overlaps
        })
    }

    fn address_range(&self, object: ObjectId) -> Option<(u64, u64)> {
        match self.op(self.alloc[object.index()]?) {
            Op::Alloc { size, address: Some(address), .. } => {
                Some((address, address + u64::from(size)))
            }
            ops!(memory object data sync call mark) => None,
        }
    }

    /// The states after an enabled event; only a signal has more than one.
    pub(crate) fn execute(&self, state: &State, event: EventId) -> Vec<State> {
        let mut after = state.clone();
        after.executed.insert(event);
        self.forget_strayed(&mut after, event);
        match self.op(event) {
            Op::Read { .. } | Op::Write { .. } | Op::Rmw { .. } => {
                self.access(state, &mut after, event);
            }
            Op::Acquire { .. } | Op::Release { .. } => self.change_holds(&mut after, event),
            Op::Wait { .. } => {
                self.change_holds(&mut after, event);
                after.waiters.insert(event);
            }
            Op::Wake { .. } => {
                self.change_holds(&mut after, event);
                let wait = self.wait_of(event).expect("the rule asks for the wait");
                after.waiters.remove(wait);
                after.notified.remove(wait);
                after.departed.remove(wait);
            }
            Op::Signal { cond } => return self.signal(after, cond),
            Op::Broadcast { cond } => {
                for wait in self.waiters_on(&after, cond) {
                    after.waiters.remove(wait);
                    if self.leaves(wait) {
                        after.departed.insert(wait);
                    } else {
                        after.notified.insert(wait);
                    }
                }
            }
            // All that the others change is the set of executed events.
            ops!(object data sem barrier thread call mark AcquireFailed Destroy Request) => {}
        }
        vec![after]
    }

    fn change_holds(&self, after: &mut State, event: EventId) {
        match self.role(event) {
            Role::Opens => after.open(self.opens(event)),
            Role::Deepens(hold) => after.hold_mut(hold).depth += 1,
            Role::Lowers(hold) => after.hold_mut(hold).depth -= 1,
            Role::Closes(hold) => after.close(hold),
            Role::Unheld => {}
            Role::None | Role::Unsupported => unreachable!("such an event is never enabled"),
        }
    }

    fn signal(&self, after: State, cond: CondId) -> Vec<State> {
        let waiters = self.waiters_on(&after, cond);
        let mut choices = Vec::new();
        for &chosen in &waiters {
            let mut choice = after.clone();
            choice.waiters.remove(chosen);
            choice.notified.insert(chosen);
            choices.push(choice);
        }
        if waiters.iter().all(|&wait| self.may_leave(wait)) {
            let mut nobody = after;
            for wait in waiters {
                nobody.waiters.remove(wait);
                nobody.departed.insert(wait);
            }
            choices.push(nobody);
        }
        choices
    }
}
