//! Hash-consing: equal terms are stored once.
//!
//! **Computes.** The number of the term of a kind. Only numbers are kept: what a term is, its node
//! says.
//!
//! **Cost.** 16 to 32 bytes for each term.

use crate::terms::Kind;

/// A table by the hashes of kinds, each term at or behind its own place. A power of two, of which
/// at least half is empty.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The number of a term, 0 if there is none; above it one half of its hash, so that other terms
    /// are hardly ever looked at.
    places: Vec<u64>,
    len: usize,
}

/// Where the term of a kind is, or belongs.
pub(crate) struct Place {
    /// The term, if it is there.
    pub(crate) term: Option<u32>,
    at: usize,
    tag: u64,
}

const LEAST: usize = 1 << 10;
const TAG: u64 = !0 << 32;

impl Shared {
    pub(crate) fn new() -> Shared {
        Shared { places: vec![0; LEAST], len: 0 }
    }

    /// Looks for the term of a kind, where `kind_of` knows what terms are.
    #[inline]
    pub(crate) fn find(&self, kind: Kind, kind_of: impl Fn(u32) -> Kind) -> Place {
        let (hash, mask) = (hash(kind), self.places.len() - 1);
        let tag = hash & TAG;
        let mut at = hash as usize & mask;
        loop {
            let found = self.places[at];
            let term = found as u32;
            if found == 0 {
                return Place { term: None, at, tag };
            }
            if found & TAG == tag && kind_of(term) == kind {
                return Place { term: Some(term), at, tag };
            }
            at = (at + 1) & mask;
        }
    }

    /// From now on this is the term of its kind. Nothing was added since the place was found.
    #[inline]
    pub(crate) fn put(&mut self, place: Place, term: u32, kind_of: impl Fn(u32) -> Kind) {
        self.places[place.at] = place.tag | u64::from(term);
        self.len += usize::from(place.term.is_none());
        if 2 * self.len > self.places.len() {
            let old = std::mem::take(&mut self.places);
            self.places = vec![0; 2 * old.len()];
            for found in old.into_iter().filter(|found| *found != 0) {
                let place = self.find(kind_of(found as u32), &kind_of);
                self.places[place.at] = found;
            }
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.places.fill(0);
        self.len = 0;
    }
}

/// Every bit depends on all of it.
#[inline]
fn hash(kind: Kind) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let word = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let tag = |tag: u8, a: u8, b: u8| u32::from_le_bytes([tag, a, b, 0]);
    let (first, second) = match kind {
        Kind::Number(number) => (0, number),
        Kind::Read(name) => (1, name.into()),
        Kind::Binary { op, width, left, right } => {
            (word(tag(2, op as u8, width), left.0), right.0.into())
        }
        Kind::Truncate { to, of } => (word(tag(3, to, 0), of.0), 0),
        Kind::SignExtend { from, to, of } => (word(tag(4, from, to), of.0), 0),
        Kind::Choice { condition, then, otherwise } => {
            (word(tag(5, 0, 0), condition.0), word(then.0, otherwise.0))
        }
        Kind::Unmodelled(a, b) => (word(tag(6, 0, 0), a.0), b.0.into()),
    };
    let mixed = (first.wrapping_mul(ODD) ^ second).wrapping_mul(ODD);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(ODD);
    mixed ^ mixed >> 32
}
