//! Theory, section 2: recorded writers, initial bytes, unknown writers, byte identity.
//!
//! **Computes.** For each cell that an event reads, the *recorded writer*; for each cell what it
//! holds initially; for each read whether its writer is unknown. One call of `read` and `write` per
//! access in recorded order, a read-modify-write reading first.
//!
//! **Cost.** Linear in the cells that the accesses cover.

use foretrace_trace::{EventId, Op, Place, Trace, ops};
use foretrace_verdict::Model;

use super::cells::{Cells, INITIAL, Span, lowest};

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
pub(super) struct MemoryPass {
    memory: Memory,
    contents: Vec<Content>,
}

/// What is in a cell. The value is not asked of the trace again and again, because writers are all
/// over it.
#[derive(Clone, Copy)]
struct Content {
    writer: u32,
    /// Whether the writer, or what is known so far of the beginning, gives a value.
    is_valued: bool,
    value: u64,
}

impl Content {
    fn new(writer: u32, value: Option<u64>) -> Self {
        Content { writer, is_valued: value.is_some(), value: value.unwrap_or_default() }
    }
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
        self.model.compares_values() && content(a).is_some() && content(a) == content(b)
    }

    /// The value that a writer left in a cell in the recorded run; `None` if its bytes are
    /// unvalued.
    pub(crate) fn content(&self, trace: &Trace, writer: u32, cell: u32) -> Option<u64> {
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
                    other @ ops!(object data sync call mark Write) => {
                        unreachable!("{other:?} is no read")
                    }
                },
            }
        } else {
            match trace.op(EventId(writer)) {
                Op::Write { at, value, .. } => (at, value),
                Op::Rmw { at, written, .. } => (at, written),
                other @ ops!(object data sync call mark Read) => {
                    unreachable!("{other:?} is no write")
                }
            }
        };
        valued(at, value).map(|value| self.cells.part(at, value, cell))
    }
}

/// The value, if the bytes of the place have values.
fn valued(at: Place, value: Option<u64>) -> Option<u64> {
    value.filter(|_| at.size <= WIDEST_VALUE)
}

impl MemoryPass {
    pub(super) fn new(trace: &Trace, model: Model, cells: Cells) -> Self {
        assert!(trace.len() < DECLARED as usize, "a trace has at most 2^31 events");
        let mut initial_from = vec![UNVALUED; cells.len()];
        let mut contents = vec![Content::new(INITIAL, None); cells.len()];
        for (number, &(at, value)) in trace.initial().iter().enumerate() {
            if valued(at, Some(value)).is_some() {
                for cell in cells.span(at).cells() {
                    initial_from[cell as usize] = DECLARED | number as u32;
                    let part = cells.part(at, value, cell);
                    contents[cell as usize] = Content::new(INITIAL, Some(part));
                }
            }
        }
        MemoryPass { memory: Memory { cells, model, initial_from }, contents }
    }

    /// Appends the recorded writers of the cells that the event reads; returns whether its writer
    /// is unknown.
    #[inline]
    pub(super) fn read(
        &mut self,
        event: EventId,
        at: Place,
        span: Span,
        value: Option<u64>,
        writers: &mut Vec<u32>,
    ) -> bool {
        let mut unknown = false;
        for cell in span.cells() {
            let Content { writer, is_valued, value: left } = self.contents[cell as usize];
            writers.push(writer);
            let Some(value) = valued(at, value) else { continue };
            let seen = self.part(at, span, value, cell);
            unknown |= is_valued && left != seen;
            if writer == INITIAL && !is_valued {
                self.memory.initial_from[cell as usize] = event.0;
                self.contents[cell as usize] = Content::new(INITIAL, Some(seen));
            }
        }
        unknown
    }

    #[inline]
    pub(super) fn write(&mut self, event: EventId, at: Place, span: Span, value: Option<u64>) {
        for cell in span.cells() {
            let part = valued(at, value).map(|value| self.part(at, span, value, cell));
            self.contents[cell as usize] = Content::new(event.0, part);
        }
    }

    /// `Cells::part`, without a look at the cells if there is but one.
    #[inline]
    fn part(&self, at: Place, span: Span, value: u64, cell: u32) -> u64 {
        if span.count == 1 {
            lowest(at.size, value)
        } else {
            self.memory.cells.part(at, value, cell)
        }
    }

    pub(super) fn finish(self) -> Memory {
        self.memory
    }
}
