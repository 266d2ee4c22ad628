//! The value of an expression.
//!
//! All values are 64-bit words. Arithmetic wraps; `/`, `%`, `>>` and the comparisons take their
//! operands as signed, those with a `u` behind them as unsigned. `u8(x)` and `s8(x)` keep the
//! lowest bits, as a number without or with sign. So that every expression has a value, as a term
//! of a solver has:
//!
//! - `x / 0` and `x /u 0` are all ones, `x % 0` and `x %u 0` are x; the smallest number divided by
//!   -1 is itself, remainder 0;
//! - a shift amount is taken as unsigned; `<<` and `>>u` by 64 or more give 0, `>>` gives 0 or -1,
//!   the sign;
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
            let is_decided = match left {
                0 => *op == BinaryOp::LogicAnd,
                _ => *op == BinaryOp::LogicOr,
            };
            if is_decided { (left != 0).into() } else { binary(*op, left, evaluate(right, value)?) }
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
        UnaryOp::ZeroExtend(width) => {
            let above = 64 - width.bits();
            a << above >> above
        }
        UnaryOp::SignExtend(width) => {
            let above = 64 - width.bits();
            ((a << above) as i64 >> above) as u64
        }
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
        BinaryOp::Ult => (a < b) as u64,
        BinaryOp::Ule => (a <= b) as u64,
        BinaryOp::Ugt => (a > b) as u64,
        BinaryOp::Uge => (a >= b) as u64,
        BinaryOp::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        BinaryOp::URem => a.checked_rem(b).unwrap_or(a),
        BinaryOp::LShr => {
            if b < 64 {
                a >> b
            } else {
                0
            }
        }
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
            (BinaryOp::Ult, minus(-1), 0, 0),
            (BinaryOp::Uge, minus(-1), 0, 1),
            (BinaryOp::UDiv, 7, 0, minus(-1)),
            (BinaryOp::UDiv, minus(-1), 2, i64::MAX as u64),
            (BinaryOp::URem, 7, 0, 7),
            (BinaryOp::URem, minus(i64::MIN), minus(-1), minus(i64::MIN)),
            (BinaryOp::LShr, minus(-1), 63, 1),
            (BinaryOp::LShr, minus(-1), 64, 0),
            (BinaryOp::LShr, minus(-1), minus(-1), 0),
        ] {
            assert_eq!(binary(op, a, b), expected, "{op:?} {a} {b}");
        }
    }

    /// A number of n bits as a word, the operation as LLVM defines it for n bits, and as an
    /// expression over words.
    #[test]
    fn narrow_operations_are_expressions_over_words() {
        let mut random = foretrace_testing::Random::new(1);
        for _ in 0..40_000 {
            let bits = 8 + random.below(57) as u32;
            let mask = u64::MAX >> (64 - bits);
            let mut number = || {
                let word =
                    (random.below(1 << 31) as u64) << 33 ^ (random.below(1 << 31) as u64) << 11;
                match random.below(3) {
                    0 => word & mask,
                    1 => random.pick(&[0, 1, 2, 7, u64::from(bits), mask / 2, mask / 2 + 1, mask]),
                    _ => mask - random.below(4) as u64,
                }
            };
            let (a, b) = (number(), number());
            check_narrow(a, b, bits);
        }
    }

    fn check_narrow(a: u64, b: u64, bits: u32) {
        let signed = |word: u64| {
            let word = i128::from(word);
            if word >> (bits - 1) & 1 == 1 { word - (1 << bits) } else { word }
        };
        let cut = |number: i128| (number & ((1 << bits) - 1)) as u64;
        let (x, y, p, q) = (i128::from(a), i128::from(b), signed(a), signed(b));
        let all_ones = cut(-1);
        let amount = y.min(127) as u32;
        use BinaryOp::*;
        let expected = [
            (Add, false, cut(x + y)),
            (Sub, false, cut(x - y)),
            (Mul, false, (a as u128).wrapping_mul(b as u128) as u64 & all_ones),
            (UDiv, false, if y == 0 { all_ones } else { cut(x / y) }),
            (URem, false, if y == 0 { a } else { cut(x % y) }),
            (Div, true, if q == 0 { all_ones } else { cut(p / q) }),
            (Rem, true, if q == 0 { a } else { cut(p % q) }),
            (Shl, false, if y < i128::from(bits) { cut(x << amount) } else { 0 }),
            (LShr, false, if y < i128::from(bits) { cut(x >> amount) } else { 0 }),
            (Ult, false, (x < y) as u64),
            (Uge, false, (x >= y) as u64),
            (Lt, true, (p < q) as u64),
            (Ge, true, (p >= q) as u64),
        ];
        let literal = |word: u64, is_signed: bool| {
            let word = Expr::Literal(word);
            if is_signed { word.sign_extended(bits) } else { word }
        };
        for (op, is_signed, value) in expected {
            let (left, right) = (literal(a, is_signed), literal(b, is_signed));
            let expr = Expr::Binary(op, left.into(), right.into()).zero_extended(bits);
            let found = evaluate(&expr, &|_| None);
            assert_eq!(found, Some(value), "{op:?} {a} {b} of {bits} bits");
        }
        // The amount of a shift is unsigned, whatever is shifted.
        let shifted = Expr::Binary(Shr, literal(a, true).into(), literal(b, false).into());
        let value = cut(p >> amount);
        assert_eq!(evaluate(&shifted.zero_extended(bits), &|_| None), Some(value));
    }

    #[test]
    fn a_skipped_operand_need_not_be_known() {
        let unknown = Box::new(Expr::Name(NameId(0)));
        let zero = Box::new(Expr::Literal(0));
        let and = Expr::Binary(BinaryOp::LogicAnd, zero, unknown);
        assert_eq!(evaluate(&and, &|_| None), Some(0));
    }
}
