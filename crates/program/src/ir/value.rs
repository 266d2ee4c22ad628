//! What an operation is worth: the definitions of `docs/terms.md`, for at most 64 bits.
//!
//! **Invariant.** A value of `width` bits is a number below 2^`width`; operands are expected to be,
//! results are.

use super::{BinaryOp, Cast, RmwOp};

/// The lowest `width` bits; `width` is at least 1.
#[inline]
pub fn cut(value: u64, width: u8) -> u64 {
    value & (u64::MAX >> (64 - u32::from(width)))
}

/// The value as a number with sign, in two's complement.
#[inline]
pub fn signed(value: u64, width: u8) -> i64 {
    let unused = 64 - u32::from(width);
    ((value << unused) as i64) >> unused
}

/// Whether a value is one of this width.
pub fn fits(value: u64, width: u8) -> bool {
    cut(value, width) == value
}

impl BinaryOp {
    /// The result for operands of `width` bits; of one bit if this is a comparison.
    pub fn apply(self, a: u64, b: u64, width: u8) -> u64 {
        let (signed_a, signed_b) = (signed(a, width), signed(b, width));
        let is_shift_inside = b < u64::from(width);
        match self {
            BinaryOp::Add => cut(a.wrapping_add(b), width),
            BinaryOp::Sub => cut(a.wrapping_sub(b), width),
            BinaryOp::Mul => cut(a.wrapping_mul(b), width),
            BinaryOp::UDiv | BinaryOp::SDiv if b == 0 => cut(u64::MAX, width),
            BinaryOp::UDiv => a / b,
            BinaryOp::SDiv => cut(signed_a.wrapping_div(signed_b) as u64, width),
            BinaryOp::URem | BinaryOp::SRem if b == 0 => a,
            BinaryOp::URem => a % b,
            BinaryOp::SRem => cut(signed_a.wrapping_rem(signed_b) as u64, width),
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            BinaryOp::Shl | BinaryOp::LShr if !is_shift_inside => 0,
            BinaryOp::Shl => cut(a << b, width),
            BinaryOp::LShr => a >> b,
            BinaryOp::AShr => cut((signed_a >> b.min(u64::from(width) - 1)) as u64, width),
            BinaryOp::Eq => (a == b) as u64,
            BinaryOp::Ne => (a != b) as u64,
            BinaryOp::Ult => (a < b) as u64,
            BinaryOp::Ule => (a <= b) as u64,
            BinaryOp::Slt => (signed_a < signed_b) as u64,
            BinaryOp::Sle => (signed_a <= signed_b) as u64,
        }
    }
}

impl Cast {
    /// The result of `to` bits for an operand of `from` bits.
    pub fn apply(self, value: u64, from: u8, to: u8) -> u64 {
        match self {
            Cast::ZeroExtend => value,
            Cast::SignExtend => cut(signed(value, from) as u64, to),
            Cast::Truncate => cut(value, to),
        }
    }
}

impl RmwOp {
    /// What is stored where `old` was found.
    pub fn apply(self, old: u64, operand: u64, width: u8) -> u64 {
        let less = signed(old, width) < signed(operand, width);
        match self {
            RmwOp::Exchange => operand,
            RmwOp::Add => BinaryOp::Add.apply(old, operand, width),
            RmwOp::Sub => BinaryOp::Sub.apply(old, operand, width),
            RmwOp::And => old & operand,
            RmwOp::Nand => cut(!(old & operand), width),
            RmwOp::Or => old | operand,
            RmwOp::Xor => old ^ operand,
            RmwOp::Max => [old, operand][less as usize],
            RmwOp::Min => [operand, old][less as usize],
            RmwOp::UMax => old.max(operand),
            RmwOp::UMin => old.min(operand),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_and_shifts_have_a_value_everywhere() {
        for width in [1, 3, 8, 32, 64] {
            let (ones, least) = (cut(u64::MAX, width), 1 << (width - 1));
            for a in [0, 1, least, ones] {
                assert_eq!(BinaryOp::UDiv.apply(a, 0, width), ones);
                assert_eq!(BinaryOp::SDiv.apply(a, 0, width), ones);
                assert_eq!(BinaryOp::URem.apply(a, 0, width), a);
                assert_eq!(BinaryOp::SRem.apply(a, 0, width), a);
                if let Some(amount) = [u64::from(width), ones]
                    .into_iter()
                    .find(|&amount| fits(amount, width) && amount >= u64::from(width))
                {
                    assert_eq!(BinaryOp::Shl.apply(a, amount, width), 0);
                    assert_eq!(BinaryOp::LShr.apply(a, amount, width), 0);
                    let sign = if a & least == 0 { 0 } else { ones };
                    assert_eq!(BinaryOp::AShr.apply(a, amount, width), sign);
                }
            }
            assert_eq!(BinaryOp::SDiv.apply(least, ones, width), least);
            assert_eq!(BinaryOp::SRem.apply(least, ones, width), 0);
        }
    }

    #[test]
    fn three_bits_agree_with_whole_numbers() {
        let number = |value: u64| if value >= 4 { value as i64 - 8 } else { value as i64 };
        let word = |value: i64| value.rem_euclid(8) as u64;
        for (a, b) in (0..8).flat_map(|a| (0..8).map(move |b| (a, b))) {
            let (x, y) = (number(a), number(b));
            let check = |op: BinaryOp, expected: u64| {
                assert_eq!(op.apply(a, b, 3), expected, "{op:?} {a} {b}");
            };
            check(BinaryOp::Add, word(x + y));
            check(BinaryOp::Sub, word(x - y));
            check(BinaryOp::Mul, word(x * y));
            check(BinaryOp::Slt, (x < y) as u64);
            check(BinaryOp::Sle, (x <= y) as u64);
            check(BinaryOp::Ult, (a < b) as u64);
            check(BinaryOp::Ule, (a <= b) as u64);
            if let (Some(quotient), Some(remainder)) = (a.checked_div(b), a.checked_rem(b)) {
                check(BinaryOp::UDiv, quotient);
                check(BinaryOp::URem, remainder);
                check(BinaryOp::SDiv, word(x / y));
                check(BinaryOp::SRem, word(x % y));
            }
            if b < 3 {
                check(BinaryOp::AShr, word(x >> b));
                check(BinaryOp::LShr, a >> b);
                check(BinaryOp::Shl, word(x << b));
            }
            assert_eq!(RmwOp::Max.apply(a, b, 3), word(x.max(y)));
            assert_eq!(RmwOp::Min.apply(a, b, 3), word(x.min(y)));
            assert_eq!(RmwOp::Nand.apply(a, b, 3), 7 - (a & b));
        }
        assert_eq!(Cast::SignExtend.apply(5, 3, 8), 0xfd);
        assert_eq!(Cast::Truncate.apply(0xfd, 8, 3), 5);
    }
}
