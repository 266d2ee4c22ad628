//! Expressions of a trace as terms of 64 bits.
//!
//! **Follows.** `docs/trace-format.md`, *Expressions*. SMT-LIB means the same by its operations,
//! but for signed division by 0, which is 1 for a negative dividend there and -1 always with us;
//! unsigned division by 0 is all ones in both. Comparisons and logic give words here and booleans
//! there.

use foretrace_trace::NameId;
use foretrace_trace::expr::{BinaryOp, Expr, UnaryOp};

use crate::term::Term;

/// Our signed division, a function that [`DEFINED_DIVISION`] defines. (Written out, nested divisors
/// would double the term each time.)
pub(crate) const DIVISION: &str = "div64";
pub(crate) const DEFINED_DIVISION: &str =
    "(define-fun div64 ((a (_ BitVec 64)) (b (_ BitVec 64))) (_ BitVec 64)
  (ite (= b (_ bv0 64)) (bvnot (_ bv0 64)) (bvsdiv a b)))";

/// The value of an expression, where `value` knows the word that each name means.
pub(crate) fn word(expr: &Expr, value: &impl Fn(NameId) -> Term) -> Term {
    match expr {
        Expr::Literal(word) => literal(*word),
        Expr::Name(name) => value(*name),
        Expr::Unary(UnaryOp::Neg, operand) => Term::Apply("bvneg", vec![word(operand, value)]),
        Expr::Unary(UnaryOp::BitNot, operand) => Term::Apply("bvnot", vec![word(operand, value)]),
        Expr::Unary(UnaryOp::Not, _) => one_if(truth(expr, value)),
        Expr::Unary(UnaryOp::ZeroExtend(width), operand) => {
            word(operand, value).bits(0, width.bits(), 64).as_word(width.bits())
        }
        Expr::Unary(UnaryOp::SignExtend(width), operand) => {
            word(operand, value).bits(0, width.bits(), 64).as_signed_word(width.bits())
        }
        Expr::Binary(op, left, right) => {
            let bits = |op| Term::binary(op, word(left, value), word(right, value));
            match op {
                BinaryOp::Add => bits("bvadd"),
                BinaryOp::Sub => bits("bvsub"),
                BinaryOp::Mul => bits("bvmul"),
                BinaryOp::Div => bits(DIVISION),
                BinaryOp::Rem => bits("bvsrem"),
                BinaryOp::And => bits("bvand"),
                BinaryOp::Or => bits("bvor"),
                BinaryOp::Xor => bits("bvxor"),
                BinaryOp::Shl => bits("bvshl"),
                BinaryOp::Shr => bits("bvashr"),
                BinaryOp::UDiv => bits("bvudiv"),
                BinaryOp::URem => bits("bvurem"),
                BinaryOp::LShr => bits("bvlshr"),
                BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Lt
                | BinaryOp::Le
                | BinaryOp::Gt
                | BinaryOp::Ge
                | BinaryOp::Ult
                | BinaryOp::Ule
                | BinaryOp::Ugt
                | BinaryOp::Uge
                | BinaryOp::LogicAnd
                | BinaryOp::LogicOr => one_if(truth(expr, value)),
            }
        }
        Expr::IfThenElse(condition, then, other) => {
            Term::choose(truth(condition, value), word(then, value), word(other, value))
        }
    }
}

/// Whether an expression is not 0.
pub(crate) fn truth(expr: &Expr, value: &impl Fn(NameId) -> Term) -> Term {
    match expr {
        Expr::Unary(UnaryOp::Not, operand) => truth(operand, value).negated(),
        Expr::Binary(op, left, right) => {
            let compared = |op| Term::binary(op, word(left, value), word(right, value));
            match op {
                BinaryOp::Eq => word(left, value).equals(word(right, value)),
                BinaryOp::Ne => word(left, value).equals(word(right, value)).negated(),
                BinaryOp::Lt => compared("bvslt"),
                BinaryOp::Le => compared("bvsle"),
                BinaryOp::Gt => compared("bvsgt"),
                BinaryOp::Ge => compared("bvsge"),
                BinaryOp::Ult => compared("bvult"),
                BinaryOp::Ule => compared("bvule"),
                BinaryOp::Ugt => compared("bvugt"),
                BinaryOp::Uge => compared("bvuge"),
                BinaryOp::LogicAnd => Term::and([truth(left, value), truth(right, value)]),
                BinaryOp::LogicOr => Term::or([truth(left, value), truth(right, value)]),
                _ => word(expr, value).equals(literal(0)).negated(),
            }
        }
        _ => word(expr, value).equals(literal(0)).negated(),
    }
}

fn literal(word: u64) -> Term {
    Term::Word { value: word, width: 64 }
}

fn one_if(condition: Term) -> Term {
    Term::choose(condition, literal(1), literal(0))
}
