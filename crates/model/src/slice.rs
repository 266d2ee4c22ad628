//! What is left of a trace when all that no condition depends on is gone.
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

use crate::terms::{Node, TermId};
use crate::{CellId, Data, Skeleton};

/// How large a trace is, and what is left of it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sizes {
    /// All events.
    pub events: u64,
    /// Synchronisation, open conditions, and accesses to cells that matter.
    pub events_left: u64,
    /// All reads, read-modify-writes included.
    pub reads: u64,
    /// Those whose value matters.
    pub reads_left: u64,
    /// Branches, assertions and assumptions.
    pub conditions: u64,
    /// Those that do not hold, or fail, whatever is read.
    pub conditions_left: u64,
}

impl Skeleton<'_> {
    /// How large the trace is before and after slicing; `None` where reads are pinned.
    pub fn sizes(&self) -> Option<Sizes> {
        self.free_data().map(|data| Slice::new(self, data).sizes())
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

    fn sizes(&self) -> Sizes {
        let trace = self.skeleton.trace;
        let mut sizes = Sizes { events: trace.len() as u64, ..Sizes::default() };
        for (event, op) in trace.ops() {
            let is_left = match op {
                Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => {
                    let is_read = !matches!(op, Op::Write { .. });
                    sizes.reads += u64::from(is_read);
                    sizes.reads_left += u64::from(is_read && self.reads.contains(&event));
                    self.skeleton.memory.cells_of(at).any(|cell| self.cells.contains(&cell))
                }
                Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } => {
                    let is_open =
                        self.condition(event).is_some() || self.data.is_opaque(trace, event);
                    sizes.conditions += 1;
                    sizes.conditions_left += u64::from(is_open);
                    is_open
                }
                Op::Let => false,
                ops!(object sync call mark) => true,
            };
            sizes.events_left += u64::from(is_left);
        }
        sizes
    }
}
