//! Section 4: what mutual exclusion says.
//!
//! **Computes.** For each section, the orders that follow from the sections that exclude it.
//!
//! **Invariant.** Of one thread's sections in one mode, those before one that the thread itself
//! closes need not be looked at: each is closed before the next is opened, by `lock-after`, so what
//! is said of the last holds of them too.
//!
//! **Cost.** For each section and thread a binary search.

use std::collections::BTreeSet;

use foretrace_model::{HoldId, Skeleton};
use foretrace_trace::{EventId, LockId, Mode, Op, ThreadId, ops};
use foretrace_verdict::{Fact, Rule};
use rustc_hash::FxHashMap;

use super::Derived;
use super::nodes::{Node, Nodes};
use super::order::{Changes, Order};

/// A hold, or a destruction as one that is never closed.
#[derive(Clone, Copy, Debug)]
struct Section {
    group: u32,
    open: EventId,
    close: Option<EventId>,
    /// Whether its own thread closes it.
    is_kept: bool,
}

/// The sections of one lock, thread and mode, in program order.
#[derive(Debug)]
struct Group {
    lock: LockId,
    thread: ThreadId,
    /// `None`: it destroys the lock.
    mode: Option<Mode>,
    sections: Vec<u32>,
}

impl Group {
    fn excludes(&self, other: &Group) -> bool {
        let is_apart = self.thread != other.thread;
        match (self.mode, other.mode) {
            (Some(a), Some(b)) if is_apart => a.conflicts(b),
            (Some(a), Some(b)) => a == b,
            _ => is_apart,
        }
    }
}

/// All sections of locks that several threads use.
#[derive(Default, Debug)]
pub(super) struct Sections {
    list: Vec<Section>,
    groups: Vec<Group>,
    /// The groups of each lock.
    of_lock: FxHashMap<LockId, Vec<u32>>,
    /// The section that an event opens or closes.
    at: FxHashMap<EventId, u32>,
}

impl Sections {
    pub(super) fn of(skeleton: &Skeleton) -> Self {
        let (trace, locks) = (skeleton.trace, &skeleton.locks);
        let mut all: Vec<(EventId, LockId, Option<Mode>, Option<EventId>)> = (0..locks.len())
            .map(|index| locks.hold(HoldId(index as u32)))
            .map(|hold| (hold.open, hold.lock, Some(hold.mode), hold.close))
            .collect();
        all.extend(trace.other_ops().filter_map(|(event, op)| match op {
            Op::Destroy { lock } => Some((event, lock, None, None)),
            ops!(memory object data cond sem barrier thread call mark Acquire AcquireFailed Release
                Request) => None,
        }));
        all.sort_unstable_by_key(|&(open, ..)| open);
        // The first user of each lock, and whether there is another one.
        let mut users: FxHashMap<LockId, (ThreadId, bool)> = FxHashMap::default();
        for &(open, lock, _, close) in &all {
            for event in [Some(open), close].into_iter().flatten() {
                let thread = trace.thread_of(event);
                let (first, is_shared) = users.entry(lock).or_insert((thread, false));
                *is_shared |= thread != *first;
            }
        }
        let is_shared = |lock: &LockId| users[lock].1;
        let mut sections = Sections::default();
        let mut groups: FxHashMap<(LockId, ThreadId, Option<Mode>), u32> = FxHashMap::default();
        for (open, lock, mode, close) in all.into_iter().filter(|(_, lock, ..)| is_shared(lock)) {
            let thread = trace.thread_of(open);
            let group = *groups.entry((lock, thread, mode)).or_insert_with(|| {
                sections.groups.push(Group { lock, thread, mode, sections: Vec::new() });
                let new = sections.groups.len() as u32 - 1;
                sections.of_lock.entry(lock).or_default().push(new);
                new
            });
            let is_kept = close.is_some_and(|close| trace.thread_of(close) == thread);
            let number = sections.list.len() as u32;
            sections.groups[group as usize].sections.push(number);
            sections.at.insert(open, number);
            sections.at.extend(close.map(|close| (close, number)));
            sections.list.push(Section { group, open, close, is_kept });
        }
        sections
    }

    /// The events that open and close.
    pub(super) fn events(&self) -> impl Iterator<Item = EventId> + '_ {
        self.list.iter().flat_map(|section| [Some(section.open), section.close]).flatten()
    }

    /// The sections of which more may follow, each with the event that opens it.
    pub(super) fn due(&self, nodes: &Nodes, changes: &Changes) -> BTreeSet<(EventId, u32)> {
        let section_at = |&node: &Node| self.at.get(&nodes.event(node)).copied();
        let mut due: BTreeSet<u32> = changes.nodes.iter().filter_map(section_at).collect();
        // An executed opening matters to all that it excludes.
        let is_opening =
            |&number: &u32, node: &Node| self.list[number as usize].open == nodes.event(*node);
        let opened = changes
            .executed
            .iter()
            .filter_map(|node| section_at(node).filter(|n| is_opening(n, node)));
        let lock_of = |number: u32| self.groups[self.list[number as usize].group as usize].lock;
        let locks: BTreeSet<LockId> = opened.map(lock_of).collect();
        for lock in locks {
            due.extend(
                self.of_lock[&lock].iter().flat_map(|&group| &self.groups[group as usize].sections),
            );
        }
        due.into_iter().map(|number| (self.list[number as usize].open, number)).collect()
    }

    /// What the other sections say of this one, which is h2 in the words of the rules.
    pub(super) fn apply_to(&self, number: u32, order: &Order, found: &mut Vec<Derived>) {
        let section = &self.list[number as usize];
        let group = &self.groups[section.group as usize];
        let open = order.nodes.node(section.open);
        if order.is_unexecuted(open) {
            return;
        }
        let close = section.close.map(|close| order.nodes.node(close));
        let is_left_open = close.is_none_or(|close| order.is_unexecuted(close));
        for &other in &self.of_lock[&group.lock] {
            let other = &self.groups[other as usize];
            if !other.excludes(group) {
                continue;
            }
            let thread = other.thread.index();
            let after = order.clock(open, thread);
            for first in self.opened_among(other, number, after, order) {
                let needs = vec![Fact::Before(first.open, section.open)];
                conclude(first, section.open, Rule::LockAfter, needs, order, found);
            }
            let executed = order.executed(thread);
            match (section.close, close) {
                (Some(event), Some(close)) if !is_left_open => {
                    let inside = order.clock(close, thread);
                    for first in self.opened_among(other, number, inside, order) {
                        let needs = vec![Fact::Before(first.open, event)];
                        conclude(first, event, Rule::LockInside, needs, order, found);
                    }
                    for first in self.opened_among(other, number, inside.min(executed), order) {
                        let is_executed = Fact::Executed(first.open);
                        let needs = vec![is_executed, Fact::Before(first.open, event)];
                        conclude(first, section.open, Rule::LockOrder, needs, order, found);
                    }
                }
                (close, _) => {
                    for first in self.opened_among(other, number, executed, order) {
                        let left_open = close.map(Fact::NotExecuted);
                        let needs = [Fact::Executed(first.open)].into_iter().chain(left_open);
                        let needs = needs.collect();
                        conclude(first, section.open, Rule::LockOrder, needs, order, found);
                    }
                }
            }
        }
    }

    /// The sections of the group, but for the one with that number, that are opened among the
    /// thread's first `count` nodes, from the last one back to one that says all of those before.
    fn opened_among<'a>(
        &'a self,
        group: &'a Group,
        but: u32,
        count: u32,
        order: &'a Order,
    ) -> impl Iterator<Item = &'a Section> + 'a {
        let opened = group.sections.partition_point(|&section| {
            let open = order.nodes.node(self.list[section as usize].open);
            order.nodes.rank(open) < count
        });
        let mut is_enough = false;
        let backwards = group.sections[..opened].iter().rev().filter(move |&&number| number != but);
        backwards.map(|&number| &self.list[number as usize]).take_while(move |section| {
            let is_needed = !is_enough;
            is_enough |= section.is_kept;
            is_needed
        })
    }
}

/// The first section is closed before the event; if it is never closed, the event is not executed.
fn conclude(
    first: &Section,
    event: EventId,
    rule: Rule,
    needs: Vec<Fact>,
    order: &Order,
    found: &mut Vec<Derived>,
) {
    let node = |event| order.nodes.node(event);
    let fact = match first.close {
        Some(close) if order.is_before(node(close), node(event)) => return,
        Some(close) => Fact::Before(close, event),
        None => Fact::NotExecuted(event),
    };
    if !order.is_unexecuted(node(event)) {
        found.push(Derived { fact, rule, needs });
    }
}
