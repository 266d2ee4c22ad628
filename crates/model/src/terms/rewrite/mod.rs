//! The rules that make a term simpler while it is built. `docs/terms.md` lists them.
//!
//! **Computes.** For an operation on finished terms, a term that is worth the same. Each rule looks
//! at the operation, its operands and at most their operands.
//!
//! **Invariant.** Every rule is an identity for all widths, one bit and 128 included, and its
//! result, as a tree, is not larger than what it replaces. Commutative operations have a constant
//! on the right, and else the older operand on the left.
//!
//! **Cost.** At most `MAX_STEPS` rules one after the other, at most `MAX_NESTING` inside each
//! other: an operation on terms however deep takes constant time and stack. Where that ends the
//! search, the term is kept as it is.

mod arithmetic;
mod bits;
mod choice;
mod compare;
mod widths;

use super::node::Row;
use super::value::{self, ones};
use super::{BinaryOp, Node, TermId, Terms, UnaryOp};

const MAX_STEPS: usize = 32;
const MAX_NESTING: u32 = 32;

/// What a rule makes of an operation.
enum Rewritten {
    /// This finished term.
    Is(TermId),
    /// Another operation, which further rules may fit.
    Try(Row),
    /// No rule fits.
    Keep,
}

impl Terms {
    /// The simplest term we find for an operation.
    pub(super) fn make(&mut self, row: Row) -> TermId {
        let mut row = self.ordered(row);
        if self.nesting == MAX_NESTING {
            return self.intern(row);
        }
        self.nesting += 1;
        let mut found = None;
        for _ in 0..MAX_STEPS {
            match self.rewrite(row) {
                Rewritten::Is(term) => {
                    found = Some(term);
                    break;
                }
                Rewritten::Try(next) => row = self.ordered(next),
                Rewritten::Keep => break,
            }
        }
        self.nesting -= 1;
        found.unwrap_or_else(|| self.intern(row))
    }

    /// Commutative operands in their normal order.
    fn ordered(&self, row: Row) -> Row {
        match row.node {
            Node::Binary(op, a, b) if op.is_commutative() && self.belongs_right(a, b) => {
                Row { node: Node::Binary(op, b, a), ..row }
            }
            _ => row,
        }
    }

    fn belongs_right(&self, a: TermId, b: TermId) -> bool {
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(_), _) => true,
            (None, Some(_)) => false,
            (None, None) => a > b,
        }
    }

    /// One rule.
    fn rewrite(&mut self, row: Row) -> Rewritten {
        if let Some(step) = self.fold(row) {
            return step;
        }
        let width = row.width as u32;
        use BinaryOp::*;
        match row.node {
            Node::Constant(_) | Node::Symbol(_) => Rewritten::Keep,
            Node::Unary(UnaryOp::Not, a) => self.simpler_not(a),
            Node::Unary(UnaryOp::Neg, a) => self.simpler_neg(a),
            Node::Unary(UnaryOp::ZeroExtend, a) => self.simpler_zext(a, width),
            Node::Unary(UnaryOp::SignExtend, a) => self.simpler_sext(a, width),
            Node::Extract { of, low } => self.simpler_extract(of, low as u32, width),
            Node::Ite(condition, then, other) => self.simpler_ite(condition, then, other),
            Node::Concat(a, b) => self.simpler_concat(a, b),
            Node::Binary(op, a, b) => match op {
                Add => self.simpler_add(a, b),
                Sub => self.simpler_sub(a, b),
                Mul => self.simpler_mul(a, b),
                UDiv => self.simpler_udiv(a, b),
                SDiv => self.simpler_sdiv(a, b),
                URem => self.simpler_urem(a, b),
                SRem => self.simpler_srem(a, b),
                And | Or => self.simpler_and_or(op, a, b),
                Xor => self.simpler_xor(a, b),
                Shl => self.simpler_shl(a, b),
                LShr => self.simpler_lshr(a, b),
                AShr => self.simpler_ashr(a, b),
                Eq => self.simpler_eq(a, b),
                Ne => {
                    let equal = self.eq(a, b);
                    self.try_unary(UnaryOp::Not, equal)
                }
                Ult | Ule | Slt | Sle => self.simpler_order(op, a, b),
            },
        }
    }

    /// Operations on constants, and on choices between constants.
    fn fold(&mut self, row: Row) -> Option<Rewritten> {
        let width = row.width as u32;
        let (condition, then, other) = match row.node {
            Node::Unary(op, a) => {
                let from = self.width(a);
                let (condition, then, other) = self.constant_arms(a)?;
                let fold = |arm| value::unary(op, arm, from, width);
                (condition, fold(then), fold(other))
            }
            Node::Extract { of, low } => {
                let (condition, then, other) = self.constant_arms(of)?;
                let fold = |arm| value::extract(arm, low as u32, width);
                (condition, fold(then), fold(other))
            }
            Node::Binary(_, a, b) | Node::Concat(a, b) => {
                let low_width = self.width(b);
                let (condition_a, then_a, other_a) = self.constant_arms(a)?;
                let (condition_b, then_b, other_b) = self.constant_arms(b)?;
                if condition_a.is_some() && condition_b.is_some() && condition_a != condition_b {
                    return None;
                }
                let fold = |arm_a: u128, arm_b| match row.node {
                    Node::Binary(op, ..) => op.apply(arm_a, arm_b, low_width),
                    _ => arm_a << low_width | arm_b,
                };
                (condition_a.or(condition_b), fold(then_a, then_b), fold(other_a, other_b))
            }
            _ => return None,
        };
        let then = self.constant(then, width);
        Some(match condition {
            None => Rewritten::Is(then),
            Some(condition) => {
                let other = self.constant(other, width);
                Rewritten::Try(Row::new(Node::Ite(condition, then, other), width))
            }
        })
    }

    /// A constant, as the choice of itself under no condition; or a choice between two constants.
    fn constant_arms(&self, term: TermId) -> Option<(Option<TermId>, u128, u128)> {
        match self.node(term) {
            Node::Constant(bits) => Some((None, bits.get(), bits.get())),
            Node::Ite(condition, then, other) => {
                Some((Some(condition), self.as_constant(then)?, self.as_constant(other)?))
            }
            _ => None,
        }
    }

    /// The operand, if the term is this operation.
    fn unary_of(&self, op: UnaryOp, term: TermId) -> Option<TermId> {
        match self.node(term) {
            Node::Unary(other, a) if other == op => Some(a),
            _ => None,
        }
    }

    /// The operands, if the term is this operation.
    fn binary_of(&self, op: BinaryOp, term: TermId) -> Option<(TermId, TermId)> {
        match self.node(term) {
            Node::Binary(other, a, b) if other == op => Some((a, b)),
            _ => None,
        }
    }

    /// The operands, if the term is a concatenation.
    fn concat_of(&self, term: TermId) -> Option<(TermId, TermId)> {
        match self.node(term) {
            Node::Concat(a, b) => Some((a, b)),
            _ => None,
        }
    }

    /// The operands, if the term is this operation with a constant on the right.
    fn with_constant(&self, op: BinaryOp, term: TermId) -> Option<(TermId, u128)> {
        let (a, b) = self.binary_of(op, term)?;
        Some((a, self.as_constant(b)?))
    }

    /// The operands, if both terms are this operation on one operand.
    fn both(&self, op: UnaryOp, a: TermId, b: TermId) -> Option<(TermId, TermId)> {
        Some((self.unary_of(op, a)?, self.unary_of(op, b)?))
    }

    /// Whether each bit of one is surely the negation of the other's.
    fn are_opposite(&self, a: TermId, b: TermId) -> bool {
        use BinaryOp::*;
        match (self.node(a), self.node(b)) {
            (Node::Unary(UnaryOp::Not, x), _) if x == b => true,
            (_, Node::Unary(UnaryOp::Not, y)) if y == a => true,
            (Node::Binary(op_a, x, y), Node::Binary(op_b, u, v)) => match (op_a, op_b) {
                (Ult, Ule) | (Ule, Ult) | (Slt, Sle) | (Sle, Slt) => (x, y) == (v, u),
                (Eq, Xor) | (Xor, Eq) => (x, y) == (u, v) && self.width(x) == 1,
                _ => false,
            },
            _ => false,
        }
    }

    /// Bits that may be 1; so the number is at most this.
    fn possible_bits(&self, term: TermId) -> u128 {
        let all = ones(self.width(term));
        let width = self.width(term) as u128;
        match self.node(term) {
            Node::Constant(bits) => bits.get(),
            // What is extended is not itself an extension by zeros.
            Node::Unary(UnaryOp::ZeroExtend, a) => match self.with_constant(BinaryOp::And, a) {
                Some((_, mask)) => mask,
                None => ones(self.width(a)),
            },
            Node::Binary(op, _, b) => match (op, self.as_constant(b)) {
                (BinaryOp::And, Some(mask)) => mask,
                (BinaryOp::LShr, Some(by)) if by < width => all >> by,
                (BinaryOp::Shl, Some(by)) if by < width => all << by & all,
                _ => all,
            },
            _ => all,
        }
    }

    /// The number is at least this.
    fn lower_bound(&self, term: TermId) -> u128 {
        match self.with_constant(BinaryOp::Or, term) {
            Some((_, bits)) => bits,
            None => self.as_constant(term).unwrap_or(0),
        }
    }

    /// Whether the highest bit is surely 0.
    fn is_nonnegative(&self, term: TermId) -> bool {
        self.possible_bits(term) & value::least(self.width(term)) == 0
    }

    fn try_binary(&self, op: BinaryOp, a: TermId, b: TermId) -> Rewritten {
        Rewritten::Try(self.binary_row(op, a, b))
    }

    /// The right operand a constant.
    fn try_with(&mut self, op: BinaryOp, a: TermId, constant: u128) -> Rewritten {
        let constant = self.constant(constant, self.width(a));
        self.try_binary(op, a, constant)
    }

    fn try_unary(&self, op: UnaryOp, a: TermId) -> Rewritten {
        Rewritten::Try(Row::new(Node::Unary(op, a), self.width(a)))
    }

    fn is_constant(&mut self, value: u128, width: u32) -> Rewritten {
        Rewritten::Is(self.constant(value, width))
    }

    fn is_boolean(&mut self, value: bool) -> Rewritten {
        Rewritten::Is(self.boolean(value))
    }
}
