//! What an operation of the image is worth, for operands of at most 64 bits.
//!
//! **Invariant.** A value of `width` bits is a number below 2^`width`; operands are expected to be,
//! results are. Where the machine would trap or the result is undefined, it is as `docs/terms.md`
//! defines it; the walk adds guards there.

use foretrace_recording::image::{binary, cast};
use foretrace_recording::site::rmw;

/// The lowest `width` bits.
#[inline]
pub(crate) fn cut(value: u64, width: u8) -> u64 {
    match width {
        0 => 0,
        width => value & (u64::MAX >> (64 - width)),
    }
}

/// The value as a number with sign.
#[inline]
pub(crate) fn signed(value: u64, width: u8) -> i64 {
    let unused = 64 - u32::from(width.max(1));
    ((value << unused) as i64) >> unused
}

/// Whether the result is one bit.
pub(crate) fn is_comparison(op: u8) -> bool {
    u64::from(op) >= binary::EQ
}

/// The result of an operation on two values of `width` bits.
#[inline]
pub(crate) fn apply(op: u8, width: u8, a: u64, b: u64) -> u64 {
    let (signed_a, signed_b) = (signed(a, width), signed(b, width));
    let inside = b < u64::from(width);
    match u64::from(op) {
        binary::ADD => cut(a.wrapping_add(b), width),
        binary::SUB => cut(a.wrapping_sub(b), width),
        binary::MUL => cut(a.wrapping_mul(b), width),
        binary::UDIV | binary::SDIV if b == 0 => cut(u64::MAX, width),
        binary::UDIV => a / b,
        binary::SDIV => cut(signed_a.wrapping_div(signed_b) as u64, width),
        binary::UREM | binary::SREM if b == 0 => a,
        binary::UREM => a % b,
        binary::SREM => cut(signed_a.wrapping_rem(signed_b) as u64, width),
        binary::AND => a & b,
        binary::OR => a | b,
        binary::XOR => a ^ b,
        binary::SHL | binary::LSHR if !inside => 0,
        binary::SHL => cut(a << b, width),
        binary::LSHR => a >> b,
        binary::ASHR => cut((signed_a >> b.min(u64::from(width) - 1)) as u64, width),
        binary::EQ => (a == b) as u64,
        binary::NE => (a != b) as u64,
        binary::ULT => (a < b) as u64,
        binary::ULE => (a <= b) as u64,
        binary::SLT => (signed_a < signed_b) as u64,
        _ => (signed_a <= signed_b) as u64,
    }
}

/// The result of a change of width.
pub(crate) fn convert(kind: u8, value: u64, from: u8, to: u8) -> u64 {
    match u64::from(kind) {
        cast::SIGN_EXTEND => cut(signed(value, from) as u64, to),
        _ => cut(value, to),
    }
}

/// How a read-modify-write computes what it stores.
pub(crate) enum Update {
    /// The operand.
    Operand,
    /// An operation on what was there and the operand.
    Binary(u8),
    /// The complement of `and`.
    Nand,
    /// What was there if this comparison of it with the operand holds, else the operand.
    Choose(u8),
    /// The operand if the comparison of what was there with it holds, else what was there.
    Avoid(u8),
}

/// What a read-modify-write does.
pub(crate) fn update(op: u8) -> Update {
    match u32::from(op) {
        rmw::ADD => Update::Binary(binary::ADD as u8),
        rmw::SUB => Update::Binary(binary::SUB as u8),
        rmw::AND => Update::Binary(binary::AND as u8),
        rmw::NAND => Update::Nand,
        rmw::OR => Update::Binary(binary::OR as u8),
        rmw::XOR => Update::Binary(binary::XOR as u8),
        rmw::MAX => Update::Avoid(binary::SLT as u8),
        rmw::MIN => Update::Choose(binary::SLT as u8),
        rmw::UMAX => Update::Avoid(binary::ULT as u8),
        rmw::UMIN => Update::Choose(binary::ULT as u8),
        _ => Update::Operand,
    }
}
