//! Terms by what they are, so that equal ones are shared.
//!
//! **Computes.** The number of the term of a kind. Only numbers are kept: what a term is, its node says.
//!
//! **Cost.** 8 to 16 bytes for each term.

use crate::terms::Kind;

/// Numbers of terms by the hashes of their kinds, each at or behind its own place; 0 is none. A power of two, of which at least half is empty.
#[derive(Debug)]
pub(crate) struct Shared {
    places: Vec<u32>,
    len: usize,
}

const LEAST: usize = 1 << 10;

impl Shared {
    pub(crate) fn new() -> Shared {
        Shared { places: vec![0; LEAST], len: 0 }
    }

    /// The term of this kind, where `kind_of` knows what terms are.
    #[inline]
    pub(crate) fn get(&self, kind: Kind, kind_of: impl Fn(u32) -> Kind) -> Option<u32> {
        let term = self.places[self.place(kind, kind_of)];
        (term != 0).then_some(term)
    }

    /// Where the term of this kind is, or belongs.
    #[inline]
    fn place(&self, kind: Kind, kind_of: impl Fn(u32) -> Kind) -> usize {
        let mask = self.places.len() - 1;
        let mut place = (hash(kind) >> 32) as usize & mask;
        while self.places[place] != 0 && kind_of(self.places[place]) != kind {
            place = (place + 1) & mask;
        }
        place
    }

    /// From now on this is the term of its kind.
    #[inline]
    pub(crate) fn insert(&mut self, term: u32, kind_of: impl Fn(u32) -> Kind) {
        if 2 * (self.len + 1) > self.places.len() {
            let old = std::mem::take(&mut self.places);
            self.places = vec![0; 2 * old.len()];
            for term in old.into_iter().filter(|term| *term != 0) {
                let place = self.place(kind_of(term), &kind_of);
                self.places[place] = term;
            }
        }
        let place = self.place(kind_of(term), kind_of);
        self.len += usize::from(self.places[place] == 0);
        self.places[place] = term;
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.places.fill(0);
        self.len = 0;
    }
}

/// The highest bits depend on all of it.
#[inline]
fn hash(kind: Kind) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let word = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let tag = |tag: u8, a: u8, b: u8| u32::from_le_bytes([tag, a, b, 0]);
    let (first, second) = match kind {
        Kind::Number(number) => (0, number),
        Kind::Read(name) => (1, name.into()),
        Kind::Binary { op, width, left, right } => {
            (word(tag(2, op, width), left.0), right.0.into())
        }
        Kind::Truncate { to, of } => (word(tag(3, to, 0), of.0), 0),
        Kind::SignExtend { from, to, of } => (word(tag(4, from, to), of.0), 0),
        Kind::Choice { condition, then, otherwise } => {
            (word(tag(5, 0, 0), condition.0), word(then.0, otherwise.0))
        }
        Kind::Unmodelled(a, b) => (word(tag(6, 0, 0), a.0), b.0.into()),
    };
    let mixed = (first.wrapping_mul(ODD) ^ second).wrapping_mul(ODD);
    (mixed ^ mixed >> 29).wrapping_mul(ODD)
}
