//! Where threads can be blocked for ever.
//!
//! **Computes.** For each blocking operation, that a thread comes there and does not go on, and
//! what it waits for. Whether it gets that is known at the *end*, behind everything that happens:
//! the states of locks, semaphores and barriers are read there once more. If only one thread uses
//! an object, its state is the one that the thread knows.
//!
//! Inside of an atomic section nobody else can help, so a thread that cannot go on at once is
//! blocked for ever, and all others with it: that is a check like any other.

use foretrace_program::{CondId, Site, SyncRef, Violation};

use super::ways::{Arrival, Way};
use super::{Unfolder, key};
use crate::skeleton::*;
use crate::terms::{Term, Terms};

impl Unfolder<'_> {
    /// The thread comes to an operation that may block it: it goes on only if `wants`, and only if
    /// `is_possible` of the state, which it has found to be `found`.
    pub(super) fn may_block(
        &mut self,
        way: &Way,
        site: Site,
        wants: Term,
        (state, found): (Place, Term),
        is_possible: impl Fn(&mut Terms, Term) -> Term,
    ) {
        if !self.bounds.deadlocks {
            return;
        }
        if way.section.is_some() {
            let possible = is_possible(&mut self.skeleton.terms, found);
            let impossible = self.skeleton.terms.not(possible);
            return self.note_check(way, impossible, Violation::Deadlock(vec![site]), None);
        }
        let still = self.still(way, state, found, is_possible);
        let stops = self.skeleton.terms.not(wants);
        self.blocks(way, site, stops, Until::State(still));
    }

    /// The thread waits for the end of another one, and does not go on if not `wants`.
    pub(super) fn may_wait_for(&mut self, way: &Way, site: Site, wants: Term, child: usize) {
        let stops = self.skeleton.terms.not(wants);
        self.blocks(way, site, stops, Until::End(child));
    }

    /// The thread is blocked for ever if the condition is true.
    pub(super) fn blocks_for_ever(&mut self, way: &Way, site: Site, condition: Term) {
        if way.section.is_some() && self.bounds.deadlocks {
            return self.note_check(way, condition, Violation::Deadlock(vec![site]), None);
        }
        let truth = self.skeleton.terms.truth(true);
        self.blocks(way, site, condition, Until::State(truth));
    }

    /// That a thread which has found a state like this cannot go on at the end.
    pub(super) fn still(
        &mut self,
        way: &Way,
        state: Place,
        found: Term,
        is_possible: impl Fn(&mut Terms, Term) -> Term,
    ) -> Term {
        let is_own = way.sequential || !self.is_shared(state);
        let at_end = if is_own { found } else { self.at_end(state) };
        let possible = is_possible(&mut self.skeleton.terms, at_end);
        self.skeleton.terms.not(possible)
    }

    fn blocks(&mut self, way: &Way, site: Site, condition: Term, until: Until) {
        if !self.bounds.deadlocks {
            return;
        }
        let guard = way.guard(&mut self.skeleton.terms);
        let stops = self.skeleton.terms.and(guard, condition);
        if !self.skeleton.terms.is_false(stops) {
            let thread = self.thread;
            self.skeleton.ending.blocking.push(Blocking { thread, site, stops, until });
        }
    }

    /// What a state is at the end.
    fn at_end(&mut self, state: Place) -> Term {
        let terms = &mut self.skeleton.terms;
        *self.finals.entry(state).or_insert_with(|| terms.symbol(8 * state.size))
    }

    /// A thread begins to wait at a node; if it is notified, it still waits at the end if `still`.
    /// `None` if nobody asks.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn begin_wait(
        &mut self,
        way: &Way,
        site: Site,
        cond: Option<u64>,
        begin: NodeId,
        (woken, passes): (Term, Term),
        timed: bool,
        still: Term,
    ) -> Option<usize> {
        if !self.bounds.deadlocks {
            return None;
        }
        let Some(cond) = cond else {
            let why = "a condition variable that depends on data";
            self.skeleton.ending.not_asked.push((why, site));
            return None;
        };
        let begins = way.guard(&mut self.skeleton.terms);
        let wakes = self.skeleton.terms.and(begins, passes);
        let thread = self.thread;
        let wait = self.skeleton.ending.waits.len();
        let entry = Wait { thread, cond, begin, begins, wake: begin, wakes, woken, timed };
        self.skeleton.ending.waits.push(entry);
        let truth = self.skeleton.terms.truth(true);
        if way.section.is_some() {
            if !timed {
                let what = Violation::Deadlock(vec![site]);
                self.note_check(way, truth, what, Some(wait));
            }
            return Some(wait);
        }
        let stops = self.skeleton.terms.not(passes);
        self.blocks(way, site, stops, Until::Notified(wait, still));
        Some(wait)
    }

    /// A wait ends at a node, if it ends.
    pub(super) fn wakes_at(&mut self, wait: Option<usize>, node: NodeId) {
        if let Some(wait) = wait {
            self.skeleton.ending.waits[wait].wake = node;
        }
    }

    /// Lists a signal or broadcast as a step.
    pub(super) fn notify(
        &mut self,
        here: &mut Arrival,
        site: Site,
        cond: &SyncRef<CondId>,
        is_broadcast: bool,
    ) {
        here.way.effects += 1;
        let cond = self.cond(here, site, cond);
        let guard = here.way.guard(&mut self.skeleton.terms);
        // As long as a thread is alone, nobody waits.
        if !self.bounds.deadlocks || here.way.sequential {
            return self.step(&here.way, guard, None, How::Plain);
        }
        let Some(cond) = cond else {
            let why = "a condition variable that depends on data";
            self.skeleton.ending.not_asked.push((why, site));
            return self.step(&here.way, guard, None, How::Plain);
        };
        let section = here.way.section.as_ref().map(|section| section.node);
        let node = section.unwrap_or_else(|| self.node());
        let signal = self.skeleton.ending.signals.len();
        self.skeleton.ending.signals.push(Signal { cond, node, guard, is_broadcast });
        let how = if is_broadcast { How::Plain } else { How::Signal(signal) };
        self.step(&here.way, guard, Some(node), how);
    }

    /// Names a condition variable; `None` if it depends on data.
    pub(super) fn cond(
        &mut self,
        here: &mut Arrival,
        site: Site,
        cond: &SyncRef<CondId>,
    ) -> Option<u64> {
        match *cond {
            SyncRef::Named(cond) => Some(key(("cond", cond.index()))),
            SyncRef::At(address) => {
                let address = self.operand(here, address);
                let (owner, offset) = self.lies_at(&mut here.way, address, site)?;
                Some(key(("cond at", owner, offset)))
            }
        }
    }

    /// All threads are unfolded: the states at the end are read.
    pub(super) fn end_all(&mut self) {
        if self.skeleton.ending.blocking.is_empty() {
            return;
        }
        let truth = self.skeleton.terms.truth(true);
        self.thread = self.new_thread(None, truth);
        let node = self.node();
        let asked = self.skeleton.terms.symbol(1);
        for (&place, &value) in &self.finals {
            let (guard, is_first) = (asked, None);
            self.skeleton.reads.push(Read { node, place, value, symbol: value, guard, is_first });
        }
        (self.skeleton.ending.asked, self.skeleton.ending.node) = (Some(asked), Some(node));
    }
}
