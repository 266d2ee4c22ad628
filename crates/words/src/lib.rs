//! The values of operations on machine words: the definitions of `docs/terms.md`. It does not know
//! who calculates.
//!
//! **Computes.** One table for all that calculate with the numbers of a program: the walk along a
//! recorded path, the interpreter of programs, and the terms of the model. The checker of witnesses
//! and the circuits of the solver have tables of their own.
//!
//! **Invariant.** A value of `width` bits is a number below 2^`width`; operands are expected to be,
//! results are. Where the machine would trap or the result is undefined, it is as `docs/terms.md`
//! defines it; who follows a program adds guards there.

/// A number that an operation can be done on: `u64`, or `u128` for widths up to 128.
pub trait Word: Copy + Eq {
    /// The same bits as a number with sign.
    type Signed;

    /// See [`cut`].
    fn cut(self, width: u32) -> Self;
    /// See [`signed`].
    fn signed(self, width: u32) -> Self::Signed;
    /// See [`BinaryOp::apply`].
    fn binary(op: BinaryOp, a: Self, b: Self, width: u32) -> Self;
}

/// The lowest `width` bits.
#[inline]
pub fn cut<W: Word>(value: W, width: impl Into<u32>) -> W {
    value.cut(width.into())
}

/// The value as a number with sign, in two's complement.
#[inline]
pub fn signed<W: Word>(value: W, width: impl Into<u32>) -> W::Signed {
    value.signed(width.into())
}

/// Whether a value is one of this width.
pub fn fits<W: Word>(value: W, width: impl Into<u32>) -> bool {
    cut(value, width) == value
}

macro_rules! word {
    ($word:ty, $signed:ty) => {
        impl Word for $word {
            type Signed = $signed;

            #[inline]
            fn cut(self, width: u32) -> Self {
                self & <$word>::MAX.checked_shr(<$word>::BITS - width).unwrap_or(0)
            }

            #[inline]
            fn signed(self, width: u32) -> $signed {
                let unused = <$word>::BITS - width.max(1);
                ((self << unused) as $signed) >> unused
            }

            #[inline]
            fn binary(op: BinaryOp, a: Self, b: Self, width: u32) -> Self {
                let (signed_a, signed_b) = (a.signed(width), b.signed(width));
                let is_shift_inside = b < <$word>::from(width);
                match op {
                    BinaryOp::Add => a.wrapping_add(b).cut(width),
                    BinaryOp::Sub => a.wrapping_sub(b).cut(width),
                    BinaryOp::Mul => a.wrapping_mul(b).cut(width),
                    BinaryOp::UDiv | BinaryOp::SDiv if b == 0 => <$word>::MAX.cut(width),
                    BinaryOp::UDiv => a / b,
                    BinaryOp::SDiv => (signed_a.wrapping_div(signed_b) as $word).cut(width),
                    BinaryOp::URem | BinaryOp::SRem if b == 0 => a,
                    BinaryOp::URem => a % b,
                    BinaryOp::SRem => (signed_a.wrapping_rem(signed_b) as $word).cut(width),
                    BinaryOp::And => a & b,
                    BinaryOp::Or => a | b,
                    BinaryOp::Xor => a ^ b,
                    BinaryOp::Shl | BinaryOp::LShr if !is_shift_inside => 0,
                    BinaryOp::Shl => (a << b).cut(width),
                    BinaryOp::LShr => a >> b,
                    BinaryOp::AShr => {
                        ((signed_a >> b.min(<$word>::from(width) - 1)) as $word).cut(width)
                    }
                    BinaryOp::Eq => (a == b).into(),
                    BinaryOp::Ne => (a != b).into(),
                    BinaryOp::Ult => (a < b).into(),
                    BinaryOp::Ule => (a <= b).into(),
                    BinaryOp::Slt => (signed_a < signed_b).into(),
                    BinaryOp::Sle => (signed_a <= signed_b).into(),
                }
            }
        }
    };
}

word!(u64, i64);
word!(u128, i128);

/// Operations on two words of one width, by the numbers that images of programs use. Greater-than
/// is less-than with its operands swapped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Unsigned quotient.
    UDiv,
    /// Signed quotient, towards zero.
    SDiv,
    /// Unsigned remainder.
    URem,
    /// Signed remainder, with the sign of the dividend.
    SRem,
    /// Bits that both have.
    And,
    /// Bits that one of them has.
    Or,
    /// Bits that only one of them has.
    Xor,
    /// Shifted left.
    Shl,
    /// Shifted right, zeros come in.
    LShr,
    /// Shifted right, the sign comes in.
    AShr,
    /// One bit: equal.
    Eq,
    /// One bit: different.
    Ne,
    /// One bit: less, unsigned.
    Ult,
    /// One bit: less or equal, unsigned.
    Ule,
    /// One bit: less, signed.
    Slt,
    /// One bit: less or equal, signed.
    Sle,
}

impl BinaryOp {
    /// All of them, in the order of their numbers.
    pub const ALL: [BinaryOp; 19] = {
        use BinaryOp::*;
        [
            Add, Sub, Mul, UDiv, SDiv, URem, SRem, And, Or, Xor, Shl, LShr, AShr, Eq, Ne, Ult, Ule,
            Slt, Sle,
        ]
    };

    /// Whether the operands may be swapped.
    pub fn is_commutative(self) -> bool {
        use BinaryOp::*;
        matches!(self, Add | Mul | And | Or | Xor | Eq | Ne)
    }

    /// Whether the result is one bit, whatever the operands are.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | Ne | Ult | Ule | Slt | Sle)
    }

    /// The result for operands of `width` bits; of one bit if this is a comparison.
    #[inline]
    pub fn apply<W: Word>(self, a: W, b: W, width: impl Into<u32>) -> W {
        W::binary(self, a, b, width.into())
    }
}

/// Changes of width, by the numbers that images of programs use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cast {
    /// To more bits; zeros come in.
    ZeroExtend,
    /// To more bits; the sign comes in.
    SignExtend,
    /// To fewer bits, the lowest.
    Truncate,
}

impl Cast {
    /// All of them, in the order of their numbers.
    pub const ALL: [Cast; 3] = [Cast::ZeroExtend, Cast::SignExtend, Cast::Truncate];

    /// The result of `to` bits for an operand of `from` bits.
    pub fn apply(self, value: u64, from: u8, to: u8) -> u64 {
        match self {
            Cast::SignExtend => cut(signed(value, from) as u64, to),
            Cast::ZeroExtend | Cast::Truncate => cut(value, to),
        }
    }
}

/// What a read-modify-write stores, by the numbers that images of programs use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RmwOp {
    /// The operand.
    Exchange,
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// Bits that both have.
    And,
    /// Bits that not both have.
    Nand,
    /// Bits that one of them has.
    Or,
    /// Bits that only one of them has.
    Xor,
    /// The larger one, signed.
    Max,
    /// The smaller one, signed.
    Min,
    /// The larger one, unsigned.
    UMax,
    /// The smaller one, unsigned.
    UMin,
}

impl RmwOp {
    /// All of them, in the order of their numbers.
    pub const ALL: [RmwOp; 11] = {
        use RmwOp::*;
        [Exchange, Add, Sub, And, Nand, Or, Xor, Max, Min, UMax, UMin]
    };

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
        for width in [1u8, 3, 8, 32, 64] {
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
                assert_eq!(op.apply(a, b, 3u8), expected, "{op:?} {a} {b}");
                let wide = op.apply(u128::from(a), u128::from(b), 3u8);
                assert_eq!(wide, expected.into(), "{op:?} {a} {b}");
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
