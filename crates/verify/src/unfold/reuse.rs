//! Addresses of memory that is gone.
//!
//! **Computes.** An exit wherever a thread compares the address of an object whose life has ended
//! with that of another object that threads make. C's allocators and stacks use memory again, so
//! the two may be equal or not; here no address is used twice, so that only one of the two outcomes
//! is unfolded.
//!
//! **Cost.** Nothing for programs in which no life ends; a read of that life for each address that
//! a comparison may see.

use foretrace_program::Site;

use super::Unfolder;
use super::ways::Way;
use crate::skeleton::{ObjectKind, Why};
use crate::terms::Term;

impl Unfolder<'_> {
    /// Two words are compared for equality.
    pub(super) fn compared(&mut self, way: &mut Way, a: Term, b: Term, site: Site) {
        let is_about_addresses = self.skeleton.terms.width(a) == 64
            && !self.known.ends.is_empty()
            && self.has_address(a)
            && self.has_address(b);
        if !is_about_addresses {
            return;
        }
        let (Ok(of_a), Ok(of_b)) = (self.pointees(a), self.pointees(b)) else {
            let why = "a comparison of addresses of which too little is known";
            return self.exit(way, site, Why::Unsupported(why.into()));
        };
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

    /// Whether threads make the object.
    fn is_made(&self, object: u32) -> bool {
        let kind = self.skeleton.objects.get(object as usize).map(|object| object.kind);
        matches!(kind, Some(ObjectKind::Heap | ObjectKind::Slot))
    }
}
