//! Accesses that can race.
//!
//! **Computes.** For each load, store and update of shared memory, each place that it may mean:
//! when its thread comes there, whether it would write, and which locks its thread has for sure.
//! What an atomic section reads at its begin only to have it at hand is no access, and neither are
//! the states of objects of synchronisation.

use std::rc::Rc;

use super::Unfolder;
use super::access::Accessing;
use super::ways::Way;
use crate::skeleton::{Access, NodeId, Place};
use crate::terms::Term;

impl Unfolder<'_> {
    /// Lists an access to shared memory.
    pub(super) fn note_access(
        &mut self,
        way: &Way,
        node: Option<NodeId>,
        place: Place,
        guard: Term,
        writes: Term,
        Accessing { site, is_atomic, .. }: Accessing,
    ) {
        if way.sequential || !self.is_shared(place) {
            return;
        }
        let section = way.section.as_ref().map(|section| section.node);
        let Some(node) = section.or(node) else { return };
        let steps = self.skeleton.threads[self.thread].steps.len();
        let locks = self.locks_held(way);
        let in_section = section.is_some();
        let access =
            Access { node, place, guard, writes, is_atomic, in_section, site, steps, locks };
        self.skeleton.accesses.push(access);
    }

    /// The locks that the thread has for sure.
    fn locks_held(&self, way: &Way) -> Rc<Vec<(u32, bool)>> {
        let is_held = |depth: Term| self.skeleton.terms.as_constant(depth).is_some_and(|n| n > 0);
        let held = way.holds.iter().filter(|&(_, &depth)| is_held(depth));
        Rc::new(held.map(|(&lock, _)| lock).collect())
    }
}
