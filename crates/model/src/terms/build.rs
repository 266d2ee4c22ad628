//! The operations, as callers ask for them.
//!
//! Operands of one operation have the same width, unless it says otherwise; anything else is a bug
//! of the caller and panics. What each operation is worth is in `docs/terms.md`.

use super::node::Row;
use super::{BinaryOp, MAX_WIDTH, Node, TermId, Terms, UnaryOp, check_width};

/// Functions that only name their operation.
macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $op:ident),* $(,)?) => {
        impl Terms {$(
            $(#[$doc])*
            pub fn $name(&mut self, a: TermId, b: TermId) -> TermId {
                self.binary(BinaryOp::$op, a, b)
            }
        )*}
    };
}

binary! {
    /// a + b
    add Add,
    /// a - b
    sub Sub,
    /// a · b
    mul Mul,
    /// a / b, unsigned.
    udiv UDiv,
    /// a / b, signed, towards zero.
    sdiv SDiv,
    /// The remainder of `udiv`.
    urem URem,
    /// The remainder of `sdiv`.
    srem SRem,
    /// Bits that both have; of booleans, the conjunction.
    and And,
    /// Bits that one of them has; of booleans, the disjunction.
    or Or,
    /// Bits that only one of them has.
    xor Xor,
    /// a, shifted left by b.
    shl Shl,
    /// a, shifted right by b; zeros come in.
    lshr LShr,
    /// a, shifted right by b; the sign comes in.
    ashr AShr,
    /// a = b
    eq Eq,
    /// a ≠ b
    ne Ne,
    /// a < b, unsigned.
    ult Ult,
    /// a ≤ b, unsigned.
    ule Ule,
    /// a < b, signed.
    slt Slt,
    /// a ≤ b, signed.
    sle Sle,
}

impl Terms {
    /// Any operation on two terms of one width.
    pub fn binary(&mut self, op: BinaryOp, a: TermId, b: TermId) -> TermId {
        assert_eq!(self.width(a), self.width(b), "{op:?} of different widths");
        if op == BinaryOp::Ne {
            let equal = self.eq(a, b);
            return self.not(equal);
        }
        self.make(self.binary_row(op, a, b))
    }

    /// The bits of a above those of b; of any widths.
    pub fn concat(&mut self, a: TermId, b: TermId) -> TermId {
        let (width_a, width_b) = (self.width(a), self.width(b));
        assert!(width_a + width_b <= MAX_WIDTH, "{width_a} ++ {width_b} bits");
        self.make(self.concat_row(a, b))
    }

    /// a > b, unsigned.
    pub fn ugt(&mut self, a: TermId, b: TermId) -> TermId {
        self.ult(b, a)
    }

    /// a ≥ b, unsigned.
    pub fn uge(&mut self, a: TermId, b: TermId) -> TermId {
        self.ule(b, a)
    }

    /// a > b, signed.
    pub fn sgt(&mut self, a: TermId, b: TermId) -> TermId {
        self.slt(b, a)
    }

    /// a ≥ b, signed.
    pub fn sge(&mut self, a: TermId, b: TermId) -> TermId {
        self.sle(b, a)
    }

    /// Every bit the other way; of a boolean, the negation.
    pub fn not(&mut self, a: TermId) -> TermId {
        self.make(Row::new(Node::Unary(UnaryOp::Not, a), self.width(a)))
    }

    /// -a
    pub fn neg(&mut self, a: TermId) -> TermId {
        self.make(Row::new(Node::Unary(UnaryOp::Neg, a), self.width(a)))
    }

    /// The same unsigned number in `width` bits, which are at least as many.
    pub fn zext(&mut self, a: TermId, width: u32) -> TermId {
        self.extend(UnaryOp::ZeroExtend, a, width)
    }

    /// The same signed number in `width` bits, which are at least as many.
    pub fn sext(&mut self, a: TermId, width: u32) -> TermId {
        self.extend(UnaryOp::SignExtend, a, width)
    }

    fn extend(&mut self, op: UnaryOp, a: TermId, width: u32) -> TermId {
        check_width(width);
        let from = self.width(a);
        assert!(from <= width, "{op:?} from {from} to {width} bits");
        if from == width { a } else { self.make(Row::new(Node::Unary(op, a), width)) }
    }

    /// The lowest `width` bits, which are at most as many.
    pub fn trunc(&mut self, a: TermId, width: u32) -> TermId {
        self.extract(a, 0, width)
    }

    /// `width` bits, from bit `low` on.
    pub fn extract(&mut self, a: TermId, low: u32, width: u32) -> TermId {
        check_width(width);
        let from = self.width(a);
        assert!(low + width <= from, "bits {low}..{} of {from}", low + width);
        if from == width {
            a
        } else {
            self.make(Row::new(Node::Extract { of: a, low: low as u8 }, width))
        }
    }

    /// `then` if the boolean `condition` holds, else `other`.
    pub fn ite(&mut self, condition: TermId, then: TermId, other: TermId) -> TermId {
        let width = self.width(then);
        assert_eq!(self.width(condition), 1, "the condition is not one bit");
        assert_eq!(width, self.width(other), "arms of different widths");
        self.make(Row::new(Node::Ite(condition, then, other), width))
    }

    /// Of booleans: a holds only if b does.
    pub fn implies(&mut self, a: TermId, b: TermId) -> TermId {
        assert_eq!(self.width(a), 1, "an implication of words");
        let not_a = self.not(a);
        self.or(not_a, b)
    }

    /// The conjunction of booleans; of none: true.
    pub fn all(&mut self, terms: impl IntoIterator<Item = TermId>) -> TermId {
        let start = self.boolean(true);
        terms.into_iter().fold(start, |all, term| self.and(all, term))
    }

    /// The disjunction of booleans; of none: false.
    pub fn any(&mut self, terms: impl IntoIterator<Item = TermId>) -> TermId {
        let start = self.boolean(false);
        terms.into_iter().fold(start, |any, term| self.or(any, term))
    }

    /// Whether a word counts as true: it is not 0.
    pub fn truth(&mut self, word: TermId) -> TermId {
        let zero = self.constant(0, self.width(word));
        self.ne(word, zero)
    }

    /// An operation as a row, operands unchecked.
    pub(super) fn binary_row(&self, op: BinaryOp, a: TermId, b: TermId) -> Row {
        let width = if op.is_comparison() { 1 } else { self.width(a) };
        Row::new(Node::Binary(op, a, b), width)
    }

    /// A concatenation as a row, operands unchecked.
    pub(super) fn concat_row(&self, a: TermId, b: TermId) -> Row {
        Row::new(Node::Concat(a, b), self.width(a) + self.width(b))
    }
}
