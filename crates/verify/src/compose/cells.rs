//! Memory as cells, and which writes a read may see.
//!
//! **Computes.** Objects are cut where accesses begin and end, so that every access covers whole
//! cells; a read of several cells finds each by itself, all at the same node. For each read of a
//! cell, the writes that it may see: not those that come later in every execution, not those behind
//! which another write comes that cannot be missing, not those of another constant. A read that can
//! see only one of them *is* what that one left, if that one comes before it in every execution:
//! its symbol is replaced, and all is done again, because guards and values may have become
//! constants.
//!
//! **Invariant.** A symbol is replaced by a term over reads that come before it in every execution,
//! so replacements make no circle.
//!
//! **Cost.** Quadratic in the accesses to a cell, for each round.

use std::collections::BTreeSet;

use foretrace_solve::Limits;
use rustc_hash::FxHashMap;

use super::order::Order;
use crate::fault::{Fault, is_seeded};
use crate::skeleton::*;
use crate::terms::{Op, Replacements, Term};

/// A read of one cell.
#[derive(Clone, Debug)]
pub(crate) struct CellRead {
    pub(crate) node: NodeId,
    pub(crate) value: Term,
    /// Whether that is still its own symbol.
    pub(crate) is_open: bool,
    pub(crate) guard: Term,
    pub(crate) is_first: Option<Term>,
    /// The writes that it may see, by their places in the list of the cell.
    pub(crate) sources: Vec<usize>,
    /// Whether it may see what is there at first.
    pub(crate) sees_initial: bool,
}

/// A write of one cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellWrite {
    pub(crate) node: NodeId,
    pub(crate) value: Term,
    pub(crate) guard: Term,
}

/// Bytes that are always accessed together.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) place: Place,
    /// What is there at first; `None` if that is indeterminate.
    pub(crate) initial: Option<Term>,
    pub(crate) reads: Vec<CellRead>,
    pub(crate) writes: Vec<CellWrite>,
}

/// Cuts every access at the borders of all others of its object.
pub(crate) fn split(skeleton: &mut Skeleton) {
    let mut cuts: FxHashMap<u32, BTreeSet<u32>> = FxHashMap::default();
    let reads = skeleton.reads.iter().map(|read| read.place);
    for place in reads.chain(skeleton.writes.iter().map(|write| write.place)) {
        let cuts = cuts.entry(place.object).or_default();
        cuts.extend([place.offset, place.offset + u32::from(place.size)]);
    }
    let parts = |place: Place| -> Vec<Place> {
        let end = place.offset + u32::from(place.size);
        let borders: Vec<u32> = cuts[&place.object].range(place.offset..=end).copied().collect();
        let parts = borders.windows(2);
        parts
            .map(|pair| Place { offset: pair[0], size: (pair[1] - pair[0]) as u8, ..place })
            .collect()
    };
    let mut replaced = Replacements::default();
    let mut reads = Vec::new();
    for read in std::mem::take(&mut skeleton.reads) {
        let parts = parts(read.place);
        if parts.len() == 1 {
            reads.push(read);
            continue;
        }
        let terms = &mut skeleton.terms;
        let (mut bytes, mut first) = (Vec::new(), terms.truth(false));
        for place in parts {
            let value = terms.symbol(8 * place.size);
            bytes.extend((0..place.size).map(|index| terms.byte(value, index)));
            let is_first = read.is_first.map(|_| terms.symbol(1));
            if let Some(is_first) = is_first {
                first = terms.or(first, is_first);
            }
            reads.push(Read { place, value, symbol: value, is_first, ..read });
        }
        replaced.symbols.insert(read.value, terms.word(&bytes));
        read.is_first.map(|is_first| replaced.symbols.insert(is_first, first));
    }
    skeleton.reads = reads;
    let mut writes = Vec::new();
    for write in std::mem::take(&mut skeleton.writes) {
        let mut done = 0;
        for place in parts(write.place) {
            let value = if place.size == write.place.size {
                write.value
            } else {
                let bytes: Vec<Term> = (done..done + place.size)
                    .map(|index| skeleton.terms.byte(write.value, index))
                    .collect();
                skeleton.terms.word(&bytes)
            };
            done += place.size;
            writes.push(Write { place, value, ..write });
        }
    }
    skeleton.writes = writes;
    skeleton.map_terms(|terms, term| terms.rebuild(term, &mut replaced));
}

/// Finds the sources of all reads, and replaces reads that have one, until nothing changes. If the
/// time is over, some are missing: nothing may be asked of them then.
pub(crate) fn connect(
    skeleton: &mut Skeleton,
    order: &Order,
    substitutes: bool,
    limits: &Limits,
) -> Vec<Cell> {
    loop {
        let cells = sources(skeleton, order, limits);
        if limits.is_over() {
            return cells;
        }
        let mut by = Replacements::default();
        let replaced = &mut by.symbols;
        for read in cells.iter().flat_map(|cell| &cell.reads) {
            if let Some(is_first) = read.is_first.filter(|_| !read.sees_initial) {
                let never = skeleton.terms.truth(false);
                replaced.insert(is_first, never);
            }
        }
        if substitutes {
            for cell in &cells {
                for read in &cell.reads {
                    if read.is_open
                        && let Some(value) = only_value(cell, read, order)
                    {
                        replaced.insert(read.value, value);
                    }
                }
            }
        }
        // What is indeterminate has been noted already.
        replaced.retain(|symbol, _| matches!(skeleton.terms.op(*symbol), Op::Symbol(_)));
        if replaced.is_empty() {
            return cells;
        }
        skeleton.map_terms(|terms, term| terms.rebuild(term, &mut by));
    }
}

/// What a read finds, if it can only be one thing.
fn only_value(cell: &Cell, read: &CellRead, order: &Order) -> Option<Term> {
    match (read.sees_initial, &read.sources[..]) {
        (true, []) => cell.initial,
        (false, &[source]) => {
            let write = cell.writes[source];
            order.before(write.node, read.node).then_some(write.value)
        }
        _ => None,
    }
}

fn sources(skeleton: &mut Skeleton, order: &Order, limits: &Limits) -> Vec<Cell> {
    let mut numbers: FxHashMap<Place, usize> = FxHashMap::default();
    let mut cells: Vec<Cell> = Vec::new();
    let mut places: Vec<Place> = skeleton.reads.iter().map(|read| read.place).collect();
    places.sort_unstable();
    places.dedup();
    for place in places {
        let object = &skeleton.objects[place.object as usize];
        let initial = object.initial.as_ref().map(|bytes| {
            let from = place.offset as usize;
            let bytes = (from..from + usize::from(place.size)).map(|at| bytes.get(at));
            bytes.rev().fold(0, |value, byte| value << 8 | u64::from(byte.copied().unwrap_or(0)))
        });
        let initial = initial.map(|value| skeleton.terms.constant(value, 8 * place.size));
        numbers.insert(place, cells.len());
        cells.push(Cell { place, initial, reads: Vec::new(), writes: Vec::new() });
    }
    for &Write { node, place, value, guard } in &skeleton.writes {
        if let Some(&cell) = numbers.get(&place)
            && !skeleton.terms.is_false(guard)
        {
            cells[cell].writes.push(CellWrite { node, value, guard });
        }
    }
    for &Read { node, place, value, symbol, guard, is_first } in &skeleton.reads {
        if !skeleton.terms.is_false(guard) {
            let (sources, sees_initial) = (Vec::new(), true);
            let is_open = value == symbol;
            let read = CellRead { node, value, is_open, guard, is_first, sources, sees_initial };
            cells[numbers[&place]].reads.push(read);
        }
    }
    let mut implied = Implied::new(skeleton);
    for cell in &mut cells {
        for at in 0..cell.reads.len() {
            if limits.is_over() {
                break;
            }
            find_sources(cell, at, skeleton, order, &mut implied);
        }
    }
    cells
}

/// Fills in what a read of a cell may see.
fn find_sources(
    cell: &mut Cell,
    at: usize,
    skeleton: &Skeleton,
    order: &Order,
    implied: &mut Implied,
) {
    let read = &cell.reads[at];
    let differs = |value: Term| match (
        skeleton.terms.as_constant(value),
        skeleton.terms.as_constant(read.value),
    ) {
        (Some(value), Some(found)) => value != found,
        _ => false,
    };
    // Writes that have happened whenever the read does.
    let certain: Vec<NodeId> = cell
        .writes
        .iter()
        .filter(|write| {
            order.before(write.node, read.node)
                && (implied.implies(skeleton, read.guard, write.guard)
                    || is_seeded(Fault::MaybeIsCertain))
        })
        .map(|write| write.node)
        .collect();
    let mut sources: Vec<usize> = Vec::new();
    for (index, write) in cell.writes.iter().enumerate() {
        let is_later = write.node == read.node || order.before(read.node, write.node);
        let is_hidden = certain.iter().any(|&between| order.before(write.node, between));
        if !is_later && !is_hidden && !differs(write.value) {
            sources.push(index);
        }
    }
    if is_seeded(Fault::OneSource) {
        sources.truncate(1);
    }
    let sees_initial = certain.is_empty() && !cell.initial.is_some_and(differs);
    let read = &mut cell.reads[at];
    (read.sources, read.sees_initial) = (sources, sees_initial);
}

/// Which conditions follow from which, as far as their conjuncts show.
pub(super) struct Implied {
    conjuncts: FxHashMap<Term, Vec<Term>>,
    /// By the symbol of a join, the only condition of the child's end.
    ends: FxHashMap<Term, Term>,
}

impl Implied {
    pub(super) fn new(skeleton: &Skeleton) -> Implied {
        let joins = skeleton.joins.iter();
        let ends = joins.filter_map(|join| match skeleton.threads[join.child].ends[..] {
            [end] => Some((join.choice, end)),
            _ => None,
        });
        Implied { conjuncts: FxHashMap::default(), ends: ends.collect() }
    }

    pub(super) fn implies(&mut self, skeleton: &Skeleton, condition: Term, other: Term) -> bool {
        if condition == other {
            return true;
        }
        let needed = skeleton.terms.conjuncts(other);
        let ends = &self.ends;
        let given = self.conjuncts.entry(condition).or_insert_with(|| {
            let mut all = BTreeSet::new();
            let mut open = skeleton.terms.conjuncts(condition);
            while let Some(part) = open.pop() {
                if all.insert(part)
                    && let Some(&end) = ends.get(&part)
                {
                    open.extend(skeleton.terms.conjuncts(end));
                }
            }
            all.into_iter().collect()
        });
        needed.iter().all(|part| given.binary_search(part).is_ok())
    }
}
