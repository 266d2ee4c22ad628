//! What an expression is worth.
//!
//! All values are 64-bit words. Arithmetic wraps; `/`, `%`, `>>` and the comparisons take their
//! operands as signed. So that every expression has a value, as a term of a solver has:
//!
//! - `x / 0` is -1 (all ones), `x % 0` is x; the smallest number divided by -1 is itself, remainder
//!   0;
//! - a shift amount is taken as unsigned; shifting left by 64 or more gives 0, shifting right gives
//!   0 or -1, the sign;
//! - comparisons, `!`, `&&` and `||` give 0 or 1, and take every word but 0 as true.

use crate::expr::{BinaryOp, Expr, UnaryOp};
use crate::ids::NameId;

/// The value of an expression, where `value` knows what each read saw; `None` if a read that
/// counts has no known value. (As in C, `&&`, `||` and `?:` need not know the operand that they
/// skip.)
pub fn evaluate(expr: &Expr, value: &impl Fn(NameId) -> Option<u64>) -> Option<u64> {
    Some(match expr {
        Expr::Literal(word) => *word,
        Expr::Name(name) => value(*name)?,
        Expr::Unary(op, operand) => unary(*op, evaluate(operand, value)?),
        Expr::Binary(op, left, right) => {
            let left = evaluate(left, value)?;
            match op {
                BinaryOp::LogicAnd if left == 0 => 0,
                BinaryOp::LogicOr if left != 0 => 1,
                _ => binary(*op, left, evaluate(right, value)?),
            }
        }
        Expr::IfThenElse(condition, then, other) => {
            let taken = if evaluate(condition, value)? != 0 { then } else { other };
            evaluate(taken, value)?
        }
    })
}

/// The value of a unary operation.
pub fn unary(op: UnaryOp, a: u64) -> u64 {
    match op {
        UnaryOp::Neg => a.wrapping_neg(),
        UnaryOp::Not => (a == 0) as u64,
        UnaryOp::BitNot => !a,
    }
}

/// The value of a binary operation.
pub fn binary(op: BinaryOp, a: u64, b: u64) -> u64 {
    let (signed_a, signed_b) = (a as i64, b as i64);
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div if b == 0 => u64::MAX,
        BinaryOp::Div => signed_a.wrapping_div(signed_b) as u64,
        BinaryOp::Rem if b == 0 => a,
        BinaryOp::Rem => signed_a.wrapping_rem(signed_b) as u64,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => {
            if b < 64 {
                a << b
            } else {
                0
            }
        }
        BinaryOp::Shr => (signed_a >> b.min(63)) as u64,
        BinaryOp::Eq => (a == b) as u64,
        BinaryOp::Ne => (a != b) as u64,
        BinaryOp::Lt => (signed_a < signed_b) as u64,
        BinaryOp::Le => (signed_a <= signed_b) as u64,
        BinaryOp::Gt => (signed_a > signed_b) as u64,
        BinaryOp::Ge => (signed_a >= signed_b) as u64,
        BinaryOp::LogicAnd => (a != 0 && b != 0) as u64,
        BinaryOp::LogicOr => (a != 0 || b != 0) as u64,
    }
}

/// What is left of a word in an access of `size` bytes.
pub fn truncate(word: u64, size: u32) -> u64 {
    if size >= 8 { word } else { word & ((1 << (8 * size)) - 1) }
}

/// What a name is worth that a read of `size` bytes binds: its value, zero-extended. An access of
/// more than 8 bytes has no value.
pub fn bound_value(value: Option<u64>, size: u32) -> Option<u64> {
    value.filter(|_| size <= 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corner_cases_are_defined() {
        let minus = |word: i64| word as u64;
        for (op, a, b, expected) in [
            (BinaryOp::Div, 7, 0, minus(-1)),
            (BinaryOp::Div, minus(-7), 2, minus(-3)),
            (BinaryOp::Div, minus(i64::MIN), minus(-1), minus(i64::MIN)),
            (BinaryOp::Rem, 7, 0, 7),
            (BinaryOp::Rem, minus(-7), 2, minus(-1)),
            (BinaryOp::Rem, minus(i64::MIN), minus(-1), 0),
            (BinaryOp::Shl, 1, 63, 1 << 63),
            (BinaryOp::Shl, 1, 64, 0),
            (BinaryOp::Shl, 1, minus(-1), 0),
            (BinaryOp::Shr, minus(-8), 1, minus(-4)),
            (BinaryOp::Shr, minus(-8), 64, minus(-1)),
            (BinaryOp::Shr, 8, 1 << 40, 0),
            (BinaryOp::Lt, minus(-1), 0, 1),
            (BinaryOp::Add, u64::MAX, 2, 1),
        ] {
            assert_eq!(binary(op, a, b), expected, "{op:?} {a} {b}");
        }
    }

    #[test]
    fn a_skipped_operand_need_not_be_known() {
        let unknown = Box::new(Expr::Name(NameId(0)));
        let zero = Box::new(Expr::Literal(0));
        let and = Expr::Binary(BinaryOp::LogicAnd, zero, unknown);
        assert_eq!(evaluate(&and, &|_| None), Some(0));
    }
}
