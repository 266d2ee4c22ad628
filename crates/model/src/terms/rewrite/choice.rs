//! Rules for choices.
//!
//! A choice between 1 and 0 is its condition; choices between booleans are conjunctions and
//! disjunctions.

use super::super::node::Row;
use super::super::value::ones;
use super::super::{BinaryOp::*, Node, TermId, Terms, UnaryOp};
use super::Rewritten;

impl Terms {
    pub(super) fn simpler_ite(
        &mut self,
        condition: TermId,
        then: TermId,
        other: TermId,
    ) -> Rewritten {
        let width = self.width(then);
        if then == other {
            return Rewritten::Is(then);
        }
        if let Some(c) = self.as_constant(condition) {
            return Rewritten::Is(if c == 1 { then } else { other });
        }
        let ite = |condition, then, other| {
            Rewritten::Try(Row::new(Node::Ite(condition, then, other), width))
        };
        if let Some(c) = self.unary_of(UnaryOp::Not, condition) {
            return ite(c, other, then);
        }
        if let Node::Ite(c, x, y) = self.node(then)
            && (c == condition || self.are_opposite(c, condition))
        {
            return ite(condition, if c == condition { x } else { y }, other);
        }
        if let Node::Ite(c, x, y) = self.node(other)
            && (c == condition || self.are_opposite(c, condition))
        {
            return ite(condition, then, if c == condition { y } else { x });
        }
        if let Some((x, y)) = self.binary_of(Eq, condition)
            && ((x, y) == (then, other) || (y, x) == (then, other))
        {
            return Rewritten::Is(other);
        }
        if width == 1
            && let Some(step) = self.simpler_boolean_ite(condition, then, other)
        {
            return step;
        }
        match (self.as_constant(then), self.as_constant(other)) {
            (Some(1), Some(0)) => Rewritten::Is(self.zext(condition, width)),
            (Some(0), Some(1)) => {
                let negation = self.not(condition);
                Rewritten::Is(self.zext(negation, width))
            }
            (Some(t), Some(0)) if t == ones(width) => Rewritten::Is(self.sext(condition, width)),
            _ => self.narrowed_ite(condition, then, other),
        }
    }

    fn simpler_boolean_ite(
        &mut self,
        condition: TermId,
        then: TermId,
        other: TermId,
    ) -> Option<Rewritten> {
        Some(match (self.as_constant(then), self.as_constant(other)) {
            (Some(1), Some(_)) => Rewritten::Is(condition),
            (Some(_), Some(_)) => self.try_unary(UnaryOp::Not, condition),
            (Some(1), _) => self.try_binary(Or, condition, other),
            (_, Some(0)) => self.try_binary(And, condition, then),
            (Some(_), _) => {
                let negation = self.not(condition);
                self.try_binary(And, negation, other)
            }
            (_, Some(_)) => {
                let negation = self.not(condition);
                self.try_binary(Or, negation, then)
            }
            _ if then == condition => self.try_binary(Or, condition, other),
            _ if other == condition => self.try_binary(And, condition, then),
            _ if self.are_opposite(then, other) => self.try_binary(Eq, condition, then),
            _ => return None,
        })
    }

    /// A choice between extended terms is an extended choice.
    fn narrowed_ite(&mut self, condition: TermId, then: TermId, other: TermId) -> Rewritten {
        let width = self.width(then);
        for op in [UnaryOp::ZeroExtend, UnaryOp::SignExtend] {
            if let Some((x, y)) = self.both_narrowed(op, then, other) {
                let choice = self.ite(condition, x, y);
                return Rewritten::Try(Row::new(Node::Unary(op, choice), width));
            }
        }
        Rewritten::Keep
    }
}
