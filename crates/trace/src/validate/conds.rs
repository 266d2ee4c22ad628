//! Condition variables: whom each signal wakes.
//!
//! **Computes.** One choice for every signal, such that every notified wake finds its wait among
//! the notified, if there is such a choice at all.
//!
//! **Follows.** Section 3 of `docs/theory.md`: a signal moves any one wait from W to N, or, if all
//! of W may leave, all of W to E. Sort the waits into *needy* (a notified wake follows), *leaving*
//! (a timed-out or spurious wake follows) and *final* (nothing follows).
//!
//! 1. *Only needy waits can go wrong.* A leaving wait must not be in N at its wake; it gets there
//!    only if a signal chooses it, and no signal ever has to: with a needy or final wait in W,
//!    choose that one; with leaving waits alone, all may leave, and all go to E, where they may
//!    wake as well. A final wait is content anywhere. A broadcast puts needy and final waits in N
//!    and leaving ones in E: right for all.
//! 2. *So the order is feasible iff each needy wait can be given a signal or broadcast of its own
//!    between it and its wake* - broadcasts serve everyone in W. A signal that finds needy waits in
//!    W may as well choose one of them: being in N early never hurts, and it must not send them to
//!    E. By 1, what the signal does when there are none does not matter.
//! 3. *It may choose the one whose wake comes first.* Take a feasible choice in which a signal s
//!    takes u although v, also in W, wakes before u. v is taken by a later signal or broadcast t,
//!    before v's wake and so before u's. Exchange them: v at s, u at t (for a broadcast: u is then
//!    still in W and is taken along). Both are served in time. If s takes no needy wait, let it
//!    take v, and let t take what it likes. Repeating this, signal by signal, gives the choice made
//!    here.
//!
//! A needy wait that is not in N at its wake is therefore a proof that no choice works; and as
//! nothing after the wake has been looked at but the order of wakes, already the events up to it
//! are infeasible.
//!
//! **Invariant.** `needy` has exactly the needy waits of W.
//!
//! **Cost.** O(log w) for each wait and each wake, w being the number of waits in W.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::event::{Op, WakeReason};
use crate::ids::*;
use crate::store::Trace;

pub(super) struct Conds<'t> {
    trace: &'t Trace,
    /// Per condition variable: the wakes that need a notify, the earliest first, and their threads.
    needy: Vec<BinaryHeap<Reverse<(EventId, ThreadId)>>>,
}

impl<'t> Conds<'t> {
    pub(super) fn new(trace: &'t Trace) -> Conds<'t> {
        Conds { trace, needy: vec![BinaryHeap::new(); trace.conds().len()] }
    }

    pub(super) fn wait(&mut self, id: EventId, thread: ThreadId, cond: CondId) {
        let Some(next) = self.trace.next(id) else { return };
        if matches!(self.trace.op(next), Op::Wake { reason: WakeReason::Notified, .. }) {
            self.needy[cond.index()].push(Reverse((next, thread)));
        }
    }

    /// The thread that a signal reaches, if it has a use for one. A broadcast is a signal for each.
    pub(super) fn signal(&mut self, cond: CondId) -> Option<ThreadId> {
        self.needy[cond.index()].pop().map(|Reverse((_, thread))| thread)
    }
}
