//! What reads see of cells to which threads only add.
//!
//! **Computes.** The number that a read sees, where the order of all additions is known; else what
//! is always added, plus for each thread a word that counts how far its additions come before the
//! read.
//!
//! **Follows.** `crates/predict/src/cells/sums.rs`, which finds such cells.
//!
//! **Cost.** The additions of a thread that are numbers come before the read up to some point. So
//! each bit of what they come to is a disjunction over stretches of them: about one gate for each
//! addition, and no more bits than the total needs. Other additions cost an adder each.

use std::collections::BTreeMap;

use foretrace_model::CellId;
use foretrace_solve::{Bit, Circuits, Lit, Word};
use foretrace_trace::{EventId, ThreadId};
use foretrace_verdict::Model;

use super::Encoder;
use super::data::Content;
use crate::fault::{Fault, is_seeded};

/// With more additions than this that may come before or after a read, their sum is left to the
/// solver.
const MOST_OPEN_ADDITIONS: usize = 12;

impl Encoder<'_> {
    /// What a read sees of a cell to which threads only add, if that is the same number in every
    /// schedule: the order of every addition and the read is known, and so is what they add. As
    /// [`Encoder::add_up`] would say, but without a circuit.
    pub(super) fn sum_at(&self, read: EventId, cell: CellId) -> Option<u64> {
        let (skeleton, trace) = (self.skeleton, self.skeleton.trace);
        let data = skeleton.free_data().filter(|_| skeleton.model != Model::Control)?;
        let sum = self.cells.sums.of(cell)?;
        let is_before = |write: EventId| self.precedes(write, read);
        // An explanation must name the rules by which it is so.
        if self.explains()
            || skeleton.memory.has_unknown_writer(read)
            || sum.base.is_some_and(|base| !is_before(base))
        {
            return None;
        }
        let mut total = match sum.base {
            None => skeleton.memory.initial_value(cell)?,
            Some(base) => match data.result(base) {
                Some(term) => {
                    let value = data.terms().as_constant(term)? as u64;
                    skeleton.memory.part(cell, trace.access(base)?.at, value)
                }
                None => skeleton.memory.value_written(trace, base, cell)?,
            },
        };
        for &(write, added) in sum.additions.iter().filter(|&&(write, _)| write != read) {
            if is_before(write) || is_seeded(Fault::AdditionAlways) {
                total = total.wrapping_add(data.terms().as_constant(added)? as u64);
            } else if !self.precedes(read, write) {
                return None;
            }
        }
        Some(total)
    }

    /// Says what a read sees of a cell to which threads only add, if few orders are open. Whether
    /// that is all there is to say: the order of every addition and the read is known.
    pub(super) fn add_up(&mut self, read: EventId, cell: CellId, pinned: Lit, word: &Word) -> bool {
        let Some(sum) = self.cells.sums.of(cell) else { return false };
        let is_behind = |base| self.precedes(base, read);
        if sum.base.is_some_and(|base| !is_behind(base)) {
            return false;
        }
        let is_open = |write: EventId| !self.precedes(write, read) && !self.precedes(read, write);
        let open = sum.additions.iter().filter(|&&(write, _)| write != read && is_open(write));
        let open = open.count();
        // There are as many reads that are added to as additions, so theirs would be a quadratic
        // number of sums.
        let most = match sum.reads.contains(&read) {
            true => MOST_OPEN_ADDITIONS,
            false => 20 * MOST_OPEN_ADDITIONS,
        };
        if open > most {
            return false;
        }
        let Content::Word(mut total) = self.content(read, cell, sum.base) else { return false };
        let width = total.width();
        let mut always = 0i128;
        let mut numbers: BTreeMap<ThreadId, Vec<(Bit, i128)>> = BTreeMap::new();
        for &(write, added) in sum.additions.iter().filter(|&&(write, _)| write != read) {
            let before = match is_seeded(Fault::AdditionAlways) {
                true => Bit::TRUE,
                false => Bit::from(self.before(write, read)),
            };
            let added = self.blast(added);
            match (before.as_constant(), added.as_constant()) {
                (Some(false), _) => {}
                (Some(true), Some(number)) => always += signed(number, width),
                (None, Some(number)) => {
                    let thread = self.skeleton.trace.thread_of(write);
                    numbers.entry(thread).or_default().push((before, signed(number, width)));
                }
                (_, None) => {
                    let mut circuits = self.data.gates.on(&mut self.solver);
                    let bit = |at: usize| circuits.bit_and(before, added.bits()[at]);
                    let counted = Word::from_fn(width, bit);
                    total = circuits.add(&total, &counted);
                }
            }
        }
        let mut sums = Word::constant(width, 0);
        for additions in numbers.values() {
            let mut circuits = self.data.gates.on(&mut self.solver);
            let (least, part) = prefix_sum(&mut circuits, additions, width);
            always += least;
            sums = circuits.add(&sums, &part);
        }
        let mut circuits = self.data.gates.on(&mut self.solver);
        total = circuits.add(&total, &Word::constant(width, always as u128));
        total = circuits.add(&total, &sums);
        circuits.imply_equal(&[pinned], word, &total);
        open == 0
    }
}

/// What numbers of one thread come to, of which the first ones are added, as far as their bits are
/// true: the least that is possible, and what is more.
fn prefix_sum(circuits: &mut Circuits, additions: &[(Bit, i128)], width: usize) -> (i128, Word) {
    let mut sums = vec![0];
    for &(_, number) in additions {
        sums.push(sums[sums.len() - 1] + number);
    }
    let least = *sums.iter().min().expect("the empty sum is there");
    let word = Word::from_fn(width, |at| {
        let is_set = |sum: &i128| (sum - least) >> at & 1 == 1;
        let (mut stretches, mut first) = (Vec::new(), 0);
        for stretch in sums.chunk_by(|one, other| is_set(one) == is_set(other)) {
            let end = first + stretch.len();
            if is_set(&stretch[0]) {
                let begun = first.checked_sub(1).map_or(Bit::TRUE, |last| additions[last].0);
                let over = additions.get(end - 1).map_or(Bit::FALSE, |next| next.0);
                stretches.push(circuits.bit_and(begun, !over));
            }
            first = end;
        }
        circuits.any(&stretches)
    });
    (least, word)
}

/// The lowest bits of a number, with a sign.
fn signed(number: u128, width: usize) -> i128 {
    let unused = 128 - width as u32;
    (number as i128) << unused >> unused
}

#[cfg(test)]
mod tests {
    use foretrace_solve::{Gates, Limits, Outcome, Solver};

    use super::*;

    #[test]
    fn the_first_additions_add_up() {
        for numbers in [&[][..], &[1], &[1, 1, 1, 1, 1], &[3, -1, -4, 7, 0, -9, 255], &[-1, -1]] {
            let (mut solver, mut gates) = (Solver::new(), Gates::default());
            let bits: Vec<Bit> = numbers.iter().map(|_| Bit::from(solver.literal())).collect();
            let additions: Vec<_> = bits.iter().copied().zip(numbers.iter().copied()).collect();
            let (least, word) = prefix_sum(&mut gates.on(&mut solver), &additions, 8);
            for count in 0..=numbers.len() {
                let sign = |(at, bit): (usize, &Bit)| {
                    if at < count { bit.lit() } else { !bit.lit() }
                };
                let chosen: Vec<Lit> = bits.iter().enumerate().map(sign).collect();
                let outcome = solver.solve(&chosen, &Limits::default());
                assert!(matches!(outcome, Outcome::Satisfiable), "{numbers:?} {count}");
                let sum: i128 = numbers[..count].iter().sum();
                let found = least + word.value(&solver) as i128;
                assert_eq!(found & 0xff, sum & 0xff, "{numbers:?} {count}");
            }
        }
    }
}
