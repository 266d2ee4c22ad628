//! Rules for extension, extraction and concatenation.
//!
//! C computes with at least 32 bits and stores fewer: the extraction of an operation on extended operands becomes the
//! operation on the operands themselves. The bytes of one word, put together again, are the word.

use super::super::node::Row;
use super::super::value::{ones, signed};
use super::super::{BinaryOp::*, Node, TermId, Terms, UnaryOp};
use super::Step;

impl Terms {
    pub(super) fn simpler_zext(&mut self, a: TermId, width: u32) -> Step {
        match self.unary_of(UnaryOp::ZeroExtend, a) {
            Some(x) => Step::Is(self.zext(x, width)),
            None => Step::Keep,
        }
    }

    pub(super) fn simpler_sext(&mut self, a: TermId, width: u32) -> Step {
        if let Some(x) = self.unary_of(UnaryOp::SignExtend, a) {
            return Step::Is(self.sext(x, width));
        }
        match self.is_nonnegative(a) {
            true => Step::Is(self.zext(a, width)),
            false => Step::Keep,
        }
    }

    pub(super) fn simpler_extract(&mut self, of: TermId, low: u32, width: u32) -> Step {
        if self.possible_bits(of) >> low & ones(width) == 0 {
            return self.is_constant(0, width);
        }
        match self.node(of) {
            Node::Extract { of: x, low: first } => self.try_extract(x, low + first as u32, width),
            Node::Unary(op @ (UnaryOp::ZeroExtend | UnaryOp::SignExtend), x) => {
                self.extract_of_extension(op, x, low, width)
            }
            Node::Binary(Concat, x, y) => {
                let split = self.width(y);
                if low + width <= split {
                    self.try_extract(y, low, width)
                } else if low >= split {
                    self.try_extract(x, low - split, width)
                } else {
                    Step::Keep
                }
            }
            Node::Binary(op, x, y) => {
                if let Some(c) = self.as_constant(y)
                    && let Some(step) = self.extract_with_constant(of, x, c, low, width)
                {
                    return step;
                }
                if low > 0 {
                    return Step::Keep;
                }
                let narrow = match op {
                    Add | Sub | Mul | And | Or | Xor => {
                        (self.narrowed(x, width), self.narrowed(y, width))
                    }
                    UDiv | URem => {
                        let by = UnaryOp::ZeroExtend;
                        (self.narrowed_exactly(by, x, width), self.narrowed_exactly(by, y, width))
                    }
                    SDiv | SRem => {
                        let by = UnaryOp::SignExtend;
                        (self.narrowed_exactly(by, x, width), self.narrowed_exactly(by, y, width))
                    }
                    Shl => match self.as_constant(y) {
                        Some(by) if by < width as u128 => {
                            (self.narrowed(x, width), Some(self.constant(by, width)))
                        }
                        _ => return Step::Keep,
                    },
                    _ => return Step::Keep,
                };
                match narrow {
                    (Some(x), Some(y)) => self.try_binary(op, x, y),
                    _ => Step::Keep,
                }
            }
            Node::Unary(op, x) if low == 0 => match self.narrowed(x, width) {
                Some(x) => self.try_unary(op, x),
                None => Step::Keep,
            },
            Node::Ite(condition, x, y) if low == 0 => {
                match (self.narrowed(x, width), self.narrowed(y, width)) {
                    (Some(x), Some(y)) => Step::Try(Row::new(Node::Ite(condition, x, y), width)),
                    _ => Step::Keep,
                }
            }
            _ => Step::Keep,
        }
    }

    fn try_extract(&self, of: TermId, low: u32, width: u32) -> Step {
        if self.width(of) == width {
            return Step::Is(of);
        }
        Step::Try(Row::new(Node::Extract { of, low: low as u8 }, width))
    }

    fn extract_of_extension(&mut self, op: UnaryOp, x: TermId, low: u32, width: u32) -> Step {
        let inner = self.width(x);
        if low + width <= inner {
            return self.try_extract(x, low, width);
        }
        match op {
            _ if low == 0 => Step::Is(self.extended(op, x, width)),
            // That there is something of x left was seen from the bits that may be 1.
            UnaryOp::ZeroExtend => {
                let rest = self.extract(x, low, inner - low);
                Step::Is(self.zext(rest, width))
            }
            _ if low < inner => {
                let rest = self.extract(x, low, inner - low);
                Step::Is(self.sext(rest, width))
            }
            _ => Step::Keep,
        }
    }

    /// The extraction of a bitwise operation or a shift with a constant, where the constant does not matter.
    fn extract_with_constant(
        &mut self,
        of: TermId,
        x: TermId,
        c: u128,
        low: u32,
        width: u32,
    ) -> Option<Step> {
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

    fn extended(&mut self, op: UnaryOp, x: TermId, width: u32) -> TermId {
        match op {
            UnaryOp::ZeroExtend => self.zext(x, width),
            _ => self.sext(x, width),
        }
    }

    /// The lowest bits of a term, where they are at hand without an extraction.
    fn narrowed(&mut self, term: TermId, width: u32) -> Option<TermId> {
        match self.node(term) {
            Node::Constant(bits) => Some(self.constant(bits.get(), width)),
            Node::Unary(op @ (UnaryOp::ZeroExtend | UnaryOp::SignExtend), x)
                if self.width(x) <= width =>
            {
                Some(self.extended(op, x, width))
            }
            _ => None,
        }
    }

    /// The lowest bits of a term, where the extension `by` gives the term back.
    fn narrowed_exactly(&mut self, by: UnaryOp, term: TermId, width: u32) -> Option<TermId> {
        if let Some(c) = self.as_constant(term) {
            let fits = match by {
                UnaryOp::ZeroExtend => c <= ones(width),
                _ => signed(c, self.width(term)) == signed(c, width),
            };
            return fits.then(|| self.constant(c, width));
        }
        let x = self.unary_of(by, term).filter(|&x| self.width(x) <= width)?;
        Some(self.extended(by, x, width))
    }

    pub(super) fn simpler_concat(&mut self, high: TermId, low: TermId) -> Step {
        let width = self.width(high) + self.width(low);
        if self.as_constant(high) == Some(0) {
            return Step::Is(self.zext(low, width));
        }
        if let Some(x) = self.unary_of(UnaryOp::ZeroExtend, high) {
            let joined = self.concat(x, low);
            return Step::Is(self.zext(joined, width));
        }
        if let Some(joined) = self.joined(high, low) {
            return Step::Is(joined);
        }
        if let Some((x, y)) = self.binary_of(Concat, high)
            && let Some(joined) = self.joined(y, low)
        {
            return self.try_binary(Concat, x, joined);
        }
        if let Some((x, y)) = self.binary_of(Concat, low)
            && let Some(joined) = self.joined(high, x)
        {
            return self.try_binary(Concat, joined, y);
        }
        Step::Keep
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
