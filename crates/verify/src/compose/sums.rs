//! Cells that threads only add to: what a read finds is a sum.
//!
//! **Computes.** For each read of such a cell one more clause that follows from the others: what it
//! finds is what was there at first plus what every write that happens before it adds. Without it,
//! the solver would have to try the orders of the writes one by one.
//!
//! **Invariant.** Every write of the cell (except one that comes before all others) stores `r + d`,
//! where `r` is what the same thread has read from the cell, and no other write comes between that
//! read and the write. Then the writes that happen form a chain in which each adds to what the one
//! before it has left. Nothing comes between if both are one node, or if a lock is held from the
//! read to the write and around every other write that is not ordered apart. A lock is held at a
//! node if the last change of its state by the thread before that node takes it, and happens
//! whenever the node does: only a thread that finds the state 0 takes a lock, and only the thread
//! that has it gives it back (`unfold/sync.rs`).
//!
//! **Cost.** An adder for each read and write of the cell, or fewer: the reads of which most is
//! known come first.

use foretrace_solve::Bit;
use foretrace_words::BinaryOp;

use super::cells::{Cell, CellRead, CellWrite, Implied};
use super::order::Order;
use crate::fault::{Fault, is_seeded};
use crate::skeleton::{NodeId, ObjectKind, Skeleton};
use crate::terms::{Op, Term};
use crate::unfold::EXCLUSIVE;

/// One write makes no chain.
const FEWEST: usize = 2;
/// Adders of one cell that are worth it, but for those whose order is known.
const MOST_ADDERS: usize = 4096;

/// A cell that is only added to.
pub(crate) struct Sum<'c> {
    /// The write that comes before all others.
    pub(crate) base: Option<&'c CellWrite>,
    pub(crate) addends: Vec<Addend<'c>>,
    /// The reads that find the sum of what was added before them.
    pub(crate) reads: Vec<&'c CellRead>,
}

/// A write that adds.
pub(crate) struct Addend<'c> {
    pub(crate) write: &'c CellWrite,
    read: NodeId,
    pub(crate) delta: Term,
    pub(crate) is_negative: bool,
    /// The locks that are held at the write, and of these the ones that are held from the read on.
    locks: Vec<(usize, bool)>,
}

/// All such cells, with their numbers.
pub(crate) fn sums<'c>(
    skeleton: &Skeleton,
    order: &Order,
    cells: &'c [Cell],
) -> Vec<(usize, Sum<'c>)> {
    let mut found = Found { skeleton, order, implied: Implied::new(skeleton), locks: Vec::new() };
    found.locks = cells.iter().filter(|cell| found.is_lock(cell)).collect();
    let sums = cells.iter().enumerate();
    sums.filter_map(|(number, cell)| Some((number, found.sum(cell)?))).collect()
}

struct Found<'a> {
    skeleton: &'a Skeleton,
    order: &'a Order,
    implied: Implied,
    /// The states of locks that are only taken and given back.
    locks: Vec<&'a Cell>,
}

impl<'a> Found<'a> {
    fn is_lock(&self, cell: &Cell) -> bool {
        let kind = self.skeleton.objects[cell.place.object as usize].kind;
        let is_state = |write: &CellWrite| {
            let value = self.skeleton.terms.as_constant(write.value);
            value == Some(0) || value == Some(EXCLUSIVE)
        };
        kind == ObjectKind::State && cell.place.size == 4 && cell.writes.iter().all(is_state)
    }

    fn thread(&self, node: NodeId) -> usize {
        self.skeleton.nodes[node.index()]
    }

    /// Where the thread has taken a lock that it has at a node.
    fn taken(&mut self, lock: &Cell, node: NodeId, guard: Term) -> Option<NodeId> {
        let thread = self.thread(node);
        let own = lock.writes.iter().filter(|write| self.thread(write.node) == thread);
        let before = own.filter(|write| self.order.before(write.node, node));
        let last = before.max_by_key(|write| write.node)?;
        let takes = self.skeleton.terms.as_constant(last.value) == Some(EXCLUSIVE);
        (takes && self.implied.implies(self.skeleton, guard, last.guard)).then_some(last.node)
    }

    fn sum<'c>(&mut self, cell: &'c Cell) -> Option<Sum<'c>> {
        if cell.writes.len() < FEWEST {
            return None;
        }
        let (mut base, mut addends) = (None, Vec::new());
        for write in &cell.writes {
            match self.addend(cell, write) {
                Some(addend) => addends.push(addend),
                None if base.is_none() => base = Some(write),
                None => return None,
            }
        }
        let order = self.order;
        let behind_base = |node: NodeId| base.is_none_or(|base| order.before(base.node, node));
        if !addends.iter().all(|one| behind_base(one.read)) {
            return None;
        }
        // Without it, what is there at first must be known.
        if cell.initial.is_none() && base.is_none_or(|one| !self.skeleton.terms.is_true(one.guard))
        {
            return None;
        }
        for at in 0..addends.len() {
            if !self.is_undisturbed(&addends, at) && !is_seeded(Fault::SumDisturbed) {
                return None;
            }
        }
        // The reads of which most is known come first, such as those behind all joins.
        let reads = cell.reads.iter().filter(|read| read.is_open && behind_base(read.node));
        let open = |read: &CellRead| {
            let is_ordered = |addend: &&Addend| {
                let write = addend.write.node;
                write == read.node
                    || order.before(write, read.node)
                    || order.before(read.node, write)
            };
            addends.len() - addends.iter().filter(is_ordered).count()
        };
        let mut reads: Vec<(usize, &CellRead)> = reads.map(|read| (open(read), read)).collect();
        reads.sort_by_key(|&(open, _)| open);
        let mut left = MOST_ADDERS;
        reads.retain(|&(open, _)| {
            let fits = open <= left;
            left -= if fits { open } else { left };
            fits
        });
        let reads = reads.into_iter().map(|(_, read)| read).collect();
        Some(Sum { base, addends, reads })
    }

    /// What a write adds, if it does.
    fn addend<'c>(&mut self, cell: &'c Cell, write: &'c CellWrite) -> Option<Addend<'c>> {
        let (op, left, right) = match self.skeleton.terms.op(write.value) {
            Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right) => (op, left, right),
            _ => return None,
        };
        let is_negative = op == BinaryOp::Sub;
        let sides = [(left, right), (right, left)];
        let sides = &sides[..if is_negative { 1 } else { 2 }];
        for &(value, delta) in sides {
            let read = cell.reads.iter().find(|read| {
                let comes_first =
                    read.node == write.node || self.order.before(read.node, write.node);
                read.is_open
                    && read.value == value
                    && comes_first
                    && self.thread(read.node) == self.thread(write.node)
            });
            if let Some(read) = read
                && self.implied.implies(self.skeleton, write.guard, read.guard)
            {
                let (read, locks) = (read.node, self.locks_of(read.node, write));
                return Some(Addend { write, read, delta, is_negative, locks });
            }
        }
        None
    }

    /// Whether no other write comes between the read and the write.
    fn is_undisturbed(&self, addends: &[Addend<'_>], at: usize) -> bool {
        let one = &addends[at];
        let is_apart = |other: &Addend<'_>| {
            self.order.before(other.write.node, one.read)
                || self.order.before(one.write.node, other.write.node)
        };
        let others = addends.iter().enumerate().filter(|(other, _)| *other != at);
        let others: Vec<&Addend<'_>> =
            others.map(|(_, other)| other).filter(|other| !is_apart(other)).collect();
        if others.iter().any(|other| self.thread(other.write.node) == self.thread(one.read)) {
            return false;
        }
        if one.read == one.write.node {
            return true;
        }
        let has = |other: &Addend<'_>, lock: usize| other.locks.iter().any(|&(own, _)| own == lock);
        let kept = one.locks.iter().filter(|(_, is_kept)| *is_kept);
        kept.clone().any(|&(lock, _)| others.iter().all(|other| has(other, lock)))
    }

    /// The locks that are held at the write of an addend, and whether they are from the read on.
    fn locks_of(&mut self, read: NodeId, write: &CellWrite) -> Vec<(usize, bool)> {
        let locks = self.locks.clone();
        let held = locks.into_iter().enumerate().filter_map(|(number, lock)| {
            let taken = self.taken(lock, write.node, write.guard)?;
            Some((number, self.taken(lock, read, write.guard) == Some(taken)))
        });
        held.collect()
    }
}

impl super::formula::Formula<'_> {
    /// Adds the sums of cells that are only added to.
    pub(super) fn sums(&mut self, order: &Order, cells: &[Cell]) {
        for (number, sum) in sums(self.skeleton, order, cells) {
            let initial = cells[number].initial.map(|initial| self.word(initial));
            for read in &sum.reads {
                let mut value = match (&initial, sum.base) {
                    (initial, Some(base)) => {
                        let (happens, left) = (self.bit(base.guard), self.word(base.value));
                        match initial {
                            Some(initial) => self.circuits().ite(happens, &left, initial),
                            None => left,
                        }
                    }
                    (Some(initial), None) => initial.clone(),
                    (None, None) => unreachable!("something is known of the first value"),
                };
                for addend in &sum.addends {
                    let before = match addend.write.node == read.node {
                        true => Bit::FALSE,
                        false => self.before(order, addend.write.node, read.node),
                    };
                    let happens = self.bit(addend.write.guard);
                    let delta = self.word(addend.delta);
                    let mut circuits = self.circuits();
                    let nothing = foretrace_solve::Word::constant(delta.bits().len(), 0);
                    let delta = circuits.ite(happens, &delta, &nothing);
                    let delta = circuits.ite(before, &delta, &nothing);
                    value = match addend.is_negative {
                        true => circuits.sub(&value, &delta),
                        false => circuits.add(&value, &delta),
                    };
                }
                let (guard, found) = (self.bit(read.guard), self.word(read.value));
                self.imply_equal(guard, &found, &value);
            }
        }
    }
}
