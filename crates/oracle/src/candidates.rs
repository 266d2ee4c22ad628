//! The tuples of events that might be a violation, by their kinds alone.
//!
//! **Computes.** A readable superset of what is usually asked, to count what is *not* violated: a
//! test run in which every lock cycle is possible shows nothing about the infeasible ones.
//!
//! **Invariant.** For counting only; no verdict depends on it. Cycles are listed for two threads.
//!
//! **Cost.** Cubic in the accesses of a tiny trace.

use std::collections::BTreeSet;

use foretrace_trace::*;
use foretrace_verdict::{LockMisuse, Violation};

use crate::recorded::{Recorded, Role};
use crate::violations::Triple;

impl Recorded<'_> {
    /// All candidates of all properties.
    pub(crate) fn candidates(&self) -> BTreeSet<Violation> {
        let mut all: BTreeSet<Violation> = self
            .triples()
            .into_iter()
            .map(|Triple { first, remote, second }| Violation::Atomicity { first, remote, second })
            .collect();
        self.candidate_races(&mut all);
        self.candidate_cycles(&mut all);
        for (event, op) in self.events() {
            let is_last = self.trace.next(event).is_none();
            if self.is_in_waiting_call(event) {
                all.insert(Violation::Stuck(event));
            }
            match op {
                Op::Wake { reason: WakeReason::Notified, .. }
                | Op::SemWait { patience: Patience::Blocking, .. }
                | Op::Leave { .. } => {
                    all.insert(Violation::Stuck(event));
                }
                Op::Wait { timed: false, .. }
                | Op::Request(Request::SemWait(_))
                | Op::Arrive { .. }
                    if is_last =>
                {
                    all.insert(Violation::Stuck(event));
                }
                Op::Acquire { lock, mode: Mode::Exclusive, patience: Patience::Blocking }
                    if self.role(event) == Role::Opens && !self.is_recursive(lock) =>
                {
                    all.insert(Violation::Lock(LockMisuse::DoubleLock, event));
                }
                Op::Release { mode, .. } => {
                    all.insert(Violation::Lock(LockMisuse::UnlockNotHeld, event));
                    if mode == Mode::Exclusive {
                        all.insert(Violation::Lock(LockMisuse::UnlockByOther, event));
                    }
                }
                Op::Destroy { .. } => {
                    all.insert(Violation::Lock(LockMisuse::DestroyHeld, event));
                }
                Op::Assert { .. } => {
                    all.insert(Violation::Assertion(event));
                }
                ops!(memory object cond sem thread call mark Let Branch Assume Acquire
                    AcquireFailed Arrive Request) => {}
            }
        }
        all
    }

    fn candidate_races(&self, all: &mut BTreeSet<Violation>) {
        for (a, first) in self.events() {
            for (b, second) in self.events() {
                let (Some(first), Some(second)) = (first.access(), second.access()) else {
                    continue;
                };
                let apart = self.trace.thread_of(a) != self.trace.thread_of(b);
                if a < b && apart && first.conflicts(&second) && !(first.atomic && second.atomic) {
                    all.insert(Violation::Race(a, b));
                }
            }
        }
    }

    fn candidate_cycles(&self, all: &mut BTreeSet<Violation>) {
        for (a, _) in self.events() {
            for (b, _) in self.events() {
                let apart = self.trace.thread_of(a) != self.trace.thread_of(b);
                if a < b && apart && self.may_want_from(a, b) && self.may_want_from(b, a) {
                    all.insert(Violation::LockCycle(vec![a, b]));
                }
            }
        }
    }

    /// Whether the first event may want a lock that the second one's thread, as far as its own
    /// events tell, has at the second event.
    fn may_want_from(&self, wanting: EventId, having: EventId) -> bool {
        let (wanted, mode) = match self.op(wanting) {
            Op::Acquire { lock, mode, patience: Patience::Blocking }
                if self.role(wanting) == Role::Opens =>
            {
                (lock, mode)
            }
            Op::Wake { lock, .. } if self.role(wanting) == Role::Opens => {
                (lock, self.opens(wanting).mode)
            }
            Op::Request(Request::Acquire(lock, mode)) if self.trace.next(wanting).is_none() => {
                (lock, mode)
            }
            ops!(memory object data sync call mark) => return false,
        };
        let thread = self.trace.thread_of(having);
        let before = &self.trace.thread_events(thread)[..self.trace.position(having)];
        before.iter().any(|&event| {
            self.role(event) == Role::Opens
                && self.opens(event).lock == wanted
                && self.opens(event).mode.conflicts(mode)
                && !before.iter().any(|&close| self.role(close) == Role::Closes(event))
        })
    }
}
