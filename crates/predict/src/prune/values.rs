//! Refutes assertions that hold for all values that memory can have.
//!
//! **Computes.** For each cell that matters, what it can hold in any schedule: its initial contents
//! and what any write may store there. What a write computes from reads it computes from all that
//! these can have seen. An assertion is refuted if its condition is true for all values of the
//! reads that it depends on.
//!
//! **Follows.** `docs/causality.md`, section 7, *Values*, with the proof.
//!
//! **Invariant.** No cell ever holds what is not in its set. Where that is not known, or too much,
//! the cell has no set.
//!
//! **Cost.** Limited by numbers of values, accesses and evaluations. Conditions that only differ in
//! the read are evaluated once.

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::terms::{Node, SymbolId, TermId};
use foretrace_model::{CellId, Data, Skeleton};
use foretrace_trace::EventId;
use foretrace_verdict::Model;

use super::{Rule, Tried};
use crate::candidates::Parts;
use crate::effort::Decider;
use crate::fault::{Fault, is_seeded};

/// A cell that can hold more values, or more that are computed, has no set.
const MOST_VALUES: usize = 1 << 16;
const MOST_COMPUTED: usize = 1 << 10;
/// What has more operations may be anything.
const LARGEST_TERM: usize = 64;
/// What is computed from more reads may be anything.
const MOST_READS: usize = 2;
/// So many cells at most may determine what one holds.
const MOST_CELLS: usize = 256;
/// How many terms are evaluated, and accesses looked at, for the classes of one shard.
const MOST_STEPS: usize = 4_000_000;
/// An evaluation takes as long as so many accesses, for each operation.
const EVALUATION: usize = 2;

pub(super) const RULE: Rule = Rule {
    name: "values",
    column: None,
    within: None,
    tried: Tried::First,
    by: Decider::Order,
    refutes: |pruner, class, _| {
        let Parts::Assertion(events) = &class.parts else { return false };
        let skeleton = pruner.work.context.skeleton;
        // Under `control`, what is read is free.
        let is_about_values = matches!(skeleton.model, Model::Values | Model::Symbolic);
        let Some(data) =
            skeleton.data.as_ref().filter(|data| is_about_values && !data.is_program())
        else {
            return false;
        };
        events.iter().all(|&event| pruner.contents.prove(skeleton, data, event))
    },
};

/// What cells can hold.
#[derive(Default)]
pub(super) struct Contents {
    /// The cells that were looked at; `None`: not known.
    of: FxHashMap<CellId, Option<Rc<Set>>>,
    /// Whether a condition is true for all values of these cells.
    proved: FxHashMap<(Shape, Vec<CellId>), bool>,
    steps: usize,
}

/// A term, with the places of its symbols instead of these.
type Shape = Vec<(Node, u32)>;

/// Values, in the order in which they were found.
#[derive(Default)]
struct Set {
    values: Vec<u64>,
    known: FxHashSet<u64>,
    /// So many of them were computed.
    computed: usize,
}

impl Set {
    /// Adds a value; `false`: there are too many.
    fn add(&mut self, value: u64) -> bool {
        if self.known.insert(value) {
            self.values.push(value);
        }
        self.values.len() <= MOST_VALUES
    }
}

/// What a write computes.
struct Computed {
    term: TermId,
    reads: Vec<(SymbolId, CellId)>,
    /// For how many values of each read it has been computed.
    done: Vec<usize>,
}

impl Computed {
    /// Of the values of one of its reads those that it has to be computed for.
    fn new_of(&self, at: usize, set: &Set) -> Vec<u64> {
        let known = if self.reads.len() == 1 { self.done[at] } else { 0 };
        set.values[known..].to_vec()
    }
}

/// A cell whose set is being computed.
struct Growing {
    /// `None`: not known.
    set: Option<Set>,
    computed: Vec<Computed>,
}

impl Contents {
    /// Whether an assertion holds, whatever its reads have seen.
    fn prove(&mut self, skeleton: &Skeleton, data: &Data, assertion: EventId) -> bool {
        let Some(condition) = data.result(assertion) else { return false };
        let Some(reads) = reads(skeleton, data, condition) else { return false };
        let cells: Vec<CellId> = reads.iter().map(|&(_, cell)| cell).collect();
        let question = (shape(data, condition, &reads), cells);
        if let Some(&proved) = self.proved.get(&question) {
            return proved;
        }
        let sets: Option<Vec<Rc<Set>>> =
            question.1.iter().map(|&cell| self.contents(skeleton, data, cell)).collect();
        let proved = sets.is_some_and(|sets| {
            let sets: Vec<&[u64]> = sets.iter().map(|set| &set.values[..]).collect();
            let count = sets.iter().map(|set| set.len()).product::<usize>();
            self.pay(count.saturating_mul(EVALUATION * question.0.len()))
                && all(&sets, |values| evaluate(data, condition, &reads, values) == 1)
        });
        self.proved.insert(question, proved);
        proved
    }

    /// Notes so much work; `false`: it is too much.
    fn pay(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        self.steps <= MOST_STEPS
    }

    fn contents(&mut self, skeleton: &Skeleton, data: &Data, cell: CellId) -> Option<Rc<Set>> {
        if !self.of.contains_key(&cell) {
            let mut growing = self.needed(skeleton, data, cell);
            self.grow(data, &mut growing);
            let sets = growing.into_iter().map(|(cell, growing)| (cell, growing.set.map(Rc::new)));
            self.of.extend(sets);
        }
        self.of[&cell].clone()
    }

    /// The cell, and all cells on which it depends, with the constants that they can hold.
    fn needed(
        &mut self,
        skeleton: &Skeleton,
        data: &Data,
        cell: CellId,
    ) -> FxHashMap<CellId, Growing> {
        let mut found: FxHashMap<CellId, Growing> = FxHashMap::default();
        let mut open = vec![cell];
        while let Some(cell) = open.pop() {
            if found.contains_key(&cell) || self.of.contains_key(&cell) {
                continue;
            }
            let growing = match found.len() < MOST_CELLS {
                true => self.start(skeleton, data, cell),
                false => None,
            };
            let growing = growing.unwrap_or(Growing { set: None, computed: Vec::new() });
            open.extend(
                growing.computed.iter().flat_map(|one| one.reads.iter().map(|read| read.1)),
            );
            found.insert(cell, growing);
        }
        found
    }

    /// What a cell can hold by itself; `None`: not known.
    fn start(&mut self, skeleton: &Skeleton, data: &Data, cell: CellId) -> Option<Growing> {
        let (trace, memory) = (skeleton.trace, &skeleton.memory);
        let accesses = memory.accesses(cell);
        if !self.pay(accesses.len()) {
            return None;
        }
        let mut set = Set::default();
        set.add(memory.initial_value(cell)?);
        let (mut computed, mut shapes) = (Vec::new(), FxHashSet::default());
        let writes = |&access: &EventId| trace.op(access).access().is_some_and(|op| op.writes);
        let last = accesses.iter().copied().rev().find(writes);
        for &write in accesses.iter().filter(|&access| writes(access)) {
            if Some(write) == last && is_seeded(Fault::ValueForgotten) {
                continue;
            }
            let at = trace.access(write)?.at;
            let Some(term) = data.result(write) else {
                // What is opaque stores what was recorded, or is not executed.
                if !set.add(memory.value_written(trace, write, cell)?) {
                    return None;
                }
                continue;
            };
            if let Some(value) = data.terms().as_constant(term) {
                if !set.add(memory.part(cell, at, value as u64)) {
                    return None;
                }
                continue;
            }
            let reads = reads(skeleton, data, term).filter(|_| memory.size_of(cell) == at.size)?;
            let cells: Vec<CellId> = reads.iter().map(|read| read.1).collect();
            let shape = shape(data, term, &reads);
            if !self.pay(shape.len()) {
                return None;
            }
            if shapes.insert((shape, cells)) {
                computed.push(Computed { term, done: vec![0; reads.len()], reads });
            }
        }
        Some(Growing { set: Some(set), computed })
    }

    /// Adds what writes compute until nothing new comes.
    fn grow(&mut self, data: &Data, growing: &mut FxHashMap<CellId, Growing>) {
        // Who reads a cell; in an order that does not depend on the table.
        let mut cells: Vec<CellId> = growing.keys().copied().collect();
        cells.sort_unstable();
        let mut readers: FxHashMap<CellId, Vec<CellId>> = FxHashMap::default();
        for &cell in &cells {
            for (_, read) in growing[&cell].computed.iter().flat_map(|one| &one.reads) {
                readers.entry(*read).or_default().push(cell);
            }
        }
        let mut open: VecDeque<CellId> = cells.into();
        while let Some(cell) = open.pop_front() {
            let mut own = growing.remove(&cell).expect("it is one of them");
            let before = own.set.as_ref().map(|set| set.values.len());
            let mut computed = std::mem::take(&mut own.computed);
            for one in &mut computed {
                let Some(set) = own.set.take() else { break };
                own.set = self.compute(data, (cell, set), one, growing);
            }
            own.computed = computed;
            let changed = before != own.set.as_ref().map(|set| set.values.len());
            growing.insert(cell, own);
            if changed {
                let reading = readers.get(&cell).into_iter().flatten();
                let is_new: Vec<CellId> =
                    reading.copied().filter(|reader| !open.contains(reader)).collect();
                open.extend(is_new);
            }
        }
    }

    /// The set with what the write computes from values that are new; `None`: not known.
    fn compute(
        &mut self,
        data: &Data,
        (cell, mut set): (CellId, Set),
        one: &mut Computed,
        growing: &FxHashMap<CellId, Growing>,
    ) -> Option<Set> {
        let (mut new, mut counts) = (Vec::new(), Vec::new());
        for (at, &(_, read)) in one.reads.iter().enumerate() {
            let of_read: &Set = match (read == cell, growing.get(&read)) {
                (true, _) => &set,
                (false, Some(growing)) => growing.set.as_ref()?,
                (false, None) => self.of[&read].as_deref()?,
            };
            counts.push(of_read.values.len());
            new.push(one.new_of(at, of_read));
        }
        if counts == one.done {
            return Some(set);
        }
        let new: Vec<&[u64]> = new.iter().map(Vec::as_slice).collect();
        let size = data.terms().size(one.term);
        let count = new.iter().map(|values| values.len()).product::<usize>();
        if !self.pay(count.saturating_mul(EVALUATION * size)) {
            return None;
        }
        one.done = counts;
        let fits = all(&new, |values| {
            let before = set.values.len();
            let fits = set.add(evaluate(data, one.term, &one.reads, values) as u64);
            set.computed += set.values.len() - before;
            fits && set.computed <= MOST_COMPUTED
        });
        fits.then_some(set)
    }
}

/// The reads on which a term depends, each of one cell; `None`: too many, or what they see is not
/// known.
fn reads(skeleton: &Skeleton, data: &Data, term: TermId) -> Option<Vec<(SymbolId, CellId)>> {
    let memory = &skeleton.memory;
    let symbols = data.terms().symbols_of(term);
    if symbols.len() > MOST_READS || data.terms().size(term) > LARGEST_TERM {
        return None;
    }
    let cell = |symbol: SymbolId| {
        let read = EventId(symbol.0);
        let at = skeleton.trace.access(read)?.at;
        let mut cells = memory.cells_of(at);
        let cell = cells.next().filter(|_| cells.next().is_none())?;
        let is_whole = memory.size_of(cell) == at.size && at.size <= 8;
        (is_whole && !memory.has_unknown_writer(read)).then_some((symbol, cell))
    };
    symbols.into_iter().map(cell).collect()
}

fn shape(data: &Data, term: TermId, reads: &[(SymbolId, CellId)]) -> Shape {
    let terms = data.terms();
    let all = terms.reachable([term]);
    let place = |term: TermId| {
        TermId::from(all.iter().position(|&one| one == term).expect("children are reachable"))
    };
    let without_names = |&term: &TermId| {
        let node = match terms.node(term) {
            Node::Constant(bits) => Node::Constant(bits),
            Node::Symbol(symbol) => {
                let place = reads.iter().position(|read| read.0 == symbol);
                Node::Symbol(SymbolId(place.expect("it is a symbol of the term") as u32))
            }
            Node::Unary(op, a) => Node::Unary(op, place(a)),
            Node::Binary(op, a, b) => Node::Binary(op, place(a), place(b)),
            Node::Concat(a, b) => Node::Concat(place(a), place(b)),
            Node::Extract { of, low } => Node::Extract { of: place(of), low },
            Node::Ite(condition, then, other) => {
                Node::Ite(place(condition), place(then), place(other))
            }
        };
        (node, terms.width(term))
    };
    all.iter().map(without_names).collect()
}

fn evaluate(data: &Data, term: TermId, reads: &[(SymbolId, CellId)], values: &[u64]) -> u128 {
    data.terms().evaluate(term, &|symbol| {
        let place = reads.iter().position(|read| read.0 == symbol);
        u128::from(values[place.expect("it is a symbol of the term")])
    })
}

/// Whether something holds for each choice of one value from each set.
fn all(sets: &[&[u64]], mut holds: impl FnMut(&[u64]) -> bool) -> bool {
    if sets.iter().any(|set| set.is_empty()) {
        return true;
    }
    let mut places = vec![0; sets.len()];
    let mut values: Vec<u64> = sets.iter().map(|set| set[0]).collect();
    loop {
        if !holds(&values) {
            return false;
        }
        let Some(next) = (0..sets.len()).find(|&at| places[at] + 1 < sets[at].len()) else {
            return true;
        };
        for at in 0..next {
            places[at] = 0;
            values[at] = sets[at][0];
        }
        places[next] += 1;
        values[next] = sets[next][places[next]];
    }
}
