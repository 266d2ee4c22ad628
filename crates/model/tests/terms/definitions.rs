//! What operations are worth, bit by bit. Numbers of `w` bits are below 2^w.

use foretrace_model::terms::{BinaryOp, BinaryOp::*};

pub(crate) fn mask(w: u32) -> u128 {
    (0..w).fold(0, |mask, bit| mask | 1 << bit)
}

pub(crate) fn is_negative(a: u128, w: u32) -> bool {
    a >> (w - 1) == 1
}

pub(crate) fn not(a: u128, w: u32) -> u128 {
    (0..w).fold(0, |all, bit| all | (1 - (a >> bit & 1)) << bit)
}

/// With a carry from bit to bit.
pub(crate) fn add(a: u128, b: u128, w: u32) -> u128 {
    let (mut sum, mut carry) = (0, 0);
    for bit in 0..w {
        let ones = (a >> bit & 1) + (b >> bit & 1) + carry;
        sum |= (ones & 1) << bit;
        carry = ones >> 1;
    }
    sum
}

pub(crate) fn neg(a: u128, w: u32) -> u128 {
    add(not(a, w), 1, w)
}

pub(crate) fn double(a: u128, w: u32) -> u128 {
    add(a, a, w)
}

pub(crate) fn mul(a: u128, b: u128, w: u32) -> u128 {
    let (mut product, mut summand) = (0, a);
    for bit in 0..w {
        if b >> bit & 1 == 1 {
            product = add(product, summand, w);
        }
        summand = double(summand, w);
    }
    product
}

pub(crate) fn magnitude(a: u128, w: u32) -> u128 {
    if is_negative(a, w) { neg(a, w) } else { a }
}

pub(crate) fn sdiv(a: u128, b: u128, w: u32) -> u128 {
    if b == 0 {
        return mask(w);
    }
    let quotient = magnitude(a, w) / magnitude(b, w);
    if is_negative(a, w) == is_negative(b, w) { quotient } else { neg(quotient, w) }
}

pub(crate) fn srem(a: u128, b: u128, w: u32) -> u128 {
    if b == 0 {
        return a;
    }
    let remainder = magnitude(a, w) % magnitude(b, w);
    if is_negative(a, w) { neg(remainder, w) } else { remainder }
}

/// `by` times one bit; after w times nothing changes any more.
pub(crate) fn shift(a: u128, by: u128, w: u32, step: impl Fn(u128) -> u128) -> u128 {
    (0..by.min(w as u128)).fold(a, |a, _| step(a))
}

pub(crate) fn slt(a: u128, b: u128, w: u32) -> bool {
    match (is_negative(a, w), is_negative(b, w)) {
        (true, false) => true,
        (false, true) => false,
        _ => a < b,
    }
}

pub(crate) fn binary(op: BinaryOp, a: u128, b: u128, w: u32) -> u128 {
    let per_bit = |f: fn(u128, u128) -> bool| {
        (0..w).fold(0, |all, bit| all | (f(a >> bit & 1, b >> bit & 1) as u128) << bit)
    };
    match op {
        Add => add(a, b, w),
        Sub => add(a, neg(b, w), w),
        Mul => mul(a, b, w),
        UDiv => a.checked_div(b).unwrap_or(mask(w)),
        URem => a.checked_rem(b).unwrap_or(a),
        SDiv => sdiv(a, b, w),
        SRem => srem(a, b, w),
        And => per_bit(|a, b| a == 1 && b == 1),
        Or => per_bit(|a, b| a == 1 || b == 1),
        Xor => per_bit(|a, b| a != b),
        Shl => shift(a, b, w, |a| double(a, w)),
        LShr => shift(a, b, w, |a| a / 2),
        AShr => shift(a, b, w, |a| (a / 2) | ((a >> (w - 1)) << (w - 1))),
        Eq => (a == b) as u128,
        Ne => (a != b) as u128,
        Ult => (a < b) as u128,
        Ule => (a <= b) as u128,
        Slt => slt(a, b, w) as u128,
        Sle => !slt(b, a, w) as u128,
    }
}
