//! What an operation is worth: the definitions of `docs/terms.md`.
//!
//! **Invariant.** A value of `width` bits is a number below 2^`width`; operands are expected to be,
//! results are.

use super::{BinaryOp, UnaryOp};

/// All ones.
#[inline]
pub(super) fn ones(width: u32) -> u128 {
    u128::MAX >> (128 - width)
}

/// The lowest `width` bits.
#[inline]
pub(super) fn cut(value: u128, width: u32) -> u128 {
    value & ones(width)
}

/// The value as a number with sign, in two's complement.
#[inline]
pub(super) fn signed(value: u128, width: u32) -> i128 {
    ((value << (128 - width)) as i128) >> (128 - width)
}

/// The smallest number with sign: only the highest bit is set.
pub(super) fn least(width: u32) -> u128 {
    1 << (width - 1)
}

/// The largest number with sign.
pub(super) fn most(width: u32) -> u128 {
    least(width) - 1
}

/// An operation on a value of `from` bits, with a result of `width` bits.
pub(super) fn unary(op: UnaryOp, a: u128, from: u32, width: u32) -> u128 {
    match op {
        UnaryOp::Not => cut(!a, width),
        UnaryOp::Neg => cut(a.wrapping_neg(), width),
        UnaryOp::ZeroExtend => a,
        UnaryOp::SignExtend => cut(signed(a, from) as u128, width),
    }
}

/// `width` bits, from bit `low` on.
pub(super) fn extract(a: u128, low: u32, width: u32) -> u128 {
    cut(a >> low, width)
}

/// An operation on values of `width` bits; of a concatenation, `width` is that of `b`.
pub(super) fn binary(op: BinaryOp, a: u128, b: u128, width: u32) -> u128 {
    let (signed_a, signed_b) = (signed(a, width), signed(b, width));
    let is_shift_inside = b < width as u128;
    match op {
        BinaryOp::Add => cut(a.wrapping_add(b), width),
        BinaryOp::Sub => cut(a.wrapping_sub(b), width),
        BinaryOp::Mul => cut(a.wrapping_mul(b), width),
        BinaryOp::UDiv | BinaryOp::SDiv if b == 0 => ones(width),
        BinaryOp::UDiv => a / b,
        BinaryOp::SDiv => cut(signed_a.wrapping_div(signed_b) as u128, width),
        BinaryOp::URem | BinaryOp::SRem if b == 0 => a,
        BinaryOp::URem => a % b,
        BinaryOp::SRem => cut(signed_a.wrapping_rem(signed_b) as u128, width),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl | BinaryOp::LShr if !is_shift_inside => 0,
        BinaryOp::Shl => cut(a << b, width),
        BinaryOp::LShr => a >> b,
        BinaryOp::AShr => cut((signed_a >> b.min(width as u128 - 1)) as u128, width),
        BinaryOp::Concat => a << width | b,
        BinaryOp::Eq => (a == b) as u128,
        BinaryOp::Ult => (a < b) as u128,
        BinaryOp::Ule => (a <= b) as u128,
        BinaryOp::Slt => (signed_a < signed_b) as u128,
        BinaryOp::Sle => (signed_a <= signed_b) as u128,
    }
}
