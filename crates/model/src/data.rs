//! What events compute from what their threads have read.
//!
//! **Computes.** For each event whose expression *counts*, its value or condition as a term over
//! the symbols of reads: names are resolved, `let`s and memory that only one thread touches
//! substituted away, so that nothing thread-local is left. Of all others, which are *opaque*: what
//! they do is only known for reads that see what they saw in the recorded run.
//!
//! **Follows.** `docs/theory.md`, section 2; 003 section 3, where a thread's summary has only its
//! shared accesses.
//!
//! **Invariant.** The symbol of a read is the number of its event, as wide as the place that it
//! reads.
//!
//! **Cost.** Linear in the trace and its expressions.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_trace::expr::ExprRef;
use foretrace_trace::{Dependences, EventId, NameId, Op, Trace, ops};
use foretrace_verdict::Model;

use crate::memory::{CellId, Memory};
use crate::terms::{BinaryOp, Node, SymbolId, TermId, Terms, WORD};

/// The data part of the skeleton.
#[derive(Debug)]
pub struct Data {
    terms: Terms,
    results: FxHashMap<EventId, TermId>,
    assumed: FxHashMap<EventId, TermId>,
    /// Writes that add something to what a read saw: that read, and what is added.
    additions: FxHashMap<EventId, (EventId, TermId)>,
    /// When conditional events happen: one bit each.
    occurs: FxHashMap<EventId, TermId>,
    /// The opaque events of each thread, in program order.
    opaque: Vec<Vec<EventId>>,
    /// The assertion for which a read is released.
    released: FxHashMap<EventId, EventId>,
    /// Of each cell whether only one thread touches it; empty for a program.
    own: Vec<bool>,
    /// Whether there is no recorded run, only a program.
    is_program: bool,
}

/// What a name means at some point of a thread.
#[derive(Clone, Copy, Debug)]
struct Meaning {
    /// `None` if it comes from a read without a recorded value.
    term: Option<TermId>,
    /// The read that bound it; `None`: a `let`.
    read: Option<EventId>,
}

/// The names that a thread has bound, and which reads have been used.
#[derive(Default)]
struct Names {
    meanings: FxHashMap<NameId, Meaning>,
    /// What cells hold that no other thread touches.
    own: FxHashMap<CellId, TermId>,
    used: FxHashSet<EventId>,
    /// Every read before this event is used.
    opaque: Option<EventId>,
}

impl Data {
    pub(crate) fn new(trace: &Trace, memory: &Memory, model: Model) -> Self {
        let mut data = Data {
            terms: Terms::new(),
            results: FxHashMap::default(),
            assumed: FxHashMap::default(),
            additions: FxHashMap::default(),
            occurs: FxHashMap::default(),
            opaque: vec![Vec::new(); trace.threads().len()],
            released: FxHashMap::default(),
            own: Vec::new(),
            is_program: false,
        };
        let cells = (0..memory.cell_count() as u32).map(CellId);
        // Under `control` what is read is free, whoever wrote it.
        let is_kept = model != Model::Control;
        data.own = cells.map(|cell| is_kept && memory.is_own(trace, cell)).collect();
        for thread in trace.thread_ids() {
            let mut names = Names::default();
            for &event in trace.thread_events(thread) {
                data.follow(trace, memory, event, &mut names);
                if data.is_opaque(trace, event) {
                    data.opaque[thread.index()].push(event);
                    names.opaque = Some(event);
                } else {
                    data.release(trace, memory, event, &mut names);
                }
            }
        }
        data
    }

    /// Computes what an event computes, and what its name means from here on.
    fn follow(&mut self, trace: &Trace, memory: &Memory, event: EventId, names: &mut Names) {
        let op = trace.op(event);
        if let Some(name) = trace.binding(event)
            && let Some(access) = op.access()
        {
            let is_valued = trace.values(event).0.is_some() && access.at.size <= 8;
            let own = self.own_contents(trace, memory, event, names);
            let term = is_valued.then(|| match own {
                Some(contents) => contents,
                None => self.terms.symbol(SymbolId(event.0), 8 * access.at.size),
            });
            names.meanings.insert(name, Meaning { term, read: Some(event) });
        }
        let expression = trace.expression(event);
        let value = expression.and_then(|expr| self.term(expr, names));
        match op {
            Op::Let => {
                names.use_reads(expression);
                if let Some(name) = trace.binding(event) {
                    names.meanings.insert(name, Meaning { term: value, read: None });
                }
            }
            Op::Write { at, .. } | Op::Rmw { at, .. } => {
                let assumption = trace.assumption(event).map(|expr| self.term(expr, names));
                let is_valued = trace.values(event).1.is_some() && at.size <= 8;
                if let (Some(value), true) = (value, is_valued && assumption != Some(None)) {
                    let stored = self.terms.trunc(value, 8 * at.size);
                    self.results.insert(event, stored);
                    self.note_addition(event, stored);
                    if let Some(Some(assumption)) = assumption {
                        let holds = self.terms.truth(assumption);
                        self.assumed.insert(event, holds);
                    }
                }
                self.store_own(trace, memory, event, names);
            }
            Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } => {
                if let Some(value) = value {
                    let holds = self.terms.truth(value);
                    self.results.insert(event, holds);
                }
            }
            ops!(object sync call mark Read) => {}
        }
    }

    /// What a read sees, if no other thread touches the one cell that it reads, and what it holds
    /// is known.
    fn own_contents(
        &mut self,
        trace: &Trace,
        memory: &Memory,
        read: EventId,
        names: &Names,
    ) -> Option<TermId> {
        let cell = self.own_cell(trace, memory, read)?;
        if memory.has_unknown_writer(read) {
            return None;
        }
        names.own.get(&cell).copied().or_else(|| {
            let is_first = memory.recorded_writer(trace, read, cell).is_none();
            let initial = memory.initial_value(cell).filter(|_| is_first)?;
            Some(self.terms.constant(initial.into(), 8 * memory.size_of(cell)))
        })
    }

    /// Remembers what a write leaves in a cell that no other thread touches.
    fn store_own(&mut self, trace: &Trace, memory: &Memory, write: EventId, names: &mut Names) {
        let at = trace.access(write).expect("a write is an access").at;
        let Some(cell) = self.own_cell(trace, memory, write) else {
            for cell in memory.cells_of(at) {
                names.own.remove(&cell);
            }
            return;
        };
        let stored = match (self.result(write), memory.value_written(trace, write, cell)) {
            (Some(term), _) => Some(term),
            (None, Some(value)) => Some(self.terms.constant(value.into(), 8 * at.size)),
            (None, None) => None,
        };
        match stored {
            Some(term) => names.own.insert(cell, term),
            None => names.own.remove(&cell),
        };
    }

    /// The one cell that an access covers, if only its thread touches it.
    fn own_cell(&self, trace: &Trace, memory: &Memory, access: EventId) -> Option<CellId> {
        let at = trace.access(access).expect("called for accesses only").at;
        let mut cells = memory.cells_of(at);
        let cell = cells.next().filter(|_| cells.next().is_none() && at.size <= 8)?;
        self.own[cell.index()].then_some(cell)
    }

    /// Notes that a write stores what a read saw and something more.
    fn note_addition(&mut self, write: EventId, stored: TermId) {
        let (left, right, is_sum) = match self.terms.node(stored) {
            Node::Binary(BinaryOp::Add, a, b) => (a, b, true),
            Node::Binary(BinaryOp::Sub, a, b) => (a, b, false),
            Node::Constant(_)
            | Node::Symbol(_)
            | Node::Unary(..)
            | Node::Binary(..)
            | Node::Concat(..)
            | Node::Extract { .. }
            | Node::Ite(..) => return,
        };
        let read = |terms: &Terms, term: TermId| match terms.node(term) {
            Node::Symbol(symbol) => Some(EventId(symbol.0)),
            Node::Constant(_)
            | Node::Unary(..)
            | Node::Binary(..)
            | Node::Concat(..)
            | Node::Extract { .. }
            | Node::Ite(..) => None,
        };
        let (read, added) = match (read(&self.terms, left), read(&self.terms, right)) {
            (Some(read), _) if is_sum => (read, right),
            (_, Some(read)) if is_sum => (read, left),
            (Some(read), _) => (read, self.terms.neg(right)),
            _ => return,
        };
        if !self.terms.symbols_of(added).contains(&SymbolId(read.0)) {
            self.additions.insert(write, (read, added));
        }
    }

    /// The value of an expression, if it counts.
    fn term(&mut self, expr: ExprRef<'_>, names: &Names) -> Option<TermId> {
        let meaning = |name: NameId| names.meanings.get(&name).and_then(|meaning| meaning.term);
        let number = |terms: &Terms, term: TermId| terms.as_constant(term).map(|word| word as u64);
        let (mut counts, mut is_constant) = (true, true);
        for name in expr.names() {
            match meaning(name) {
                Some(term) => is_constant &= number(&self.terms, term).is_some(),
                None => counts = false,
            }
        }
        if !counts {
            return None;
        }
        // Most of what threads compute for themselves is a number: then no term is made for each
        // step of it.
        if is_constant {
            let word = expr.evaluate(&|name| number(&self.terms, meaning(name)?));
            return word.map(|word| self.terms.constant(word.into(), WORD));
        }
        Some(self.terms.from_expr(expr.nodes(), |name| meaning(name).expect("all names count")))
    }

    /// Marks what an event uses, and notes the reads that an assertion is the first to use.
    fn release(&mut self, trace: &Trace, memory: &Memory, event: EventId, names: &mut Names) {
        if trace.op(event) == Op::Let {
            return;
        }
        let expressions = trace.expression(event).into_iter().chain(trace.assumption(event));
        let newly_used = names.use_reads(expressions);
        if matches!(trace.op(event), Op::Assert { .. })
            && trace.dependences() == Dependences::Recorded
        {
            let is_free = |read: &EventId| {
                matches!(trace.op(*read), Op::Read { .. })
                    && !memory.has_unknown_writer(*read)
                    && names.opaque.is_none_or(|opaque| opaque < *read)
            };
            let reads = newly_used.into_iter().filter(is_free);
            self.released.extend(reads.map(|read| (read, event)));
        }
    }

    /// The data of a program: every write, assertion and assumption has a term.
    pub fn of_program(
        terms: Terms,
        threads: usize,
        results: FxHashMap<EventId, TermId>,
        assumed: FxHashMap<EventId, TermId>,
        occurs: FxHashMap<EventId, TermId>,
    ) -> Self {
        let (opaque, released) = (vec![Vec::new(); threads], FxHashMap::default());
        let (additions, own, is_program) = (FxHashMap::default(), Vec::new(), true);
        let mut data =
            Data { terms, results, assumed, additions, occurs, opaque, released, own, is_program };
        let mut results: Vec<(EventId, TermId)> =
            data.results.iter().map(|(&event, &term)| (event, term)).collect();
        results.sort_unstable();
        for (event, term) in results {
            data.note_addition(event, term);
        }
        data
    }

    /// The terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// What the event stores, as wide as its place, or the condition that it tests, one bit; `None`
    /// if it is opaque, or has nothing to compute.
    pub fn result(&self, event: EventId) -> Option<TermId> {
        self.results.get(&event).copied()
    }

    /// The condition that a read-modify-write assumes of what it sees.
    pub fn assumed(&self, event: EventId) -> Option<TermId> {
        self.assumed.get(&event).copied()
    }

    /// If the write stores what a read of its thread saw and something more: that read, and what is
    /// added.
    pub fn addition(&self, write: EventId) -> Option<(EventId, TermId)> {
        self.additions.get(&write).copied()
    }

    /// The condition, one bit, under which the event happens when its thread comes to it; `None`:
    /// always.
    pub fn occurs(&self, event: EventId) -> Option<TermId> {
        self.occurs.get(&event).copied()
    }

    /// The reads that the event's expressions use.
    pub fn reads_of(&self, event: EventId) -> Vec<EventId> {
        let terms = self.result(event).into_iter().chain(self.assumed(event));
        let symbols = self.terms.symbols_of_all(terms);
        symbols.into_iter().map(|symbol| EventId(symbol.0)).collect()
    }

    /// Whether the event depends on all that its thread has read.
    pub fn is_opaque(&self, trace: &Trace, event: EventId) -> bool {
        match trace.op(event) {
            _ if self.is_program => false,
            Op::External => true,
            Op::Write { .. }
            | Op::Rmw { .. }
            | Op::Branch { .. }
            | Op::Assert { .. }
            | Op::Assume { .. } => self.result(event).is_none(),
            ops!(object sync call Read Let RegionBegin RegionEnd Fence) => false,
        }
    }

    /// The first event of the thread that depends on the read because it is opaque; a
    /// read-modify-write itself.
    pub fn first_opaque_after(&self, trace: &Trace, read: EventId) -> Option<EventId> {
        let opaque = &self.opaque[trace.thread_of(read).index()];
        // The list is in program order, and so are event numbers.
        opaque.get(opaque.partition_point(|&event| event < read)).copied()
    }

    /// Whether there is no recorded run, only a program.
    pub fn is_program(&self) -> bool {
        self.is_program
    }

    /// The assertion for which the read is released: the first event that uses it.
    pub fn released_for(&self, read: EventId) -> Option<EventId> {
        self.released.get(&read).copied()
    }
}

impl Names {
    /// Marks the reads that expressions use directly; a `let` has used those behind its name.
    /// Returns those that nothing has used before.
    fn use_reads<'e>(&mut self, exprs: impl IntoIterator<Item = ExprRef<'e>>) -> Vec<EventId> {
        let mut new = Vec::new();
        for expr in exprs {
            for name in expr.names() {
                let read = self.meanings.get(&name).and_then(|meaning| meaning.read);
                new.extend(read.filter(|&read| self.used.insert(read)));
            }
        }
        new
    }
}
