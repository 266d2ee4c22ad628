//! Bitwise operations, choices and comparisons.
//!
//! **Computes.** Comparisons as the last carry of a difference: a < b iff a - b borrows. The
//! carries are those that [`Circuits::sub`] builds, so the two share them.
//!
//! **Cost.** For n bits: n gates for a bitwise operation or a choice, n for an order comparison,
//! n + 1 for an equality, one for an equality with a constant. A choice among m words by an index
//! is (m - 1)·n gates.

use super::{Bit, Circuits, Word};

impl Circuits<'_> {
    /// Bitwise and.
    pub fn and(&mut self, a: &Word, b: &Word) -> Word {
        self.bitwise(a, b, Self::bit_and)
    }

    /// Bitwise or.
    pub fn or(&mut self, a: &Word, b: &Word) -> Word {
        self.bitwise(a, b, Self::bit_or)
    }

    /// Bitwise exclusive or.
    pub fn xor(&mut self, a: &Word, b: &Word) -> Word {
        self.bitwise(a, b, Self::bit_xor)
    }

    fn bitwise(&mut self, a: &Word, b: &Word, gate: impl Fn(&mut Self, Bit, Bit) -> Bit) -> Word {
        same_width(a, b);
        Word::from_fn(a.width(), |at| gate(self, a.bits()[at], b.bits()[at]))
    }

    /// The word `then` if the condition is true, else the word `otherwise`.
    pub fn ite(&mut self, condition: Bit, then: &Word, otherwise: &Word) -> Word {
        self.bitwise(then, otherwise, |circuits, a, b| circuits.bit_ite(condition, a, b))
    }

    /// The word at `index` of a list, or `otherwise` past its end.
    pub fn select(&mut self, index: &Word, words: &[Word], otherwise: &Word) -> Word {
        self.select_among(index.bits(), words, otherwise)
    }

    /// Decides by the most significant bit of the index which half of the list to look in.
    fn select_among(&mut self, index: &[Bit], words: &[Word], otherwise: &Word) -> Word {
        let Some((&top, rest)) = index.split_last() else {
            return words.first().unwrap_or(otherwise).clone();
        };
        if words.is_empty() {
            return otherwise.clone();
        }
        let half = 1usize.checked_shl(rest.len() as u32).unwrap_or(usize::MAX);
        let (low, high) = words.split_at(half.min(words.len()));
        let low = self.select_among(rest, low, otherwise);
        let high = self.select_among(rest, high, otherwise);
        self.ite(top, &high, &low)
    }

    /// Whether two words are equal.
    pub fn eq(&mut self, a: &Word, b: &Word) -> Bit {
        same_width(a, b);
        let pairs = a.bits().iter().zip(b.bits());
        let same: Vec<Bit> = pairs.map(|(&a, &b)| self.bit_xor(a, !b)).collect();
        self.all(&same)
    }

    /// Whether a word is the lowest bits of `value`.
    pub fn eq_constant(&mut self, a: &Word, value: u128) -> Bit {
        self.eq(a, &Word::constant(a.width(), value))
    }

    /// Whether some bit of a word is 1.
    pub fn is_nonzero(&mut self, a: &Word) -> Bit {
        self.any(a.bits())
    }

    /// Whether a < b, unsigned.
    pub fn ult(&mut self, a: &Word, b: &Word) -> Bit {
        same_width(a, b);
        let pairs = a.bits().iter().zip(b.bits());
        !pairs.fold(Bit::TRUE, |carry, (&a, &b)| self.majority([a, !b, carry]))
    }

    /// Whether a <= b, unsigned.
    pub fn ule(&mut self, a: &Word, b: &Word) -> Bit {
        !self.ult(b, a)
    }

    /// Whether a < b, signed.
    pub fn slt(&mut self, a: &Word, b: &Word) -> Bit {
        self.ult(&sign_flipped(a), &sign_flipped(b))
    }

    /// Whether a <= b, signed.
    pub fn sle(&mut self, a: &Word, b: &Word) -> Bit {
        !self.slt(b, a)
    }
}

pub(super) fn same_width(a: &Word, b: &Word) {
    assert_eq!(a.width(), b.width(), "words of one width");
}

/// The map that takes the signed order to the unsigned one.
fn sign_flipped(word: &Word) -> Word {
    let top = word.width() - 1;
    Word::from_fn(word.width(), |at| word.bits()[at].flipped_if(at == top))
}
