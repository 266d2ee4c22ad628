//! Where threads can have got what they must have seen to go on.
//!
//! **Computes.** *Demands*: an event is executed only if a read saw, in a cell, something that
//! satisfies a condition. Where reads are pinned, that is the read itself and what it saw in the
//! recorded run. Where they are not, it is a branch whose condition depends on one read alone
//! (every address that a thread uses is compared so with the recorded one), a read-modify-write
//! with what it assumes, and an opaque event. For each demand the writes that can have left such a
//! value: constants are compared; a write that stores what another read saw, or that and a
//! constant, passes the demand on to that read.
//!
//! **Follows.** `docs/causality.md`, section 6.
//!
//! **Invariant.** If the event of a demand is executed, the read got its value from one of the
//! sources of its origin, executed before it, and if that has an origin *through* which the value
//! came, then that origin is met as well, by a read before that write.
//!
//! **Cost.** Limited: what would have too many sources is no demand.

use rustc_hash::FxHashMap;

use foretrace_trace::{EventId, Op, ThreadId, ops};
use foretrace_verdict::Model;

use crate::Skeleton;
use crate::data::Data;
use crate::memory::{CellId, Identity};
use crate::terms::{BinaryOp, Node, SymbolId, TermId, UnaryOp};

/// A cell with more writes than this is left alone.
const MOST_WRITES: usize = 256;
/// How many origins and sources there are at most.
const MOST_ORIGINS: usize = 150_000;
const MOST_SOURCES: usize = 2_000_000;
/// How often a demand is passed on by writes that add something.
const MOST_ADDITIONS: u8 = 12;
/// A condition of more operations is left alone.
const LARGEST_CONDITION: usize = 24;

/// All demands, in the order of their events, and their origins.
#[derive(Default, Debug)]
pub struct Origins {
    /// An event, and the origin that is met if the event is executed.
    pub demands: Vec<(EventId, u32)>,
    /// The origins, by number.
    pub origins: Vec<Origin>,
}

/// What a read must have seen in a cell.
#[derive(Debug)]
pub struct Origin {
    /// The read.
    pub read: EventId,
    /// The cell.
    pub cell: CellId,
    /// Who can have left it; `None`: nothing is known.
    pub sources: Option<Vec<Source>>,
}

/// Who can have left what a read must have seen.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The write; `None`: the initial state.
    pub write: Option<EventId>,
    /// What the thread of the write must have seen in turn.
    pub through: Option<u32>,
}

/// A condition on what a cell holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Wanted {
    /// This value.
    Value(u64),
    /// The condition has this outcome, if the one read that it depends on saw the value and that
    /// much more.
    Outcome { condition: TermId, outcome: bool, more: u64 },
}

impl Origins {
    /// Of the demands of a trace.
    pub fn new(skeleton: &Skeleton) -> Self {
        // Under `reads-from`, the recorded writer is the only source, and needed anyway; under
        // `control`, what reads see is free.
        let is_about_values = matches!(skeleton.model, Model::Values | Model::Symbolic);
        if skeleton.is_program() || !is_about_values {
            return Origins::default();
        }
        let mut builder = Builder {
            skeleton,
            found: Origins::default(),
            numbers: FxHashMap::default(),
            wanted: Vec::new(),
            sources: 0,
        };
        match skeleton.free_data() {
            Some(data) => builder.follow_conditions(data),
            None => builder.follow_pinned(),
        }
        builder.found.demands.sort_unstable();
        builder.found.demands.dedup();
        builder.found
    }
}

struct Builder<'s> {
    skeleton: &'s Skeleton<'s>,
    found: Origins,
    numbers: FxHashMap<(EventId, CellId, Wanted), u32>,
    /// By origin, where reads are not pinned: what is wanted, and how many additions are behind it.
    wanted: Vec<(Wanted, u8)>,
    /// How many sources there are so far.
    sources: usize,
}

impl Builder<'_> {
    fn is_full(&self) -> bool {
        self.found.origins.len() >= MOST_ORIGINS || self.sources >= MOST_SOURCES
    }

    fn add(&mut self, origin: Origin) -> u32 {
        self.sources += origin.sources.as_ref().map_or(0, Vec::len);
        self.found.origins.push(origin);
        self.found.origins.len() as u32 - 1
    }

    /// Whether a write can be the source of a read at all, by the order of its own thread: behind
    /// the read it comes too late, and before another write of the thread it is overwritten.
    fn is_in_order(&self, write: EventId, read: EventId, last: Option<EventId>) -> bool {
        let trace = self.skeleton.trace;
        write != read && (trace.thread_of(write) != trace.thread_of(read) || Some(write) == last)
    }

    /// The last of the writes before a read that are of its own thread.
    fn last_own(&self, writes: &[EventId], read: EventId) -> Option<EventId> {
        let trace = self.skeleton.trace;
        let before = &writes[..writes.partition_point(|&write| write < read)];
        before.iter().rev().copied().find(|&write| trace.thread_of(write) == trace.thread_of(read))
    }

    /// Demands of reads that see what they saw.
    fn follow_pinned(&mut self) {
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let mut leaving: FxHashMap<Identity, Vec<EventId>> = FxHashMap::default();
        let mut last_writes: FxHashMap<ThreadId, EventId> = FxHashMap::default();
        for cell in (0..memory.cell_count() as u32).map(CellId) {
            if memory.is_own(trace, cell) {
                continue;
            }
            leaving.clear();
            last_writes.clear();
            let accesses = memory.accesses(cell);
            for &write in accesses.iter().filter(|&&access| self.writes(access)) {
                leaving.entry(memory.written(trace, write, cell)).or_default().push(write);
            }
            for &read in accesses {
                let thread = trace.thread_of(read);
                let last = match self.writes(read) {
                    true => last_writes.insert(thread, read),
                    false => last_writes.get(&thread).copied(),
                };
                if !self.reads(read) || memory.has_unknown_writer(read) || self.is_full() {
                    continue;
                }
                let expected = memory.expected(trace, read, cell);
                let writes = leaving.get(&expected).map_or(&[][..], |writes| writes);
                if writes.len() > MOST_WRITES {
                    continue;
                }
                let writes = writes.iter().filter(|&&write| self.is_in_order(write, read, last));
                let mut sources: Vec<Source> =
                    writes.map(|&write| Source { write: Some(write), through: None }).collect();
                if last.is_none() && memory.initial(cell) == expected {
                    sources.push(Source { write: None, through: None });
                }
                let origin = self.add(Origin { read, cell, sources: Some(sources) });
                self.found.demands.push((read, origin));
            }
        }
    }

    fn writes(&self, access: EventId) -> bool {
        self.skeleton.trace.op(access).access().is_some_and(|access| access.writes)
    }

    fn reads(&self, access: EventId) -> bool {
        self.skeleton.trace.op(access).access().is_some_and(|access| access.reads)
    }

    /// Demands of conditions.
    fn follow_conditions(&mut self, data: &Data) {
        let trace = self.skeleton.trace;
        let mut writes = FxHashMap::default();
        for (event, op) in trace.ops() {
            let condition = match op {
                Op::Branch { taken: outcome } | Op::Assume { holds: outcome } => {
                    data.result(event).map(|term| (term, outcome))
                }
                // A thread goes on behind an assertion that was recorded to fail, whatever it sees.
                Op::Assert { holds: true } => data.result(event).map(|term| (term, true)),
                Op::Rmw { .. } => data.assumed(event).map(|term| (term, true)),
                ops!(object sync call mark Read Write Let) | Op::Assert { holds: false } => None,
            };
            if let Some((condition, outcome)) = condition {
                self.demand(data, event, condition, outcome);
            }
            if op.access().is_some_and(|access| access.reads)
                && let Some(opaque) = data.first_opaque_after(trace, event)
            {
                self.demand_recorded(event, opaque);
            }
        }
        // What is passed on asks for more.
        let mut next = 0;
        while next < self.found.origins.len() && !self.is_full() {
            self.find_sources(data, next as u32, &mut writes);
            next += 1;
        }
    }

    /// The event is executed only if the condition has this outcome.
    fn demand(&mut self, data: &Data, event: EventId, condition: TermId, outcome: bool) {
        let terms = data.terms();
        let mut open = vec![(condition, outcome)];
        while let Some((condition, outcome)) = open.pop() {
            match (terms.node(condition), outcome) {
                (Node::Unary(UnaryOp::Not, inner), _) if terms.width(inner) == 1 => {
                    open.push((inner, !outcome));
                }
                (Node::Binary(BinaryOp::And, a, b), true)
                | (Node::Binary(BinaryOp::Or, a, b), false) => {
                    open.extend([(a, outcome), (b, outcome)]);
                }
                _ => self.demand_one(data, event, condition, outcome),
            }
            if open.len() > LARGEST_CONDITION {
                return;
            }
        }
    }

    fn demand_one(&mut self, data: &Data, event: EventId, condition: TermId, outcome: bool) {
        let (terms, memory) = (data.terms(), &self.skeleton.memory);
        if let (Node::Binary(BinaryOp::Eq, a, b), true) = (terms.node(condition), outcome)
            && let Some((read, value)) = compared(data, a, b).or_else(|| compared(data, b, a))
        {
            let at = self.skeleton.trace.access(read).expect("a read is an access").at;
            for cell in memory.cells_of(at) {
                let part = memory.part(cell, at, value);
                self.want(event, read, cell, Wanted::Value(part));
            }
            return;
        }
        if terms.reachable([condition]).len() > LARGEST_CONDITION {
            return;
        }
        if let [SymbolId(read)] = terms.symbols_of(condition)[..]
            && let Some(cell) = self.only_cell(EventId(read))
        {
            let wanted = Wanted::Outcome { condition, outcome, more: 0 };
            self.want(event, EventId(read), cell, wanted);
        }
    }

    /// The opaque event is executed only if the read is as recorded.
    fn demand_recorded(&mut self, read: EventId, opaque: EventId) {
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let at = trace.access(read).expect("a read is an access").at;
        if memory.has_unknown_writer(read) {
            return;
        }
        for cell in memory.cells_of(at) {
            if let Identity::Value(value) = memory.expected(trace, read, cell) {
                self.want(opaque, read, cell, Wanted::Value(value));
            }
        }
    }

    fn want(&mut self, event: EventId, read: EventId, cell: CellId, wanted: Wanted) {
        let is_own = self.skeleton.memory.is_own(self.skeleton.trace, cell);
        if !is_own && let Some(origin) = self.number(read, cell, wanted, 0) {
            self.found.demands.push((event, origin));
        }
    }

    /// The origin of what a read wants; `None`: there are too many.
    fn number(
        &mut self,
        read: EventId,
        cell: CellId,
        wanted: Wanted,
        additions: u8,
    ) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&(read, cell, wanted)) {
            return Some(number);
        }
        let is_deep = additions > MOST_ADDITIONS;
        if is_deep || self.is_full() || self.skeleton.memory.has_unknown_writer(read) {
            return None;
        }
        let number = self.add(Origin { read, cell, sources: None });
        self.numbers.insert((read, cell, wanted), number);
        self.wanted.push((wanted, additions));
        Some(number)
    }

    /// The cell that a read covers, if it is one, and as large as a value.
    fn only_cell(&self, read: EventId) -> Option<CellId> {
        let at = self.skeleton.trace.access(read)?.at;
        let mut cells = self.skeleton.memory.cells_of(at);
        cells.next().filter(|_| cells.next().is_none() && at.size <= 8)
    }

    /// Who can have left what an origin asks for.
    fn find_sources(
        &mut self,
        data: &Data,
        number: u32,
        writes: &mut FxHashMap<CellId, Vec<EventId>>,
    ) {
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let origin = &self.found.origins[number as usize];
        let (wanted, additions) = self.wanted[number as usize];
        let (read, cell) = (origin.read, origin.cell);
        let accesses = memory.accesses(cell);
        let of_cell = writes.entry(cell).or_insert_with(|| {
            accesses.iter().copied().filter(|&access| self.writes(access)).collect()
        });
        if of_cell.len() > MOST_WRITES {
            return;
        }
        let (last, bits) = (self.last_own(of_cell, read), 8 * memory.size_of(cell));
        let mut sources = Vec::new();
        for &write in of_cell.iter() {
            if !self.is_in_order(write, read, last) {
                continue;
            }
            match self.content(data, read, cell, write) {
                Content::Known(value) if !wanted.is(data, value, bits) => {}
                Content::Nothing => {}
                Content::Known(_) | Content::Any => {
                    sources.push(Source { write: Some(write), through: None });
                }
                Content::Seen { read: seen, cell, more } => {
                    let additions = additions + u8::from(more != 0);
                    let through = self.number(seen, cell, wanted.less(more, bits), additions);
                    sources.push(Source { write: Some(write), through });
                }
            }
        }
        if last.is_none() {
            let is_recorded = memory.recorded_writer(trace, read, cell).is_none();
            if memory.initial_value(cell).map_or(is_recorded, |value| wanted.is(data, value, bits))
            {
                sources.push(Source { write: None, through: None });
            }
        }
        self.sources += sources.len();
        self.found.origins[number as usize].sources = Some(sources);
    }

    /// What a write leaves in a cell, as far as this read is concerned.
    fn content(&self, data: &Data, read: EventId, cell: CellId, write: EventId) -> Content {
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let Some(term) = data.result(write) else {
            return match memory.value_written(trace, write, cell) {
                Some(value) => Content::Known(value),
                // Others see nothing of it.
                None if memory.recorded_writer(trace, read, cell) == Some(write) => Content::Any,
                None => Content::Nothing,
            };
        };
        let at = trace.access(write).expect("a write is an access").at;
        let terms = data.terms();
        if let Some(value) = terms.as_constant(term) {
            return Content::Known(memory.part(cell, at, value as u64));
        }
        if memory.size_of(cell) != at.size {
            return Content::Any;
        }
        let seen = match (terms.node(term), data.addition(write)) {
            (Node::Symbol(SymbolId(seen)), _) => Some((EventId(seen), 0)),
            (_, Some((seen, added))) => terms.as_constant(added).map(|more| (seen, more as u64)),
            (_, None) => None,
        };
        // What is seen in several cells, or not as wide, is not followed.
        let seen = seen.and_then(|(seen, more)| Some((seen, self.only_cell(seen)?, more)));
        match seen {
            Some((read, seen, more)) if memory.size_of(seen) == at.size => {
                Content::Seen { read, cell: seen, more }
            }
            _ => Content::Any,
        }
    }
}

/// What a write leaves in a cell.
enum Content {
    Known(u64),
    /// What this read saw in this cell, and that much more.
    Seen {
        read: EventId,
        cell: CellId,
        more: u64,
    },
    /// Nothing that another read than the recorded one could see.
    Nothing,
    Any,
}

impl Wanted {
    /// Whether this value, of so many bits, is wanted.
    fn is(self, data: &Data, value: u64, bits: u32) -> bool {
        match self {
            Wanted::Value(wanted) => value == wanted,
            Wanted::Outcome { condition, outcome, more } => {
                let terms = data.terms();
                let seen = foretrace_words::cut(u128::from(value.wrapping_add(more)), bits);
                (terms.evaluate(condition, &|_| seen) == 1) == outcome
            }
        }
    }

    /// What is wanted of a value to which that much is added, in words of so many bits.
    fn less(self, more: u64, bits: u32) -> Wanted {
        match self {
            Wanted::Value(value) => {
                let value = u128::from(value.wrapping_sub(more));
                Wanted::Value(foretrace_words::cut(value, bits) as u64)
            }
            Wanted::Outcome { condition, outcome, more: before } => {
                Wanted::Outcome { condition, outcome, more: before.wrapping_add(more) }
            }
        }
    }
}

/// The read and the number that are compared, if the terms are one of each.
fn compared(data: &Data, seen: TermId, number: TermId) -> Option<(EventId, u64)> {
    let terms = data.terms();
    let number = u64::try_from(terms.as_constant(number)?).ok()?;
    // The bits above are zero, in the number as well if they are ever equal.
    let extended = match terms.node(seen) {
        Node::Unary(UnaryOp::ZeroExtend, inner) => Some(inner),
        Node::Constant(_)
        | Node::Symbol(_)
        | Node::Unary(..)
        | Node::Binary(..)
        | Node::Concat(..)
        | Node::Extract { .. }
        | Node::Ite(..) => None,
    };
    let seen = extended.unwrap_or(seen);
    let Node::Symbol(SymbolId(read)) = terms.node(seen) else { return None };
    (u128::from(number) <= foretrace_words::cut(u128::MAX, terms.width(seen)))
        .then_some((EventId(read), number))
}
