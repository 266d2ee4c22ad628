//! Rules for extension, extraction and concatenation.
//!
//! C computes with at least 32 bits and stores fewer, and expressions of traces compute with 64:
//! the extraction of an operation on extended operands becomes the operation on the operands
//! themselves. It goes down through sums, products, bitwise operations and choices,
//! `NARROWING_DEPTH` operations at most, but only where it needs no extraction that was not there
//! before. The bytes of one word, put together again, are the word.

use foretrace_words::signed;

use super::super::node::Row;
use super::super::value::ones;
use super::super::{BinaryOp, BinaryOp::*, Node, TermId, Terms, UnaryOp};
use super::Rewritten;

/// How many operations above each other are taken together in fewer bits.
const NARROWING_DEPTH: u32 = 5;

impl Terms {
    pub(super) fn simpler_zext(&mut self, a: TermId, width: u32) -> Rewritten {
        match self.unary_of(UnaryOp::ZeroExtend, a) {
            Some(x) => Rewritten::Is(self.zext(x, width)),
            None => Rewritten::Keep,
        }
    }

    pub(super) fn simpler_sext(&mut self, a: TermId, width: u32) -> Rewritten {
        if let Some(x) = self.unary_of(UnaryOp::SignExtend, a) {
            return Rewritten::Is(self.sext(x, width));
        }
        match self.is_nonnegative(a) {
            true => Rewritten::Is(self.zext(a, width)),
            false => Rewritten::Keep,
        }
    }

    pub(super) fn simpler_extract(&mut self, of: TermId, low: u32, width: u32) -> Rewritten {
        if self.possible_bits(of) >> low & ones(width) == 0 {
            return self.is_constant(0, width);
        }
        match self.node(of) {
            Node::Extract { of: x, low: first } => self.try_extract(x, low + first as u32, width),
            Node::Unary(op @ (UnaryOp::ZeroExtend | UnaryOp::SignExtend), x) => {
                self.extract_of_extension(op, x, low, width)
            }
            Node::Concat(x, y) => {
                let split = self.width(y);
                if low + width <= split {
                    self.try_extract(y, low, width)
                } else if low >= split {
                    self.try_extract(x, low - split, width)
                } else if low == 0 || low + width == self.width(of) {
                    let high = self.extract(x, 0, low + width - split);
                    let low = self.extract(y, low, split - low);
                    Rewritten::Try(self.concat_row(high, low))
                } else {
                    Rewritten::Keep
                }
            }
            node => {
                if let Node::Binary(_, x, y) = node
                    && let Some(c) = self.as_constant(y)
                    && let Some(step) = self.extract_with_constant(of, x, c, low, width)
                {
                    return step;
                }
                match low == 0 && self.is_narrow(of, width, NARROWING_DEPTH) {
                    true => Rewritten::Is(self.narrowed(of, width)),
                    false => Rewritten::Keep,
                }
            }
        }
    }

    fn try_extract(&self, of: TermId, low: u32, width: u32) -> Rewritten {
        if self.width(of) == width {
            return Rewritten::Is(of);
        }
        Rewritten::Try(Row::new(Node::Extract { of, low: low as u8 }, width))
    }

    fn extract_of_extension(&mut self, op: UnaryOp, x: TermId, low: u32, width: u32) -> Rewritten {
        let inner = self.width(x);
        if low + width <= inner {
            return self.try_extract(x, low, width);
        }
        match op {
            _ if low == 0 => Rewritten::Is(self.extended(op, x, width)),
            // That there is something of x left was seen from the bits that may be 1.
            UnaryOp::ZeroExtend => {
                let rest = self.extract(x, low, inner - low);
                Rewritten::Is(self.zext(rest, width))
            }
            _ if low < inner => {
                let rest = self.extract(x, low, inner - low);
                Rewritten::Is(self.sext(rest, width))
            }
            _ => Rewritten::Keep,
        }
    }

    /// The extraction of a bitwise operation or a shift with a constant, where the constant does
    /// not matter.
    fn extract_with_constant(
        &mut self,
        of: TermId,
        x: TermId,
        c: u128,
        low: u32,
        width: u32,
    ) -> Option<Rewritten> {
        let Node::Binary(op, ..) = self.node(of) else { return None };
        let from = self.width(of);
        let part = c >> low & ones(width);
        let by = c.min(from as u128) as u32;
        match op {
            And if part == ones(width) => Some(self.try_extract(x, low, width)),
            Or | Xor if part == 0 => Some(self.try_extract(x, low, width)),
            Or if part == ones(width) => Some(self.is_constant(part, width)),
            Shl if by <= low => Some(self.try_extract(x, low - by, width)),
            LShr | AShr if low + by + width <= from => Some(self.try_extract(x, low + by, width)),
            _ => None,
        }
    }

    pub(super) fn extended(&mut self, op: UnaryOp, x: TermId, width: u32) -> TermId {
        match op {
            UnaryOp::ZeroExtend => self.zext(x, width),
            _ => self.sext(x, width),
        }
    }

    /// Whether the lowest bits of a term are those of a term that is no larger.
    fn is_narrow(&self, term: TermId, width: u32, depth: u32) -> bool {
        let node = self.node(term);
        match node {
            Node::Constant(_) | Node::Extract { .. } => return true,
            Node::Unary(UnaryOp::ZeroExtend | UnaryOp::SignExtend, _) => return true,
            _ if depth == 0 => return false,
            _ => {}
        }
        let is_narrow = |x: TermId| self.is_narrow(x, width, depth - 1);
        match node {
            Node::Constant(_) | Node::Symbol(_) | Node::Extract { .. } | Node::Concat(..) => false,
            Node::Unary(_, x) => is_narrow(x),
            Node::Ite(_, x, y) => is_narrow(x) && is_narrow(y),
            Node::Binary(op, x, y) => match op {
                Add | Sub | Mul | And | Or | Xor => is_narrow(x) && is_narrow(y),
                // An amount of `width` or more leaves nothing of the lowest bits.
                Shl => self.fits(UnaryOp::ZeroExtend, y, width) && is_narrow(x),
                UDiv | URem | SDiv | SRem => {
                    let by = sign_of(op);
                    self.fits(by, x, width) && self.fits(by, y, width)
                }
                _ => false,
            },
        }
    }

    /// The lowest bits of a term that `is_narrow`.
    fn narrowed(&mut self, term: TermId, width: u32) -> TermId {
        match self.node(term) {
            Node::Constant(bits) => self.constant(bits.get(), width),
            Node::Unary(UnaryOp::Not, x) => {
                let x = self.narrowed(x, width);
                self.not(x)
            }
            Node::Unary(UnaryOp::Neg, x) => {
                let x = self.narrowed(x, width);
                self.neg(x)
            }
            Node::Ite(condition, x, y) => {
                let (x, y) = (self.narrowed(x, width), self.narrowed(y, width));
                self.ite(condition, x, y)
            }
            Node::Binary(op, x, y) => {
                let (x, y) = match op {
                    Shl => (self.narrowed(x, width), self.fitted(UnaryOp::ZeroExtend, y, width)),
                    UDiv | URem | SDiv | SRem => {
                        let by = sign_of(op);
                        (self.fitted(by, x, width), self.fitted(by, y, width))
                    }
                    _ => (self.narrowed(x, width), self.narrowed(y, width)),
                };
                self.binary(op, x, y)
            }
            // Extensions and extractions.
            _ => self.trunc(term, width),
        }
    }

    /// How many of the lowest bits the extension `by` turns into the term again, where that can be
    /// seen.
    pub(super) fn needed_bits(&self, by: UnaryOp, term: TermId) -> Option<u32> {
        match (self.node(term), by) {
            (Node::Constant(bits), UnaryOp::ZeroExtend) => Some(length(bits.get())),
            (Node::Constant(bits), _) => {
                let number = signed(bits.get(), self.width(term));
                // A negative number needs as many bits as the one that is as far from -1 as it is
                // from 0.
                Some(length((number ^ number >> 127) as u128 * 2))
            }
            (Node::Unary(op, x), _) if op == by => Some(self.width(x)),
            (Node::Unary(UnaryOp::ZeroExtend, x), UnaryOp::SignExtend) => Some(self.width(x) + 1),
            _ => None,
        }
    }

    /// Whether the extension `by` of the lowest `width` bits is surely the term.
    pub(super) fn fits(&self, by: UnaryOp, term: TermId, width: u32) -> bool {
        self.needed_bits(by, term).is_some_and(|needed| needed <= width)
    }

    /// The lowest `width` bits of a term that fits them.
    pub(super) fn fitted(&mut self, by: UnaryOp, term: TermId, width: u32) -> TermId {
        debug_assert!(self.fits(by, term, width));
        self.trunc(term, width)
    }

    /// Two terms in fewer bits, of which the extension `by` gives both back; at least one loses its
    /// own extension, so that there may be one around the result.
    pub(super) fn both_narrowed(
        &mut self,
        by: UnaryOp,
        a: TermId,
        b: TermId,
    ) -> Option<(TermId, TermId)> {
        let width = self.needed_bits(by, a)?.max(self.needed_bits(by, b)?);
        let loses = |term| self.unary_of(by, term).is_some_and(|x| self.width(x) == width);
        if !loses(a) && !loses(b) {
            return None;
        }
        Some((self.fitted(by, a, width), self.fitted(by, b, width)))
    }

    pub(super) fn simpler_concat(&mut self, high: TermId, low: TermId) -> Rewritten {
        let width = self.width(high) + self.width(low);
        if self.as_constant(high) == Some(0) {
            return Rewritten::Is(self.zext(low, width));
        }
        if let Some(x) = self.unary_of(UnaryOp::ZeroExtend, high) {
            let joined = self.concat(x, low);
            return Rewritten::Is(self.zext(joined, width));
        }
        if let Some(joined) = self.joined(high, low) {
            return Rewritten::Is(joined);
        }
        if let Some((x, y)) = self.concat_of(high)
            && let Some(joined) = self.joined(y, low)
        {
            return Rewritten::Try(self.concat_row(x, joined));
        }
        if let Some((x, y)) = self.concat_of(low)
            && let Some(joined) = self.joined(high, x)
        {
            return Rewritten::Try(self.concat_row(joined, y));
        }
        Rewritten::Keep
    }

    /// Neighbours that are one constant, or neighbouring bits of one term.
    fn joined(&mut self, high: TermId, low: TermId) -> Option<TermId> {
        let (width_high, width_low) = (self.width(high), self.width(low));
        match (self.node(high), self.node(low)) {
            (Node::Constant(c), Node::Constant(d)) => {
                Some(self.constant(c.get() << width_low | d.get(), width_high + width_low))
            }
            (Node::Extract { of, low: start }, Node::Extract { of: also, low: end })
                if of == also && start as u32 == end as u32 + width_low =>
            {
                Some(self.extract(of, end as u32, width_high + width_low))
            }
            _ => None,
        }
    }
}

/// The extension that division and remainder keep.
fn sign_of(op: BinaryOp) -> UnaryOp {
    if matches!(op, UDiv | URem) { UnaryOp::ZeroExtend } else { UnaryOp::SignExtend }
}

/// The bits of a number; at least one.
fn length(number: u128) -> u32 {
    (128 - number.leading_zeros()).max(1)
}
