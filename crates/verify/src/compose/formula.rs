//! The skeleton as clauses.
//!
//! **Computes.** Bits for terms; an order atom for each pair of nodes whose order matters; for each
//! read of a cell one literal per source, and clauses: it has a source; the source happens, comes
//! before it and has its value; every other write of the cell that happens comes after the read or
//! before the source.
//!
//! **Follows.** Axioms of sequential consistency of paper 003, section 4; eager source and
//! from-read clauses over order literals, acyclicity by the theory of `foretrace-solve`.
//!
//! **Cost.** For each cell, reads times the square of its writes.

use foretrace_solve::{Bit, Gates, Limits, Lit, Node, Outcome, Solver, Word};
use foretrace_words::{BinaryOp, Cast};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cells::Cell;
use super::order::Order;
use super::ranges::{Range, ranges};
use crate::fault::{Fault, is_seeded};
use crate::skeleton::{NodeId, Skeleton};
use crate::terms::{Op, Symbol, Term, Terms, address_number};

/// How many clauses of sources there may be.
const MOST_CLAUSES: u64 = 20_000_000;

/// A solver that knows a skeleton.
pub(crate) struct Formula<'s> {
    pub(super) skeleton: &'s Skeleton,
    solver: Solver,
    gates: Gates,
    nodes: Vec<Node>,
    /// A moment at which questions look; it is no node of the skeleton.
    moment: Node,
    /// By access, that its thread is in front of it at the moment.
    pub(super) nexts: FxHashMap<usize, Bit>,
    words: FxHashMap<Term, Word>,
    ranges: FxHashMap<Symbol, Range>,
}

/// The formula would be too large.
#[derive(Debug)]
pub(crate) struct TooLarge;

impl<'s> Formula<'s> {
    pub(crate) fn new(
        skeleton: &'s Skeleton,
        order: &Order,
        cells: &[Cell],
        narrow: bool,
    ) -> Result<Formula<'s>, TooLarge> {
        let size: u64 = cells
            .iter()
            .map(|cell| {
                let writes = cell.writes.len() as u64;
                cell.reads
                    .iter()
                    .map(|read| (read.sources.len() as u64 + 1) * (writes + 1))
                    .sum::<u64>()
            })
            .sum();
        if size > MOST_CLAUSES {
            return Err(TooLarge);
        }
        let ranges = if narrow { ranges(&skeleton.terms, cells) } else { FxHashMap::default() };
        let mut solver = Solver::new();
        let mut position = vec![0u32; skeleton.threads.len()];
        let mut nodes: Vec<Option<Node>> = vec![None; skeleton.nodes.len()];
        for (home, &node) in order.linear.iter().enumerate() {
            let thread = skeleton.nodes[node.index()];
            nodes[node.index()] = Some(solver.node(thread as u32, position[thread], home as u64));
            position[thread] += 1;
        }
        let nodes: Vec<Node> =
            nodes.into_iter().map(|node| node.expect("all are linear")).collect();
        for (from, to) in Order::edges(skeleton, order.has_joins) {
            solver.fixed_edge(nodes[from.index()], nodes[to.index()]);
        }
        let moment = solver.free_node(order.linear.len() as u64);
        let (gates, words, nexts) = (Gates::default(), FxHashMap::default(), FxHashMap::default());
        let mut formula = Formula { skeleton, solver, gates, nodes, moment, nexts, words, ranges };
        formula.joins(order);
        for cell in cells {
            formula.cell(order, cell);
        }
        formula.sums(order, cells);
        for &fact in &skeleton.facts {
            let fact = formula.bit(fact);
            formula.clause(&[fact]);
        }
        Ok(formula)
    }

    pub(super) fn circuits(&mut self) -> foretrace_solve::Circuits<'_> {
        self.gates.on(&mut self.solver)
    }

    pub(super) fn literal(&mut self) -> Lit {
        self.solver.literal()
    }

    pub(super) fn clause(&mut self, bits: &[Bit]) {
        self.gates.on(&mut self.solver).clause(bits);
    }

    /// That a node comes before another one.
    pub(super) fn before(&mut self, order: &Order, a: NodeId, b: NodeId) -> Bit {
        if order.before(a, b) {
            return Bit::TRUE;
        }
        if order.before(b, a) {
            return Bit::FALSE;
        }
        self.solver.before(self.nodes[a.index()], self.nodes[b.index()]).into()
    }

    /// That a node comes before the moment at which questions look.
    pub(super) fn is_before_moment(&mut self, node: NodeId) -> Bit {
        self.solver.before(self.nodes[node.index()], self.moment).into()
    }

    fn joins(&mut self, order: &Order) {
        for join in &self.skeleton.joins {
            let passes = self.bit(join.passes);
            let child = &self.skeleton.threads[join.child];
            if !is_seeded(Fault::JoinAtOnce) {
                let mut ends: Vec<Bit> = child.ends.iter().map(|&end| self.bit(end)).collect();
                ends.push(!passes);
                self.clause(&ends);
            }
            if let Some(&last) = child.nodes.last()
                && !is_seeded(Fault::JoinUnordered)
            {
                let before = self.before(order, last, join.node);
                self.clause(&[!passes, before]);
            }
        }
    }

    fn cell(&mut self, order: &Order, cell: &Cell) {
        let writes: Vec<Bit> = cell.writes.iter().map(|write| self.bit(write.guard)).collect();
        for read in &cell.reads {
            let guard = self.bit(read.guard);
            let found = self.word(read.value);
            let mut some = vec![!guard];
            let count = read.sources.len() + usize::from(read.sees_initial);
            let initial = read.sees_initial.then_some(None);
            let sources = initial.into_iter().chain(read.sources.iter().map(|&at| Some(at)));
            for source in sources {
                // The only source needs no name.
                let chosen = match count {
                    1 => guard,
                    _ => Bit::from(self.solver.literal()),
                };
                some.push(chosen);
                let value = match source {
                    Some(at) => Some(cell.writes[at].value),
                    None => cell.initial,
                };
                if let Some(value) = value {
                    let value = self.word(value);
                    self.imply_equal(chosen, &found, &value);
                }
                if let Some(is_first) = read.is_first {
                    let is_first = self.bit(is_first);
                    let is_first = if source.is_none() { is_first } else { !is_first };
                    self.clause(&[!chosen, is_first]);
                }
                if let Some(at) = source {
                    let before = self.before(order, cell.writes[at].node, read.node);
                    if !is_seeded(Fault::SourceMissing) {
                        self.clause(&[!chosen, writes[at]]);
                    }
                    if !is_seeded(Fault::SourceUnordered) {
                        self.clause(&[!chosen, before]);
                    }
                }
                self.nothing_between(order, cell, &writes, read.node, source, chosen);
            }
            self.clause(&some);
        }
    }

    /// No other write of the cell comes between a source and the read.
    fn nothing_between(
        &mut self,
        order: &Order,
        cell: &Cell,
        guards: &[Bit],
        read: NodeId,
        source: Option<usize>,
        chosen: Bit,
    ) {
        let from = source.map(|at| cell.writes[at].node);
        for (at, write) in cell.writes.iter().enumerate() {
            if Some(at) == source || write.node == read || Some(write.node) == from {
                continue;
            }
            if is_seeded(Fault::WriteBetween) && at % 2 == 0 {
                continue;
            }
            let after = self.before(order, read, write.node);
            let earlier = match from {
                Some(from) => self.before(order, write.node, from),
                None => Bit::FALSE,
            };
            self.clause(&[!chosen, !guards[at], after, earlier]);
        }
    }

    pub(super) fn imply_equal(&mut self, condition: Bit, a: &Word, b: &Word) {
        match condition.as_constant() {
            Some(false) => (),
            Some(true) => self.gates.on(&mut self.solver).assert_equal(a, b),
            None => self.gates.on(&mut self.solver).imply_equal(&[condition.lit()], a, b),
        }
    }

    /// The bit of a condition.
    pub(crate) fn bit(&mut self, term: Term) -> Bit {
        self.word(term).bits()[0]
    }

    /// The bits of a term.
    pub(crate) fn word(&mut self, term: Term) -> Word {
        let terms = &self.skeleton.terms;
        let mut open = vec![term];
        while let Some(&top) = open.last() {
            if self.words.contains_key(&top) {
                open.pop();
                continue;
            }
            let parts: Vec<Term> = match terms.op(top) {
                Op::Binary(_, a, b) => vec![a, b],
                Op::Cast(_, a) => vec![a],
                Op::Ite(a, b, c) => vec![a, b, c],
                Op::Constant(_) | Op::Address { .. } | Op::Symbol(_) => Vec::new(),
            };
            let waiting: Vec<Term> =
                parts.iter().copied().filter(|part| !self.words.contains_key(part)).collect();
            if waiting.is_empty() {
                let word = self.build(top);
                self.words.insert(top, word);
                open.pop();
            }
            open.extend(waiting);
        }
        self.words[&term].clone()
    }

    /// The bits of a term whose parts have theirs.
    fn build(&mut self, term: Term) -> Word {
        let terms: &Terms = &self.skeleton.terms;
        let width = usize::from(terms.width(term));
        let mut circuits = self.gates.on(&mut self.solver);
        let part = |term: Term| &self.words[&term];
        let truth = |bit: Bit| Word::new([bit]);
        match terms.op(term) {
            Op::Constant(value) => Word::constant(width, value.into()),
            Op::Address { object, offset } => {
                Word::constant(width, address_number(object, offset).into())
            }
            Op::Symbol(symbol) => match self.ranges.get(&symbol) {
                Some(&range) => narrow(&mut circuits, range, width),
                None => circuits.fresh(width),
            },
            Op::Cast(Cast::ZeroExtend, a) => part(a).zext(width),
            Op::Cast(Cast::SignExtend, a) => part(a).sext(width),
            Op::Cast(Cast::Truncate, a) => part(a).trunc(width),
            Op::Ite(condition, a, b) => circuits.ite(part(condition).bits()[0], part(a), part(b)),
            Op::Binary(op, a, b) => {
                let (a, b) = (part(a), part(b));
                match op {
                    BinaryOp::Add => circuits.add(a, b),
                    BinaryOp::Sub => circuits.sub(a, b),
                    BinaryOp::Mul => circuits.mul(a, b),
                    BinaryOp::UDiv => circuits.udiv(a, b),
                    BinaryOp::SDiv => circuits.sdiv(a, b),
                    BinaryOp::URem => circuits.urem(a, b),
                    BinaryOp::SRem => circuits.srem(a, b),
                    BinaryOp::And => circuits.and(a, b),
                    BinaryOp::Or => circuits.or(a, b),
                    BinaryOp::Xor => circuits.xor(a, b),
                    BinaryOp::Shl => circuits.shl(a, b),
                    BinaryOp::LShr => circuits.lshr(a, b),
                    BinaryOp::AShr => circuits.ashr(a, b),
                    BinaryOp::Eq => truth(circuits.eq(a, b)),
                    BinaryOp::Ne => truth(!circuits.eq(a, b)),
                    BinaryOp::Ult => truth(circuits.ult(a, b)),
                    BinaryOp::Ule => truth(circuits.ule(a, b)),
                    BinaryOp::Slt => truth(circuits.slt(a, b)),
                    BinaryOp::Sle => truth(circuits.sle(a, b)),
                }
            }
        }
    }

    /// Asks whether one of the conditions can be true; if so, the model is kept.
    pub(crate) fn can_be(&mut self, conditions: &[Term], limits: &Limits) -> Outcome {
        let bits: Vec<Bit> = conditions.iter().map(|&condition| self.bit(condition)).collect();
        self.ask(bits, limits)
    }

    /// The same for bits.
    pub(crate) fn ask(&mut self, mut bits: Vec<Bit>, limits: &Limits) -> Outcome {
        let asked: Lit = self.solver.literal();
        bits.push(!Bit::from(asked));
        self.clause(&bits);
        self.solver.solve(&[asked], limits)
    }

    /// Whether a bit is true in the model.
    pub(crate) fn is_true(&self, bit: Bit) -> bool {
        bit.value(&self.solver)
    }

    /// The values of terms in the model.
    pub(crate) fn values(&self) -> Vec<u64> {
        let terms = &self.skeleton.terms;
        let mut values: Vec<u64> = Vec::with_capacity(terms.len());
        for term in terms.all() {
            let width = terms.width(term);
            let value = |term: Term| values[term.index()];
            values.push(match terms.op(term) {
                Op::Constant(value) => value,
                Op::Address { object, offset } => address_number(object, offset),
                // A symbol that no clause has can be anything.
                Op::Symbol(_) => {
                    self.words.get(&term).map_or(0, |word| word.value(&self.solver) as u64)
                }
                Op::Binary(op, a, b) => op.apply(value(a), value(b), terms.width(a)),
                Op::Cast(cast, a) => cast.apply(value(a), terms.width(a), width),
                Op::Ite(condition, a, b) => value(if value(condition) != 0 { a } else { b }),
            });
        }
        values
    }

    /// All nodes in an order that the model has, and behind the last of them by its number, the
    /// moment at which a question looks.
    pub(crate) fn schedule(&self, order: &Order) -> Vec<NodeId> {
        let count = self.nodes.len() + 1;
        let nodes = self.nodes.iter().chain([&self.moment]);
        let number: FxHashMap<Node, usize> =
            nodes.enumerate().map(|(at, &node)| (node, at)).collect();
        let mut edges: FxHashSet<(usize, usize)> =
            self.solver.model_edges().iter().map(|(a, b)| (number[a], number[b])).collect();
        for thread in &self.skeleton.threads {
            edges.extend(thread.nodes.windows(2).map(|pair| (pair[0].index(), pair[1].index())));
        }
        let fixed = Order::edges(self.skeleton, order.has_joins);
        edges.extend(fixed.iter().map(|(a, b)| (a.index(), b.index())));
        let mut successors = vec![Vec::new(); count];
        let mut missing = vec![0; count];
        for (from, to) in edges {
            successors[from].push(to);
            missing[to] += 1;
        }
        let mut ready: std::collections::BTreeSet<usize> =
            (0..count).filter(|&node| missing[node] == 0).collect();
        let mut schedule = Vec::with_capacity(count);
        while let Some(node) = ready.pop_first() {
            schedule.push(NodeId(node as u32));
            for &to in &successors[node] {
                missing[to] -= 1;
                if missing[to] == 0 {
                    ready.insert(to);
                }
            }
        }
        assert_eq!(schedule.len(), count, "the order of a model has no circle");
        schedule
    }
}

/// A word of as few new bits as the range needs.
fn narrow(circuits: &mut foretrace_solve::Circuits<'_>, range: Range, width: usize) -> Word {
    if range.low == range.high {
        return Word::constant(width, range.low as u128);
    }
    if width == 1 {
        return circuits.fresh(1);
    }
    let bits = |number: i128| (128 - number.unsigned_abs().leading_zeros()) as usize;
    if range.low >= 0 {
        let needed = bits(range.high).clamp(1, width);
        return circuits.fresh(needed).zext(width);
    }
    let needed = (bits(range.low).max(bits(range.high)) + 1).min(width);
    circuits.fresh(needed).sext(width)
}
