//! Rules for bitwise operations, booleans among them, and for shifts.
//!
//! The negation of a comparison is the swapped comparison, so that a condition and its negation
//! meet as opposites.

use super::super::value::ones;
use super::super::{BinaryOp, BinaryOp::*, Node, TermId, Terms, UnaryOp};
use super::Rewritten;

impl Terms {
    pub(super) fn simpler_not(&mut self, a: TermId) -> Rewritten {
        let width = self.width(a);
        match self.node(a) {
            Node::Unary(UnaryOp::Not, x) => Rewritten::Is(x),
            Node::Unary(UnaryOp::Neg, x) => self.try_with(Add, x, u128::MAX),
            Node::Binary(Ult, x, y) => self.try_binary(Ule, y, x),
            Node::Binary(Ule, x, y) => self.try_binary(Ult, y, x),
            Node::Binary(Slt, x, y) => self.try_binary(Sle, y, x),
            Node::Binary(Sle, x, y) => self.try_binary(Slt, y, x),
            Node::Binary(Eq, x, y) if self.width(x) == 1 => self.try_binary(Xor, x, y),
            Node::Binary(Xor, x, y) if width == 1 => self.try_binary(Eq, x, y),
            Node::Binary(op, x, y) => match (op, self.as_constant(x), self.as_constant(y)) {
                (Xor, _, Some(c)) => self.try_with(Xor, x, !c),
                (Add, _, Some(c)) => {
                    let from = self.constant(!c, width);
                    self.try_binary(Sub, from, x)
                }
                (Sub, Some(c), _) => self.try_with(Add, y, !c),
                _ => Rewritten::Keep,
            },
            _ => Rewritten::Keep,
        }
    }

    /// `op` is `And` or `Or`, which are dual: the rules of one are those of the other with zeros
    /// for ones.
    pub(super) fn simpler_and_or(&mut self, op: BinaryOp, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        let (dual, neutral, absorbing) = match op {
            And => (Or, ones(width), 0),
            _ => (And, 0, ones(width)),
        };
        if a == b {
            return Rewritten::Is(a);
        }
        if self.are_opposite(a, b) {
            return self.is_constant(absorbing, width);
        }
        if let Some(c) = self.as_constant(b) {
            return match c {
                _ if c == neutral => Rewritten::Is(a),
                _ if c == absorbing => Rewritten::Is(b),
                _ if op == And => self.simpler_and_constant(a, b, c),
                _ => self.simpler_or_constant(a, b, c),
            };
        }
        for (p, q) in [(a, b), (b, a)] {
            if let Some((x, y)) = self.binary_of(op, p) {
                if q == x || q == y {
                    return Rewritten::Is(p);
                }
                if self.are_opposite(q, x) || self.are_opposite(q, y) {
                    return self.is_constant(absorbing, width);
                }
            }
            if let Some((x, y)) = self.binary_of(dual, p) {
                if q == x || q == y {
                    return Rewritten::Is(q);
                }
                if self.are_opposite(q, x) {
                    return self.try_binary(op, y, q);
                }
                if self.are_opposite(q, y) {
                    return self.try_binary(op, x, q);
                }
            }
        }
        self.narrowed_bitwise(op, a, b)
    }

    fn simpler_and_constant(&mut self, a: TermId, b: TermId, c: u128) -> Rewritten {
        let width = self.width(a);
        let possible = self.possible_bits(a);
        if possible & !c == 0 {
            return Rewritten::Is(a);
        }
        if possible & c == 0 {
            return self.is_constant(0, width);
        }
        if let Some((x, d)) = self.with_constant(And, a) {
            return self.try_with(And, x, c & d);
        }
        if let Some((x, d)) = self.with_constant(Or, a) {
            if c & !d == 0 {
                return Rewritten::Is(b);
            }
            if c & d == 0 {
                return self.try_binary(And, x, b);
            }
        }
        match self.unary_of(UnaryOp::ZeroExtend, a) {
            Some(x) => {
                let mask = self.constant(c, self.width(x));
                let masked = self.and(x, mask);
                Rewritten::Is(self.zext(masked, width))
            }
            None => self.narrowed_bitwise(And, a, b),
        }
    }

    fn simpler_or_constant(&mut self, a: TermId, b: TermId, c: u128) -> Rewritten {
        let width = self.width(a);
        if self.possible_bits(a) & !c == 0 {
            return Rewritten::Is(b);
        }
        if let Some((x, d)) = self.with_constant(Or, a) {
            return self.try_with(Or, x, c | d);
        }
        if let Some((x, d)) = self.with_constant(And, a)
            && c | d == ones(width)
        {
            return self.try_binary(Or, x, b);
        }
        match self.unary_of(UnaryOp::ZeroExtend, a) {
            Some(x) if c <= ones(self.width(x)) => {
                let bits = self.constant(c, self.width(x));
                let union = self.or(x, bits);
                Rewritten::Is(self.zext(union, width))
            }
            _ => self.narrowed_bitwise(Or, a, b),
        }
    }

    pub(super) fn simpler_xor(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        if a == b {
            return self.is_constant(0, width);
        }
        if self.are_opposite(a, b) {
            return self.is_constant(ones(width), width);
        }
        if let Some(c) = self.as_constant(b) {
            if c == 0 {
                return Rewritten::Is(a);
            }
            if c == ones(width) {
                return self.try_unary(UnaryOp::Not, a);
            }
            if let Some((x, d)) = self.with_constant(Xor, a) {
                return self.try_with(Xor, x, c ^ d);
            }
            return match self.unary_of(UnaryOp::Not, a) {
                Some(x) => self.try_with(Xor, x, !c),
                None => self.narrowed_bitwise(Xor, a, b),
            };
        }
        if let Some((x, y)) = self.both(UnaryOp::Not, a, b) {
            return self.try_binary(Xor, x, y);
        }
        for (p, q) in [(a, b), (b, a)] {
            if let Some((x, y)) = self.binary_of(Xor, p)
                && (q == x || q == y)
            {
                return Rewritten::Is(if q == x { y } else { x });
            }
            if width == 1
                && let Some(x) = self.unary_of(UnaryOp::Not, p)
            {
                return self.try_binary(Eq, x, q);
            }
        }
        self.narrowed_bitwise(Xor, a, b)
    }

    /// Zeros above both operands are zeros above the result, and so are signs.
    fn narrowed_bitwise(&mut self, op: BinaryOp, a: TermId, b: TermId) -> Rewritten {
        for by in [UnaryOp::ZeroExtend, UnaryOp::SignExtend] {
            if let Some((x, y)) = self.both_narrowed(by, a, b) {
                let narrow = self.binary(op, x, y);
                return Rewritten::Is(self.extended(by, narrow, self.width(a)));
            }
        }
        Rewritten::Keep
    }

    pub(super) fn simpler_shl(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        if self.as_constant(a) == Some(0) {
            return Rewritten::Is(a);
        }
        let Some(by) = self.as_constant(b) else { return Rewritten::Keep };
        if by == 0 {
            return Rewritten::Is(a);
        }
        if by >= width as u128 {
            return self.is_constant(0, width);
        }
        if let Some((x, first)) = self.with_constant(Shl, a) {
            return self.shifted_twice(Shl, x, first, by);
        }
        // What came in from the left goes out again.
        if let Some((x, first)) = self.with_constant(LShr, a).or(self.with_constant(AShr, a))
            && first == by
        {
            return self.try_with(And, x, ones(width) << by);
        }
        match self.with_constant(Mul, a) {
            Some((x, c)) => self.try_with(Mul, x, c << by),
            None => Rewritten::Keep,
        }
    }

    pub(super) fn simpler_lshr(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        if self.as_constant(a) == Some(0) {
            return Rewritten::Is(a);
        }
        let Some(by) = self.as_constant(b) else {
            return match self.both_narrowed(UnaryOp::ZeroExtend, a, b) {
                Some((x, y)) => {
                    let shifted = self.lshr(x, y);
                    Rewritten::Is(self.zext(shifted, width))
                }
                None => Rewritten::Keep,
            };
        };
        if by == 0 {
            return Rewritten::Is(a);
        }
        if by >= width as u128 || self.possible_bits(a) >> by == 0 {
            return self.is_constant(0, width);
        }
        if let Some((x, first)) = self.with_constant(LShr, a) {
            return self.shifted_twice(LShr, x, first, by);
        }
        if let Some((x, first)) = self.with_constant(Shl, a)
            && first == by
        {
            return self.try_with(And, x, ones(width) >> by);
        }
        match self.unary_of(UnaryOp::ZeroExtend, a) {
            Some(x) => {
                let by = self.constant(by, self.width(x));
                let shifted = self.lshr(x, by);
                Rewritten::Is(self.zext(shifted, width))
            }
            None => Rewritten::Keep,
        }
    }

    /// Two shifts in one direction that let zeros in.
    fn shifted_twice(&mut self, op: BinaryOp, x: TermId, first: u128, second: u128) -> Rewritten {
        let width = self.width(x);
        match first.saturating_add(second) {
            by if by < width as u128 => self.try_with(op, x, by),
            _ => self.is_constant(0, width),
        }
    }

    pub(super) fn simpler_ashr(&mut self, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        // The largest shift that makes a difference.
        let most = width as u128 - 1;
        if self.as_constant(a).is_some_and(|c| c == 0 || c == ones(width)) {
            return Rewritten::Is(a);
        }
        if self.is_nonnegative(a) {
            return self.try_binary(LShr, a, b);
        }
        let Some(by) = self.as_constant(b) else {
            let (Some(x), Some(y)) =
                (self.unary_of(UnaryOp::SignExtend, a), self.unary_of(UnaryOp::ZeroExtend, b))
            else {
                return Rewritten::Keep;
            };
            let narrow = self.width(x).max(self.width(y));
            let (x, y) = (self.sext(x, narrow), self.zext(y, narrow));
            let shifted = self.ashr(x, y);
            return Rewritten::Is(self.sext(shifted, width));
        };
        if by == 0 {
            return Rewritten::Is(a);
        }
        if by > most {
            return self.try_with(AShr, a, most);
        }
        if let Some((x, first)) = self.with_constant(AShr, a) {
            return self.try_with(AShr, x, first.saturating_add(by).min(most));
        }
        if let Some((x, first)) = self.with_constant(Shl, a)
            && first == by
        {
            let low = self.trunc(x, width - by as u32);
            return Rewritten::Is(self.sext(low, width));
        }
        match self.unary_of(UnaryOp::SignExtend, a) {
            Some(x) => {
                let by = by.min(self.width(x) as u128 - 1);
                let by = self.constant(by, self.width(x));
                let shifted = self.ashr(x, by);
                Rewritten::Is(self.sext(shifted, width))
            }
            None => Rewritten::Keep,
        }
    }
}
