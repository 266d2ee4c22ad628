//! Rules for comparisons.
//!
//! What is done to both sides, and keeps or reverses the order, is undone; bounds of the operands
//! decide.

use foretrace_words::{cut, signed};

use super::super::value::{least, most, ones};
use super::super::{BinaryOp, BinaryOp::*, Node, TermId, Terms, UnaryOp};
use super::Rewritten;

impl Terms {
    pub(super) fn simpler_eq(&mut self, a: TermId, b: TermId) -> Rewritten {
        if a == b {
            return self.is_boolean(true);
        }
        if self.are_opposite(a, b) {
            return self.is_boolean(false);
        }
        if let Some(c) = self.as_constant(b) {
            return self.simpler_eq_constant(a, c);
        }
        for op in [UnaryOp::Not, UnaryOp::Neg] {
            if let Some((x, y)) = self.both(op, a, b) {
                return self.try_binary(Eq, x, y);
            }
        }
        for op in [UnaryOp::ZeroExtend, UnaryOp::SignExtend] {
            if let Some((x, y)) = self.both(op, a, b) {
                return self.narrowed_comparison(Eq, op, x, y);
            }
        }
        if let Some(step) = self.compared_in_fewer_bits(Eq, a, b) {
            return step;
        }
        for op in [Add, Xor] {
            if let Some(step) = self.cancelled(op, a, b) {
                return step;
            }
        }
        if let (Some((x, y)), Some((u, v))) = (self.concat_of(a), self.concat_of(b))
            && self.width(y) == self.width(v)
            && (x == u || y == v)
        {
            return if x == u { self.try_binary(Eq, y, v) } else { self.try_binary(Eq, x, u) };
        }
        for (p, q) in [(a, b), (b, a)] {
            if let Some((x, y)) = self.binary_of(Sub, p)
                && x == q
            {
                return self.try_with(Eq, y, 0);
            }
            if self.width(a) == 1
                && let Some(x) = self.unary_of(UnaryOp::Not, p)
            {
                return self.try_binary(Xor, x, q);
            }
        }
        Rewritten::Keep
    }

    /// Equality of sums, or of exclusive disjunctions, that have something in common.
    fn cancelled(&mut self, op: BinaryOp, a: TermId, b: TermId) -> Option<Rewritten> {
        for (p, q) in [(a, b), (b, a)] {
            if let Some((x, y)) = self.binary_of(op, p)
                && (q == x || q == y)
            {
                return Some(self.try_with(Eq, if q == x { y } else { x }, 0));
            }
        }
        let ((x, y), (u, v)) = (self.binary_of(op, a)?, self.binary_of(op, b)?);
        for ((common, p), (also, q)) in
            [((x, y), (u, v)), ((x, y), (v, u)), ((y, x), (u, v)), ((y, x), (v, u))]
        {
            if common == also {
                return Some(self.try_binary(Eq, p, q));
            }
        }
        let (c, d) = (self.as_constant(y)?, self.as_constant(v)?);
        let constant = if op == Add { c.wrapping_sub(d) } else { c ^ d };
        let constant = self.constant(constant, self.width(x));
        let left = self.binary(op, x, constant);
        Some(self.try_binary(Eq, left, u))
    }

    fn simpler_eq_constant(&mut self, a: TermId, c: u128) -> Rewritten {
        let width = self.width(a);
        if width == 1 {
            return if c == 1 { Rewritten::Is(a) } else { self.try_unary(UnaryOp::Not, a) };
        }
        if c & !self.possible_bits(a) != 0 || c < self.lower_bound(a) {
            return self.is_boolean(false);
        }
        match self.node(a) {
            Node::Unary(UnaryOp::Not, x) => self.try_with(Eq, x, !c),
            Node::Unary(UnaryOp::Neg, x) => self.try_with(Eq, x, c.wrapping_neg()),
            Node::Unary(UnaryOp::ZeroExtend, x) => self.try_with(Eq, x, c),
            Node::Unary(UnaryOp::SignExtend, x) => match self.sign_fits(c, width, self.width(x)) {
                true => self.try_with(Eq, x, c),
                false => self.is_boolean(false),
            },
            Node::Binary(op, x, y) => match (op, self.as_constant(x), self.as_constant(y)) {
                (Add, _, Some(d)) => self.try_with(Eq, x, c.wrapping_sub(d)),
                (Xor, _, Some(d)) => self.try_with(Eq, x, c ^ d),
                (Sub, Some(d), _) => self.try_with(Eq, y, d.wrapping_sub(c)),
                (Sub | Xor, ..) if c == 0 => self.try_binary(Eq, x, y),
                (Or, _, Some(d)) if d & !c != 0 => self.is_boolean(false),
                _ => Rewritten::Keep,
            },
            Node::Concat(x, y) => match (self.as_constant(x), self.as_constant(y)) {
                (Some(high), _) if c >> self.width(y) == high => self.try_with(Eq, y, c),
                (_, Some(low)) if cut(c, self.width(y)) == low => {
                    self.try_with(Eq, x, c >> self.width(y))
                }
                (None, None) => Rewritten::Keep,
                _ => self.is_boolean(false),
            },
            _ => Rewritten::Keep,
        }
    }

    /// `op` is one of `Ult`, `Ule`, `Slt`, `Sle`.
    pub(super) fn simpler_order(&mut self, op: BinaryOp, a: TermId, b: TermId) -> Rewritten {
        let width = self.width(a);
        let is_strict = matches!(op, Ult | Slt);
        let is_signed = matches!(op, Slt | Sle);
        if a == b {
            return self.is_boolean(!is_strict);
        }
        if let Some(known) = self.decided_by_bounds(is_signed, is_strict, a, b) {
            return self.is_boolean(known);
        }
        if is_signed && self.is_nonnegative(a) && self.is_nonnegative(b) {
            return self.try_binary(if is_strict { Ult } else { Ule }, a, b);
        }
        if let Some(step) = self.next_to_the_end(is_signed, is_strict, a, b) {
            return step;
        }
        for extension in [UnaryOp::ZeroExtend, UnaryOp::SignExtend] {
            // Extension by zeros changes signs; by signs it keeps both orders.
            if is_signed && extension == UnaryOp::ZeroExtend {
                continue;
            }
            if let Some((x, y)) = self.both(extension, a, b) {
                return self.narrowed_comparison(op, extension, x, y);
            }
            let fits = |terms: &Terms, c: u128, x: TermId| match extension {
                UnaryOp::ZeroExtend => c <= ones(terms.width(x)),
                _ => terms.sign_fits(c, width, terms.width(x)),
            };
            if let (Some(x), Some(c)) = (self.unary_of(extension, a), self.as_constant(b))
                && fits(self, c, x)
            {
                return self.try_with(op, x, c);
            }
            if let (Some(c), Some(y)) = (self.as_constant(a), self.unary_of(extension, b))
                && fits(self, c, y)
            {
                let c = self.constant(c, self.width(y));
                return self.try_binary(op, c, y);
            }
        }
        if let Some(step) = self.compared_in_fewer_bits(op, a, b) {
            return step;
        }
        match (self.negated(a), self.negated(b)) {
            (Some(x), Some(y)) => {
                let (x, y) = (self.operand(x, width), self.operand(y, width));
                self.try_binary(op, y, x)
            }
            _ => Rewritten::Keep,
        }
    }

    /// What the negation of a term is, if that is no larger: a term, or the value of a constant.
    fn negated(&self, term: TermId) -> Option<Result<TermId, u128>> {
        match self.as_constant(term) {
            Some(c) => Some(Err(!c)),
            None => self.unary_of(UnaryOp::Not, term).map(Ok),
        }
    }

    fn operand(&mut self, operand: Result<TermId, u128>, width: u32) -> TermId {
        operand.unwrap_or_else(|value| self.constant(value, width))
    }

    fn decided_by_bounds(
        &self,
        is_signed: bool,
        is_strict: bool,
        a: TermId,
        b: TermId,
    ) -> Option<bool> {
        // The least and the largest number that a term can be.
        let bounds = |term: TermId| -> (i128, i128) {
            let width = self.width(term);
            let inner = self.unary_of(UnaryOp::SignExtend, term).map(|x| self.width(x));
            match (self.as_constant(term), inner) {
                (Some(c), _) => (signed(c, width), signed(c, width)),
                (None, Some(inner)) => (signed(least(inner), inner), most(inner) as i128),
                _ if self.is_nonnegative(term) => (0, self.possible_bits(term) as i128),
                _ => (signed(least(width), width), most(width) as i128),
            }
        };
        let (is_surely, is_surely_not) = if is_signed {
            let ((least_a, most_a), (least_b, most_b)) = (bounds(a), bounds(b));
            match is_strict {
                true => (most_a < least_b, least_a >= most_b),
                false => (most_a <= least_b, least_a > most_b),
            }
        } else {
            let (least_a, most_a) = (self.lower_bound(a), self.possible_bits(a));
            let (least_b, most_b) = (self.lower_bound(b), self.possible_bits(b));
            match is_strict {
                true => (most_a < least_b, least_a >= most_b),
                false => (most_a <= least_b, least_a > most_b),
            }
        };
        (is_surely || is_surely_not).then_some(is_surely)
    }

    /// Next to the end of the numbers an order is an equality: below 1 is only 0.
    fn next_to_the_end(
        &mut self,
        is_signed: bool,
        is_strict: bool,
        a: TermId,
        b: TermId,
    ) -> Option<Rewritten> {
        let width = self.width(a);
        let (bottom, top) = if is_signed { (least(width), most(width)) } else { (0, ones(width)) };
        let distance = is_strict as u128;
        if self.as_constant(b) == Some(cut(bottom.wrapping_add(distance), width)) {
            return Some(self.try_with(Eq, a, bottom));
        }
        if self.as_constant(a) == Some(cut(top.wrapping_sub(distance), width)) {
            return Some(self.try_with(Eq, b, top));
        }
        None
    }

    /// A comparison of x and y, both extended: no further than necessary.
    fn narrowed_comparison(
        &mut self,
        op: BinaryOp,
        by: UnaryOp,
        x: TermId,
        y: TermId,
    ) -> Rewritten {
        let width = self.width(x).max(self.width(y));
        let mut extended = |term: TermId| match by {
            UnaryOp::ZeroExtend => self.zext(term, width),
            _ => self.sext(term, width),
        };
        let (x, y) = (extended(x), extended(y));
        self.try_binary(op, x, y)
    }

    /// A comparison of numbers that are the same with fewer bits and a sign, as of one that is
    /// extended by its sign and a shorter one that is extended by zeros.
    fn compared_in_fewer_bits(&mut self, op: BinaryOp, a: TermId, b: TermId) -> Option<Rewritten> {
        let by = UnaryOp::SignExtend;
        let needed = self.needed_bits(by, a)?.max(self.needed_bits(by, b)?);
        if needed >= self.width(a) {
            return None;
        }
        let (x, y) = (self.fitted(by, a, needed), self.fitted(by, b, needed));
        Some(self.try_binary(op, x, y))
    }

    /// Whether a number of `width` bits is one of `inner` bits with its sign repeated.
    fn sign_fits(&self, c: u128, width: u32, inner: u32) -> bool {
        signed(c, width) == signed(c, inner)
    }
}
