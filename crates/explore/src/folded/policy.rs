//! How coarsely threads are folded.

use foretrace_model::{CellId, Skeleton};
use foretrace_trace::{EventId, LocationId, SemId, ThreadId, Trace};

use crate::matter::Matter;

/// What is looked at, and which events are told apart.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    /// The cells that are looked at.
    pub(super) cells: Vec<CellId>,
    /// Whether the count of each semaphore is.
    sems: Vec<bool>,
    /// Threads whose events are all told apart.
    unfolded: Vec<bool>,
    /// Of how many earlier steps a node knows.
    pub(super) history: usize,
    /// Whether nodes are at one place of the source each.
    by_place: bool,
}

impl Policy {
    pub(super) fn new(
        skeleton: &Skeleton,
        matter: &Matter,
        history: usize,
        by_place: bool,
    ) -> Self {
        let cells = matter.cells.iter().enumerate().filter(|&(_, &matters)| matters);
        Policy {
            cells: cells.map(|(index, _)| CellId(index as u32)).collect(),
            sems: vec![true; skeleton.trace.semaphores().len()],
            unfolded: vec![false; skeleton.trace.threads().len()],
            history,
            by_place,
        }
    }

    /// The place of an event, as far as it counts.
    pub(super) fn place(&self, trace: &Trace, event: EventId) -> Option<LocationId> {
        trace.location_of(event).filter(|_| self.by_place)
    }

    pub(super) fn counts(&self, sem: SemId) -> bool {
        self.sems[sem.index()]
    }

    pub(super) fn is_unfolded(&self, thread: ThreadId) -> bool {
        self.unfolded[thread.index()]
    }

    /// Looks away from a cell.
    pub(super) fn drop_cell(&mut self, cell: CellId) {
        self.cells.retain(|&known| known != cell);
    }

    /// Looks away from a semaphore.
    pub(super) fn drop_sem(&mut self, sem: SemId) {
        self.sems[sem.index()] = false;
    }

    /// Tells all events of the threads apart. Whether that is new for one of them.
    pub(super) fn unfold(&mut self, threads: impl IntoIterator<Item = ThreadId>) -> bool {
        let mut is_new = false;
        for thread in threads {
            is_new |= !std::mem::replace(&mut self.unfolded[thread.index()], true);
        }
        is_new
    }
}
