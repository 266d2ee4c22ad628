//! Critical sections as one node.
//!
//! **Computes.** A lock is *simple* if everything that a thread accesses while it has the lock is
//! accessed by nobody who could run meanwhile without having it. From acquire to release of such a
//! lock a thread is in a [`Section`]: what it reads is read at its begin, what it wrote is written
//! at its end, all at one node. The lock itself then needs no state and no clauses.
//!
//! Which locks are simple is computed like what is shared: unfolding begins with all of them, notes
//! those that are not, and begins again.
//!
//! **Invariant.** In the last unfolding, for every lock with a section:
//!
//! - it is taken by blocking, exclusive acquires only, is not recursive, and is given back or
//!   waited with by who has it;
//! - between, the thread does not block, fork or join, nor take part in atomic sections;
//! - no thread ends with it, and paths that meet agree on whether they have it;
//! - each access to something that its sections access is in one of them, or is ordered by forks
//!   and joins before or behind all those of other threads.
//!
//! `docs/verify.md` says why the order in which others come between does not matter then.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Unfolder;
use super::memory::Memory;
use super::ways::{Section, Way};
use crate::compose::order::Order;
use crate::fault::{Fault, is_seeded};
use crate::skeleton::{How, NodeId, Skeleton};

/// What an unfolding notes about locks and what they protect.
#[derive(Default)]
pub(super) struct Protection {
    /// Nodes of the sections of each lock, by the object of its state.
    sections: FxHashMap<u32, Vec<NodeId>>,
    /// Objects that each lock's sections access.
    members: FxHashMap<u32, FxHashSet<u32>>,
    /// Accesses outside of sections: object and node.
    outside: FxHashMap<u32, Vec<NodeId>>,
    /// The same inside of sections, with the lock.
    inside: FxHashMap<u32, Vec<(u32, NodeId)>>,
}

impl Protection {
    /// The keys of the locks that are not simple after all.
    pub(super) fn find_broken(&self, skeleton: &Skeleton) -> FxHashSet<u64> {
        let mut broken = FxHashSet::default();
        if self.sections.is_empty() || is_seeded(Fault::Unprotected) {
            return broken;
        }
        let order = Order::new(skeleton);
        let meets = |access: NodeId, section: NodeId| {
            skeleton.nodes[access.index()] != skeleton.nodes[section.index()]
                && !order.before(access, section)
                && !order.before(section, access)
        };
        for (lock, members) in &self.members {
            let sections = &self.sections[lock];
            let can_meet = |object: &u32| {
                let outside = self.outside.get(object).into_iter().flatten().copied();
                let others = self.inside.get(object).into_iter().flatten();
                let others = others.filter(|(other, _)| other != lock).map(|&(_, node)| node);
                outside
                    .chain(others)
                    .any(|access| sections.iter().any(|&section| meets(access, section)))
            };
            if members.iter().any(can_meet) {
                broken.insert(skeleton.objects[*lock as usize].key);
            }
        }
        broken
    }
}

impl Unfolder<'_> {
    /// Whether the section of a lock begins with an acquire.
    pub(super) fn is_simple(&self, way: &Way, lock: u32) -> bool {
        let key = self.skeleton.objects[lock as usize].key;
        self.bounds.critical_sections
            && !way.sequential
            && way.section.is_none()
            && !self.known.broken.contains(&key)
    }

    /// The lock is not simple.
    pub(super) fn breaks(&mut self, lock: u32) {
        let key = self.skeleton.objects[lock as usize].key;
        self.seen.broken.insert(key);
    }

    /// The thread does something that must not be in a critical section.
    pub(super) fn breaks_section(&mut self, way: &Way) {
        if let Some(lock) = way.critical() {
            self.breaks(lock);
        }
    }

    /// The thread takes a simple lock.
    pub(super) fn begin_critical(&mut self, way: &mut Way, lock: u32) {
        let guard = way.guard(&mut self.skeleton.terms);
        let node = self.node();
        let never = self.skeleton.terms.truth(false);
        self.skeleton.sections.push((node, never));
        let memory = Memory::default();
        way.section = Some(Section { node, depth: 1, guard, memory, lock: Some(lock) });
        self.protection.sections.entry(lock).or_default().push(node);
        self.protection.members.entry(lock).or_default();
        self.step(way, guard, None, How::Plain);
    }

    /// The thread gives a simple lock back; `how` is the step that does it.
    pub(super) fn end_critical(&mut self, way: &mut Way, how: How) {
        let guard = way.guard(&mut self.skeleton.terms);
        self.step(way, guard, None, how);
        let Some(section) = way.section.take() else { return };
        self.write_bytes(section.node, guard, &section.memory.bytes(), false);
        self.skeleton.sections.push((section.node, guard));
    }

    /// Notes an access to memory that several threads share.
    pub(super) fn note_protection(&mut self, way: &Way, object: u32, node: Option<NodeId>) {
        match (&way.section, node) {
            (Some(Section { lock: Some(lock), node, .. }), _) => {
                let members = self.protection.members.entry(*lock).or_default();
                if members.insert(object)
                    || self.protection.inside[&object].last() != Some(&(*lock, *node))
                {
                    self.protection.inside.entry(object).or_default().push((*lock, *node));
                }
            }
            (Some(Section { lock: None, node, .. }), _) => {
                self.protection.outside.entry(object).or_default().push(*node);
            }
            (None, node) => self.protection.outside.entry(object).or_default().extend(node),
        }
    }
}

impl Way {
    /// The lock whose critical section the thread is in.
    pub(super) fn critical(&self) -> Option<u32> {
        self.section.as_ref().and_then(|section| section.lock)
    }

    /// Whether the thread may have a lock.
    pub(super) fn holds_any(&self, lock: u32) -> bool {
        self.holds.keys().any(|&(held, _)| held == lock)
    }
}
