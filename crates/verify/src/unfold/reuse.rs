//! Addresses that may be equal although they mean different things.
//!
//! **Computes.** An exit wherever a thread compares the address of an object whose life has ended
//! with that of another object that threads make. C's allocators and stacks use memory again, so
//! the two may be equal or not; here no address is used twice, so that only one of the two outcomes
//! is unfolded. The same holds for the address behind an object and that of another one, which may
//! lie there.
//!
//! **Cost.** For programs in which no life ends, a look at what compared addresses may mean; else a
//! read of that life for each address that a comparison may see.

use foretrace_program::Site;
use foretrace_words::BinaryOp;

use super::Unfolder;
use super::ways::Way;
use crate::skeleton::{ObjectKind, Why};
use crate::terms::{Op, Term};

/// Addresses that may mean more are not compared.
const MOST_PARTS: usize = 256;

impl Unfolder<'_> {
    /// Two words are compared for equality.
    pub(super) fn compared(&mut self, way: &mut Way, a: Term, b: Term, site: Site) {
        let is_about_addresses =
            self.skeleton.terms.width(a) == 64 && self.has_address(a) && self.has_address(b);
        if !is_about_addresses {
            return;
        }
        let (Ok(of_a), Ok(of_b)) = (self.parts(a), self.parts(b)) else {
            if self.known.ends.is_empty() {
                return;
            }
            let why = "a comparison of addresses of which too little is known";
            return self.exit(way, site, Why::Unsupported(why.into()));
        };
        let mut is_behind = self.skeleton.terms.truth(false);
        for (behind, others) in [(&of_a, &of_b), (&of_b, &of_a)] {
            for &(is_it, object, offset) in behind {
                let Some(size) = self.size_of(object) else { continue };
                for &(condition, other, at) in others {
                    if other == object || self.size_of(other).is_none() {
                        continue;
                    }
                    let terms = &mut self.skeleton.terms;
                    let (ends, begins) = (terms.equals(offset, size), terms.equals(at, 0));
                    let (both, touch) = (terms.and(is_it, condition), terms.and(ends, begins));
                    let both = terms.and(both, touch);
                    is_behind = terms.or(is_behind, both);
                }
            }
        }
        let why = "the address behind an object is compared with that of another one, which may \
                   be the same";
        self.exit_if(way, is_behind, site, Why::Unsupported(why.into()));
        if self.known.ends.is_empty() {
            return;
        }
        let mut is_stale = self.skeleton.terms.truth(false);
        for (gone, others) in [(&of_a, &of_b), (&of_b, &of_a)] {
            for &(is_it, object, _) in gone {
                if !self.may_end(object) {
                    continue;
                }
                let mut is_other = self.skeleton.terms.truth(false);
                for &(condition, other, _) in others {
                    if other != object && self.is_made(other) {
                        is_other = self.skeleton.terms.or(is_other, condition);
                    }
                }
                let condition = self.skeleton.terms.and(is_it, is_other);
                if self.skeleton.terms.is_false(condition) {
                    continue;
                }
                let life = self.life(object);
                let life = self.read(way, &mut None, life, condition, site);
                let is_dead = self.skeleton.terms.equals(life, 0);
                let condition = self.skeleton.terms.and(condition, is_dead);
                is_stale = self.skeleton.terms.or(is_stale, condition);
            }
        }
        let why = "the address of memory that is gone is compared with that of other memory, \
                   which may be the same";
        self.exit_if(way, is_stale, site, Why::Unsupported(why.into()));
    }

    /// Whether the life of an object may end before that of the program.
    fn may_end(&self, object: u32) -> bool {
        let object = self.skeleton.objects.get(object as usize);
        object.is_some_and(|object| self.known.ends.contains(&object.key))
    }

    /// How many bytes an object has; functions and threads have none.
    fn size_of(&self, object: u32) -> Option<u64> {
        self.skeleton.objects.get(object as usize).map(|object| object.size.into())
    }

    /// The objects that an address may be of, each with its condition and the offset in it.
    fn parts(&mut self, address: Term) -> Result<Vec<(Term, u32, Term)>, String> {
        let truth = self.skeleton.terms.truth(true);
        let zero = self.skeleton.terms.constant(0, 64);
        let mut parts = Vec::new();
        let mut open = vec![(truth, address, zero)];
        while let Some((condition, term, added)) = open.pop() {
            if parts.len() + open.len() > MOST_PARTS {
                return Err("an address with too many possible meanings".into());
            }
            match self.skeleton.terms.op(term) {
                Op::Ite(choice, then, otherwise) => {
                    let terms = &mut self.skeleton.terms;
                    let not = terms.not(choice);
                    open.push((terms.and(condition, choice), then, added));
                    open.push((terms.and(condition, not), otherwise, added));
                }
                Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), x, y)
                    if self.has_address(x) != self.has_address(y)
                        && (op == BinaryOp::Add || self.has_address(x)) =>
                {
                    let (base, more) = if self.has_address(x) { (x, y) } else { (y, x) };
                    let added = self.skeleton.terms.binary(op, added, more);
                    open.push((condition, base, added));
                }
                _ => {
                    for (is_it, object, offset) in self.pointees(term)? {
                        let terms = &mut self.skeleton.terms;
                        let start = terms.constant(offset, 64);
                        let offset = terms.binary(BinaryOp::Add, start, added);
                        parts.push((terms.and(condition, is_it), object, offset));
                    }
                }
            }
        }
        Ok(parts)
    }

    /// Whether threads make the object.
    fn is_made(&self, object: u32) -> bool {
        let kind = self.skeleton.objects.get(object as usize).map(|object| object.kind);
        matches!(kind, Some(ObjectKind::Heap | ObjectKind::Slot))
    }
}
