//! Values that must be known while a thread is unfolded: which lock, which function, which block.
//!
//! **Computes.** A constant for such a value, if an earlier unfolding has shown one: there,
//! composing has replaced the reads that it depends on by the only write that they can see (an
//! argument that `main` stores before it starts a thread). This unfolding takes that constant for
//! granted, and leaves an exit for every other value.
//!
//! **Invariant.** A guess decides nothing: behind it the thread goes on only if the value is the
//! guessed one, and the exit says that it is another. A wrong guess costs a proof, never more.

use foretrace_program::Site;
use foretrace_words::BinaryOp;
use rustc_hash::FxHashMap;

use super::instruction::FUNCTIONS;
use super::ways::Way;
use super::{Unfolder, key};
use crate::skeleton::{Skeleton, Why};
use crate::terms::Term;

/// What values may be, by where they are needed.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Guesses(FxHashMap<u64, Guess>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Guess {
    Number(u64),
    /// A byte of the object with this key.
    Object(u64, u64),
    Function(u32, u64),
}

impl Guesses {
    /// Takes what composing has made of values that were needed; says whether any is new.
    pub(crate) fn learn(&mut self, skeleton: &Skeleton) -> bool {
        let before = self.0.len();
        for &(place, term) in &skeleton.wanted {
            let terms = &skeleton.terms;
            let guess = match (terms.as_constant(term), terms.as_address(term)) {
                (Some(number), _) => Guess::Number(number),
                (_, Some((function, offset))) if function >= FUNCTIONS => {
                    Guess::Function(function, offset)
                }
                (_, Some((object, offset))) => match skeleton.objects.get(object as usize) {
                    Some(object) => Guess::Object(object.key, offset),
                    None => continue,
                },
                _ => continue,
            };
            self.0.entry(place).or_insert(guess);
        }
        self.0.len() > before
    }
}

impl Unfolder<'_> {
    /// A value that must be known, as a constant if there is one; then the way ends where the value
    /// is another.
    pub(super) fn settled(&mut self, way: &mut Way, site: Site, term: Term) -> Term {
        let terms = &self.skeleton.terms;
        if terms.as_constant(term).is_some() || terms.as_address(term).is_some() {
            return term;
        }
        let count = self.instances.entry((self.thread_key, site)).or_default();
        *count += 1;
        let place = key(("settled", self.thread_key, site, *count));
        self.skeleton.wanted.push((place, term));
        let width = self.skeleton.terms.width(term);
        let value = match self.known.guesses.0.get(&place) {
            None => return term,
            Some(&Guess::Number(number)) => self.skeleton.terms.constant(number, width),
            Some(&Guess::Function(function, offset)) => {
                self.skeleton.terms.address(function, offset)
            }
            Some(&Guess::Object(object, offset)) => match self.objects.get(&object) {
                Some(&object) => self.skeleton.terms.address(object, offset),
                // The thread that makes it is unfolded later.
                None => return term,
            },
        };
        let same = self.skeleton.terms.binary(BinaryOp::Eq, term, value);
        let differs = self.skeleton.terms.not(same);
        let why = Why::Unsupported("a value that depends on data".into());
        self.exit_if(way, differs, site, why);
        value
    }
}
