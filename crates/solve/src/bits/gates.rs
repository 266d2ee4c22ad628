//! The gates, each built once.
//!
//! **Computes.** Conjunction, parity and majority of two or three bits, if-then-else, and
//! conjunctions of any number of bits: as a constant or an operand where that is what they come
//! to, else as the literal of a gate.
//!
//! **Invariant.** Before a gate is looked up its operands are brought into one of the forms that
//! mean the same: sorted where the order does not matter, without a sign where the sign can move
//! to the result. The forms of different gates never mean the same, apart from what needs more
//! than one level to see.
//!
//! **Cost.** One variable; clauses: n + 1 for a conjunction of n, 4 for a parity of two, 8 of
//! three, 6 for a majority, 6 for an if-then-else. Two of the latter follow from the others, but
//! let the solver see a result before the condition is known.

use super::{Bit, Circuits};

/// A gate in its normal form.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Gate {
    And([Bit; 2]),
    Xor([Bit; 2]),
    Parity([Bit; 3]),
    Majority([Bit; 3]),
    Ite([Bit; 3]),
}

impl Circuits<'_> {
    /// Both bits.
    pub fn bit_and(&mut self, a: Bit, b: Bit) -> Bit {
        let [a, b] = sorted([a, b]);
        if a == Bit::TRUE || a == b {
            return b;
        }
        if a == Bit::FALSE || a == !b {
            return Bit::FALSE;
        }
        self.gate(Gate::And([a, b]), |circuits, out| {
            circuits.clause(&[!out, a]);
            circuits.clause(&[!out, b]);
            circuits.clause(&[out, !a, !b]);
        })
    }

    /// One of the bits, or both.
    pub fn bit_or(&mut self, a: Bit, b: Bit) -> Bit {
        !self.bit_and(!a, !b)
    }

    /// One of the bits, not both.
    pub fn bit_xor(&mut self, a: Bit, b: Bit) -> Bit {
        let flip = a.is_negated() != b.is_negated();
        let [a, b] = sorted([unsigned(a), unsigned(b)]);
        if a == b {
            return Bit::from(flip);
        }
        if a == Bit::TRUE {
            return b.flipped_if(!flip);
        }
        let out = self.gate(Gate::Xor([a, b]), |circuits, out| {
            circuits.clause(&[!out, a, b]);
            circuits.clause(&[!out, !a, !b]);
            circuits.clause(&[out, !a, b]);
            circuits.clause(&[out, a, !b]);
        });
        out.flipped_if(flip)
    }

    /// The bit `then` if the condition is true, else the bit `otherwise`.
    pub fn bit_ite(&mut self, condition: Bit, then: Bit, otherwise: Bit) -> Bit {
        if condition.is_negated() {
            return self.bit_ite(!condition, otherwise, then);
        }
        if condition == Bit::TRUE || then == otherwise {
            return then;
        }
        if then == !otherwise {
            return self.bit_xor(condition, otherwise);
        }
        // Where the condition is an operand too, its value is known there.
        if then == Bit::TRUE || then == condition {
            return self.bit_or(condition, otherwise);
        }
        if then == Bit::FALSE || then == !condition {
            return self.bit_and(!condition, otherwise);
        }
        if otherwise == Bit::TRUE || otherwise == !condition {
            return self.bit_or(!condition, then);
        }
        if otherwise == Bit::FALSE || otherwise == condition {
            return self.bit_and(condition, then);
        }
        let flip = then.is_negated();
        let [a, b] = [then, otherwise].map(|bit| bit.flipped_if(flip));
        let out = self.gate(Gate::Ite([condition, a, b]), |circuits, out| {
            circuits.clause(&[!condition, !a, out]);
            circuits.clause(&[!condition, a, !out]);
            circuits.clause(&[condition, !b, out]);
            circuits.clause(&[condition, b, !out]);
            circuits.clause(&[!a, !b, out]);
            circuits.clause(&[a, b, !out]);
        });
        out.flipped_if(flip)
    }

    /// An odd number of three bits: the sum bit of a full adder.
    pub(super) fn parity(&mut self, bits: [Bit; 3]) -> Bit {
        let flip = bits.iter().filter(|bit| bit.is_negated()).count() % 2 == 1;
        let [a, b, c] = sorted(bits.map(unsigned));
        if a == Bit::TRUE || a == b {
            return self.bit_xor(c, if a == b { Bit::FALSE } else { !b }).flipped_if(flip);
        }
        if b == c {
            return a.flipped_if(flip);
        }
        let out = self.gate(Gate::Parity([a, b, c]), |circuits, out| {
            for (first, second) in [(a, b), (!a, !b)] {
                circuits.clause(&[first, second, c, !out]);
                circuits.clause(&[first, second, !c, out]);
                circuits.clause(&[first, !second, c, out]);
                circuits.clause(&[first, !second, !c, !out]);
            }
        });
        out.flipped_if(flip)
    }

    /// At least two of three bits: the carry of a full adder.
    pub(super) fn majority(&mut self, bits: [Bit; 3]) -> Bit {
        let [a, b, c] = sorted(bits);
        if a == Bit::TRUE {
            return self.bit_or(b, c);
        }
        if a == Bit::FALSE {
            return self.bit_and(b, c);
        }
        // Sorted, so equals and complements are neighbours.
        if a == b || b == !c {
            return a;
        }
        if b == c || a == !b {
            return c;
        }
        let flip = a.is_negated();
        let [a, b, c] = [a, b, c].map(|bit| bit.flipped_if(flip));
        let out = self.gate(Gate::Majority([a, b, c]), |circuits, out| {
            for (first, second) in [(a, b), (a, c), (b, c)] {
                circuits.clause(&[!first, !second, out]);
                circuits.clause(&[first, second, !out]);
            }
        });
        out.flipped_if(flip)
    }

    /// All bits of a list; true if it is empty.
    pub fn all(&mut self, bits: &[Bit]) -> Bit {
        let mut bits: Vec<Bit> = bits.iter().copied().filter(|&bit| bit != Bit::TRUE).collect();
        bits.sort_unstable();
        bits.dedup();
        if bits.first() == Some(&Bit::FALSE) || bits.windows(2).any(|pair| pair[0] == !pair[1]) {
            return Bit::FALSE;
        }
        match bits[..] {
            [] => return Bit::TRUE,
            [bit] => return bit,
            [a, b] => return self.bit_and(a, b),
            _ => {}
        }
        if let Some(&out) = self.gates.conjunctions.get(&bits[..]) {
            return out;
        }
        let out = self.variable(false);
        for &bit in &bits {
            self.clause(&[!out, bit]);
        }
        let key = bits.clone().into_boxed_slice();
        bits.iter_mut().for_each(|bit| *bit = !*bit);
        bits.push(out);
        self.clause(&bits);
        self.gates.conjunctions.insert(key, out);
        out
    }

    /// Some bit of a list; false if it is empty.
    pub fn any(&mut self, bits: &[Bit]) -> Bit {
        let complements: Vec<Bit> = bits.iter().map(|&bit| !bit).collect();
        !self.all(&complements)
    }

    /// The literal of a gate, whose clauses `define` writes if it is new.
    fn gate(&mut self, gate: Gate, define: impl FnOnce(&mut Self, Bit)) -> Bit {
        if let Some(&out) = self.gates.gates.get(&gate) {
            return out;
        }
        let out = self.variable(false);
        self.gates.gates.insert(gate, out);
        define(self, out);
        out
    }
}

fn sorted<const N: usize>(mut bits: [Bit; N]) -> [Bit; N] {
    bits.sort_unstable();
    bits
}

fn unsigned(bit: Bit) -> Bit {
    bit.flipped_if(bit.is_negated())
}
