//! Theory, section 2: recorded writers, initial bytes, unknown writers, byte identity.
//!
//! **Computes.** For each cell that an event reads, the *recorded writer*; for each cell what it
//! holds initially; for each read whether its writer is unknown. One call of `read` and `write` per
//! access in recorded order, a read-modify-write reading first.
//!
//! **Cost.** Linear in the cells that the accesses cover.

use foretrace_trace::{EventId, Model, Op, Place, Trace};

use super::cells::{Cells, INITIAL, Span};

/// What the recorded run says about memory.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) cells: Cells,
    model: Model,
    /// Where the initial value of a cell is known from: a declaration (`DECLARED` and its number),
    /// the first valued read (its event), or nowhere (`UNVALUED`).
    initial_from: Vec<u32>,
}

/// What the recorded run has done to memory so far.
pub(super) struct MemoryPass<'a> {
    trace: &'a Trace,
    memory: Memory,
    last: Vec<u32>,
}

const DECLARED: u32 = 1 << 31;
const UNVALUED: u32 = u32::MAX;
/// The largest access whose bytes have values.
const WIDEST_VALUE: u32 = 8;

impl Memory {
    /// Whether two writers (events, or `INITIAL`) leave the same identity in a cell.
    pub(crate) fn same_identity(&self, trace: &Trace, a: u32, b: u32, cell: u32) -> bool {
        if a == b {
            return true;
        }
        let content = |writer| self.content(trace, writer, cell);
        self.model == Model::Values && content(a).is_some() && content(a) == content(b)
    }

    /// The value that a writer leaves in a cell; `None` if its bytes are unvalued.
    fn content(&self, trace: &Trace, writer: u32, cell: u32) -> Option<u64> {
        let (at, value) = if writer == INITIAL {
            match self.initial_from[cell as usize] {
                UNVALUED => return None,
                from if from & DECLARED != 0 => {
                    let (at, value) = trace.initial()[(from & !DECLARED) as usize];
                    (at, Some(value))
                }
                reader => match trace.op(EventId(reader)) {
                    Op::Read { at, value, .. } => (at, value),
                    Op::Rmw { at, read, .. } => (at, read),
                    other => unreachable!("{other:?} is no read"),
                },
            }
        } else {
            match trace.op(EventId(writer)) {
                Op::Write { at, value, .. } => (at, value),
                Op::Rmw { at, written, .. } => (at, written),
                other => unreachable!("{other:?} is no write"),
            }
        };
        valued(at, value).map(|value| self.cells.part(at, value, cell))
    }
}

/// The value, if the bytes of the place have values.
fn valued(at: Place, value: Option<u64>) -> Option<u64> {
    value.filter(|_| at.size <= WIDEST_VALUE)
}

impl<'a> MemoryPass<'a> {
    pub(super) fn new(trace: &'a Trace, model: Model, cells: Cells) -> Self {
        assert!(trace.len() < DECLARED as usize, "a trace has at most 2^31 events");
        let mut initial_from = vec![UNVALUED; cells.len()];
        for (number, &(at, value)) in trace.initial().iter().enumerate() {
            if valued(at, Some(value)).is_some() {
                let span = cells.span(at);
                let covered = span.first as usize..(span.first + span.count) as usize;
                initial_from[covered].fill(DECLARED | number as u32);
            }
        }
        let last = vec![INITIAL; cells.len()];
        MemoryPass { trace, memory: Memory { cells, model, initial_from }, last }
    }

    /// Appends the recorded writers of the cells that the event reads; returns whether its writer
    /// is unknown.
    pub(super) fn read(
        &mut self,
        event: EventId,
        at: Place,
        span: Span,
        value: Option<u64>,
        writers: &mut Vec<u32>,
    ) -> bool {
        let mut unknown = false;
        for cell in span.first..span.first + span.count {
            let writer = self.last[cell as usize];
            writers.push(writer);
            let Some(value) = valued(at, value) else { continue };
            let initial_from = &mut self.memory.initial_from[cell as usize];
            if writer == INITIAL && *initial_from == UNVALUED {
                *initial_from = event.0;
            }
            let left = self.memory.content(self.trace, writer, cell);
            unknown |= left.is_some_and(|left| left != self.memory.cells.part(at, value, cell));
        }
        unknown
    }

    pub(super) fn write(&mut self, event: EventId, span: Span) {
        let covered = span.first as usize..(span.first + span.count) as usize;
        self.last[covered].fill(event.0);
    }

    pub(super) fn finish(self) -> Memory {
        self.memory
    }
}
