//! What one thread knows of memory on its own.
//!
//! **Computes.** For each byte that the thread has written, the term whose byte it is. Words that
//! are read as they were written come back as the same term; anything else is put together from
//! bytes.
//!
//! **Invariant.** All bytes of one store name the same term, so that a merge of two ways gives all
//! of them the same choice.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::Unfolder;
use crate::skeleton::Place;
use crate::terms::{Op, Term, Terms};

/// A byte: that of a word, counted from the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) word: Term,
    pub(super) index: u8,
}

/// Bytes of objects, shared between ways until one of them writes.
#[derive(Clone, Default, Debug)]
pub(super) struct Memory(Rc<FxHashMap<(u32, u32), Piece>>);

impl Memory {
    pub(super) fn get(&self, object: u32, offset: u32) -> Option<Piece> {
        self.0.get(&(object, offset)).copied()
    }

    pub(super) fn set(&mut self, object: u32, offset: u32, piece: Piece) {
        Rc::make_mut(&mut self.0).insert((object, offset), piece);
    }

    pub(super) fn store(&mut self, place: Place, word: Term) {
        let bytes = Rc::make_mut(&mut self.0);
        for index in 0..place.size {
            let at = (place.object, place.offset + u32::from(index));
            bytes.insert(at, Piece { word, index });
        }
    }

    pub(super) fn is_same(&self, other: &Memory) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All bytes, in order.
    pub(super) fn bytes(&self) -> Vec<((u32, u32), Piece)> {
        let mut bytes: Vec<_> = self.0.iter().map(|(&at, &piece)| (at, piece)).collect();
        bytes.sort_unstable_by_key(|&(at, _)| at);
        bytes
    }

    /// Forgets bytes.
    pub(super) fn forget_bytes(&mut self, gone: impl Iterator<Item = (u32, u32)>) {
        let bytes = Rc::make_mut(&mut self.0);
        gone.for_each(|at| _ = bytes.remove(&at));
    }

    /// Forgets the objects for which `is_gone` says so.
    pub(super) fn forget(&mut self, is_gone: impl Fn(u32) -> bool) {
        if self.0.keys().any(|&(object, _)| is_gone(object)) {
            Rc::make_mut(&mut self.0).retain(|&(object, _), _| !is_gone(object));
        }
    }
}

/// The word of these bytes.
pub(super) fn assemble(terms: &mut Terms, pieces: &[Piece]) -> Term {
    let word = pieces[0].word;
    let is_whole = terms.width(word) as usize == 8 * pieces.len()
        && pieces.iter().zip(0..).all(|(piece, index)| *piece == Piece { word, index });
    if is_whole {
        return word;
    }
    let bytes: Vec<Term> = pieces.iter().map(|piece| terms.byte(piece.word, piece.index)).collect();
    terms.word(&bytes)
}

impl Unfolder<'_> {
    /// A word of memory that only this thread knows.
    pub(super) fn known_word(&mut self, memory: &Memory, place: Place) -> Term {
        let known: Vec<Option<Piece>> = (0..u32::from(place.size))
            .map(|index| memory.get(place.object, place.offset + index))
            .collect();
        if known.iter().all(Option::is_none) {
            return self.initial_word(place);
        }
        let pieces: Vec<Piece> = known
            .into_iter()
            .zip(place.offset..)
            .map(|(piece, offset)| {
                piece.unwrap_or_else(|| {
                    let byte = Place { offset, size: 1, ..place };
                    Piece { word: self.initial_word(byte), index: 0 }
                })
            })
            .collect();
        assemble(&mut self.skeleton.terms, &pieces)
    }

    /// Whether a word of memory has parts that were not initialised. Only what makes bytes a word
    /// is looked at: what was computed has been read before.
    pub(super) fn is_determinate(&self, word: Term) -> bool {
        if self.indeterminate.is_empty() {
            return true;
        }
        let mut open = vec![word];
        for _ in 0..MOST_PARTS {
            let Some(term) = open.pop() else { return true };
            match self.skeleton.terms.op(term) {
                Op::Symbol(_) if self.indeterminate.contains(&term) => return false,
                Op::Ite(_, a, b) | Op::Binary(_, a, b) => open.extend([a, b]),
                Op::Cast(_, inner) => open.push(inner),
                Op::Symbol(_) | Op::Constant(_) | Op::Address { .. } => (),
            }
        }
        true
    }
}

/// A word of eight bytes has so many parts.
const MOST_PARTS: usize = 64;

/// The byte of `then` if the condition is true, else that of `otherwise`.
pub(super) fn choose(terms: &mut Terms, condition: Term, then: Piece, otherwise: Piece) -> Piece {
    if then == otherwise {
        return then;
    }
    let is_aligned =
        then.index == otherwise.index && terms.width(then.word) == terms.width(otherwise.word);
    if is_aligned {
        let word = terms.ite(condition, then.word, otherwise.word);
        return Piece { word, index: then.index };
    }
    let [then, otherwise] = [then, otherwise].map(|piece| terms.byte(piece.word, piece.index));
    Piece { word: terms.ite(condition, then, otherwise), index: 0 }
}
