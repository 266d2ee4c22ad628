//! What reads see, where they are not pinned: values as words of the solver, tied to the chosen
//! source.
//!
//! **Computes.** For a read r of a cell: some source precedes r, r's word is what that source
//! leaves there, and every write that leaves something else comes before the source or after r.
//! Terms become circuits when a rule or a question needs them, never before; the word of a read is
//! free until a proposal shows that it is wrong.
//!
//! **Follows.** 000 section 4, the π-functions, in reads-from form; design section 5.
//!
//! **Invariant.** As for all clauses: each holds in every feasible schedule, if the words of
//! included reads are what they saw.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::terms::{BinaryOp, Node, TermId, UnaryOp};
use foretrace_model::{CellId, Identity};
use foretrace_solve::{Bit, Gates, Lit, Word};
use foretrace_trace::EventId;
use foretrace_verdict::Model;

use super::Encoder;
use super::amo::AtMostOne;
use super::memory::Source;
use crate::explain::Reason;
use crate::fault::{Fault, is_seeded};

/// How many sources are asked for at once before a proposal shows that they are needed.
const MOST_WANTED_SOURCES: usize = 2_000;

/// All holds of a cell that is used as a lock exclude each other at once if they are no more than
/// this.
const MOST_HOLDS_AT_ONCE: usize = 200;

/// The words and what ties them.
#[derive(Default)]
pub(super) struct DataPart {
    pub(super) gates: Gates,
    terms: FxHashMap<TermId, Word>,
    /// What a read sees in a cell of at most 8 bytes.
    cells: FxHashMap<(EventId, CellId), Word>,
    /// What comes from outside, as wide as it is.
    inputs: FxHashMap<EventId, Word>,
    sources: FxHashMap<(EventId, CellId), Vec<Source>>,
    /// Reads that circuits use and that have no sources yet.
    wanted: Vec<EventId>,
    conditions: FxHashSet<(EventId, TermId)>,
    guards: FxHashSet<(EventId, Lit)>,
    /// Reads that take cells that are used as locks, as far as their holds exclude others.
    latched: FxHashSet<EventId>,
    asked: FxHashMap<EventId, Lit>,
    one_asked: AtMostOne,
}

/// What a source leaves in a cell.
pub(super) enum Content {
    Word(Word),
    /// Unvalued, and what the read expects.
    AsRecorded,
    /// Unvalued, and something else: no read sees it.
    Unreadable,
}

impl Encoder<'_> {
    /// The assumption that the question is about this assertion: true of at most one.
    pub(crate) fn asked(&mut self, assertion: EventId) -> Lit {
        if let Some(&asked) = self.data.asked.get(&assertion) {
            return asked;
        }
        let asked = self.solver.literal();
        self.data.one_asked.add(&mut self.solver, asked);
        self.data.asked.insert(assertion, asked);
        asked
    }

    /// "The event happens when its thread comes to it"; `None`: always.
    pub(crate) fn occurs(&mut self, event: EventId) -> Option<Lit> {
        let term = self.skeleton.data.as_ref()?.occurs(event)?;
        Some(self.blast(term).bits()[0].lit())
    }

    /// Whether the event happens when its thread comes to it, in the last model.
    pub(super) fn occurs_in_model(&self, event: EventId) -> bool {
        let term = self.skeleton.data.as_ref().and_then(|data| data.occurs(event));
        let word = term.and_then(|term| self.data.terms.get(&term));
        word.is_none_or(|word| word.value(&self.solver) != 0)
    }

    /// The assertion that the last model is about.
    pub(super) fn asked_assertion(&self) -> Option<EventId> {
        let asked = self.data.asked.iter().find(|&(_, &asked)| self.solver.value(asked));
        asked.map(|(&assertion, _)| assertion)
    }

    /// Whether the read follows the rule for reads that are not pinned when this assertion is asked
    /// about.
    pub(super) fn is_released(&self, read: EventId, asked: Option<EventId>) -> bool {
        let released_for = self.skeleton.data.as_ref().and_then(|data| data.released_for(read));
        asked.is_some() && released_for == asked && !is_seeded(Fault::NothingReleased)
    }

    /// The word of what a read sees in a cell; `None` for a cell without values.
    pub(super) fn cell_word(&mut self, read: EventId, cell: CellId) -> Option<Word> {
        if let Some(word) = self.data.cells.get(&(read, cell)) {
            return Some(word.clone());
        }
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let at = trace.access(read).expect("a read is an access").at;
        let (low, width) = memory.bits_of(cell, at);
        if width > 64 {
            return None;
        }
        let recorded = match trace.values(read).0 {
            Some(value) if at.size <= 8 => Some(value >> low),
            _ => match memory.expected(trace, read, cell) {
                Identity::Value(value) => Some(value),
                Identity::Event(_) | Identity::Initial => None,
            },
        };
        let is_fixed = self.skeleton.pins_reads() && !self.may_be_released(read)
            || memory.has_unknown_writer(read) && self.skeleton.model != Model::Control;
        let fixed = recorded.filter(|_| is_fixed).or_else(|| self.sum_at(read, cell));
        let word = match fixed {
            Some(value) => Word::constant(width as usize, value.into()),
            None => {
                let near = recorded.unwrap_or(0);
                self.data.gates.on(&mut self.solver).fresh_near(width as usize, near.into())
            }
        };
        // For every assertion but the one that releases the read, it sees what it saw.
        if let (Some(value), true) = (recorded, self.skeleton.pins_reads() && !is_fixed) {
            let pinned = self.pinned(read);
            for bit in word.equals(value.into()) {
                self.solver.clause(&[!pinned, bit]);
            }
        }
        self.data.cells.insert((read, cell), word.clone());
        Some(word)
    }

    fn may_be_released(&self, read: EventId) -> bool {
        self.skeleton.data.as_ref().is_some_and(|data| data.released_for(read).is_some())
    }

    /// The word of what a read of at most 8 bytes sees.
    fn read_word(&mut self, read: EventId) -> Word {
        let at = self.skeleton.trace.access(read).expect("a read is an access").at;
        let mut bits: Vec<Bit> = Vec::new();
        for cell in self.skeleton.memory.cells_of(at) {
            let word = self.cell_word(read, cell).expect("cells of a narrow read have values");
            bits.extend_from_slice(word.bits());
        }
        Word::new(bits)
    }

    /// The word of what comes from outside.
    fn input_word(&mut self, input: EventId, width: usize) -> Word {
        let word = self.data.gates.on(&mut self.solver).fresh(width);
        self.data.inputs.insert(input, word.clone());
        word
    }

    /// What comes from outside in the last model; 0 if nothing asks for it.
    pub(super) fn input_value(&self, input: EventId) -> u64 {
        self.data.inputs.get(&input).map_or(0, |word| word.value(&self.solver) as u64)
    }

    /// The circuit of a term.
    pub(crate) fn blast(&mut self, term: TermId) -> Word {
        let data = self.skeleton.data.as_ref().expect("terms come from the data");
        let terms = data.terms();
        let mut open = vec![term];
        while let Some(&top) = open.last() {
            if self.data.terms.contains_key(&top) {
                open.pop();
                continue;
            }
            let waiting = open.len();
            open.extend(terms.children(top).filter(|child| !self.data.terms.contains_key(child)));
            if open.len() > waiting {
                continue;
            }
            let width = terms.width(top) as usize;
            let word = match terms.node(top) {
                Node::Constant(bits) => Word::constant(width, bits.get()),
                Node::Symbol(symbol) => match self.skeleton.trace.access(EventId(symbol.0)) {
                    Some(_) => {
                        self.data.wanted.push(EventId(symbol.0));
                        self.read_word(EventId(symbol.0))
                    }
                    None => self.input_word(EventId(symbol.0), width),
                },
                node @ (Node::Unary(..)
                | Node::Binary(..)
                | Node::Concat(..)
                | Node::Extract { .. }
                | Node::Ite(..)) => self.operation(node, width),
            };
            self.data.terms.insert(top, word);
            open.pop();
        }
        self.data.terms[&term].clone()
    }

    fn operation(&mut self, node: Node, width: usize) -> Word {
        let words = &self.data.terms;
        let mut circuits = self.data.gates.on(&mut self.solver);
        match node {
            Node::Constant(_) | Node::Symbol(_) => unreachable!("leaves are no operations"),
            Node::Unary(op, a) => {
                let a = &words[&a];
                match op {
                    UnaryOp::Not => !a,
                    UnaryOp::Neg => circuits.neg(a),
                    UnaryOp::ZeroExtend => a.zext(width),
                    UnaryOp::SignExtend => a.sext(width),
                }
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (&words[&a], &words[&b]);
                let bit = match op {
                    BinaryOp::Add => return circuits.add(a, b),
                    BinaryOp::Sub => return circuits.sub(a, b),
                    BinaryOp::Mul => return circuits.mul(a, b),
                    BinaryOp::UDiv => return circuits.udiv(a, b),
                    BinaryOp::SDiv => return circuits.sdiv(a, b),
                    BinaryOp::URem => return circuits.urem(a, b),
                    BinaryOp::SRem => return circuits.srem(a, b),
                    BinaryOp::And => return circuits.and(a, b),
                    BinaryOp::Or => return circuits.or(a, b),
                    BinaryOp::Xor => return circuits.xor(a, b),
                    BinaryOp::Shl => return circuits.shl(a, b),
                    BinaryOp::LShr => return circuits.lshr(a, b),
                    BinaryOp::AShr => return circuits.ashr(a, b),
                    BinaryOp::Eq => circuits.eq(a, b),
                    BinaryOp::Ne => !circuits.eq(a, b),
                    BinaryOp::Ult => circuits.ult(a, b),
                    BinaryOp::Ule => circuits.ule(a, b),
                    BinaryOp::Slt => circuits.slt(a, b),
                    BinaryOp::Sle => circuits.sle(a, b),
                };
                Word::new([bit])
            }
            Node::Concat(a, b) => words[&a].concat(&words[&b]),
            Node::Extract { of, low } => words[&of].extract(low as usize, width),
            Node::Ite(condition, then, other) => {
                let condition = words[&condition].bits()[0];
                circuits.ite(condition, &words[&then], &words[&other])
            }
        }
    }

    /// What a source leaves in a cell, as far as this read is concerned.
    pub(super) fn content(
        &mut self,
        read: EventId,
        cell: CellId,
        write: Option<EventId>,
    ) -> Content {
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let Some(write) = write else {
            return match (memory.initial_value(cell), memory.expected(trace, read, cell)) {
                (Some(value), _) => Content::Word(self.constant(cell, value)),
                (None, Identity::Initial) => Content::AsRecorded,
                (None, _) => Content::Unreadable,
            };
        };
        let computed = self.skeleton.free_data().and_then(|data| data.result(write));
        if let Some(term) = computed {
            let at = trace.access(write).expect("a write is an access").at;
            let (low, width) = memory.bits_of(cell, at);
            return Content::Word(self.blast(term).extract(low as usize, width as usize));
        }
        match memory.value_written(trace, write, cell) {
            Some(value) => Content::Word(self.constant(cell, value)),
            None if self.recorded_writer(read, cell) == Some(write) => Content::AsRecorded,
            None => Content::Unreadable,
        }
    }

    fn constant(&self, cell: CellId, value: u64) -> Word {
        Word::constant(self.skeleton.memory.size_of(cell) as usize * 8, value.into())
    }

    /// Asks for a source of what the read sees. Returns whether this is new.
    pub(super) fn require_data_source(&mut self, read: EventId, cell: CellId) -> bool {
        if self.data.sources.contains_key(&(read, cell)) {
            return false;
        }
        if self.exclude_latched(read, cell) {
            return true;
        }
        let pinned = if self.skeleton.pins_reads() {
            let assertion = self.skeleton.data.as_ref().and_then(|data| data.released_for(read));
            let asked = self.asked(assertion.expect("only released reads are not pinned"));
            let included = self.included(read);
            self.all_hold(&[asked, included])
        } else {
            self.pinned(read)
        };
        let pinned = match self.occurs(read) {
            Some(occurs) => self.all_hold(&[pinned, occurs]),
            None => pinned,
        };
        let word = self.cell_word(read, cell);
        if let Some(word) = &word
            && self.add_up(read, cell, pinned, word)
        {
            self.data.sources.insert((read, cell), Vec::new());
            return true;
        }
        let mut readable = Vec::new();
        for write in self.unhidden_sources(read, cell) {
            if self.is_exhausted() {
                return true;
            }
            let content = self.content(read, cell, write);
            if !matches!(content, Content::Unreadable) {
                readable.push((write, content));
            }
        }
        let reason = || Reason::Value {
            read,
            sources: readable.iter().filter_map(|&(write, _)| write).collect(),
            initial: readable.iter().any(|(write, _)| write.is_none()),
        };
        let reason = self.explains().then(reason);
        let sources = self.under(
            || reason.expect("made for an encoder that explains"),
            |encoder| encoder.choose_content(read, cell, pinned, word.as_ref(), readable),
        );
        self.data.sources.insert((read, cell), sources);
        true
    }

    /// If the read takes a cell that is used as a lock: keeps it and all holds of other threads
    /// apart. Returns whether this is new. Mostly this is all that matters of what the read sees,
    /// so its sources are left for later.
    fn exclude_latched(&mut self, read: EventId, cell: CellId) -> bool {
        // A released read may have found something else than what makes it a take.
        if self.skeleton.pins_reads() {
            return false;
        }
        let holds = self.cells.latches.of(cell);
        let Ok(at) = holds.binary_search_by_key(&read, |hold| hold.take) else { return false };
        if self.data.latched.contains(&read) {
            return false;
        }
        let all = if holds.len() <= MOST_HOLDS_AT_ONCE { holds } else { &holds[at..=at] };
        for hold in all {
            self.data.latched.insert(hold.take);
            for other in holds.iter().filter(|other| other.thread != hold.thread) {
                if self.data.latched.contains(&other.take) {
                    continue;
                }
                let mut clause = vec![!self.included(hold.tested), !self.included(other.tested)];
                clause.extend(hold.give.map(|give| self.before(give, other.take)));
                clause.extend(other.give.map(|give| self.before(give, hold.take)));
                self.solver.clause(&clause);
            }
        }
        true
    }

    /// If `pinned`, the read sees one of these contents.
    fn choose_content(
        &mut self,
        read: EventId,
        cell: CellId,
        pinned: Lit,
        word: Option<&Word>,
        readable: Vec<(Option<EventId>, Content)>,
    ) -> Vec<Source> {
        let mut sources = Vec::new();
        let mut some = vec![!pinned];
        for (write, content) in readable {
            let recorded = self.recorded_writer(read, cell) == write;
            let chosen = self.solver.literal_with_phase(recorded);
            if let Some(write) = write {
                let before = self.before(write, read);
                self.rule(&[!chosen, before]);
                if let Some(occurs) = self.occurs(write) {
                    self.rule(&[!chosen, occurs]);
                }
            }
            let content = match content {
                Content::Word(content) => Some(content),
                // It counts with its recorded value, if that is known.
                Content::AsRecorded | Content::Unreadable => {
                    let at = self.skeleton.trace.access(read).expect("a read is an access").at;
                    let value = self.skeleton.trace.values(read).0.filter(|_| at.size <= 8);
                    value.map(|value| {
                        self.constant(cell, self.skeleton.memory.part(cell, at, value))
                    })
                }
            };
            if let (Some(content), Some(word)) = (content, word)
                && !is_seeded(Fault::SourceWithoutValue)
            {
                let conditions = self.conditions(&[chosen]);
                self.data.gates.on(&mut self.solver).imply_equal(&conditions, word, &content);
            }
            some.push(chosen);
            sources.push(Source { write, chosen });
        }
        self.rule(&some);
        sources
    }

    /// Asks for sources of the reads that circuits use, and of those that their sources' circuits
    /// use, as long as that is not too much. What is left comes when a proposal shows that it is
    /// needed.
    pub(crate) fn require_wanted(&mut self) {
        let skeleton = self.skeleton;
        let mut left = MOST_WANTED_SOURCES;
        let wanted = std::mem::take(&mut self.data.wanted);
        if skeleton.free_data().is_none() || skeleton.model == Model::Control {
            return;
        }
        let mut open: std::collections::VecDeque<EventId> = wanted.into();
        while let Some(read) = open.pop_front() {
            if self.is_exhausted() {
                return;
            }
            if skeleton.memory.has_unknown_writer(read) {
                continue;
            }
            let at = skeleton.trace.access(read).expect("a read is an access").at;
            for cell in skeleton.memory.cells_of(at) {
                self.require_data_source(read, cell);
                let sources = self.data.sources.get(&(read, cell));
                left = left.saturating_sub(sources.map_or(0, Vec::len));
            }
            open.extend(self.data.wanted.drain(..));
            if left == 0 {
                return;
            }
        }
    }

    /// A literal that is implied by all of `lits` together.
    fn all_hold(&mut self, lits: &[Lit]) -> Lit {
        let all = self.solver.literal();
        let mut clause: Vec<Lit> = lits.iter().map(|&lit| !lit).collect();
        clause.push(all);
        self.solver.clause(&clause);
        all
    }

    /// The source that the last model chose for what a read sees.
    pub(super) fn chosen_data_source(&self, read: EventId, cell: CellId) -> Option<Source> {
        let sources = self.data.sources.get(&(read, cell))?;
        sources.iter().copied().find(|source| self.solver.value(source.chosen))
    }

    /// What the last model says that a read sees in a cell, if it says anything.
    pub(super) fn model_value(&self, read: EventId, cell: CellId) -> Option<u64> {
        self.data.cells.get(&(read, cell)).map(|word| word.value(&self.solver) as u64)
    }

    /// If the event is included, the condition has this outcome. Returns whether this is new.
    pub(super) fn require_condition(
        &mut self,
        event: EventId,
        condition: TermId,
        outcome: bool,
    ) -> bool {
        if !self.data.conditions.insert((event, condition)) {
            return false;
        }
        let bit = self.blast(condition).bits()[0];
        self.require_wanted();
        let mut conditions = vec![self.included(event)];
        conditions.extend(self.occurs(event));
        let bit = if outcome { bit } else { !bit };
        let reason = || Reason::Condition { event, outcome };
        self.under(reason, |encoder| {
            let conditions = encoder.conditions(&conditions);
            encoder.data.gates.on(&mut encoder.solver).imply(&conditions, bit);
        });
        true
    }

    /// If the guard is true, the read is as recorded. Returns whether this is new.
    pub(super) fn require_as_recorded(&mut self, read: EventId, guard: Lit) -> bool {
        if !self.data.guards.insert((read, guard)) {
            return false;
        }
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let at = trace.access(read).expect("a read is an access").at;
        for cell in memory.cells_of(at) {
            let writer = match memory.expected(trace, read, cell) {
                Identity::Value(value) => {
                    let word = self.cell_word(read, cell).expect("a cell with a value");
                    let value = self.constant(cell, value);
                    let conditions = self.conditions(&[guard]);
                    self.data.gates.on(&mut self.solver).imply_equal(&conditions, &word, &value);
                    continue;
                }
                Identity::Event(write) => Some(write),
                Identity::Initial => None,
            };
            self.require_data_source(read, cell);
            let sources = &self.data.sources[&(read, cell)];
            let recorded = sources.iter().find(|source| source.write == writer);
            let clause = recorded.map_or(vec![!guard], |source| vec![!guard, source.chosen]);
            self.rule(&clause);
        }
        true
    }
}
