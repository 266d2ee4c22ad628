//! Values as terms: hash-consed, simplified when they are made.
//!
//! **Computes.** For each value of an unfolded thread, a term over *symbols*: what reads see and
//! what the outside gives. Conditions are terms of one bit.
//!
//! **Invariant.** Equal terms have equal ids. The parts of a term have smaller ids than the term,
//! so a loop over the ids in order visits parts first. The operations mean what
//! [`foretrace_words`] says. An [`Op::Address`] is a number that depends on where objects lie; it
//! is folded only where every layout gives the same result.
//!
//! **Cost.** One table lookup for each term that is made.

use foretrace_words::{BinaryOp, Cast, cut};
use rustc_hash::{FxHashMap, FxHashSet};

/// A term.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Term(u32);

/// Unknown until the solver decides: the value of a read, an input, or a choice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Symbol(pub(crate) u32);

/// What a term is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Op {
    Constant(u64),
    /// A byte of an object, which may lie outside of it.
    Address {
        object: u32,
        offset: u64,
    },
    Symbol(Symbol),
    Binary(BinaryOp, Term, Term),
    Cast(Cast, Term),
    Ite(Term, Term, Term),
}

impl Term {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number that stands for an address where the solver needs one. Offsets wrap around inside the
/// low half; objects that are accessed are much smaller than 4 GiB. The low half alone is not 0
/// either, like those of real addresses: programs take it for a truth value.
pub(crate) fn address_number(object: u32, offset: u64) -> u64 {
    const LOW: u64 = 1 << 28;
    ((u64::from(object) + 1) << 32).wrapping_add(LOW).wrapping_add(offset)
}

/// What symbols are replaced by, and what terms become by that.
#[derive(Default)]
pub(crate) struct Replacements {
    pub(crate) symbols: FxHashMap<Term, Term>,
    done: FxHashMap<Term, Term>,
}

/// All terms of one unfolding.
#[derive(Default)]
pub(crate) struct Terms {
    nodes: Vec<(Op, u8)>,
    known: FxHashMap<(Op, u8), Term>,
    symbols: u32,
}

impl Terms {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Term> + use<> {
        (0..self.nodes.len() as u32).map(Term)
    }

    pub(crate) fn op(&self, term: Term) -> Op {
        self.nodes[term.index()].0
    }

    pub(crate) fn width(&self, term: Term) -> u8 {
        self.nodes[term.index()].1
    }

    fn make(&mut self, op: Op, width: u8) -> Term {
        let next = Term(self.nodes.len() as u32);
        let term = *self.known.entry((op, width)).or_insert(next);
        if term == next {
            self.nodes.push((op, width));
        }
        term
    }

    pub(crate) fn constant(&mut self, value: u64, width: u8) -> Term {
        self.make(Op::Constant(cut(value, width)), width)
    }

    pub(crate) fn truth(&mut self, value: bool) -> Term {
        self.constant(value.into(), 1)
    }

    pub(crate) fn address(&mut self, object: u32, offset: u64) -> Term {
        self.make(Op::Address { object, offset }, 64)
    }

    pub(crate) fn symbol(&mut self, width: u8) -> Term {
        let symbol = Symbol(self.symbols);
        self.symbols += 1;
        self.make(Op::Symbol(symbol), width)
    }

    pub(crate) fn as_constant(&self, term: Term) -> Option<u64> {
        match self.op(term) {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn as_address(&self, term: Term) -> Option<(u32, u64)> {
        match self.op(term) {
            Op::Address { object, offset } => Some((object, offset)),
            _ => None,
        }
    }

    pub(crate) fn is_true(&self, term: Term) -> bool {
        self.as_constant(term) == Some(1)
    }

    pub(crate) fn is_false(&self, term: Term) -> bool {
        self.as_constant(term) == Some(0)
    }

    pub(crate) fn not(&mut self, term: Term) -> Term {
        let one = self.truth(true);
        self.binary(BinaryOp::Xor, term, one)
    }

    pub(crate) fn and(&mut self, a: Term, b: Term) -> Term {
        self.binary(BinaryOp::And, a, b)
    }

    pub(crate) fn or(&mut self, a: Term, b: Term) -> Term {
        self.binary(BinaryOp::Or, a, b)
    }

    pub(crate) fn equals(&mut self, term: Term, value: u64) -> Term {
        let value = self.constant(value, self.width(term));
        self.binary(BinaryOp::Eq, term, value)
    }

    /// Whether a value is not 0.
    pub(crate) fn is_nonzero(&mut self, term: Term) -> Term {
        let zero = self.constant(0, self.width(term));
        self.binary(BinaryOp::Ne, term, zero)
    }

    /// Whether one condition is the negation of the other, as far as that can be seen.
    fn are_opposite(&self, a: Term, b: Term) -> bool {
        let negates = |a: Term, b: Term| match self.op(a) {
            Op::Binary(BinaryOp::Xor, x, y) => x == b && self.is_true(y),
            _ => false,
        };
        self.width(a) == 1 && (negates(a, b) || negates(b, a))
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, a: Term, b: Term) -> Term {
        let width = self.width(a);
        assert_eq!(width, self.width(b), "operands of one width");
        let result = if op.is_comparison() { 1 } else { width };
        if let (Some(x), Some(y)) = (self.as_constant(a), self.as_constant(b)) {
            return self.constant(op.apply(x, y, width), result);
        }
        let is_leaf = |op: Op| matches!(op, Op::Constant(_) | Op::Address { .. });
        // Constants to the right, so that the rules below see them; addresses left of constants.
        let rank = |op: Op| match op {
            Op::Constant(_) => 2,
            Op::Address { .. } => 1,
            _ => 0,
        };
        let swaps = op.is_commutative() && (rank(self.op(a)), a) > (rank(self.op(b)), b);
        let (a, b) = if swaps { (b, a) } else { (a, b) };
        if let Some(folded) = self.fold(op, a, b, width) {
            return folded;
        }
        // A choice between constants, compared with a constant, is a condition.
        if let (Op::Ite(condition, then, otherwise), true) = (self.op(a), is_leaf(self.op(b)))
            && (is_leaf(self.op(then)) || is_leaf(self.op(otherwise)))
            && op.is_comparison()
        {
            let then = self.binary(op, then, b);
            let otherwise = self.binary(op, otherwise, b);
            return self.ite(condition, then, otherwise);
        }
        self.make(Op::Binary(op, a, b), result)
    }

    /// What an operation comes to where that is clear; constants are to the right.
    fn fold(&mut self, op: BinaryOp, a: Term, b: Term, width: u8) -> Option<Term> {
        let (left, right) = (self.op(a), self.op(b));
        let ones = cut(u64::MAX, width);
        if let (Op::Address { object, offset }, Op::Address { object: other, offset: place }) =
            (left, right)
        {
            return match op {
                BinaryOp::Eq => Some(self.truth(left == right)),
                BinaryOp::Ne => Some(self.truth(left != right)),
                BinaryOp::Sub if object == other => {
                    Some(self.constant(offset.wrapping_sub(place), width))
                }
                BinaryOp::Ult if object == other => Some(self.truth(offset < place)),
                BinaryOp::Ule if object == other => Some(self.truth(offset <= place)),
                _ => None,
            };
        }
        if let (Op::Address { object, offset }, Op::Constant(value)) = (left, right) {
            return match op {
                BinaryOp::Add => Some(self.address(object, offset.wrapping_add(value))),
                BinaryOp::Sub => Some(self.address(object, offset.wrapping_sub(value))),
                BinaryOp::Eq if value == 0 => Some(self.truth(false)),
                BinaryOp::Ne if value == 0 => Some(self.truth(true)),
                _ => None,
            };
        }
        // A sum with another constant than 0 is another number.
        if let (BinaryOp::Eq | BinaryOp::Ne, true) =
            (op, self.is_shifted(a, b) || self.is_shifted(b, a))
        {
            return Some(self.truth(op == BinaryOp::Ne));
        }
        // A sum with a constant inside takes another constant to it.
        if let (BinaryOp::Add, Op::Binary(BinaryOp::Add, x, y), Op::Constant(_)) = (op, left, right)
            && matches!(self.op(y), Op::Constant(_) | Op::Address { .. })
        {
            let sum = self.binary(BinaryOp::Add, y, b);
            return Some(self.binary(BinaryOp::Add, x, sum));
        }
        if a == b {
            use BinaryOp::*;
            match op {
                And | Or => return Some(a),
                Xor | Sub => return Some(self.constant(0, width)),
                Eq | Ule | Sle => return Some(self.truth(true)),
                Ne | Ult | Slt => return Some(self.truth(false)),
                _ => (),
            }
        }
        if let Op::Constant(value) = right {
            use BinaryOp::*;
            match (op, value) {
                (Add | Sub | Or | Xor | Shl | LShr | AShr, 0) => return Some(a),
                (And | Mul, 0) => return Some(b),
                (And, _) if value == ones => return Some(a),
                (Or, _) if value == ones => return Some(b),
                (Mul | UDiv | SDiv, 1) if width > 1 => return Some(a),
                (Eq, 1) | (Ne, 0) if width == 1 => return Some(a),
                (Eq, 0) | (Ne, 1) if width == 1 => return Some(self.not(a)),
                (Ult, 0) => return Some(self.truth(false)),
                _ => (),
            }
            if let (Xor, Op::Binary(Xor, x, y)) = (op, left)
                && let Some(other) = self.as_constant(y)
            {
                let both = self.constant(other ^ value, width);
                return Some(self.binary(Xor, x, both));
            }
            // Widened words compare as narrow ones.
            if let (Eq | Ne, Op::Cast(Cast::ZeroExtend, x)) = (op, left) {
                let narrow = self.width(x);
                return Some(match value == cut(value, narrow) {
                    true => {
                        let value = self.constant(value, narrow);
                        self.binary(op, x, value)
                    }
                    false => self.truth(op == Ne),
                });
            }
            // Negated comparisons are comparisons.
            if let (Xor, 1, Op::Binary(inner @ (Eq | Ne), x, y)) = (op, value, left)
                && width == 1
            {
                let inner = if inner == Eq { Ne } else { Eq };
                return Some(self.binary(inner, x, y));
            }
        }
        match op {
            BinaryOp::And if self.are_opposite(a, b) => Some(self.constant(0, width)),
            BinaryOp::Or if self.are_opposite(a, b) => Some(self.constant(ones, width)),
            BinaryOp::And if width == 1 => self.absorb(a, b).or_else(|| self.absorb(b, a)),
            BinaryOp::Or if width == 1 => self.join(a, b),
            _ => None,
        }
    }

    /// Whether one number is the other and a constant that is not 0.
    fn is_shifted(&self, a: Term, b: Term) -> bool {
        match self.op(a) {
            Op::Binary(BinaryOp::Add, x, y) => {
                x == b && self.as_constant(y).is_some_and(|constant| constant != 0)
            }
            _ => false,
        }
    }

    /// `a and b` where `a` is a conjunction that has `b`, or its opposite, in it.
    fn absorb(&mut self, a: Term, b: Term) -> Option<Term> {
        let Op::Binary(BinaryOp::And, x, y) = self.op(a) else { return None };
        if x == b || y == b {
            return Some(a);
        }
        if self.are_opposite(x, b) || self.are_opposite(y, b) {
            return Some(self.truth(false));
        }
        None
    }

    /// `p and c or p and not c` is `p`; `p and c or p` is `p`.
    fn join(&mut self, a: Term, b: Term) -> Option<Term> {
        let parts = |terms: &Terms, term: Term| match terms.op(term) {
            Op::Binary(BinaryOp::And, x, y) => Some([x, y]),
            _ => None,
        };
        if parts(self, a).is_some_and(|parts| parts.contains(&b)) {
            return Some(b);
        }
        if parts(self, b).is_some_and(|parts| parts.contains(&a)) {
            return Some(a);
        }
        let (Some(first), Some(second)) = (parts(self, a), parts(self, b)) else { return None };
        for (at, other) in [(0, 1), (1, 0)] {
            for (place, rest) in [(0, 1), (1, 0)] {
                if first[at] == second[place] {
                    let choice = self.or(first[other], second[rest]);
                    return Some(self.and(first[at], choice));
                }
            }
        }
        None
    }

    pub(crate) fn ite(&mut self, condition: Term, then: Term, otherwise: Term) -> Term {
        if then == otherwise || self.is_true(condition) {
            return then;
        }
        if self.is_false(condition) {
            return otherwise;
        }
        let width = self.width(then);
        assert_eq!(width, self.width(otherwise), "a choice between words of one width");
        if width == 1 {
            if self.is_true(then) {
                return self.or(condition, otherwise);
            }
            if self.is_false(then) {
                let not = self.not(condition);
                return self.and(not, otherwise);
            }
            if self.is_false(otherwise) {
                return self.and(condition, then);
            }
            if self.is_true(otherwise) {
                let not = self.not(condition);
                return self.or(not, then);
            }
        }
        if let Op::Binary(BinaryOp::Xor, inner, one) = self.op(condition)
            && self.is_true(one)
        {
            return self.ite(inner, otherwise, then);
        }
        if let Op::Ite(inner, inside, _) = self.op(then)
            && inner == condition
        {
            return self.ite(condition, inside, otherwise);
        }
        if let Op::Ite(inner, _, inside) = self.op(otherwise)
            && inner == condition
        {
            return self.ite(condition, then, inside);
        }
        self.make(Op::Ite(condition, then, otherwise), width)
    }

    pub(crate) fn cast(&mut self, cast: Cast, term: Term, to: u8) -> Term {
        let from = self.width(term);
        if from == to {
            return term;
        }
        match (cast, self.op(term)) {
            (_, Op::Constant(value)) => self.constant(cast.apply(value, from, to), to),
            (Cast::Truncate, Op::Cast(inner, x)) => match self.width(x) {
                narrow if narrow == to => x,
                narrow if narrow > to => self.cast(Cast::Truncate, x, to),
                _ if inner == Cast::Truncate => self.make(Op::Cast(cast, term), to),
                _ => self.cast(inner, x, to),
            },
            (Cast::ZeroExtend, Op::Cast(Cast::ZeroExtend, x))
            | (Cast::SignExtend, Op::Cast(Cast::SignExtend, x)) => self.cast(cast, x, to),
            (Cast::SignExtend, Op::Cast(Cast::ZeroExtend, x)) if self.width(x) < from => {
                self.cast(Cast::ZeroExtend, x, to)
            }
            _ => self.make(Op::Cast(cast, term), to),
        }
    }

    /// The byte at `index`, the lowest first.
    pub(crate) fn byte(&mut self, term: Term, index: u8) -> Term {
        let amount = self.constant(8 * u64::from(index), self.width(term));
        let moved = self.binary(BinaryOp::LShr, term, amount);
        self.cast(Cast::Truncate, moved, 8)
    }

    /// The word of these bytes, the lowest first.
    pub(crate) fn word(&mut self, bytes: &[Term]) -> Term {
        let width = 8 * bytes.len() as u8;
        let mut word = self.cast(Cast::ZeroExtend, bytes[0], width);
        for (index, &byte) in bytes.iter().enumerate().skip(1) {
            let byte = self.cast(Cast::ZeroExtend, byte, width);
            let amount = self.constant(8 * index as u64, width);
            let moved = self.binary(BinaryOp::Shl, byte, amount);
            word = self.binary(BinaryOp::Or, word, moved);
        }
        word
    }

    /// The term with symbols replaced, and those in the replacements again.
    ///
    /// # Panics
    ///
    /// If replacements make a circle.
    pub(crate) fn rebuild(&mut self, term: Term, by: &mut Replacements) -> Term {
        // Parts are done before what is made of them. A symbol that is replaced waits for its
        // replacement.
        let mut open = vec![term];
        let mut begun: FxHashSet<Term> = FxHashSet::default();
        let Replacements { symbols, done } = by;
        while let Some(&top) = open.last() {
            if done.contains_key(&top) {
                open.pop();
                continue;
            }
            let parts: Vec<Term> = match self.op(top) {
                Op::Constant(_) | Op::Address { .. } => Vec::new(),
                Op::Symbol(_) => symbols.get(&top).copied().into_iter().collect(),
                Op::Binary(_, a, b) => vec![a, b],
                Op::Cast(_, a) => vec![a],
                Op::Ite(a, b, c) => vec![a, b, c],
            };
            let waiting = parts.iter().copied().filter(|part| !done.contains_key(part));
            let waiting: Vec<Term> = waiting.collect();
            if !waiting.is_empty() {
                let is_symbol = matches!(self.op(top), Op::Symbol(_));
                assert!(!is_symbol || begun.insert(top), "replacements make a circle");
                open.extend(waiting);
                continue;
            }
            let width = self.width(top);
            let part = |at: usize| done[&parts[at]];
            let new = match self.op(top) {
                Op::Constant(_) | Op::Address { .. } => top,
                Op::Symbol(_) if parts.is_empty() => top,
                Op::Symbol(_) => part(0),
                Op::Binary(op, ..) => self.binary(op, part(0), part(1)),
                Op::Cast(cast, _) => self.cast(cast, part(0), width),
                Op::Ite(..) => self.ite(part(0), part(1), part(2)),
            };
            done.insert(top, new);
            open.pop();
        }
        done[&term]
    }

    /// The conjuncts of a condition.
    pub(crate) fn conjuncts(&self, term: Term) -> Vec<Term> {
        let (mut parts, mut open) = (Vec::new(), vec![term]);
        // Paths have parts in common.
        let mut seen = FxHashSet::default();
        while let Some(term) = open.pop() {
            match self.op(term) {
                Op::Binary(BinaryOp::And, x, y) if self.width(term) == 1 => {
                    open.extend([x, y].into_iter().filter(|&part| seen.insert(part)));
                }
                Op::Constant(1) => (),
                _ => parts.push(term),
            }
        }
        parts.sort_unstable();
        parts.dedup();
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_constants_add_up_in_any_order() {
        let mut terms = Terms::default();
        let (four, eight) = (terms.constant(4, 64), terms.constant(8, 64));
        let address = terms.address(3, 0);
        let sum = terms.binary(BinaryOp::Add, four, address);
        let sum = terms.binary(BinaryOp::Add, eight, sum);
        assert_eq!(terms.as_address(sum), Some((3, 12)));
    }
}
