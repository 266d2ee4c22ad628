//! Paths of a thread: their state, and how they merge.

use std::collections::BTreeMap;
use std::rc::Rc;

use foretrace_program::{Block, BlockId, FunctionId, RegisterId, Site};
use foretrace_words::BinaryOp;
use rustc_hash::FxHashSet;

use super::Unfolder;
use super::memory::{Memory, Piece, choose};
use crate::fault::{Fault, is_seeded};
use crate::skeleton::{NodeId, Place, Why};
use crate::terms::{Op, Term, Terms};

/// The state of a thread on its paths to one moment.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// That the branches before went here.
    pub(super) path: Term,
    /// That the thread did not stop before.
    pub(super) live: Term,
    /// Whether no other thread has been started yet.
    pub(super) sequential: bool,
    /// Bytes that only this thread accesses; all bytes as long as it is alone.
    pub(super) memory: Memory,
    pub(super) section: Option<Section>,
    /// How often the thread has each lock, by its state object and whether shared.
    pub(super) holds: Rc<BTreeMap<(u32, bool), Term>>,
    /// How many things were done that others can notice.
    pub(super) effects: u32,
    /// How many of them were waits.
    pub(super) waits: u32,
    /// Conditions of those that may not have been done.
    pub(super) maybes: Rc<Vec<Term>>,
}

/// An atomic section that is open.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) node: NodeId,
    pub(super) depth: u32,
    /// That it was begun.
    pub(super) guard: Term,
    /// What it has written.
    pub(super) memory: Memory,
    /// If it is the critical section of a lock, the state of that lock.
    pub(super) lock: Option<u32>,
}

/// A way in a function.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) way: Way,
    pub(super) registers: Vec<Option<Term>>,
    /// The turns of the loops that it is in, the outermost first.
    pub(super) turns: Vec<Turn>,
    /// Objects that end with the call.
    pub(super) slots: Vec<u32>,
}

/// A turn of a loop, as it began.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    path: Term,
    live: Term,
    memory: Memory,
    holds: Rc<BTreeMap<(u32, bool), Term>>,
    effects: u32,
    waits: u32,
    maybes: Rc<Vec<Term>>,
    section: Option<(NodeId, Memory)>,
    params: Vec<Option<Term>>,
    /// How many turns in a row did nothing but wait before this one.
    pub(super) waited: u32,
    /// How many turns there were that a branch decided.
    pub(super) counted: u32,
    /// Whether a constant has decided that the thread stays in the loop.
    is_decided: bool,
    /// Whether it may have begun behind the header: the loop has several entries.
    is_partial: bool,
}

impl Turn {
    /// Whether the turn was decided by constants: no branch left a path behind, and if the thread
    /// may have stopped on the way, a branch that could have left the loop was constant, and the
    /// thread's own state has changed. (Else a loop that has no end would be unfolded for ever.)
    pub(super) fn is_free(&self, way: &Way, args: &[Term]) -> bool {
        let is_counting = self.is_decided && !self.is_same(way, args);
        !self.is_partial && self.path == way.path && (self.live == way.live || is_counting)
    }

    /// Whether the thread cannot have stopped in the turn.
    pub(super) fn is_live(&self, way: &Way) -> bool {
        self.live == way.live
    }

    /// Where the turn, if it ends like this, was not as if it had not been: something was done that
    /// may have been done, or the thread's own state is another. `None` if that is always so, as
    /// far as can be seen.
    pub(super) fn is_busy(&self, terms: &mut Terms, way: &Way, args: &[Term]) -> Option<Term> {
        let is_same_section = match (&self.section, &way.section) {
            (None, None) => true,
            (Some((node, memory)), Some(section)) => {
                section.lock.is_some() && section.node == *node && section.memory.is_same(memory)
            }
            _ => false,
        };
        let is_like_it =
            self.effects == way.effects && is_same_section && self.memory.is_same(&way.memory);
        if !is_like_it || self.is_partial {
            return None;
        }
        let mut is_busy = terms.truth(false);
        let none = terms.constant(0, 8);
        for lock in self.holds.keys().chain(way.holds.keys()) {
            let depth = |holds: &BTreeMap<(u32, bool), Term>| *holds.get(lock).unwrap_or(&none);
            let differs = terms.binary(BinaryOp::Ne, depth(&self.holds), depth(&way.holds));
            is_busy = terms.or(is_busy, differs);
        }
        for &condition in way.maybes.iter().filter(|one| !self.maybes.contains(one)) {
            is_busy = terms.or(is_busy, condition);
        }
        for (&param, &arg) in self.params.iter().zip(args) {
            let differs = terms.binary(BinaryOp::Ne, param?, arg);
            is_busy = terms.or(is_busy, differs);
        }
        Some(is_busy)
    }

    /// Whether nothing was done in the turn that others can notice.
    fn is_quiet(&self, way: &Way) -> bool {
        self.effects == way.effects && self.has_no_more(way)
    }

    /// Whether nothing was done in the turn that may have been done.
    fn has_no_more(&self, way: &Way) -> bool {
        way.maybes.iter().all(|condition| self.maybes.contains(condition))
    }

    /// Whether the turn, if it ends like this, did nothing but wait.
    pub(super) fn only_waits(&self, way: &Way, args: &[Term]) -> bool {
        let is_clean = |section: &Section| section.lock.is_some() && section.memory.is_empty();
        let was_clean = self.section.as_ref().is_none_or(|(_, memory)| memory.is_empty());
        way.waits > self.waits
            && !self.is_partial
            && self.has_no_more(way)
            && way.effects - self.effects == way.waits - self.waits
            && self.section.is_some() == way.section.is_some()
            && was_clean
            && way.section.as_ref().is_none_or(is_clean)
            && self.is_same(way, args)
    }

    /// Whether the thread's own state is as it was.
    fn is_same(&self, way: &Way, args: &[Term]) -> bool {
        self.memory.is_same(&way.memory)
            && self.holds == way.holds
            && self.params.iter().zip(args).all(|(param, arg)| *param == Some(*arg))
    }
}

impl Way {
    pub(super) fn new(path: Term, live: Term, sequential: bool) -> Way {
        Way {
            path,
            live,
            sequential,
            memory: Memory::default(),
            section: None,
            holds: Rc::default(),
            effects: 0,
            waits: 0,
            maybes: Rc::default(),
        }
    }

    /// That the thread comes here.
    pub(super) fn guard(&self, terms: &mut Terms) -> Term {
        terms.and(self.path, self.live)
    }

    /// Forgets what was not done, as the path shows.
    pub(super) fn settle(&mut self, terms: &mut Terms) {
        if self.maybes.is_empty() {
            return;
        }
        let path = terms.conjuncts(self.path);
        let refuted: FxHashSet<Term> = path.into_iter().map(|part| terms.not(part)).collect();
        let is_refuted = |condition: Term| {
            let is_refuted = terms.conjuncts(condition).iter().any(|part| refuted.contains(part));
            is_refuted || is_seeded(Fault::ExchangeFails)
        };
        if self.maybes.iter().any(|&condition| is_refuted(condition)) {
            Rc::make_mut(&mut self.maybes).retain(|&condition| !is_refuted(condition));
        }
    }

    /// The thread stops here if the condition is true.
    pub(super) fn stop_if(&mut self, terms: &mut Terms, condition: Term) {
        let goes_on = terms.not(condition);
        self.live = terms.and(self.live, goes_on);
    }

    pub(super) fn is_dead(&self, terms: &Terms) -> bool {
        terms.is_false(self.path) || terms.is_false(self.live)
    }
}

impl Arrival {
    /// A turn of the innermost of so many loops begins with this block.
    pub(super) fn begin_turn(&mut self, loops: usize, block: &Block) {
        let last = self.turns.get(loops - 1);
        let counted = last.map_or(0, |turn| turn.counted);
        let waited = last.map_or(0, |turn| turn.waited);
        self.turns.truncate(loops - 1);
        let params = block.params.iter().map(|param| self.registers[param.index()]).collect();
        let turn = self.turn(params);
        self.turns.push(Turn { counted, waited, ..turn });
    }

    /// It comes into loops behind their headers, so that it is in so many.
    pub(super) fn enter_behind(&mut self, loops: usize) {
        while self.turns.len() < loops {
            let turn = self.turn(Vec::new());
            self.turns.push(Turn { is_partial: true, ..turn });
        }
    }

    fn turn(&self, params: Vec<Option<Term>>) -> Turn {
        let section = self.way.section.as_ref();
        let section = section.map(|section| (section.node, section.memory.clone()));
        Turn {
            path: self.way.path,
            live: self.way.live,
            memory: self.way.memory.clone(),
            holds: self.way.holds.clone(),
            effects: self.way.effects,
            waits: self.way.waits,
            maybes: self.way.maybes.clone(),
            section,
            waited: 0,
            params,
            counted: 0,
            is_decided: false,
            is_partial: false,
        }
    }

    /// A constant has decided against going from some loops to others.
    pub(super) fn decide(&mut self, from: &[BlockId], to: &[BlockId]) {
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        self.turns[common..].iter_mut().for_each(|turn| turn.is_decided = true);
    }

    pub(super) fn set(&mut self, register: RegisterId, value: Term) {
        self.registers[register.index()] = Some(value);
    }
}

/// Ways that can be merged, together: those that are in the same atomic section, or in none; and
/// those that have done something in this turn of a loop apart from those that have not, unless
/// the next turn begins. (A turn may be idle on some of its paths.)
pub(super) fn apart(arrived: Vec<Arrival>, begins_turn: bool) -> Vec<Vec<Arrival>> {
    let section = |arrival: &Arrival| {
        let section = arrival.way.section.as_ref().map(|section| (section.node, section.depth));
        let turn = arrival.turns.last().filter(|_| !begins_turn);
        (section, turn.is_some_and(|turn| turn.is_quiet(&arrival.way)))
    };
    let mut groups: Vec<Vec<Arrival>> = Vec::new();
    for arrival in arrived {
        match groups.iter_mut().find(|group| section(&group[0]) == section(&arrival)) {
            Some(group) => group.push(arrival),
            None => groups.push(vec![arrival]),
        }
    }
    groups
}

/// A condition that is true on `path` and false on `other`, where one of the two is taken.
fn distinguishes(terms: &mut Terms, path: Term, other: Term) -> Term {
    let mut parts = [Vec::new(), Vec::new()];
    for (term, parts) in [path, other].into_iter().zip(&mut parts) {
        let mut open = vec![term];
        while let Some(term) = open.pop() {
            match terms.op(term) {
                Op::Binary(BinaryOp::And, x, y) if parts.len() < 64 => open.extend([x, y]),
                _ => parts.push(term),
            }
        }
    }
    let [own, others] = parts;
    for &part in &own {
        let opposite = terms.not(part);
        if others.contains(&opposite) {
            return part;
        }
    }
    let truth = terms.truth(true);
    let rest: Vec<Term> = own.into_iter().filter(|part| !others.contains(part)).collect();
    rest.into_iter().fold(truth, |all, part| terms.and(all, part))
}

impl Unfolder<'_> {
    /// One way for all that have come to the same instance of a block.
    pub(super) fn merge(
        &mut self,
        arrived: Vec<Arrival>,
        function: FunctionId,
        block: BlockId,
    ) -> Option<Arrival> {
        let site = Site { function, block, index: 0 };
        let mut arrived = arrived.into_iter();
        let mut merged = arrived.next()?;
        for other in arrived {
            self.merge_two(&mut merged, other, site);
        }
        Some(merged)
    }

    /// One way behind a call.
    pub(super) fn merge_returns(
        &mut self,
        returns: Vec<(Arrival, Option<Term>)>,
        function: FunctionId,
    ) -> Option<(Way, Option<Term>)> {
        let site = Site { function, block: BlockId(0), index: 0 };
        let mut returns = returns.into_iter();
        let (mut merged, mut value) = returns.next()?;
        merged.registers.clear();
        for (mut other, result) in returns {
            other.registers.clear();
            let condition =
                distinguishes(&mut self.skeleton.terms, other.way.path, merged.way.path);
            if let (Some(value), Some(result)) = (&mut value, result) {
                *value = self.skeleton.terms.ite(condition, result, *value);
            }
            self.merge_two(&mut merged, other, site);
        }
        Some((merged.way, value))
    }

    fn merge_two(&mut self, merged: &mut Arrival, mut other: Arrival, site: Site) {
        let (a, b) = (&merged.way.section, &other.way.section);
        let same_section = match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => a.node == b.node && a.depth == b.depth,
            _ => false,
        };
        if !same_section {
            self.breaks_section(&merged.way);
            self.breaks_section(&other.way);
            let why = "an atomic section that begins or ends on only one of two paths";
            self.exit(&mut other.way, site, Why::Unsupported(why.to_string()));
            return;
        }
        // Who has started a thread and who has not: the latter publishes what it knows.
        if merged.way.sequential != other.way.sequential {
            let late = if merged.way.sequential { &mut merged.way } else { &mut other.way };
            self.publish(late);
        }
        let terms = &mut self.skeleton.terms;
        let condition = distinguishes(terms, other.way.path, merged.way.path);
        for (value, new) in merged.registers.iter_mut().zip(&other.registers) {
            *value = match (*value, *new) {
                (Some(value), Some(new)) => Some(terms.ite(condition, new, value)),
                (value, new) => value.or(new),
            };
        }
        if merged.way.maybes != other.way.maybes {
            let maybes = Rc::make_mut(&mut merged.way.maybes);
            for &more in other.way.maybes.iter() {
                if !maybes.contains(&more) {
                    maybes.push(more);
                }
            }
        }
        merged.way.live = terms.ite(condition, other.way.live, merged.way.live);
        merged.way.path = terms.or(merged.way.path, other.way.path);
        if (merged.way.effects, merged.way.waits) != (other.way.effects, other.way.waits) {
            let (own, others) = (merged.way.effects, other.way.effects);
            if merged.way.waits == other.way.waits {
                // What only one of them has done, may have been done.
                let not = terms.not(condition);
                let more = if own < others { condition } else { not };
                merged.way.effects = own.min(others);
                if !is_seeded(Fault::PathForgotten) {
                    Rc::make_mut(&mut merged.way.maybes).push(more);
                }
            } else {
                // Waits do not count as such any more.
                merged.way.effects = own.max(others) + 1;
                merged.way.waits = 0;
            }
        }
        if merged.way.holds != other.way.holds {
            let zero = terms.constant(0, 8);
            let mut holds = (*merged.way.holds).clone();
            for &lock in other.way.holds.keys() {
                holds.entry(lock).or_insert(zero);
            }
            for (lock, depth) in &mut holds {
                let new = other.way.holds.get(lock).copied().unwrap_or(zero);
                *depth = terms.ite(condition, new, *depth);
            }
            merged.way.holds = Rc::new(holds);
        }
        for (turn, new) in merged.turns.iter_mut().zip(&other.turns) {
            turn.counted = turn.counted.max(new.counted);
            turn.waited = turn.waited.min(new.waited);
            turn.is_decided &= new.is_decided;
            turn.is_partial |= new.is_partial;
        }
        for slot in other.slots {
            if !merged.slots.contains(&slot) {
                merged.slots.push(slot);
            }
        }
        let memory = self.merge_memory(condition, &other.way.memory, &merged.way.memory, None);
        merged.way.memory = memory;
        if let (Some(section), Some(new)) = (&merged.way.section, &other.way.section) {
            let (node, guard) = (section.node, section.guard);
            let memory =
                self.merge_memory(condition, &new.memory, &section.memory, Some((node, guard)));
            merged.way.section.as_mut().expect("it is there").memory = memory;
        }
    }

    fn merge_memory(
        &mut self,
        condition: Term,
        then: &Memory,
        otherwise: &Memory,
        section: Option<(NodeId, Term)>,
    ) -> Memory {
        if then.is_same(otherwise) {
            return otherwise.clone();
        }
        let mut merged = otherwise.clone();
        let mut places: Vec<((u32, u32), Piece)> = then.bytes();
        places.extend(otherwise.bytes());
        places.sort_unstable_by_key(|&(at, _)| at);
        places.dedup_by_key(|&mut (at, _)| at);
        for ((object, offset), known) in places {
            let mut other = |memory: &Memory| match memory.get(object, offset) {
                Some(piece) => piece,
                None => self.base(object, offset, known, section),
            };
            let (a, b) = (other(then), other(otherwise));
            if a != b || otherwise.get(object, offset).is_none() {
                let piece = choose(&mut self.skeleton.terms, condition, a, b);
                merged.set(object, offset, piece);
            }
        }
        merged
    }

    /// The byte of an object that a way has not written, where another way has `known`.
    fn base(
        &mut self,
        object: u32,
        offset: u32,
        known: Piece,
        section: Option<(NodeId, Term)>,
    ) -> Piece {
        let size = self.skeleton.terms.width(known.word) / 8;
        let start = offset.checked_sub(known.index.into());
        let whole = start.map(|offset| Place { object, offset, size });
        let place = whole.unwrap_or(Place { object, offset, size: 1 });
        let index = if whole.is_some() { known.index } else { 0 };
        match section {
            Some((node, guard)) => Piece { word: self.snapshot(node, guard, place), index },
            None => Piece { word: self.initial_word(place), index },
        }
    }

    /// Bytes of an object as they are at first; what is indeterminate is a symbol.
    pub(super) fn initial_word(&mut self, place: Place) -> Term {
        let object = &self.skeleton.objects[place.object as usize];
        let value = object.initial.as_ref().map(|bytes| {
            let from = place.offset as usize;
            let bytes = (from..from + usize::from(place.size)).map(|at| bytes.get(at));
            bytes.rev().fold(0, |value, byte| value << 8 | u64::from(byte.copied().unwrap_or(0)))
        });
        match value {
            Some(value) => self.skeleton.terms.constant(value, 8 * place.size),
            // One word for all its bytes, so that they stay one word where paths meet.
            None => match self.indeterminate_words.get(&place) {
                Some(&unknown) => unknown,
                None => {
                    let unknown = self.skeleton.terms.symbol(8 * place.size);
                    self.indeterminate.insert(unknown);
                    self.arbitrary.insert(unknown);
                    self.indeterminate_words.insert(place, unknown);
                    unknown
                }
            },
        }
    }
}
