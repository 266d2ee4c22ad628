//! Rules for sums, products and quotients.
//!
//! A difference with a constant is a sum; constants gather at the outermost sum. One-bit arithmetic
//! is logic. Negations written as `-1 - x` or `~x + 1` are recognised.

use super::super::value::ones;
use super::super::{BinaryOp::*, TermId, Terms, UnaryOp};
use super::Rewritten;

impl Terms {
    pub(super) fn simpler_add(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        if width == 1 {
            return self.try_binary(Xor, a, b);
        }
        if let Some(c) = self.as_constant(b) {
            return self.simpler_add_constant(a, c);
        }
        if self.are_opposite(a, b) {
            return self.is_constant(ones(width), width);
        }
        for (p, q) in [(a, b), (b, a)] {
            if let Some(x) = self.unary_of(UnaryOp::Neg, p) {
                return self.try_binary(Sub, q, x);
            }
            if let Some((x, y)) = self.binary_of(Sub, p)
                && y == q
            {
                return Rewritten::Is(x);
            }
        }
        Rewritten::Keep
    }

    fn simpler_add_constant(&mut self, a: TermId, c: u128) -> Rewritten {
        if c == 0 {
            return Rewritten::Is(a);
        }
        if let Some((x, d)) = self.with_constant(Add, a) {
            return self.try_with(Add, x, c.wrapping_add(d));
        }
        // What is subtracted from a constant.
        let (x, from) = if let Some((d, x)) = self.binary_of(Sub, a)
            && let Some(d) = self.as_constant(d)
        {
            (x, c.wrapping_add(d))
        } else if let Some(x) = self.unary_of(UnaryOp::Neg, a) {
            (x, c)
        } else if let Some(x) = self.unary_of(UnaryOp::Not, a) {
            (x, c.wrapping_sub(1))
        } else {
            return Rewritten::Keep;
        };
        let from = self.constant(from, self.width(x));
        self.try_binary(Sub, from, x)
    }

    pub(super) fn simpler_sub(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        if width == 1 {
            return self.try_binary(Xor, a, b);
        }
        if a == b {
            return self.is_constant(0, width);
        }
        if let Some(c) = self.as_constant(b) {
            return self.try_with(Add, a, c.wrapping_neg());
        }
        if let Some(c) = self.as_constant(a) {
            return self.simpler_sub_from_constant(c, b);
        }
        if let Some(y) = self.unary_of(UnaryOp::Neg, b) {
            return self.try_binary(Add, a, y);
        }
        if let (Some((x, c)), Some((y, d))) =
            (self.with_constant(Add, a), self.with_constant(Add, b))
        {
            let difference = self.sub(x, y);
            return self.try_with(Add, difference, c.wrapping_sub(d));
        }
        if let Some((x, y)) = self.binary_of(Add, a)
            && (b == x || b == y)
        {
            return Rewritten::Is(if b == x { y } else { x });
        }
        if let Some((x, y)) = self.binary_of(Add, b)
            && (a == x || a == y)
        {
            return self.try_unary(UnaryOp::Neg, if a == x { y } else { x });
        }
        match (self.binary_of(Sub, a), self.binary_of(Sub, b)) {
            (Some((x, y)), _) if x == b => self.try_unary(UnaryOp::Neg, y),
            (_, Some((x, y))) if x == a => Rewritten::Is(y),
            _ => Rewritten::Keep,
        }
    }

    fn simpler_sub_from_constant(&mut self, c: u128, b: TermId) -> Rewritten {
        if let Some((x, d)) = self.with_constant(Add, b) {
            let from = self.constant(c.wrapping_sub(d), self.width(x));
            return self.try_binary(Sub, from, x);
        }
        if let Some((d, x)) = self.binary_of(Sub, b)
            && let Some(d) = self.as_constant(d)
        {
            return self.try_with(Add, x, c.wrapping_sub(d));
        }
        if let Some(x) = self.unary_of(UnaryOp::Neg, b) {
            return self.try_with(Add, x, c);
        }
        if let Some(x) = self.unary_of(UnaryOp::Not, b) {
            return self.try_with(Add, x, c.wrapping_add(1));
        }
        match c {
            0 => self.try_unary(UnaryOp::Neg, b),
            c if c == ones(self.width(b)) => self.try_unary(UnaryOp::Not, b),
            _ => Rewritten::Keep,
        }
    }

    pub(super) fn simpler_mul(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        if width == 1 {
            return self.try_binary(And, a, b);
        }
        let Some(c) = self.as_constant(b) else {
            return match self.both(UnaryOp::Neg, a, b) {
                Some((x, y)) => self.try_binary(Mul, x, y),
                None => Rewritten::Keep,
            };
        };
        if c == 0 || c == 1 {
            return Rewritten::Is(if c == 0 { b } else { a });
        }
        if c == ones(width) {
            return self.try_unary(UnaryOp::Neg, a);
        }
        if let Some((x, d)) = self.with_constant(Mul, a) {
            return self.try_with(Mul, x, c.wrapping_mul(d));
        }
        if let Some(x) = self.unary_of(UnaryOp::Neg, a) {
            return self.try_with(Mul, x, c.wrapping_neg());
        }
        match self.with_constant(Shl, a) {
            Some((x, by)) if by < width as u128 => self.try_with(Mul, x, c << by),
            _ => Rewritten::Keep,
        }
    }

    pub(super) fn simpler_neg(&mut self, a: TermId) -> Rewritten {
        let width = self.width(a);
        if width == 1 {
            return Rewritten::Is(a);
        }
        if let Some(x) = self.unary_of(UnaryOp::Neg, a) {
            return Rewritten::Is(x);
        }
        if let Some(x) = self.unary_of(UnaryOp::Not, a) {
            return self.try_with(Add, x, 1);
        }
        if let Some((x, y)) = self.binary_of(Sub, a) {
            return self.try_binary(Sub, y, x);
        }
        if let Some((x, c)) = self.with_constant(Add, a) {
            let from = self.constant(c.wrapping_neg(), width);
            return self.try_binary(Sub, from, x);
        }
        match self.with_constant(Mul, a) {
            Some((x, c)) => self.try_with(Mul, x, c.wrapping_neg()),
            None => Rewritten::Keep,
        }
    }

    pub(super) fn simpler_udiv(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        let Some(c) = self.as_constant(b) else { return Rewritten::Keep };
        if c == 0 {
            return self.is_constant(ones(width), width);
        }
        if c.is_power_of_two() {
            return self.try_with(LShr, a, c.trailing_zeros() as u128);
        }
        if self.possible_bits(a) < c {
            return self.is_constant(0, width);
        }
        // Not for other divisors, which may be 0: all ones are not the same number in both widths.
        let Some(x) = self.unary_of(UnaryOp::ZeroExtend, a) else { return Rewritten::Keep };
        let c = self.constant(c, self.width(x));
        let quotient = self.udiv(x, c);
        Rewritten::Is(self.zext(quotient, width))
    }

    pub(super) fn simpler_urem(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        if a == b || self.as_constant(a) == Some(0) {
            return self.is_constant(0, width);
        }
        if let Some(c) = self.as_constant(b) {
            if c == 0 || self.possible_bits(a) < c {
                return Rewritten::Is(a);
            }
            if c.is_power_of_two() {
                return self.try_with(And, a, c - 1);
            }
            let Some(x) = self.unary_of(UnaryOp::ZeroExtend, a) else { return Rewritten::Keep };
            let c = self.constant(c, self.width(x));
            let remainder = self.urem(x, c);
            return Rewritten::Is(self.zext(remainder, width));
        }
        match self.both_narrowed(UnaryOp::ZeroExtend, a, b) {
            Some((x, y)) => {
                let remainder = self.urem(x, y);
                Rewritten::Is(self.zext(remainder, width))
            }
            None => Rewritten::Keep,
        }
    }

    pub(super) fn simpler_sdiv(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        match self.as_constant(b) {
            Some(0) => self.is_constant(ones(width), width),
            Some(1) => Rewritten::Is(a),
            Some(c) if c == ones(width) => self.try_unary(UnaryOp::Neg, a),
            _ if self.is_nonnegative(a) && self.is_nonnegative(b) => self.try_binary(UDiv, a, b),
            // Not MIN / -1, the quotient that has one bit more than its operands.
            divisor if divisor.is_some() || self.is_nonnegative(a) || self.is_nonnegative(b) => {
                match self.both_narrowed(UnaryOp::SignExtend, a, b) {
                    Some((x, y)) => {
                        let quotient = self.sdiv(x, y);
                        Rewritten::Is(self.sext(quotient, width))
                    }
                    None => Rewritten::Keep,
                }
            }
            _ => Rewritten::Keep,
        }
    }

    pub(super) fn simpler_srem(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        if a == b || self.as_constant(a) == Some(0) {
            return self.is_constant(0, width);
        }
        match self.as_constant(b) {
            Some(0) => Rewritten::Is(a),
            Some(c) if c == 1 || c == ones(width) => self.is_constant(0, width),
            _ if self.is_nonnegative(a) && self.is_nonnegative(b) => self.try_binary(URem, a, b),
            _ => match self.both_narrowed(UnaryOp::SignExtend, a, b) {
                Some((x, y)) => {
                    let remainder = self.srem(x, y);
                    Rewritten::Is(self.sext(remainder, width))
                }
                None => Rewritten::Keep,
            },
        }
    }
}
