//! Φ_PRP: the violation at X. `docs/theory.md`, section 4.
//!
//! Without foreign releases and waits, what a thread holds is known where the thread is, so lock
//! cycles and misuse of locks are little more than who is next where.

use foretrace_trace::{EventId, Mode, Op, Patience, Request, ops};
use foretrace_verdict::{LockMisuse, Violation};

use super::{Encoder, Scope};
use crate::Unsupported;
use crate::recorded::{Hold, share_a_region};
use crate::term::Term;

impl Encoder<'_> {
    /// That the violation holds. What is no candidate at all never does.
    pub(super) fn property(&self) -> Result<Term, Unsupported> {
        let is_whole = self.options.scope == Scope::Whole;
        Ok(match *self.violation {
            Violation::Race(a, b) => self.race(a, b),
            Violation::Atomicity { first, remote, second } => self.atomicity(first, remote, second),
            Violation::Assertion(event) => self.assertion(event),
            _ if is_whole => return Err(Unsupported::new("this property in runs of all events")),
            Violation::LockCycle(ref cycle) => self.cycle(cycle),
            Violation::Lock(misuse, event) => self.misuse(misuse, event),
            Violation::Stuck(_) => return Err(Unsupported::new("stuck states")),
        })
    }

    fn race(&self, a: EventId, b: EventId) -> Term {
        let (Some(first), Some(second)) = (self.trace.access(a), self.trace.access(b)) else {
            return Term::FALSE;
        };
        let is_one_thread = self.trace.thread_of(a) == self.trace.thread_of(b);
        if is_one_thread || !first.conflicts(&second) || (first.atomic && second.atomic) {
            return Term::FALSE;
        }
        if self.options.scope == Scope::Prefix {
            return Term::and([self.next_at(a), self.next_at(b), self.is_live(first.at.object)]);
        }
        // HB(a', b) and HB(b', a), where a' and b' are what comes before a and b in their threads.
        let before = |event, other| {
            let due = self.recorded.due_before(self.trace, event);
            due.map_or(Term::TRUE, |due| self.before(due, other))
        };
        Term::and([before(a, b), before(b, a)])
    }

    fn atomicity(&self, first: EventId, remote: EventId, second: EventId) -> Term {
        let accesses = [first, remote, second].map(|event| self.trace.access(event));
        let [Some(one), Some(between), Some(two)] = accesses else { return Term::FALSE };
        let [thread, other, also] =
            [first, remote, second].map(|event| self.trace.thread_of(event));
        let infer = self.options.infer_regions;
        let is_candidate = thread == also
            && thread != other
            && first < second
            && between.conflicts(&one)
            && between.conflicts(&two)
            && share_a_region(self.trace, &self.recorded.sync, infer, first, second);
        if !is_candidate {
            return Term::FALSE;
        }
        let order = self.before(first, remote);
        match self.options.scope {
            Scope::Prefix => Term::and([order, self.included(remote), self.next_at(second)]),
            Scope::Whole => Term::and([order, self.before(remote, second)]),
        }
    }

    fn assertion(&self, event: EventId) -> Term {
        let Op::Assert { holds } = self.trace.op(event) else { return Term::FALSE };
        let at = match self.options.scope {
            Scope::Prefix => self.next_at(event),
            Scope::Whole => self.included(event),
        };
        let fails = match self.trace.expression(event) {
            Some(expr) if self.recorded.data.counts(event) => self.truth(event, expr).negated(),
            _ if holds => Term::FALSE,
            _ => {
                let events = self.trace.thread_events(self.trace.thread_of(event));
                let earlier = events[..self.trace.position(event)].iter();
                let reads = earlier.filter(|&&earlier| {
                    self.trace.access(earlier).is_some_and(|access| access.reads)
                });
                Term::and(reads.map(|&read| self.as_recorded(read)))
            }
        };
        Term::and([at, fails])
    }

    /// Each thread is at a blocked acquire of a lock that the following one has.
    fn cycle(&self, cycle: &[EventId]) -> Term {
        let thread = |at: usize| self.trace.thread_of(cycle[at % cycle.len()]);
        let are_different =
            (0..cycle.len()).all(|at| (0..at).all(|before| thread(before) != thread(at)));
        if cycle.len() < 2 || !are_different {
            return Term::FALSE;
        }
        Term::and(cycle.iter().enumerate().map(|(at, &event)| {
            let (wanted, is_at) = match self.trace.op(event) {
                Op::Acquire { lock, mode, patience: Patience::Blocking }
                    if self.recorded.sync.opening.contains(&event) =>
                {
                    ((lock, mode), self.next_at(event))
                }
                Op::Request(Request::Acquire(lock, mode)) if self.trace.next(event).is_none() => {
                    ((lock, mode), self.included(event))
                }
                ops!(memory object data sync call mark) => return Term::FALSE,
            };
            let following = cycle[(at + 1) % cycle.len()];
            let is_in_the_way = |hold: &Hold| {
                hold.thread == thread(at + 1)
                    && hold.lock == wanted.0
                    && hold.mode.conflicts(wanted.1)
                    && hold.is_open_at(following)
            };
            match self.recorded.sync.holds.iter().any(is_in_the_way) {
                true => is_at,
                false => Term::FALSE,
            }
        }))
    }

    fn misuse(&self, misuse: LockMisuse, event: EventId) -> Term {
        let op = self.trace.op(event);
        let thread = self.trace.thread_of(event);
        let lock = match op {
            Op::Acquire { lock, .. } | Op::Release { lock, .. } | Op::Destroy { lock } => lock,
            Op::Request(Request::Acquire(lock, _)) => lock,
            ops!(memory object data cond sem barrier thread call mark AcquireFailed Request) => {
                return Term::FALSE;
            }
        };
        let holds = self.recorded.sync.holds.iter().filter(|hold| hold.lock == lock);
        let has_one = |mode| {
            let own = |hold: &Hold| hold.thread == thread && hold.mode == mode;
            holds.clone().any(|hold| own(hold) && hold.is_open_at(event))
        };
        let next = self.next_at(event);
        match (misuse, op) {
            (LockMisuse::DoubleLock, _) => {
                let is_at =
                    match op {
                        Op::Acquire {
                            mode: Mode::Exclusive, patience: Patience::Blocking, ..
                        } if self.recorded.sync.opening.contains(&event) => next,
                        Op::Request(Request::Acquire(_, Mode::Exclusive))
                            if self.trace.next(event).is_none() =>
                        {
                            self.included(event)
                        }
                        ops!(memory object data sync call mark) => Term::FALSE,
                    };
                let is_double =
                    has_one(Mode::Exclusive) && !self.recorded.sync.recursive.contains(&lock);
                Term::and([is_at, Term::Bool(is_double)])
            }
            (LockMisuse::UnlockNotHeld, Op::Release { .. }) => {
                let closed = holds.clone().map(|hold| {
                    let closed = hold.close.map_or(Term::FALSE, |close| self.included(close));
                    Term::or([self.excluded(hold.open), closed])
                });
                Term::and(std::iter::once(next).chain(closed))
            }
            (LockMisuse::UnlockByOther, Op::Release { mode: Mode::Exclusive, .. }) => {
                let others = holds
                    .clone()
                    .filter(|hold| hold.thread != thread && hold.mode == Mode::Exclusive);
                let once = Term::or(others.map(|hold| self.is_held_once(hold)));
                Term::and([next, Term::Bool(!has_one(Mode::Exclusive)), once])
            }
            (LockMisuse::DestroyHeld, Op::Destroy { .. }) => {
                Term::and([next, Term::or(holds.clone().map(|hold| self.is_held(hold)))])
            }
            _ => Term::FALSE,
        }
    }

    /// At X, the hold is open.
    fn is_held(&self, hold: &Hold) -> Term {
        let open = hold.close.map_or(Term::TRUE, |close| self.excluded(close));
        Term::and([self.included(hold.open), open])
    }

    /// At X, the hold is open with depth 1.
    fn is_held_once(&self, hold: &Hold) -> Term {
        let ends = hold.depths.iter().skip(1).map(|&(event, _)| Some(event)).chain([hold.close]);
        let at_depth_1 = hold.depths.iter().zip(ends).filter(|&(&(_, depth), _)| depth == 1);
        Term::or(at_depth_1.map(|(&(begin, _), end)| {
            let not_yet = end.map_or(Term::TRUE, |end| self.excluded(end));
            Term::and([self.included(begin), not_yet])
        }))
    }
}
