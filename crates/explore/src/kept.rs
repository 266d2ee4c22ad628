//! Which objects an exploration looks at.
//!
//! **Computes.** The cells, locks, condition variables, semaphores and lives of objects that are
//! kept. What is not kept asks for nothing: its operations are always enabled, and its guards
//! always hold. So an exploration of a slice reaches every state that one of the whole trace does,
//! and more.
//!
//! **Invariant.** If a cell is kept, so are the cells on which the values depend that are stored
//! there. Locks with a release by a thread that does not hold them are always kept.

use foretrace_model::{CellId, Skeleton};
use foretrace_trace::{CondId, EventId, LockId, ObjectId, Op, Request, SemId, ops};

use crate::fault::{Fault, is_seeded};
use crate::matter::Matter;
use crate::question::Question;

/// What is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    cells: Vec<bool>,
    locks: Vec<bool>,
    conds: Vec<bool>,
    sems: Vec<bool>,
    /// Objects whose allocation and end count.
    lives: Vec<bool>,
}

impl Kept {
    /// Everything.
    pub(crate) fn all(skeleton: &Skeleton) -> Self {
        let trace = skeleton.trace;
        Kept {
            cells: vec![true; skeleton.memory.cell_count()],
            locks: vec![true; trace.locks().len()],
            conds: vec![true; trace.conds().len()],
            sems: vec![true; trace.semaphores().len()],
            lives: vec![true; trace.objects().len()],
        }
    }

    /// What questions need in any case.
    pub(crate) fn least(skeleton: &Skeleton, matter: &Matter, questions: &[&Question]) -> Self {
        let trace = skeleton.trace;
        let all = Kept::all(skeleton);
        let locks = (0..trace.locks().len()).map(LockId::from);
        let mut kept = Kept {
            cells: vec![false; all.cells.len()],
            locks: locks.map(|lock| skeleton.locks.is_irregular(lock)).collect(),
            conds: vec![false; all.conds.len()],
            sems: vec![false; all.sems.len()],
            lives: vec![false; all.lives.len()],
        };
        for question in questions {
            match question {
                Question::Race(parts) => {
                    parts.iter().for_each(|(one, _)| kept.keep_life_of(skeleton, one[0]));
                }
                Question::Atomicity(parts) => {
                    parts.iter().for_each(|(_, remotes)| kept.keep_life_of(skeleton, remotes[0]));
                }
                Question::LockCycle(cycles) => {
                    let points = cycles.iter().flatten().flat_map(|points| points.iter());
                    points.for_each(|&point| kept.keep_lock_of(skeleton, point));
                }
                // Nobody is stuck while one thread can go on, so every guard counts.
                Question::Stuck(_) => return all,
                Question::Lock(errors) => {
                    errors.iter().for_each(|&(_, event)| kept.keep_lock_of(skeleton, event));
                }
                Question::Assertion(events) => {
                    for &event in *events {
                        kept.keep_condition(skeleton, matter, event);
                    }
                }
            }
        }
        kept
    }

    pub(crate) fn cell(&self, cell: CellId) -> bool {
        self.cells[cell.index()]
    }

    pub(crate) fn lock(&self, lock: LockId) -> bool {
        self.locks[lock.index()]
    }

    pub(crate) fn cond(&self, cond: CondId) -> bool {
        self.conds[cond.index()]
    }

    pub(crate) fn sem(&self, sem: SemId) -> bool {
        self.sems[sem.index()]
    }

    pub(crate) fn life(&self, object: ObjectId) -> bool {
        self.lives[object.index()]
    }

    fn keep_life_of(&mut self, skeleton: &Skeleton, event: EventId) {
        match skeleton.trace.op(event) {
            Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => {
                self.lives[at.object.index()] = true;
            }
            Op::Alloc { object, .. } | Op::Free { object } => {
                self.lives[object.index()] = true;
            }
            ops!(data sync call mark) => {}
        }
    }

    fn keep_lock_of(&mut self, skeleton: &Skeleton, event: EventId) {
        if let Some(lock) = lock_of(skeleton.trace.op(event)) {
            self.locks[lock.index()] = true;
        }
    }

    /// Keeps what decides whether an event is enabled; `stray`: a read of its thread that saw
    /// something else.
    pub(crate) fn keep_needs_of(
        &mut self,
        skeleton: &Skeleton,
        matter: &Matter,
        event: EventId,
        stray: Option<EventId>,
    ) {
        self.keep_lock_of(skeleton, event);
        self.keep_life_of(skeleton, event);
        match skeleton.trace.op(event) {
            Op::Read { .. } | Op::Rmw { .. } => self.keep_read(skeleton, matter, event),
            Op::Wait { cond, .. } | Op::Wake { cond, .. } => self.conds[cond.index()] = true,
            Op::SemWait { sem, .. } | Op::SemWaitFailed { sem, .. } => {
                self.sems[sem.index()] = true;
            }
            ops!(object data lock barrier thread call mark Write Signal Broadcast SemPost
                Request) => {}
        }
        self.keep_condition(skeleton, matter, event);
        if skeleton.free_data().is_some_and(|data| data.is_opaque(skeleton.trace, event))
            && let Some(read) = stray
        {
            self.keep_read(skeleton, matter, read);
        }
    }

    /// Keeps what the condition of an event depends on.
    fn keep_condition(&mut self, skeleton: &Skeleton, matter: &Matter, event: EventId) {
        if let Some(data) = &skeleton.data {
            for read in data.reads_of(event) {
                self.keep_read(skeleton, matter, read);
            }
        }
    }

    fn keep_read(&mut self, skeleton: &Skeleton, matter: &Matter, read: EventId) {
        let memory = &skeleton.memory;
        let mut reads = vec![read];
        while let Some(read) = reads.pop() {
            let Some(access) = skeleton.trace.access(read) else { continue };
            for cell in memory.cells_of(access.at) {
                if !matter.cells[cell.index()]
                    || std::mem::replace(&mut self.cells[cell.index()], true)
                {
                    continue;
                }
                let Some(data) = skeleton.free_data() else { continue };
                if is_seeded(Fault::SourcesLeftOut) {
                    continue;
                }
                for &write in memory.accesses(cell) {
                    if skeleton.trace.access(write).is_some_and(|access| access.writes) {
                        reads.extend(data.reads_of(write));
                    }
                }
            }
        }
    }
}

/// The lock that an operation is about.
pub(crate) fn lock_of(op: Op) -> Option<LockId> {
    match op {
        Op::Acquire { lock, .. }
        | Op::AcquireFailed { lock, .. }
        | Op::Release { lock, .. }
        | Op::Destroy { lock }
        | Op::Wait { lock, .. }
        | Op::Wake { lock, .. }
        | Op::Request(Request::Acquire(lock, _)) => Some(lock),
        ops!(memory object data sem barrier thread call mark Signal Broadcast Request) => None,
    }
}
