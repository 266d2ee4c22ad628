//! Sums, products and shifts.
//!
//! **Computes.** A sum with full adders. A product row by row: for each bit of one factor, the
//! other factor, moved and masked, is added to what there is. A product with a constant as a sum
//! and difference of moved words, one for each digit of the constant's non-adjacent form, which
//! has at most every second digit set. A shift by a variable amount as one choice per bit of the
//! amount.
//!
//! **Follows.** Full adders: Eén and Sörensson, *Translating Pseudo-Boolean Constraints into
//! SAT*, JSAT 2, 2006, with the clauses that lead from sum and carry back to the operands.
//! Measured with `bench circuits`, these take two fifths more clauses, halve the conflicts
//! of questions about sums and change nothing for products. Compressing the partial products of
//! a product column by column (Wallace, Dadda) takes as many gates as adding rows, and more
//! conflicts in most questions: the rows can be propagated upwards from the low bits.
//!
//! **Cost.** For n bits: 2n gates for a sum, n·(n + 1)/2 conjunctions and n·(n - 1)/2 full adders
//! for a product, n·log2 n choices for a shift. Moves by constant amounts cost nothing.

use super::logic::same_width;
use super::{Bit, Circuits, Word};

impl Circuits<'_> {
    /// a + b, modulo 2ⁿ.
    pub fn add(&mut self, a: &Word, b: &Word) -> Word {
        self.sum(a, b, Bit::FALSE)
    }

    /// a - b, modulo 2ⁿ.
    pub fn sub(&mut self, a: &Word, b: &Word) -> Word {
        self.sum(a, &!b, Bit::TRUE)
    }

    /// -a, modulo 2ⁿ.
    pub fn neg(&mut self, a: &Word) -> Word {
        self.sub(&Word::constant(a.width(), 0), a)
    }

    /// -a if the condition is true, else a.
    pub(super) fn neg_if(&mut self, condition: Bit, a: &Word) -> Word {
        let complement = self.xor(a, &Word::splat(a.width(), condition));
        let zero = Word::constant(a.width(), 0);
        self.sum(&complement, &zero, condition)
    }

    fn sum(&mut self, a: &Word, b: &Word, mut carry: Bit) -> Word {
        same_width(a, b);
        let last = a.width() - 1;
        Word::from_fn(last + 1, |at| {
            let bits = [a.bits()[at], b.bits()[at], carry];
            if at == last {
                return self.parity(bits);
            }
            let (sum, next) = self.full_adder(bits);
            carry = next;
            sum
        })
    }

    /// The sum of three bits, low bit first.
    pub(super) fn full_adder(&mut self, bits: [Bit; 3]) -> (Bit, Bit) {
        let gates_before = self.gates.gates.len();
        let sum = self.parity(bits);
        let is_new = self.gates.gates.len() > gates_before;
        let carry = self.majority(bits);
        if is_new {
            // Sum and carry are both 1 only if all bits are, both 0 only if none is. This follows
            // from the two gates, but not by unit propagation.
            for bit in bits {
                self.clause(&[!sum, !carry, bit]);
                self.clause(&[sum, carry, !bit]);
            }
        }
        (sum, carry)
    }

    /// a · b, modulo 2ⁿ.
    pub fn mul(&mut self, a: &Word, b: &Word) -> Word {
        same_width(a, b);
        if let Some(factor) = b.as_constant() {
            return self.mul_constant(a, factor);
        }
        if let Some(factor) = a.as_constant() {
            return self.mul_constant(b, factor);
        }
        // The same rows whichever factor comes first, and as few as possible.
        let rank = |word: &Word| word.bits().iter().filter(|&&bit| bit != Bit::FALSE).count();
        let (a, b) = if (rank(a), a) <= (rank(b), b) { (a, b) } else { (b, a) };
        let rows = a.bits().iter().enumerate().filter(|&(_, &bit)| bit != Bit::FALSE);
        rows.fold(Word::constant(a.width(), 0), |sum, (place, &bit)| {
            let row = b.moved_up(place);
            let row = Word::from_fn(b.width(), |at| self.bit_and(bit, row.bits()[at]));
            self.add(&sum, &row)
        })
    }

    fn mul_constant(&mut self, a: &Word, factor: u128) -> Word {
        let width = a.width();
        let (added, subtracted) = non_adjacent_form(factor, width);
        let mut terms = added.iter().map(|&place| a.moved_up(place));
        let first = terms.next().unwrap_or_else(|| Word::constant(width, 0));
        let sum = terms.fold(first, |sum, term| self.add(&sum, &term));
        subtracted.iter().fold(sum, |sum, &place| self.sub(&sum, &a.moved_up(place)))
    }

    /// a · 2 to the power of `amount`, modulo 2ⁿ.
    pub fn shl(&mut self, a: &Word, amount: &Word) -> Word {
        self.shift(a, amount, Bit::FALSE, Word::moved_up)
    }

    /// a moved down by `amount` bits, zeros coming in.
    pub fn lshr(&mut self, a: &Word, amount: &Word) -> Word {
        self.shift(a, amount, Bit::FALSE, |word, amount| word.moved_down(amount, Bit::FALSE))
    }

    /// a moved down by `amount` bits, copies of its sign coming in.
    pub fn ashr(&mut self, a: &Word, amount: &Word) -> Word {
        let sign = a.sign();
        self.shift(a, amount, sign, |word, amount| word.moved_down(amount, sign))
    }

    /// One choice for each bit of the amount that moves less than the width. If any other bit of
    /// the amount is set, only `fill` is left.
    fn shift(
        &mut self,
        a: &Word,
        amount: &Word,
        fill: Bit,
        moved: impl Fn(&Word, usize) -> Word,
    ) -> Word {
        let width = a.width();
        let stages = (width.next_power_of_two().trailing_zeros() as usize).min(amount.width());
        let mut shifted = a.clone();
        for (stage, &bit) in amount.bits()[..stages].iter().enumerate() {
            let further = moved(&shifted, 1 << stage);
            shifted = self.ite(bit, &further, &shifted);
        }
        let beyond = self.any(&amount.bits()[stages..]);
        self.ite(beyond, &Word::splat(width, fill), &shifted)
    }
}

/// The places of the digits +1 and -1 of a number modulo 2ʷ, no two of them neighbours.
fn non_adjacent_form(number: u128, width: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut added, mut subtracted) = (Vec::new(), Vec::new());
    let mut rest = number;
    for place in 0..width {
        if rest & 1 == 1 {
            if rest & 2 == 0 {
                added.push(place);
            } else {
                subtracted.push(place);
                // If this wraps or goes beyond the width, the sum is the same modulo 2ʷ.
                rest = rest.wrapping_add(1);
            }
        }
        rest >>= 1;
    }
    (added, subtracted)
}
