//! Who has a lock at X, for the stuck state.
//!
//! **Computes.** For a lock, a thread and a mode, one literal that says that the thread would have
//! to wait. All points of the thread at that lock share it, so that the formula grows with holds
//! times threads, not with pairs of holds.

use rustc_hash::FxHashMap;

use foretrace_model::HoldId;
use foretrace_solve::Lit;
use foretrace_trace::{LockId, Mode, ThreadId};

use super::Encoder;
use crate::fault::{Fault, is_seeded};

/// Who has which lock at X, once for all who ask.
#[derive(Default)]
pub(super) struct Holders {
    pub(super) open: FxHashMap<HoldId, Lit>,
    /// "Somebody has the lock whom this thread would have to wait for"; whether holds of its own
    /// count.
    pub(super) blocking: FxHashMap<(LockId, ThreadId, Mode, bool), Lit>,
    /// The same of threads that have finished; `None`: there are none.
    pub(super) left: FxHashMap<(LockId, ThreadId, Mode), Option<Lit>>,
}

impl Encoder<'_> {
    /// A literal that implies that somebody has the lock at X whom the thread would have to wait
    /// for. (A thread that comes to an acquire has not opened the hold that this acquire opens, so
    /// that one need not be left out.)
    pub(super) fn holder_blocks(
        &mut self,
        lock: LockId,
        thread: ThreadId,
        mode: Mode,
        own_counts: bool,
        open: &mut FxHashMap<HoldId, Lit>,
    ) -> Lit {
        let skeleton = self.skeleton;
        let somebody = self.solver.literal();
        let mut some = vec![!somebody];
        for &id in skeleton.locks.holds_of(lock) {
            let hold = *skeleton.locks.hold(id);
            let blocks = if hold.thread == thread {
                own_counts
                    && mode == Mode::Exclusive
                    && hold.mode == Mode::Exclusive
                    && !skeleton.locks.is_recursive(lock)
                    && !is_seeded(Fault::OwnHoldForgotten)
            } else {
                hold.mode.conflicts(mode)
            };
            if blocks {
                some.push(match open.get(&id) {
                    Some(&open) => open,
                    None => {
                        let lits = self.open_at_moment(&hold);
                        let lit = self.all_of(&lits);
                        open.insert(id, lit);
                        lit
                    }
                });
            }
        }
        self.solver.clause(&some);
        somebody
    }

    /// A literal that implies that a finished thread has the lock, if one can.
    pub(super) fn finished_holder(
        &mut self,
        lock: LockId,
        thread: ThreadId,
        mode: Mode,
        open: &FxHashMap<HoldId, Lit>,
    ) -> Option<Lit> {
        let skeleton = self.skeleton;
        let mut some = Vec::new();
        for &id in skeleton.locks.holds_of(lock) {
            let hold = *skeleton.locks.hold(id);
            let Some(end) = skeleton.locks.end_that_leaves(skeleton.trace, id) else { continue };
            if hold.thread != thread && hold.mode.conflicts(mode) {
                let finished = self.included(end);
                let forgotten = is_seeded(Fault::HolderNotFinished);
                some.push(if forgotten { open[&id] } else { self.all_of(&[open[&id], finished]) });
            }
        }
        if some.is_empty() {
            return None;
        }
        let left = self.solver.literal();
        some.push(!left);
        self.solver.clause(&some);
        Some(left)
    }
}
