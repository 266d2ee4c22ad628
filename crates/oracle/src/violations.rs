//! Which violations hold in a state: `docs/theory.md`, section 4.
//!
//! **Computes.** All races, false assertions, lock cycles, stuck points and lock errors of one
//! state, and the triples of accesses that could become an atomicity violation (whether one does
//! depends on the way to the state, which `explore` remembers).
//!
//! **Follows.** The paragraphs of section 4, one function each.
//!
//! **Invariant.** Violations are canonical: a race names the earlier recorded event first, a cycle
//! starts with its smallest event.
//!
//! **Cost.** Quadratic in the threads, exponential for cycles among them; there are at most four.
//! Assertions under `control` are tried with all values of the reads that they use, if these have
//! at most [`MOST_BITS`] bits.

use std::collections::BTreeSet;

use foretrace_trace::*;
use foretrace_verdict::{LockMisuse, Model, Violation};

use crate::recorded::{Hold, Recorded, Role};
use crate::state::State;

/// Three accesses, of which the first and last are in one region of one thread, and the middle
/// one conflicts with both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Triple {
    pub(crate) first: EventId,
    pub(crate) remote: EventId,
    pub(crate) second: EventId,
}

/// How many bits the reads of an assertion may have if all their values are tried.
const MOST_BITS: u32 = 16;

/// A thread at a blocked acquire: its point, the lock that it wants, and how.
#[derive(Clone, Copy)]
struct Blocked {
    thread: ThreadId,
    point: EventId,
    lock: LockId,
    mode: Mode,
}

impl Recorded<'_> {
    /// All violations that the state alone decides.
    pub(crate) fn violations_in(&self, state: &State) -> BTreeSet<Violation> {
        let mut all = BTreeSet::new();
        self.races(state, &mut all);
        self.assertions(state, &mut all);
        self.lock_cycles(state, &mut all);
        self.stuck_points(state, &mut all);
        self.lock_errors(state, &mut all);
        all
    }

    /// The triples whose middle access conflicts with both others.
    pub(crate) fn triples(&self) -> BTreeSet<Triple> {
        let accesses: Vec<(EventId, Access)> =
            self.events().filter_map(|(event, op)| Some((event, op.access()?))).collect();
        let mut all = BTreeSet::new();
        for &(first, c) in &accesses {
            for &(second, c2) in &accesses {
                if !self.in_one_region(first, second) {
                    continue;
                }
                for &(remote, r) in &accesses {
                    let elsewhere = self.trace.thread_of(remote) != self.trace.thread_of(first);
                    if elsewhere && r.conflicts(&c) && r.conflicts(&c2) {
                        all.insert(Triple { first, remote, second });
                    }
                }
            }
        }
        all
    }

    /// Whether two events are of one thread and in one region, in this order.
    fn in_one_region(&self, first: EventId, second: EventId) -> bool {
        let thread = self.trace.thread_of(first);
        let (from, to) = (self.trace.position(first), self.trace.position(second));
        thread == self.trace.thread_of(second)
            && from < to
            && self
                .regions
                .iter()
                .any(|region| region.thread == thread && region.first <= from && to <= region.last)
    }

    fn races(&self, state: &State, all: &mut BTreeSet<Violation>) {
        let next: Vec<(EventId, Access)> = self
            .trace
            .thread_ids()
            .filter_map(|thread| self.next(state, thread))
            .filter_map(|event| Some((event, self.op(event).access()?)))
            .collect();
        for (a, first) in &next {
            for (b, second) in &next {
                if a < b
                    && first.conflicts(second)
                    && !(first.atomic && second.atomic)
                    && self.is_live(state, first.at.object)
                {
                    all.insert(Violation::Race(*a, *b));
                }
            }
        }
    }

    fn assertions(&self, state: &State, all: &mut BTreeSet<Violation>) {
        for thread in self.trace.thread_ids() {
            let Some(event) = self.next(state, thread) else { continue };
            let Op::Assert { holds } = self.op(event) else { continue };
            let fails = if self.model == Model::Control {
                self.opaque.contains(event) || self.may_fail(event) == Some(true)
            } else {
                match self.computed(state, event) {
                    Some(value) => value == 0,
                    None => !holds && self.is_thread_as_recorded(state, thread),
                }
            };
            if fails {
                all.insert(Violation::Assertion(event));
            }
        }
    }

    /// Whether an assertion whose expression counts is false for some values of the reads that it
    /// uses; `None` if these are too many to be tried.
    pub(crate) fn may_fail(&self, assertion: EventId) -> Option<bool> {
        let term = self.expressions[assertion.index()].counting.as_ref()?;
        let reads: Vec<(EventId, u32)> = term
            .reads()
            .iter()
            .map(|read| (read, 8 * self.bytes[read.index()].len() as u32))
            .collect();
        let bits: u32 = reads.iter().map(|(_, bits)| bits).sum();
        if bits > MOST_BITS {
            return None;
        }
        let fails = |values: u64| {
            let saw = |read: EventId| {
                let before = reads.iter().take_while(|(other, _)| *other != read);
                let shift: u32 = before.map(|(_, bits)| bits).sum();
                let own = reads.iter().find(|(other, _)| *other == read);
                let bits = own.expect("the term uses it").1;
                values >> shift & ((1 << bits) - 1)
            };
            term.value(&saw) == 0
        };
        Some((0..1 << bits).any(fails))
    }

    /// The point of a thread, if it is at a blocked acquire. (Whether the lock is taken is not
    /// asked here.)
    fn at_blocked_acquire(&self, state: &State, thread: ThreadId) -> Option<Blocked> {
        let (point, lock, mode) = match self.next(state, thread) {
            Some(event) => match self.op(event) {
                Op::Acquire { lock, mode, patience: Patience::Blocking }
                    if self.role(event) == Role::Opens =>
                {
                    (event, lock, mode)
                }
                Op::Wake { lock, .. } => (event, lock, self.given_back(event)?),
                ops!(memory object data lock sem barrier thread call mark Wait Signal Broadcast
                    Request) => return None,
            },
            None => {
                let last = self.last_executed(state, thread)?;
                match self.op(last) {
                    Op::Request(Request::Acquire(lock, mode)) => (last, lock, mode),
                    Op::Wait { lock, .. } => (last, lock, self.given_back.get(&last)?.mode),
                    ops!(memory object data lock sem barrier thread call mark Wake Signal Broadcast
                        Request) => return None,
                }
            }
        };
        Some(Blocked { thread, point, lock, mode })
    }

    /// The mode in which a wake takes its lock again.
    fn given_back(&self, wake: EventId) -> Option<Mode> {
        Some(self.given_back.get(&self.wait_of(wake)?)?.mode)
    }

    /// The last event of a thread, if it is executed.
    fn last_executed(&self, state: &State, thread: ThreadId) -> Option<EventId> {
        let last = *self.trace.thread_events(thread).last()?;
        state.executed.contains(last).then_some(last)
    }

    fn lock_cycles(&self, state: &State, all: &mut BTreeSet<Violation>) {
        let blocked: Vec<Blocked> = self
            .trace
            .thread_ids()
            .filter_map(|thread| self.at_blocked_acquire(state, thread))
            .collect();
        for &start in &blocked {
            self.extend_cycle(state, &blocked, &mut vec![start], all);
        }
    }

    /// Extends a path in which each thread wants what the following one has, and records the
    /// cycles that it closes.
    fn extend_cycle(
        &self,
        state: &State,
        blocked: &[Blocked],
        path: &mut Vec<Blocked>,
        all: &mut BTreeSet<Violation>,
    ) {
        let end = path[path.len() - 1];
        let wants_from = |owner: &Blocked| {
            state
                .holds_on(end.lock)
                .filter(|hold| !self.is_closed_by_another(hold))
                .any(|hold| hold.thread == owner.thread && hold.mode.conflicts(end.mode))
        };
        if path.len() >= 2 && wants_from(&path[0]) {
            let points: Vec<EventId> = path.iter().map(|blocked| blocked.point).collect();
            all.insert(Violation::LockCycle(smallest_first(points)));
        }
        for &owner in blocked {
            if path.iter().all(|on_path| on_path.thread != owner.thread) && wants_from(&owner) {
                path.push(owner);
                self.extend_cycle(state, blocked, path, all);
                path.pop();
            }
        }
    }

    /// Whether another thread closes the hold in the recorded run.
    fn is_closed_by_another(&self, hold: &Hold) -> bool {
        self.trace.events().any(|(event, Event { thread, .. })| {
            thread != hold.thread && self.role(event) == Role::Closes(hold.opened_by)
        })
    }

    fn stuck_points(&self, state: &State, all: &mut BTreeSet<Violation>) {
        if self.has_exited(state) {
            return;
        }
        let halted = |thread: ThreadId| {
            !self.is_started(state, thread)
                || self.is_finished(state, thread)
                || self.is_blocked_at_acquire(state, thread)
                || self.waits_at(state, thread).is_some()
                || self.is_blocked_at_join(state, thread)
        };
        if self.trace.thread_ids().all(halted) {
            let points = self.trace.thread_ids().filter_map(|thread| self.waits_at(state, thread));
            all.extend(points.map(Violation::Stuck));
        }
    }

    /// Whether the last event of the thread is `end`, and executed.
    fn is_finished(&self, state: &State, thread: ThreadId) -> bool {
        self.last_executed(state, thread).is_some_and(|last| self.op(last) == Op::End)
    }

    fn is_blocked_at_acquire(&self, state: &State, thread: ThreadId) -> bool {
        self.at_blocked_acquire(state, thread).is_some_and(|at| {
            state.other_conflicts(thread, at.lock, at.mode)
                || (at.mode == Mode::Exclusive && self.would_lock_twice(state, thread, at.lock))
        })
    }

    /// The point at which a thread waits for what another thread would have to do.
    fn waits_at(&self, state: &State, thread: ThreadId) -> Option<EventId> {
        if !self.is_started(state, thread) {
            return None;
        }
        let untimed = |wait: EventId| matches!(self.op(wait), Op::Wait { timed: false, .. });
        let (point, waits) = match self.next(state, thread) {
            Some(event) => {
                let waits = match self.op(event) {
                    Op::Wake { reason: WakeReason::Notified, .. } => self
                        .wait_of(event)
                        .is_some_and(|wait| untimed(wait) && state.waiters.contains(wait)),
                    Op::SemWait { sem, patience: Patience::Blocking } => {
                        self.count(state, sem) == 0
                    }
                    Op::Leave { barrier } => self
                        .arrival_of(event, barrier)
                        .is_some_and(|arrival| !self.is_round_complete(state, barrier, arrival)),
                    Op::Acquire { lock, mode, patience: Patience::Blocking } => {
                        self.role(event) == Role::Opens
                            && self.is_left_locked(state, thread, lock, mode)
                    }
                    Op::LeaveCall => self.is_unfed(state, event),
                    ops!(memory object data lock cond sem thread mark Arrive Request
                        EnterCall) => false,
                };
                (event, waits)
            }
            None => {
                let last = self.last_executed(state, thread)?;
                let waits = match self.op(last) {
                    Op::Wait { .. } => untimed(last) && state.waiters.contains(last),
                    Op::Request(Request::SemWait(sem)) => self.count(state, sem) == 0,
                    Op::Arrive { barrier } => !self.is_round_complete(state, barrier, last),
                    Op::Request(Request::Acquire(lock, mode)) => {
                        self.is_left_locked(state, thread, lock, mode)
                    }
                    Op::EnterCall { .. } => self.is_unfed(state, last),
                    ops!(memory object data lock sem thread mark Wake Signal Broadcast Leave
                        Request LeaveCall) => false,
                };
                (last, waits)
            }
        };
        waits.then_some(point)
    }

    /// Whether a thread that is finished has the lock in a mode that conflicts.
    fn is_left_locked(&self, state: &State, thread: ThreadId, lock: LockId, mode: Mode) -> bool {
        state.holds_on(lock).any(|hold| {
            hold.thread != thread
                && hold.mode.conflicts(mode)
                && self.is_finished(state, hold.thread)
        })
    }

    fn is_blocked_at_join(&self, state: &State, thread: ThreadId) -> bool {
        match self.next(state, thread) {
            Some(event) => match self.op(event) {
                Op::Join { child } => {
                    !self.is_started(state, child) || !self.is_through(state, child)
                }
                ops!(memory object data lock cond sem barrier call mark Request Fork Begin End
                    Exit) => false,
            },
            None => match self.last_executed(state, thread).map(|last| self.op(last)) {
                Some(Op::Request(Request::Join(child))) => !self.is_finished(state, child),
                _ => false,
            },
        }
    }

    fn lock_errors(&self, state: &State, all: &mut BTreeSet<Violation>) {
        for thread in self.trace.thread_ids() {
            match self.next(state, thread) {
                Some(event) => match self.op(event) {
                    Op::Acquire { lock, mode: Mode::Exclusive, patience: Patience::Blocking }
                        if self.role(event) == Role::Opens
                            && self.would_lock_twice(state, thread, lock) =>
                    {
                        all.insert(Violation::Lock(LockMisuse::DoubleLock, event));
                    }
                    Op::Release { lock, mode } => {
                        self.unlock_errors(state, event, lock, mode, all);
                    }
                    Op::Destroy { lock } if state.holds_on(lock).next().is_some() => {
                        all.insert(Violation::Lock(LockMisuse::DestroyHeld, event));
                    }
                    ops!(memory object data cond sem barrier thread call mark Acquire AcquireFailed
                        Destroy Request) => {}
                },
                None => {
                    let Some(last) = self.last_executed(state, thread) else { continue };
                    if let Op::Request(Request::Acquire(lock, Mode::Exclusive)) = self.op(last)
                        && self.would_lock_twice(state, thread, lock)
                    {
                        all.insert(Violation::Lock(LockMisuse::DoubleLock, last));
                    }
                }
            }
        }
    }

    fn would_lock_twice(&self, state: &State, thread: ThreadId, lock: LockId) -> bool {
        !self.is_recursive(lock) && state.has(thread, lock, Mode::Exclusive)
    }

    fn unlock_errors(
        &self,
        state: &State,
        event: EventId,
        lock: LockId,
        mode: Mode,
        all: &mut BTreeSet<Violation>,
    ) {
        let thread = self.trace.thread_of(event);
        if state.holds_on(lock).next().is_none() {
            all.insert(Violation::Lock(LockMisuse::UnlockNotHeld, event));
        }
        let another_has_it = state
            .holds_on(lock)
            .any(|hold| hold.thread != thread && hold.depth == 1 && hold.mode == Mode::Exclusive);
        let has_none = state.holds_on(lock).all(|hold| hold.thread != thread);
        if mode == Mode::Exclusive && another_has_it && has_none {
            all.insert(Violation::Lock(LockMisuse::UnlockByOther, event));
        }
    }
}

/// The same cycle, told from its smallest event on.
fn smallest_first(mut points: Vec<EventId>) -> Vec<EventId> {
    let smallest = (0..points.len()).min_by_key(|&index| points[index]).unwrap_or(0);
    points.rotate_left(smallest);
    points
}
