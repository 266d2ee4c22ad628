//! Expressions of a trace as instructions.
//!
//! **Follows.** `docs/trace-format.md`, *Expressions*: values are words of 64 bits, `/`, `%`, `>>`
//! and comparisons are signed unless a `u` is behind them, comparisons and logical operators give 0
//! or 1 and take every word but 0 as true. Divisions by zero and long shifts are worth the same in
//! both forms.

use foretrace_trace::expr::{BinaryOp as Written, Expr, UnaryOp};

use crate::ir::{BinaryOp, Cast, Op, Operand};

use super::body::Body;

impl Body<'_> {
    /// The value of an expression, of 64 bits.
    pub(super) fn word(&mut self, expr: &Expr) -> Operand {
        match expr {
            Expr::Literal(word) => Operand::constant(*word, 64),
            Expr::Name(name) => self.value_of(*name),
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.word(a);
                self.binary(BinaryOp::Sub, Operand::constant(0, 64), a)
            }
            Expr::Unary(UnaryOp::BitNot, a) => {
                let a = self.word(a);
                self.binary(BinaryOp::Xor, a, Operand::constant(u64::MAX, 64))
            }
            Expr::Unary(UnaryOp::ZeroExtend(width), a) => {
                self.cast_word(Cast::ZeroExtend, width.bits(), a)
            }
            Expr::Unary(UnaryOp::SignExtend(width), a) => {
                self.cast_word(Cast::SignExtend, width.bits(), a)
            }
            Expr::Binary(op, a, b) if arithmetic(*op).is_some() => {
                let (a, b) = (self.word(a), self.word(b));
                self.binary(arithmetic(*op).expect("just asked"), a, b)
            }
            Expr::IfThenElse(condition, a, b) => {
                let condition = self.truth(condition);
                let (then, otherwise) = (self.word(a), self.word(b));
                self.compute(Op::Select { condition, then, otherwise }, 64)
            }
            Expr::Unary(UnaryOp::Not, _) | Expr::Binary(..) => {
                let value = self.truth(expr);
                self.compute(Op::Cast { cast: Cast::ZeroExtend, value }, 64)
            }
        }
    }

    /// The lowest bits of a word, extended to a word again.
    fn cast_word(&mut self, cast: Cast, bits: u32, expr: &Expr) -> Operand {
        let word = self.word(expr);
        let value = self.compute(Op::Cast { cast: Cast::Truncate, value: word }, bits as u8);
        self.compute(Op::Cast { cast, value }, 64)
    }

    /// Whether the value of an expression is not 0, in one bit.
    pub(super) fn truth(&mut self, expr: &Expr) -> Operand {
        let (op, a, b) = match expr {
            Expr::Literal(word) => return Operand::constant((*word != 0).into(), 1),
            Expr::Unary(UnaryOp::Not, a) => {
                let a = self.truth(a);
                return self.not(a);
            }
            Expr::Binary(op @ (Written::LogicAnd | Written::LogicOr), a, b) => {
                let op = if *op == Written::LogicAnd { BinaryOp::And } else { BinaryOp::Or };
                let (a, b) = (self.truth(a), self.truth(b));
                return self.binary(op, a, b);
            }
            Expr::Binary(Written::Eq, a, b) => (BinaryOp::Eq, a, b),
            Expr::Binary(Written::Ne, a, b) => (BinaryOp::Ne, a, b),
            Expr::Binary(Written::Lt, a, b) => (BinaryOp::Slt, a, b),
            Expr::Binary(Written::Le, a, b) => (BinaryOp::Sle, a, b),
            Expr::Binary(Written::Gt, a, b) => (BinaryOp::Slt, b, a),
            Expr::Binary(Written::Ge, a, b) => (BinaryOp::Sle, b, a),
            Expr::Binary(Written::Ult, a, b) => (BinaryOp::Ult, a, b),
            Expr::Binary(Written::Ule, a, b) => (BinaryOp::Ule, a, b),
            Expr::Binary(Written::Ugt, a, b) => (BinaryOp::Ult, b, a),
            Expr::Binary(Written::Uge, a, b) => (BinaryOp::Ule, b, a),
            _ => {
                let word = self.word(expr);
                return self.binary(BinaryOp::Ne, word, Operand::constant(0, 64));
            }
        };
        let (a, b) = (self.word(a), self.word(b));
        self.binary(op, a, b)
    }

    /// The opposite of one bit.
    pub(super) fn not(&mut self, bit: Operand) -> Operand {
        self.binary(BinaryOp::Xor, bit, Operand::constant(1, 1))
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: Operand, right: Operand) -> Operand {
        let width = if op.is_comparison() { 1 } else { self.width(left) };
        self.compute(Op::Binary { op, left, right }, width)
    }

    /// The lowest `size` bytes of a word.
    pub(super) fn cut(&mut self, word: Operand, size: u8) -> Operand {
        match word {
            Operand::Constant(constant) => Operand::constant(constant.value, size * 8),
            _ if size == 8 => word,
            _ => self.compute(Op::Cast { cast: Cast::Truncate, value: word }, size * 8),
        }
    }

    /// A value of `size` bytes as a word.
    pub(super) fn extended(&mut self, value: Operand, size: u8) -> Operand {
        if size == 8 {
            return value;
        }
        self.compute(Op::Cast { cast: Cast::ZeroExtend, value }, 64)
    }
}

/// The operations on words that give a word.
fn arithmetic(op: Written) -> Option<BinaryOp> {
    Some(match op {
        Written::Add => BinaryOp::Add,
        Written::Sub => BinaryOp::Sub,
        Written::Mul => BinaryOp::Mul,
        Written::Div => BinaryOp::SDiv,
        Written::Rem => BinaryOp::SRem,
        Written::And => BinaryOp::And,
        Written::Or => BinaryOp::Or,
        Written::Xor => BinaryOp::Xor,
        Written::Shl => BinaryOp::Shl,
        Written::Shr => BinaryOp::AShr,
        Written::UDiv => BinaryOp::UDiv,
        Written::URem => BinaryOp::URem,
        Written::LShr => BinaryOp::LShr,
        _ => return None,
    })
}
