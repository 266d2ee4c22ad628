//! The part of a trace on which some condition depends.
//!
//! **Computes.** Which cells, reads and events matter to branches, assertions and assumptions that
//! are not decided by themselves: backwards from their conditions, from each cell to what is
//! written there.
//!
//! **Follows.** 000 section 9: slicing that knows threads, dead variables, constant folding.
//! Nothing has to be removed for it: what does not matter never reaches the solver. The sizes say
//! how much that is.
//!
//! **Cost.** Linear in the trace and its terms.

use rustc_hash::FxHashSet;

use foretrace_trace::{EventId, Op, ops};
use foretrace_verdict::Slicing;

use crate::terms::{Node, TermId};
use crate::{CellId, Data, Skeleton};

impl Skeleton<'_> {
    /// How large the trace is before and after slicing; `None` where reads are pinned.
    pub fn slicing(&self) -> Option<Slicing> {
        self.free_data().map(|data| Slice::new(self, data).slicing())
    }
}

struct Slice<'s> {
    skeleton: &'s Skeleton<'s>,
    data: &'s Data,
    terms: FxHashSet<TermId>,
    reads: FxHashSet<EventId>,
    cells: FxHashSet<CellId>,
    open: Vec<CellId>,
}

impl<'s> Slice<'s> {
    fn new(skeleton: &'s Skeleton<'s>, data: &'s Data) -> Self {
        let mut slice = Slice {
            skeleton,
            data,
            terms: FxHashSet::default(),
            reads: FxHashSet::default(),
            cells: FxHashSet::default(),
            open: Vec::new(),
        };
        let trace = skeleton.trace;
        for (event, _) in trace.ops() {
            let conditions = slice
                .condition(event)
                .into_iter()
                .chain(data.assumed(event))
                .chain(data.occurs(event));
            slice.follow(conditions.collect());
            // What is opaque depends on all that its thread has read.
            let is_read = trace.access(event).is_some_and(|access| access.reads);
            if is_read && data.first_opaque_after(trace, event).is_some() {
                slice.need(event);
            }
        }
        while let Some(cell) = slice.open.pop() {
            for &access in skeleton.memory.accesses(cell) {
                let written = data.result(access).into_iter().chain(data.occurs(access));
                slice.follow(written.collect());
            }
        }
        slice
    }

    /// The condition that an event tests, if it is open.
    fn condition(&self, event: EventId) -> Option<TermId> {
        let is_condition = matches!(
            self.skeleton.trace.op(event),
            Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. }
        );
        let term = self.data.result(event).filter(|_| is_condition)?;
        self.data.terms().as_constant(term).is_none().then_some(term)
    }

    /// Marks the reads that terms use.
    fn follow(&mut self, mut terms: Vec<TermId>) {
        while let Some(term) = terms.pop() {
            if !self.terms.insert(term) {
                continue;
            }
            match self.data.terms().node(term) {
                Node::Symbol(symbol) => self.need(EventId(symbol.0)),
                node @ (Node::Constant(_)
                | Node::Unary(..)
                | Node::Binary(..)
                | Node::Concat(..)
                | Node::Extract { .. }
                | Node::Ite(..)) => terms.extend(node.children()),
            }
        }
    }

    fn need(&mut self, read: EventId) {
        let Some(access) = self.skeleton.trace.access(read) else { return };
        if self.reads.insert(read) {
            for cell in self.skeleton.memory.cells_of(access.at) {
                if self.cells.insert(cell) {
                    self.open.push(cell);
                }
            }
        }
    }

    fn slicing(&self) -> Slicing {
        let trace = self.skeleton.trace;
        let mut slicing = Slicing { events: trace.len() as u64, ..Slicing::default() };
        for (event, op) in trace.ops() {
            let is_left = match op {
                Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => {
                    let is_read = !matches!(op, Op::Write { .. });
                    slicing.reads += u64::from(is_read);
                    slicing.reads_left += u64::from(is_read && self.reads.contains(&event));
                    self.skeleton.memory.cells_of(at).any(|cell| self.cells.contains(&cell))
                }
                Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } => {
                    let is_open =
                        self.condition(event).is_some() || self.data.is_opaque(trace, event);
                    slicing.conditions += 1;
                    slicing.conditions_left += u64::from(is_open);
                    is_open
                }
                Op::Let => false,
                ops!(object sync call mark) => true,
            };
            slicing.events_left += u64::from(is_left);
        }
        slicing
    }
}
