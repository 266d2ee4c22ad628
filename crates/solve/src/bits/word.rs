//! Bits and words.
//!
//! **Computes.** What needs no gate: constants, complements, parts, extensions.
//!
//! **Invariant.** A bit that is known is [`Bit::TRUE`] or [`Bit::FALSE`], so constants can be
//! told by looking; that holds for the solver's own constant literals as well, because the truth
//! is the first variable of every solver ([`Gates::on`](super::Gates::on) checks it). A word has
//! 1 to 128 bits.
//!
//! **Cost.** Four bytes for a bit; each operation is linear in the width.

use std::fmt;
use std::ops::Not;

use crate::{Lit, Solver};

/// A constant, a variable or its negation: twice the variable's number, plus one if negated.
///
/// So a bit and its complement are neighbours when sorted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bit(u32);

impl Bit {
    /// The bit that is 1.
    pub const TRUE: Bit = Bit(2);
    /// The bit that is 0.
    pub const FALSE: Bit = Bit(3);

    /// The value of a bit that is the same in every model because it is a constant.
    pub fn as_constant(self) -> Option<bool> {
        match self {
            Bit::TRUE => Some(true),
            Bit::FALSE => Some(false),
            _ => None,
        }
    }

    /// The bit as a literal, for clauses and assumptions.
    pub fn lit(self) -> Lit {
        let variable = (self.0 >> 1) as i32;
        Lit::from_code(if self.is_negated() { -variable } else { variable })
    }

    /// The value in the solver's last model.
    pub fn value(self, solver: &Solver) -> bool {
        self.as_constant().unwrap_or_else(|| solver.value(self.lit()))
    }

    pub(super) fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    /// This bit, or its complement if `flip`.
    pub(super) fn flipped_if(self, flip: bool) -> Bit {
        Bit(self.0 ^ u32::from(flip))
    }
}

impl From<bool> for Bit {
    fn from(value: bool) -> Bit {
        Bit::TRUE.flipped_if(!value)
    }
}

impl From<Lit> for Bit {
    fn from(lit: Lit) -> Bit {
        Bit(lit.code().unsigned_abs() << 1).flipped_if(!lit.is_positive())
    }
}

impl Not for Bit {
    type Output = Bit;

    fn not(self) -> Bit {
        self.flipped_if(true)
    }
}

impl fmt::Debug for Bit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_constant() {
            Some(value) => write!(f, "{value}"),
            None => self.lit().fmt(f),
        }
    }
}

/// A bit-vector of 1 to 128 bits, the least significant first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Word(Box<[Bit]>);

impl Word {
    /// The largest width.
    pub const MAX_WIDTH: usize = 128;

    /// The word with these bits, the least significant first.
    pub fn new(bits: impl Into<Box<[Bit]>>) -> Word {
        let bits = bits.into();
        assert!((1..=Word::MAX_WIDTH).contains(&bits.len()), "a word of {} bits", bits.len());
        Word(bits)
    }

    /// The word whose bit `at`, counted from the least significant, is `bit(at)`.
    pub fn from_fn(width: usize, bit: impl FnMut(usize) -> Bit) -> Word {
        assert!((1..=Word::MAX_WIDTH).contains(&width), "a word of {width} bits");
        Word((0..width).map(bit).collect())
    }

    /// The lowest `width` bits of a number.
    pub fn constant(width: usize, value: u128) -> Word {
        Word::from_fn(width, |at| Bit::from(value >> at & 1 == 1))
    }

    /// The number that this word is in every model, if all its bits are constant.
    pub fn as_constant(&self) -> Option<u128> {
        let digit = |(at, bit): (usize, &Bit)| Some(u128::from(bit.as_constant()?) << at);
        self.0.iter().enumerate().map(digit).sum()
    }

    /// The value in the solver's last model.
    pub fn value(&self, solver: &Solver) -> u128 {
        let digit = |(at, bit): (usize, &Bit)| u128::from(bit.value(solver)) << at;
        self.0.iter().enumerate().map(digit).sum()
    }

    /// The literals that together say that this word is the lowest bits of `value`: assumptions
    /// for a question about one value, without a gate.
    pub fn equals(&self, value: u128) -> Vec<Lit> {
        let digit = |(at, bit): (usize, &Bit)| bit.flipped_if(value >> at & 1 == 0).lit();
        self.0.iter().enumerate().map(digit).collect()
    }

    /// The number of bits.
    pub fn width(&self) -> usize {
        self.0.len()
    }

    /// All bits, the least significant first.
    pub fn bits(&self) -> &[Bit] {
        &self.0
    }

    /// The most significant bit.
    pub fn sign(&self) -> Bit {
        self.0[self.width() - 1]
    }

    /// The `width` bits from bit `low` on.
    pub fn extract(&self, low: usize, width: usize) -> Word {
        Word::new(&self.0[low..low + width])
    }

    /// The lowest `width` bits.
    pub fn trunc(&self, width: usize) -> Word {
        self.extract(0, width)
    }

    /// Widened with zeros.
    pub fn zext(&self, width: usize) -> Word {
        self.extended(width, Bit::FALSE)
    }

    /// Widened with copies of the sign.
    pub fn sext(&self, width: usize) -> Word {
        self.extended(width, self.sign())
    }

    fn extended(&self, width: usize, fill: Bit) -> Word {
        assert!(width >= self.width(), "{width} bits are fewer than {}", self.width());
        Word::from_fn(width, |at| self.0.get(at).copied().unwrap_or(fill))
    }

    /// The bits of `low`, and above them those of this word.
    pub fn concat(&self, low: &Word) -> Word {
        Word::new([low.bits(), self.bits()].concat())
    }

    /// Moved up by `amount` bits; zeros come in, what leaves at the top is lost.
    pub(super) fn moved_up(&self, amount: usize) -> Word {
        let low = |at: usize| at.checked_sub(amount).map_or(Bit::FALSE, |from| self.0[from]);
        Word::from_fn(self.width(), low)
    }

    /// Moved down by `amount` bits; copies of `fill` come in.
    pub(super) fn moved_down(&self, amount: usize, fill: Bit) -> Word {
        let high = |at: usize| self.0.get(at.saturating_add(amount)).copied().unwrap_or(fill);
        Word::from_fn(self.width(), high)
    }

    /// The lowest `count` bits, and zeros above them.
    pub(super) fn low_bits(&self, count: usize) -> Word {
        Word::from_fn(self.width(), |at| if at < count { self.0[at] } else { Bit::FALSE })
    }

    /// All bits the same.
    pub(super) fn splat(width: usize, bit: Bit) -> Word {
        Word::from_fn(width, |_| bit)
    }

    /// How many bits are left without the zeros at the top.
    pub(super) fn significant(&self) -> usize {
        self.0.iter().rposition(|&bit| bit != Bit::FALSE).map_or(0, |last| last + 1)
    }
}

/// The complement of each bit.
impl Not for &Word {
    type Output = Word;

    fn not(self) -> Word {
        Word(self.0.iter().map(|&bit| !bit).collect())
    }
}
