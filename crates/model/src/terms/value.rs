//! The value of an operation on one term, as `docs/terms.md` defines it, and the constants that the
//! rules need. Operations on two terms are in `foretrace_words`.
//!
//! **Invariant.** A value of `width` bits is a number below 2^`width`; operands are expected to be,
//! results are.

use foretrace_words::{cut, signed};

use super::UnaryOp;

/// All ones.
#[inline]
pub(super) fn ones(width: u32) -> u128 {
    u128::MAX >> (128 - width)
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
