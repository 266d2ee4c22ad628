//! Which accesses can race, as questions to the solver.
//!
//! **Computes.** Pairs of accesses of different threads that overlap, at least one of which may
//! write, not both atomic. Dropped without the solver: pairs that every execution orders, and pairs
//! whose threads both have a lock for sure, at least one of them exclusively. For the others a bit
//! that implies: at one *moment* both threads are in front of their accesses.
//!
//! **Follows.** The moment is a node X of its own. A thread is in front of an access e at X if the
//! node before e is before X, and X is before e. So the number of order atoms is linear in the
//! accesses, and one question asks all pairs.
//!
//! **Invariant.** A bit can be true if and only if both accesses are next after one feasible
//! prefix; `docs/verify.md` has the argument. Where one side is in an atomic section, or writes
//! only if it finds what it expects, that side *leads*: the state that shows the race is the one in
//! which the leader's node happens, so it must come before the other access.
//!
//! **Cost.** Quadratic in the accesses that overlap.

use foretrace_program::{Site, Violation};
use foretrace_solve::Bit;

use super::formula::Formula;
use super::order::Order;
use crate::fault::{Fault, is_seeded};
use crate::skeleton::{Access, NodeId, Place, Skeleton};

/// How many pairs are asked about at most.
const MOST_PAIRS: usize = 1_000_000;

/// Two accesses, by their numbers in the skeleton; the first one leads, if one has to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) is_led: bool,
}

/// The pairs that the solver has to decide, and what cannot be asked.
#[derive(Default, Debug)]
pub(crate) struct Races {
    pub(crate) pairs: Vec<Race>,
    pub(crate) not_asked: Vec<(&'static str, Option<Site>)>,
}

impl Race {
    pub(crate) fn violation(&self, skeleton: &Skeleton) -> Violation {
        let [a, b] = [self.first, self.second].map(|at| skeleton.accesses[at].site);
        Violation::Race(a.min(b), a.max(b))
    }
}

/// The node before another one of its thread: the fork of the thread if it is the first.
fn previous(skeleton: &Skeleton, node: NodeId) -> Option<NodeId> {
    let thread = &skeleton.threads[skeleton.nodes[node.index()]];
    let at = thread.nodes.binary_search(&node).expect("a thread has its nodes");
    at.checked_sub(1).map(|at| thread.nodes[at]).or(thread.fork)
}

fn overlap(a: Place, b: Place) -> bool {
    if is_seeded(Fault::RaceSameStart) {
        return a.offset == b.offset;
    }
    a.offset < b.offset + u32::from(b.size) && b.offset < a.offset + u32::from(a.size)
}

/// Whether both threads have a lock that they cannot have at once.
fn share_a_lock(a: &Access, b: &Access) -> bool {
    a.locks.iter().any(|&(lock, shared)| {
        b.locks.iter().any(|&(other, also)| {
            lock == other && (!(shared && also) || is_seeded(Fault::RaceSharedLock))
        })
    })
}

/// Whether an access counts as atomic: what happens in a section happens at once.
fn is_atomic(access: &Access) -> bool {
    access.is_atomic || access.in_section && !is_seeded(Fault::RaceInSections)
}

impl Races {
    pub(crate) fn new(skeleton: &Skeleton, order: &Order) -> Races {
        let place = |at: usize| skeleton.accesses[at].place;
        let can_be = |at: &usize| !skeleton.terms.is_false(skeleton.accesses[*at].guard);
        let mut list: Vec<usize> = (0..skeleton.accesses.len()).filter(can_be).collect();
        list.sort_by_key(|&at| (place(at).object, place(at).offset));
        let mut races = Races::default();
        for (number, &a) in list.iter().enumerate() {
            let Place { object, offset, size } = place(a);
            let near = |b: Place| b.object == object && b.offset < offset + u32::from(size);
            for &b in list[number + 1..].iter().take_while(|&&b| near(place(b))) {
                races.pair(skeleton, order, a, b);
                if races.pairs.len() > MOST_PAIRS {
                    races.pairs.clear();
                    races.not_asked = vec![("too many accesses could race", None)];
                    return races;
                }
            }
        }
        races
    }

    fn pair(&mut self, skeleton: &Skeleton, order: &Order, first: usize, second: usize) {
        let (a, b) = (&skeleton.accesses[first], &skeleton.accesses[second]);
        let thread = |access: &Access| skeleton.nodes[access.node.index()];
        let terms = &skeleton.terms;
        let both_atomic = match is_seeded(Fault::RaceOneAtomic) {
            true => is_atomic(a) || is_atomic(b),
            false => is_atomic(a) && is_atomic(b),
        };
        if thread(a) == thread(b)
            || both_atomic
            || terms.is_false(a.writes) && terms.is_false(b.writes)
            || !overlap(a.place, b.place)
            || order.before(a.node, b.node)
            || order.before(b.node, a.node)
            || share_a_lock(a, b)
        {
            return;
        }
        let mut add = |first: usize, second: usize, is_led: bool| {
            self.pairs.push(Race { first, second, is_led });
        };
        let certain = terms.is_true(a.writes) || terms.is_true(b.writes);
        let may_write = |access: &Access| !terms.is_false(access.writes);
        match (a.in_section, b.in_section) {
            (false, false) if certain => add(first, second, false),
            (false, false) => {
                if may_write(a) {
                    add(first, second, true);
                }
                if may_write(b) {
                    add(second, first, true);
                }
            }
            (true, _) if certain || !may_write(b) => add(first, second, true),
            (_, true) if certain || !may_write(a) => add(second, first, true),
            _ => {
                let why = "a race of a section with a compare-exchange that is not atomic";
                self.not_asked.push((why, Some(b.site)));
            }
        }
    }
}

impl Formula<'_> {
    /// Implies that a pair races at the moment.
    pub(crate) fn race(&mut self, order: &Order, race: &Race) -> Bit {
        let skeleton = self.skeleton;
        let [a, b] = [race.first, race.second].map(|at| &skeleton.accesses[at]);
        let happens = Bit::from(self.literal());
        for at in [race.first, race.second] {
            let is_next = self.is_next(at);
            self.clause(&[!happens, is_next]);
        }
        let certain = [a, b].iter().any(|access| skeleton.terms.is_true(access.writes));
        if !certain && !is_seeded(Fault::RaceOfReads) {
            let writes = self.bit(a.writes);
            self.clause(&[!happens, writes]);
        }
        if race.is_led && !is_seeded(Fault::RaceUnled) {
            let leads = self.before(order, a.node, b.node);
            self.clause(&[!happens, leads]);
        }
        happens
    }

    /// Implies that a thread is in front of an access at the moment.
    fn is_next(&mut self, access: usize) -> Bit {
        if let Some(&known) = self.nexts.get(&access) {
            return known;
        }
        let skeleton = self.skeleton;
        let &Access { node, guard, .. } = &skeleton.accesses[access];
        let is_next = Bit::from(self.literal());
        let guard = self.bit(guard);
        self.clause(&[!is_next, guard]);
        if let Some(previous) = previous(skeleton, node)
            && !is_seeded(Fault::RaceTooEarly)
        {
            let is_there = self.is_before_moment(previous);
            self.clause(&[!is_next, is_there]);
        }
        let is_done = self.is_before_moment(node);
        self.clause(&[!is_next, !is_done]);
        self.nexts.insert(access, is_next);
        is_next
    }
}
