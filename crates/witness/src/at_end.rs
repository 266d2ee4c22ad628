//! Whether the violation holds at the end of a schedule: section 4 of `docs/theory.md`.
//!
//! **Computes.** Each violation's conditions in the state reached, in the words of the theory. For
//! a stuck state also the waits that must still be in W, which `signals` then has to bring about.
//!
//! **Deviations**, each refusing more than the text. (1) Nothing is a violation once the process
//! has exited; the text says so only where something is *next* or *stuck*. (2) A hold of the same
//! mode of the thread's own blocks it only if the mode is exclusive and the lock is not recursive:
//! otherwise the acquire would deepen the hold.
//!
//! **Cost.** Constant, but O(threads) for a stuck state and O(schedule) for an atomicity violation.

use foretrace_trace::{
    Access, EventId, LockId, Mode, Op, Patience, Request, ThreadId, Trace, WakeReason,
};
use rustc_hash::FxHashSet;

use crate::recorded::Rule;
use crate::refuted::Refuted;
use crate::step::Replay;
use foretrace_verdict::{LockMisuse, Violation};

/// What can be said of a violation without a schedule: that it has the form of its kind.
pub(crate) fn check_form(trace: &Trace, violation: &Violation) -> Result<(), Refuted> {
    let malformed = |why| Err(Refuted::Malformed { why });
    if points(violation).iter().any(|point| point.index() >= trace.len()) {
        return malformed("the trace has no such event");
    }
    let thread = |event| trace.thread_of(event);
    match *violation {
        Violation::Race(a, b) => match accesses(trace, [a, b]) {
            _ if thread(a) == thread(b) => malformed("both accesses are of one thread"),
            Some([a, b]) if !a.conflicts(&b) => malformed("the accesses do not conflict"),
            Some([a, b]) if a.atomic && b.atomic => malformed("both accesses are atomic"),
            Some(_) => Ok(()),
            None => malformed("a race is between accesses"),
        },
        Violation::Atomicity { first, remote, second } => {
            match accesses(trace, [first, remote, second]) {
                _ if thread(first) != thread(second) => {
                    malformed("the first and the second access are of different threads")
                }
                _ if thread(first) == thread(remote) => {
                    malformed("the remote access is of the same thread")
                }
                _ if trace.position(first) >= trace.position(second) => {
                    malformed("the second access does not come after the first")
                }
                Some([c, r, d]) if !c.conflicts(&r) || !r.conflicts(&d) => {
                    malformed("the remote access does not conflict with both others")
                }
                Some(_) => Ok(()),
                None => malformed("an atomicity violation is between accesses"),
            }
        }
        Violation::LockCycle(ref cycle) => {
            let threads: FxHashSet<ThreadId> = cycle.iter().map(|&e| thread(e)).collect();
            match cycle.len() {
                0 | 1 => malformed("a lock cycle has at least two threads"),
                length if length != threads.len() => malformed("a thread is twice in the cycle"),
                _ => Ok(()),
            }
        }
        Violation::Assertion(at) if !matches!(trace.op(at), Op::Assert { .. }) => {
            malformed("it is not at an assertion")
        }
        Violation::Stuck(_) | Violation::Lock(..) | Violation::Assertion(_) => Ok(()),
    }
}

/// The events that name a violation.
pub(crate) fn points(violation: &Violation) -> Vec<EventId> {
    match *violation {
        Violation::Race(a, b) => vec![a, b],
        Violation::Atomicity { first, remote, second } => vec![first, remote, second],
        Violation::LockCycle(ref cycle) => cycle.clone(),
        Violation::Stuck(at) | Violation::Lock(_, at) | Violation::Assertion(at) => vec![at],
    }
}

fn accesses<const N: usize>(trace: &Trace, events: [EventId; N]) -> Option<[Access; N]> {
    let found: Option<Vec<Access>> = events.iter().map(|&event| trace.op(event).access()).collect();
    found?.try_into().ok()
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Point {
    /// Before this event.
    Next(EventId),
    /// Behind its last event.
    Last(EventId),
}

impl Point {
    fn event(self) -> EventId {
        match self {
            Point::Next(event) | Point::Last(event) => event,
        }
    }
}

impl Replay<'_> {
    /// Checks the violation in the present state. Returns the waits that must be in W.
    pub(crate) fn check_violation(
        &self,
        violation: &Violation,
        schedule: &[EventId],
    ) -> Result<FxHashSet<EventId>, Refuted> {
        if self.state.has_exited {
            return Err(Refuted::Exited);
        }
        match *violation {
            Violation::Race(a, b) => self.check_race(a, b)?,
            Violation::Atomicity { first, remote, second } => {
                self.check_atomicity([first, remote, second], schedule)?;
            }
            Violation::LockCycle(ref cycle) => self.check_cycle(cycle)?,
            Violation::Stuck(at) => return self.check_stuck(at),
            Violation::Lock(misuse, at) => self.check_misuse(misuse, at)?,
            Violation::Assertion(at) => self.check_assertion(at, schedule)?,
        }
        Ok(FxHashSet::default())
    }

    /// Race (a, b). Threads and conflict are part of the form.
    fn check_race(&self, a: EventId, b: EventId) -> Result<(), Refuted> {
        self.check_is_next(a)?;
        self.check_is_next(b)?;
        let access = self.trace.op(a).access().expect("by its form");
        require(self.is_live(access.at.object), a, "its object is not live")
    }

    /// Atomicity violation (c, r, c'). Threads and conflicts are part of the form.
    fn check_atomicity(
        &self,
        [first, remote, second]: [EventId; 3],
        schedule: &[EventId],
    ) -> Result<(), Refuted> {
        let in_one_region = self.recorded.regions.share(self.trace.thread_of(first), first, second);
        require(in_one_region, second, "it is not in one region with the first access")?;
        require(self.is_executed(first), first, "the first access is not executed")?;
        require(self.is_executed(remote), remote, "the remote access is not executed")?;
        let step = |of| schedule.iter().position(|&event| event == of);
        let in_order = step(first) < step(remote);
        require(in_order, remote, "the remote access comes before the first")?;
        self.check_is_next(second)
    }

    /// Lock cycle (e1 ... ek). Length and threads are part of the form.
    fn check_cycle(&self, cycle: &[EventId]) -> Result<(), Refuted> {
        for (index, &at) in cycle.iter().enumerate() {
            let holder = self.trace.thread_of(cycle[(index + 1) % cycle.len()]);
            let point = self.point_at(at)?;
            let Some((lock, mode)) = self.blocked_acquire(point) else {
                return not_violated(at, "its thread is not at a blocked acquire");
            };
            let open = self.state.locks.open(lock).iter();
            let has_it = open.clone().any(|open| {
                open.thread == holder
                    && open.mode.conflicts(mode)
                    && !self.recorded.is_handed_over(open.hold)
            });
            require(has_it, at, "the next thread of the cycle does not hold its lock")?;
        }
        Ok(())
    }

    /// Lock errors.
    fn check_misuse(&self, misuse: LockMisuse, at: EventId) -> Result<(), Refuted> {
        let point = self.point_at(at)?;
        let thread = self.trace.thread_of(at);
        let locks = &self.state.locks;
        let op = self.trace.op(at);
        match (misuse, point, op) {
            (
                LockMisuse::DoubleLock,
                Point::Next(_),
                Op::Acquire { lock, mode: Mode::Exclusive, patience: Patience::Blocking },
            ) if self.recorded.rule(at) == Rule::Open => self.check_double_lock(at, lock),
            (
                LockMisuse::DoubleLock,
                Point::Last(_),
                Op::Request(Request::Acquire(lock, Mode::Exclusive)),
            ) => self.check_double_lock(at, lock),
            (LockMisuse::UnlockNotHeld, Point::Next(_), Op::Release { lock, .. }) => {
                require(locks.open(lock).is_empty(), at, "somebody has the lock")
            }
            (
                LockMisuse::UnlockByOther,
                Point::Next(_),
                Op::Release { lock, mode: Mode::Exclusive },
            ) => {
                let is_others = locks.open(lock).iter().any(|open| {
                    open.thread != thread && open.mode == Mode::Exclusive && open.depth == 1
                });
                require(is_others, at, "no other thread has the lock exclusively and once")?;
                let is_own = locks.open(lock).iter().any(|open| open.thread == thread);
                require(!is_own, at, "the thread itself has the lock")
            }
            (LockMisuse::DestroyHeld, Point::Next(_), Op::Destroy { lock }) => {
                require(!locks.open(lock).is_empty(), at, "nobody has the lock")
            }
            _ => not_violated(at, "its thread is not at such an operation"),
        }
    }

    fn check_double_lock(&self, at: EventId, lock: LockId) -> Result<(), Refuted> {
        require(!self.recorded.holds.is_recursive(lock), at, "the lock is recursive")?;
        let own = self.state.locks.own_hold(lock, self.trace.thread_of(at), Mode::Exclusive);
        require(own.is_some(), at, "the thread does not have the lock")
    }

    /// Stuck (e).
    fn check_stuck(&self, at: EventId) -> Result<FxHashSet<EventId>, Refuted> {
        let at_thread = self.trace.thread_of(at);
        let mut must_wait = FxHashSet::default();
        let at_point = self.point_at(at)?;
        require(self.waits(at_point).is_some(), at, "its thread does not wait")?;
        for thread in self.trace.thread_ids().filter(|&thread| self.is_started(thread)) {
            // A thread without any event is started but does not say what it does.
            let Some(point) = self.point(thread) else { return Err(Refuted::NotStuck { thread }) };
            let is_finished = matches!(point, Point::Last(last) if self.trace.op(last) == Op::End);
            let blocked_anyway = self.lacks_its_lock(point) || self.is_joining(point);
            match self.waits(point) {
                _ if is_finished => {}
                // The thread at e has to wait; others need to only if nothing else blocks them.
                Some(waits) if thread == at_thread || !blocked_anyway => {
                    if let Waits::InW(wait) = waits {
                        must_wait.insert(wait);
                    }
                }
                _ if blocked_anyway => {}
                _ => return Err(Refuted::NotStuck { thread }),
            }
        }
        Ok(must_wait)
    }

    /// Whether the thread is at a blocked acquire, and the lock is in fact taken.
    fn lacks_its_lock(&self, point: Point) -> bool {
        let thread = self.trace.thread_of(point.event());
        self.blocked_acquire(point).is_some_and(|(lock, mode)| {
            let locks = &self.state.locks;
            let own_blocks = mode == Mode::Exclusive && !self.recorded.holds.is_recursive(lock);
            locks.other_holder(lock, thread, mode).is_some()
                || own_blocks && locks.own_hold(lock, thread, mode).is_some()
        })
    }

    /// Next at a join, or behind the request of one, of a child that is not finished.
    fn is_joining(&self, point: Point) -> bool {
        match (point, self.trace.op(point.event())) {
            (Point::Next(_), Op::Join { child }) => {
                !self.is_started(child) || !self.has_run_all(child)
            }
            (Point::Last(_), Op::Request(Request::Join(child))) => {
                let last = self.trace.thread_events(child).last();
                let is_finished = last
                    .is_some_and(|&last| self.trace.op(last) == Op::End && self.is_executed(last));
                !is_finished
            }
            _ => false,
        }
    }

    /// The lock and mode that a thread *at a blocked acquire* is after.
    fn blocked_acquire(&self, point: Point) -> Option<(LockId, Mode)> {
        let event = point.event();
        let mode_of_hold = || self.recorded.holds.get(self.recorded.hold(event)).mode;
        let rule = self.recorded.rule(event);
        match (point, self.trace.op(event)) {
            (Point::Next(_), Op::Acquire { lock, mode, patience: Patience::Blocking }) => {
                (rule == Rule::Open).then_some((lock, mode))
            }
            (Point::Next(_), Op::Wake { lock, .. }) => {
                (rule != Rule::Never).then(|| (lock, mode_of_hold()))
            }
            (Point::Last(_), Op::Request(Request::Acquire(lock, mode))) => Some((lock, mode)),
            (Point::Last(_), Op::Wait { lock, .. }) => Some((lock, mode_of_hold())),
            _ => None,
        }
    }

    /// What the thread waits for, if it is one of the *waiting* ones.
    fn waits(&self, point: Point) -> Option<Waits> {
        let event = point.event();
        let is_untimed = |wait| matches!(self.trace.op(wait), Op::Wait { timed: false, .. });
        let rule = self.recorded.rule(event);
        match (point, self.trace.op(event)) {
            (Point::Next(_), Op::Wake { reason: WakeReason::Notified, .. }) => {
                let wait = self.trace.previous(event)?;
                is_untimed(wait).then_some(Waits::InW(wait))
            }
            (Point::Last(_), Op::Wait { timed: false, .. }) => Some(Waits::InW(event)),
            (Point::Next(_), Op::SemWait { sem, patience: Patience::Blocking })
            | (Point::Last(_), Op::Request(Request::SemWait(sem))) => {
                (self.count(sem.index()) == 0).then_some(Waits::Otherwise)
            }
            (Point::Next(_), Op::Leave { .. }) | (Point::Last(_), Op::Arrive { .. }) => {
                let is_open = rule != Rule::Never && !self.is_complete(self.recorded.round(event));
                is_open.then_some(Waits::Otherwise)
            }
            (Point::Next(_), Op::Acquire { .. })
            | (Point::Last(_), Op::Request(Request::Acquire(..))) => {
                let (lock, mode) = self.blocked_acquire(point)?;
                let thread = self.trace.thread_of(event);
                self.is_left_locked(lock, mode, thread).then_some(Waits::Otherwise)
            }
            (Point::Next(_), Op::LeaveCall) => {
                let enter = self.trace.enter_of(event)?;
                self.is_starved(enter).then_some(Waits::Otherwise)
            }
            (Point::Last(_), Op::EnterCall { .. }) => {
                self.is_starved(event).then_some(Waits::Otherwise)
            }
            _ => None,
        }
    }

    /// Whether the call that begins here waits, and nobody has fed it.
    fn is_starved(&self, enter: EventId) -> bool {
        let waits = &self.recorded.waits;
        waits.is_starved(self.trace, enter, |event| self.is_executed(event))
    }

    /// Whether a finished thread other than this one has the lock in a conflicting mode.
    fn is_left_locked(&self, lock: LockId, mode: Mode, thread: ThreadId) -> bool {
        self.state.locks.open(lock).iter().any(|open| {
            let last = self.point(open.thread);
            let is_finished =
                matches!(last, Some(Point::Last(last)) if self.trace.op(last) == Op::End);
            open.thread != thread && open.mode.conflicts(mode) && is_finished
        })
    }

    /// Where a started thread is; `None` if it has no events.
    fn point(&self, thread: ThreadId) -> Option<Point> {
        let events = self.trace.thread_events(thread);
        let done = self.state.progress.get(thread.index()) as usize;
        events.get(done).map(|&next| Point::Next(next)).or(events.last().map(|&e| Point::Last(e)))
    }

    /// The point that an event names, if its thread is there.
    fn point_at(&self, at: EventId) -> Result<Point, Refuted> {
        let thread = self.trace.thread_of(at);
        require(self.is_started(thread), at, "its thread is not started")?;
        let point = self.point(thread).filter(|point| point.event() == at);
        point.ok_or(Refuted::NotViolated { event: at, why: "its thread is elsewhere" })
    }

    /// Whether the event is the next one of its thread.
    pub(crate) fn check_is_next(&self, event: EventId) -> Result<(), Refuted> {
        require(self.point_at(event)? == Point::Next(event), event, "it is executed already")
    }
}

/// How a thread waits.
enum Waits {
    /// This wait is in W: the resolution of the signals has to leave it there.
    InW(EventId),
    /// For a semaphore, a barrier, a lock that nobody will give back, or in a call that nobody
    /// feeds.
    Otherwise,
}

pub(crate) fn require(holds: bool, event: EventId, why: &'static str) -> Result<(), Refuted> {
    if holds { Ok(()) } else { not_violated(event, why) }
}

fn not_violated<T>(event: EventId, why: &'static str) -> Result<T, Refuted> {
    Err(Refuted::NotViolated { event, why })
}
