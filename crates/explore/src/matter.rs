//! Which reads and cells can make a difference to a schedule.
//!
//! **Computes.** Under `symbolic`: the reads whose values some condition depends on, through memory
//! too; the reads that opaque events depend on; the reads that may find contents without a value.
//! What the cells hold that only other reads look at, no rule asks for. Where reads are pinned,
//! every read looks.
//!
//! **Follows.** `docs/theory.md`, section 7, *what does not matter*.
//!
//! **Cost.** Linear in the trace and its terms.

use rustc_hash::FxHashSet;

use foretrace_model::terms::{Node, TermId};
use foretrace_model::{CellId, Data, Identity, Skeleton};
use foretrace_trace::{EventId, Op, ops};

use crate::fault::{Fault, is_seeded};

/// What makes a difference.
#[derive(Default, Debug)]
pub(crate) struct Matter {
    /// Reads for which it matters what they find.
    pub(crate) looks: FxHashSet<EventId>,
    /// Reads whose values are computed with.
    pub(crate) values: FxHashSet<EventId>,
    /// Of each cell, whether some read looks at it.
    pub(crate) cells: Vec<bool>,
}

impl Matter {
    pub(crate) fn new(skeleton: &Skeleton, asked: &FxHashSet<EventId>) -> Self {
        let mut matter =
            Matter { cells: vec![false; skeleton.memory.cell_count()], ..Matter::default() };
        match skeleton.free_data() {
            Some(data) => {
                let (terms, open) = (FxHashSet::default(), Vec::new());
                let unvalued = vec![None; matter.cells.len()];
                Slice { skeleton, data, matter: &mut matter, terms, open, unvalued }.fill();
            }
            None => matter.fill_pinned(skeleton, asked),
        }
        matter
    }

    /// Every read looks that has a known writer; those that are released are computed with.
    fn fill_pinned(&mut self, skeleton: &Skeleton, asked: &FxHashSet<EventId>) {
        for (event, access) in skeleton.trace.accesses() {
            if !access.reads || skeleton.memory.has_unknown_writer(event) {
                continue;
            }
            self.looks.insert(event);
            for cell in skeleton.memory.cells_of(access.at) {
                self.cells[cell.index()] = true;
            }
            let released = skeleton.data.as_ref().and_then(|data| data.released_for(event));
            if released.is_some_and(|assertion| asked.contains(&assertion)) {
                self.values.insert(event);
            }
        }
    }
}

struct Slice<'s> {
    skeleton: &'s Skeleton<'s>,
    data: &'s Data,
    matter: &'s mut Matter,
    terms: FxHashSet<TermId>,
    open: Vec<CellId>,
    /// Of each cell, whether it can hold something that is no value, as far as that was asked.
    unvalued: Vec<Option<bool>>,
}

impl Slice<'_> {
    fn fill(&mut self) {
        let (skeleton, data) = (self.skeleton, self.data);
        let trace = skeleton.trace;
        for (event, op) in trace.ops() {
            match op {
                Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } => {
                    self.follow(data.result(event));
                }
                Op::Read { at, .. } | Op::Rmw { at, .. } => {
                    self.follow(data.assumed(event));
                    let is_needed = data.first_opaque_after(trace, event).is_some()
                        && !is_seeded(Fault::OpaqueMattersNot);
                    let mut may_fail =
                        || skeleton.memory.cells_of(at).any(|cell| self.may_be_unvalued(cell));
                    if is_needed || may_fail() {
                        self.look(event);
                    }
                }
                ops!(object sync call mark Write Let) => {}
            }
        }
        while let Some(cell) = self.open.pop() {
            for &access in skeleton.memory.accesses(cell) {
                self.follow(data.result(access));
            }
        }
    }

    /// Whether the cell can hold something that is no value.
    fn may_be_unvalued(&mut self, cell: CellId) -> bool {
        if let Some(known) = self.unvalued[cell.index()] {
            return known;
        }
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let is_value = |identity: Identity| matches!(identity, Identity::Value(_));
        let may_be = !is_value(memory.initial(cell))
            || memory.accesses(cell).iter().any(|&access| {
                trace.access(access).is_some_and(|access| access.writes)
                    && self.data.result(access).is_none()
                    && !is_value(memory.written(trace, access, cell))
            });
        self.unvalued[cell.index()] = Some(may_be);
        may_be
    }

    /// The reads that a term uses matter.
    fn follow(&mut self, term: Option<TermId>) {
        let mut stack: Vec<TermId> = term.into_iter().collect();
        while let Some(term) = stack.pop() {
            if !self.terms.insert(term) {
                continue;
            }
            match self.data.terms().node(term) {
                Node::Symbol(symbol) => {
                    let read = EventId(symbol.0);
                    if !self.skeleton.memory.has_unknown_writer(read) {
                        self.matter.values.insert(read);
                        self.look(read);
                    }
                }
                node @ (Node::Constant(_)
                | Node::Unary(..)
                | Node::Binary(..)
                | Node::Concat(..)
                | Node::Extract { .. }
                | Node::Ite(..)) => stack.extend(node.children()),
            }
        }
    }

    /// What the read finds matters.
    fn look(&mut self, read: EventId) {
        let memory = &self.skeleton.memory;
        if memory.has_unknown_writer(read) || !self.matter.looks.insert(read) {
            return;
        }
        let at = self.skeleton.trace.access(read).expect("a read is an access").at;
        for cell in memory.cells_of(at) {
            if !std::mem::replace(&mut self.matter.cells[cell.index()], true) {
                self.open.push(cell);
            }
        }
    }
}
