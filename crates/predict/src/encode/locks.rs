//! Mutual exclusion, and the operations that depend on who has a lock.
//!
//! **Follows.** `docs/theory.md`, section 3. Of two conflicting holds that are both opened, one is
//! closed before the other is opened (002 section 4.2 in terms of holds).

use foretrace_model::{Hold, HoldId};
use foretrace_solve::Lit;
use foretrace_trace::{EventId, Op, ops};

use super::Encoder;
use crate::explain::Reason;

impl Encoder<'_> {
    /// Keeps two conflicting holds apart; for holds of one thread, the earlier is closed first.
    /// Returns whether this is new.
    pub(super) fn exclude(&mut self, a: HoldId, b: HoldId) -> bool {
        let (a, b) = (a.min(b), a.max(b));
        if !self.lock_pairs.insert((a, b)) {
            return false;
        }
        let (first, second) = (*self.skeleton.locks.hold(a), *self.skeleton.locks.hold(b));
        let mut clause = vec![!self.included(first.open), !self.included(second.open)];
        clause.extend(first.close.map(|close| self.before(close, second.open)));
        if first.thread != second.thread {
            clause.extend(second.close.map(|close| self.before(close, first.open)));
        }
        let reason = || Reason::Exclusion {
            lock: first.lock,
            first: (first.open, first.close),
            second: (second.open, second.close),
        };
        self.under(reason, |encoder| encoder.rule(&clause));
        true
    }

    /// `event` needs that this hold is not open. Returns whether this is new.
    pub(super) fn not_within(&mut self, event: EventId, id: HoldId) -> bool {
        if !self.unheld.insert((event, id)) {
            return false;
        }
        let hold = *self.skeleton.locks.hold(id);
        let mut clause = vec![!self.included(event), self.before(event, hold.open)];
        clause.extend(hold.close.map(|close| self.before(close, event)));
        let (lock, hold) = (hold.lock, (hold.open, hold.close));
        let reason = || Reason::NotWithin { event, lock, hold };
        self.under(reason, |encoder| encoder.rule(&clause));
        true
    }

    /// A failed acquire needs some conflicting hold around it. Returns whether this is new.
    pub(super) fn require_holder(&mut self, failure: EventId) -> bool {
        if !self.failures.insert(failure) {
            return false;
        }
        let Op::AcquireFailed { lock, mode, .. } = self.skeleton.trace.op(failure) else {
            unreachable!("only failed acquires need a holder");
        };
        let mut some = vec![!self.included(failure)];
        let mut holds = Vec::new();
        for &id in self.skeleton.locks.holds_of(lock) {
            let hold = *self.skeleton.locks.hold(id);
            if !hold.mode.conflicts(mode) {
                continue;
            }
            let mut around = vec![self.before(hold.open, failure)];
            around.extend(hold.close.map(|close| self.before(failure, close)));
            if around.contains(&self.solver.constant(false)) {
                continue;
            }
            some.push(self.all_of(&around));
            holds.push((hold.open, hold.close));
        }
        let reason = || Reason::Failed { failure, lock, holds };
        self.under(reason, |encoder| encoder.rule(&some));
        true
    }

    /// "The hold is open at X".
    pub(crate) fn open_at_moment(&mut self, hold: &Hold) -> Vec<Lit> {
        let mut lits = vec![self.included(hold.open)];
        if let Some(close) = hold.close {
            lits.push(!self.included(close));
        }
        lits
    }

    /// "The hold is open at X, with depth 1", as alternatives.
    pub(crate) fn open_once_at_moment(&mut self, id: HoldId) -> Vec<Lit> {
        let skeleton = self.skeleton;
        let hold = *skeleton.locks.hold(id);
        let open = self.open_at_moment(&hold);
        let inner = skeleton.locks.inner(id);
        // A wake may open a hold that is deeper than one from the start.
        let opened_at = match skeleton.trace.op(hold.open) {
            Op::Wake { .. } => self.depth_given_back(hold.open),
            ops!(memory object data lock sem barrier thread call mark Wait Signal Broadcast
                Request) => 1,
        };
        let mut alternatives = Vec::new();
        let mut depth = opened_at;
        for step in 0..=inner.len() {
            if step > 0 {
                match skeleton.trace.op(inner[step - 1]) {
                    Op::Acquire { .. } => depth += 1,
                    ops!(memory object data cond sem barrier thread call mark AcquireFailed Release
                        Destroy Request) => depth -= 1,
                }
            }
            if depth != 1 {
                continue;
            }
            let mut lits = open.clone();
            if step > 0 {
                lits.push(self.included(inner[step - 1]));
            }
            if let Some(&later) = inner.get(step) {
                lits.push(!self.included(later));
            }
            alternatives.push(self.all_of(&lits));
        }
        alternatives
    }

    /// The depth with which the wait before a wake gave its lock back.
    fn depth_given_back(&self, wake: EventId) -> u32 {
        let (skeleton, trace) = (self.skeleton, self.skeleton.trace);
        let wait = trace.previous(wake).expect("a wake follows its wait");
        let id = skeleton.locks.hold_at(wait).expect("a wait closes a hold");
        let open = skeleton.locks.hold(id).open;
        let mut depth = match trace.op(open) {
            Op::Wake { .. } => self.depth_given_back(open),
            ops!(memory object data lock sem barrier thread call mark Wait Signal Broadcast
                Request) => 1,
        };
        for &inner in skeleton.locks.inner(id) {
            match trace.op(inner) {
                Op::Acquire { .. } => depth += 1,
                ops!(memory object data cond sem barrier thread call mark AcquireFailed Release
                    Destroy Request) => depth -= 1,
            }
        }
        depth
    }
}
