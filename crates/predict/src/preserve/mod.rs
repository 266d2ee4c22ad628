//! Verdicts without a solver: schedules that keep the recorded order, and needs that no order
//! avoids.
//!
//! **Computes.** For a class, some member whose required events, closed under what each of them
//! needs in recorded order, do not contain the members themselves. That set, in recorded order, is
//! a feasible schedule.
//!
//! **Follows.** Sync-preserving races (Mathur, Pavlogiannis, Viswanathan, POPL 2021), here for all
//! primitives of `docs/theory.md` and for every property that is about events that are next. What
//! it misses is left to the solver, so it needs to be right only in one direction, and the witness
//! checker sees to that.
//!
//! **Invariant.** The closure grows with the events that it is asked to contain. So a sweep over
//! the members of two groups in program order misses no pair: a member inside the closure of the
//! current pair is inside that of every later pair.
//!
//! For a race of one pair there is a second try, in which one of the two threads comes late: all
//! that it does from the locks on that it has at the race comes behind everything else, in a set
//! that is closed under that order of holds.
//!
//! The same sweep with only those needs that hold in *any* order, and without the rule for locks,
//! refutes: if it finds no member outside the closure, no schedule has one.
//!
//! **Cost.** A sweep costs the growth of the closure: members plus changes of needs, times threads;
//! and for each lock whenever new holds of it come in, as much as it has users.

use foretrace_causality::{Givers, Needs, Order, Rules};
use foretrace_model::{HoldId, Origins, Skeleton};
use foretrace_trace::{EventId, LockId, Mode, ThreadId, Trace};
use foretrace_verdict::Violation;

use crate::candidates::{
    AtomicityPart, Class, CyclePart, Groups, LateUse, Parts, RacePart, canonical_cycle,
};
use crate::fault::{Fault, is_seeded, spoil_origins};
use crate::goal::is_pending;

/// Where holds of one lock in one mode by one thread are.
#[derive(Clone, Copy, Debug)]
struct Slot {
    lock: LockId,
    thread: ThreadId,
    mode: Mode,
}

/// What does not change from closure to closure.
pub(crate) struct Preserve<'s> {
    order: Order,
    skeleton: &'s Skeleton<'s>,
    needs: Needs,
    slots: Vec<Slot>,
    /// The slots of each lock.
    slots_of: Vec<Vec<u32>>,
    slot_of: Vec<u32>,
    /// The holds that each thread opens, in program order.
    opened: Vec<Vec<HoldId>>,
    /// How many events each thread has before its first read of an unknown writer.
    explained: Vec<u32>,
}

/// A member of a class and the schedule that ends in it.
type Found = (Violation, Vec<EventId>);

impl<'s> Preserve<'s> {
    /// `None` if the table of needs would be too large.
    pub(crate) fn new(skeleton: &'s Skeleton<'s>, givers: &Givers, order: Order) -> Option<Self> {
        let trace = skeleton.trace;
        let mut needs = Needs::new(skeleton, givers, Rules { order, data: true })?;
        if order == Order::Any {
            let mut origins = Origins::new(skeleton);
            spoil_origins(&mut origins);
            needs = needs.sharpened(skeleton, &origins);
        }
        let mut preserve = Preserve {
            order,
            skeleton,
            needs,
            slots: Vec::new(),
            slots_of: vec![Vec::new(); trace.locks().len()],
            slot_of: Vec::with_capacity(skeleton.locks.len()),
            opened: vec![Vec::new(); trace.threads().len()],
            explained: Vec::new(),
        };
        let unknown = skeleton.memory.first_unknown_writers(trace);
        let position =
            |read: Option<EventId>| read.map_or(u32::MAX, |read| trace.position(read) as u32);
        preserve.explained = unknown.into_iter().map(position).collect();
        let mut index = rustc_hash::FxHashMap::default();
        for at in 0..skeleton.locks.len() {
            let id = HoldId(at as u32);
            let hold = skeleton.locks.hold(id);
            let (lock, mode) = (hold.lock, hold.mode);
            let slot = *index.entry((lock, hold.thread, mode)).or_insert_with(|| {
                preserve.slots.push(Slot { lock, thread: hold.thread, mode });
                let slot = preserve.slots.len() as u32 - 1;
                preserve.slots_of[lock.index()].push(slot);
                slot
            });
            preserve.slot_of.push(slot);
            // Holds are numbered in recorded order, so each list is in program order.
            preserve.opened[hold.thread.index()].push(id);
        }
        Some(preserve)
    }

    /// The table of needs.
    pub(crate) fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Whether no schedule has a member of the class; `explained`: no schedule without reads of
    /// unknown writers.
    pub(crate) fn refutes(&self, groups: &Groups, class: &Class, explained: bool) -> bool {
        assert_eq!(self.order, Order::Any);
        !matches!(class.parts, Parts::Stuck(_) | Parts::Lock(_) | Parts::Assertion(_))
            && self.find(groups, class, explained).is_none()
    }

    /// A member of the class, and the schedule that ends in it, if the recorded order has one;
    /// `explained`: one without reads of unknown writers.
    pub(crate) fn witness(&self, groups: &Groups, class: &Class, explained: bool) -> Option<Found> {
        assert_eq!(self.order, Order::Recorded);
        self.find(groups, class, explained)
    }

    /// Schedules for a use of freed memory in which the thread that uses it comes late; the checker
    /// may refuse them.
    pub(crate) fn late_uses<'f>(
        &'f self,
        assertions: &'f [EventId],
        explained: bool,
    ) -> impl Iterator<Item = Found> + 'f {
        assertions.iter().filter_map(move |&assertion| {
            let mut closure = Closure::new(self, explained);
            closure.late = Some(self.first_lock_at(assertion)?);
            self.late_use(assertion, closure)
        })
    }

    /// Schedules for a race of one pair in which the thread of one of its events comes late; the
    /// checker may refuse them.
    pub(crate) fn late_races<'f>(
        &'f self,
        groups: &'f Groups,
        part: &'f RacePart,
        explained: bool,
    ) -> impl Iterator<Item = Found> + 'f {
        let events = [groups.events(part.first), groups.events(part.second)];
        let is_one_pair = events.iter().all(|events| events.len() == 1);
        let late = events.into_iter().filter(move |_| is_one_pair);
        late.filter_map(move |events| {
            let mut closure = Closure::new(self, explained);
            closure.late = Some(self.first_lock_at(events[0])?);
            self.race(groups, part, closure)
        })
    }

    /// Where the thread of an event took a lock when it last had none before the event, if it has
    /// any there.
    fn first_lock_at(&self, event: EventId) -> Option<EventId> {
        let mut first = None;
        for &id in self.opened[self.skeleton.trace.thread_of(event).index()].iter().rev() {
            let hold = self.skeleton.locks.hold(id);
            let until = first.unwrap_or(event);
            if hold.open < until && hold.close.is_none_or(|close| close > until) {
                first = Some(hold.open);
            }
        }
        first
    }

    fn find(&self, groups: &Groups, class: &Class, explained: bool) -> Option<Found> {
        let new = || Closure::new(self, explained);
        match &class.parts {
            Parts::Race(parts) => parts.iter().find_map(|part| self.race(groups, part, new())),
            Parts::Atomicity(parts) => {
                parts.iter().find_map(|part| self.atomicity(groups, part, new()))
            }
            Parts::LockCycle(parts) => parts.iter().find_map(|part| self.cycle(part, new())),
            Parts::LateUse(events) => events.iter().find_map(|&event| self.late_use(event, new())),
            Parts::Stuck(_) | Parts::Lock(_) | Parts::Assertion(_) => None,
        }
    }

    fn race(&self, groups: &Groups, part: &RacePart, mut closure: Closure) -> Option<Found> {
        let trace = self.skeleton.trace;
        let lists = [groups.events(part.first), groups.events(part.second)];
        let object = trace.op(lists[0][0]).access()?.at.object;
        if let Some(alloc) = self.skeleton.lifetimes.alloc_of(object) {
            closure.include(alloc);
        }
        let mut at = [0, 0];
        loop {
            let pair = [*lists[0].get(at[0])?, *lists[1].get(at[1])?];
            for event in pair {
                closure.reach(event);
            }
            if !closure.settle() {
                return None;
            }
            if let Some(free) = self.skeleton.lifetimes.free_of(object)
                && closure.contains(free)
            {
                return None;
            }
            let mut inside = false;
            for side in [0, 1] {
                if closure.contains(pair[side]) {
                    inside = true;
                    at[side] = closure.first_outside(lists[side]);
                }
            }
            if !inside {
                let violation = Violation::Race(pair[0].min(pair[1]), pair[0].max(pair[1]));
                return Some((violation, closure.schedule()));
            }
        }
    }

    /// The memory is freed, and the look before an access to it is next.
    fn late_use(&self, assertion: EventId, mut closure: Closure) -> Option<Found> {
        let LateUse { freed, look, .. } = LateUse::of(self.skeleton, assertion)?;
        closure.include(freed);
        closure.reach(look);
        if is_seeded(Fault::UseBeforeFree) {
            closure.include(look);
        }
        if !closure.settle() || closure.contains(look) {
            return None;
        }
        let mut schedule = closure.schedule();
        schedule.push(look);
        Some((Violation::Assertion(assertion), schedule))
    }

    fn atomicity(
        &self,
        groups: &Groups,
        part: &AtomicityPart,
        mut closure: Closure,
    ) -> Option<Found> {
        let remotes = groups.events(part.remotes);
        for &(first, second) in part.pairs.iter() {
            closure.reach(second);
            // The earliest remote access that can come after the first one asks for the least.
            let remote = match self.order {
                Order::Recorded => remotes.partition_point(|&remote| remote < first),
                Order::Any => {
                    let thread = self.skeleton.trace.thread_of(first);
                    let position = self.skeleton.trace.position(first) as u32;
                    let needs = self.needs.of(thread, position);
                    remotes.partition_point(|&remote| {
                        let at = self.skeleton.trace.position(remote) as u32;
                        at < needs[self.skeleton.trace.thread_of(remote).index()]
                    })
                }
            };
            let remote = *remotes.get(remote)?;
            match self.order {
                Order::Recorded => closure.include(remote),
                // Its value may be free, so what it reads from is not needed.
                Order::Any => closure.reach(remote),
            }
            if !closure.settle() {
                return None;
            }
            if !closure.contains(second) {
                let violation = Violation::Atomicity { first, remote, second };
                return Some((violation, closure.schedule()));
            }
        }
        None
    }

    fn cycle(&self, part: &CyclePart, mut closure: Closure) -> Option<Found> {
        let trace = self.skeleton.trace;
        let mut at = vec![0; part.nodes.len()];
        loop {
            let mut points = Vec::with_capacity(at.len());
            for (node, &at) in part.nodes.iter().zip(&at) {
                points.push(*node.points.get(at)?);
            }
            for &event in &points {
                if is_pending(trace, event) {
                    closure.include(event);
                } else {
                    closure.reach(event);
                }
            }
            if !closure.settle() {
                return None;
            }
            let mut moved = false;
            for (&event, at) in points.iter().zip(&mut at) {
                if !is_pending(trace, event) && closure.contains(event) {
                    *at += 1;
                    moved = true;
                }
            }
            if !moved {
                return Some((canonical_cycle(points), closure.schedule()));
            }
        }
    }
}

/// When a hold is: those that come late behind all others, the rest in recorded order.
type When = (bool, HoldId);

/// The latest of some holds, and the latest one of any other thread: enough to know the latest that
/// is not a given thread's.
#[derive(Clone, Copy, Default, Debug)]
struct Latest {
    first: Option<(When, ThreadId)>,
    second: Option<When>,
}

impl Latest {
    fn add(&mut self, id: When, thread: ThreadId) {
        match self.first {
            Some((first, by)) if by == thread => self.first = Some((first.max(id), by)),
            Some((first, _)) if first > id => self.second = self.second.max(Some(id)),
            // What was first is of another thread than the new one, and not before the second.
            known => {
                self.second = known.map(|(first, _)| first);
                self.first = Some((id, thread));
            }
        }
    }

    fn of_others(&self, thread: ThreadId) -> Option<When> {
        match self.first {
            Some((_, by)) if by == thread => self.second,
            first => first.map(|(id, _)| id),
        }
    }
}

/// A set of events, closed under program order and needs.
struct Closure<'p> {
    base: &'p Preserve<'p>,
    trace: &'p Trace,
    /// How many events of each thread are in it.
    cut: Vec<u32>,
    /// How many events of each thread may be in it.
    most: Option<&'p [u32]>,
    /// From here on a thread comes behind all others.
    late: Option<EventId>,
    /// How many of each thread's opened holds are in it.
    holds: Vec<u32>,
    /// The last hold of each slot in it.
    last: Vec<Option<HoldId>>,
    work: Vec<(u32, u32)>,
    /// The locks of which new holds came in, each once.
    dirty: Vec<LockId>,
    is_dirty: Vec<bool>,
}

impl<'p> Closure<'p> {
    /// The empty set; `explained`: reads of unknown writers may not come in.
    fn new(base: &'p Preserve<'p>, explained: bool) -> Self {
        let trace = base.skeleton.trace;
        let threads = trace.threads().len();
        Closure {
            base,
            trace,
            cut: vec![0; threads],
            most: explained.then_some(&base.explained[..]),
            late: None,
            holds: vec![0; threads],
            last: vec![None; base.slots.len()],
            work: Vec::new(),
            dirty: Vec::new(),
            is_dirty: vec![false; base.slots_of.len()],
        }
    }

    fn contains(&self, event: EventId) -> bool {
        (self.trace.position(event) as u32) < self.cut[self.trace.thread_of(event).index()]
    }

    /// The first of a thread's events, in program order, that is not in the set.
    fn first_outside(&self, events: &[EventId]) -> usize {
        let cut = self.cut[self.trace.thread_of(events[0]).index()];
        events.partition_point(|&event| (self.trace.position(event) as u32) < cut)
    }

    /// The set must contain the event.
    fn include(&mut self, event: EventId) {
        let thread = self.trace.thread_of(event);
        self.work.push((thread.0, self.trace.position(event) as u32 + 1));
    }

    /// The event must be next, or executed.
    fn reach(&mut self, event: EventId) {
        let thread = self.trace.thread_of(event);
        if let Some(fork) = self.base.skeleton.fork_of(thread) {
            self.include(fork);
        }
        self.work.push((thread.0, self.trace.position(event) as u32));
    }

    /// Adds what is needed. `false`: no set contains it.
    fn settle(&mut self) -> bool {
        loop {
            while let Some((thread, count)) = self.work.pop() {
                if self.most.is_some_and(|most| count > most[thread as usize]) {
                    return false;
                }
                self.grow(ThreadId(thread), count);
            }
            let Some(lock) = self.dirty.pop() else { return true };
            self.is_dirty[lock.index()] = false;
            if !self.close_holds(lock) {
                return false;
            }
        }
    }

    fn grow(&mut self, thread: ThreadId, count: u32) {
        let at = thread.index();
        if count <= self.cut[at] {
            return;
        }
        self.cut[at] = count;
        for (other, &needed) in self.base.needs.of(thread, count - 1).iter().enumerate() {
            if needed > self.cut[other] {
                self.work.push((other as u32, needed));
            }
        }
        if self.base.order == Order::Any {
            return;
        }
        let opened = &self.base.opened[at];
        while let Some(&id) = opened.get(self.holds[at] as usize) {
            let hold = self.base.skeleton.locks.hold(id);
            if self.trace.position(hold.open) as u32 >= count {
                break;
            }
            self.holds[at] += 1;
            self.last[self.base.slot_of[id.index()] as usize] = Some(id);
            let is_dirty = &mut self.is_dirty[hold.lock.index()];
            if !*is_dirty {
                *is_dirty = true;
                self.dirty.push(hold.lock);
            }
        }
    }

    /// Whether the event is one of a thread that comes late.
    fn is_late(&self, event: EventId) -> bool {
        let same = |late| self.trace.thread_of(late) == self.trace.thread_of(event);
        self.late.is_some_and(|late| event >= late && same(late))
    }

    fn when(&self, id: HoldId) -> When {
        (self.is_late(self.base.skeleton.locks.hold(id).open), id)
    }

    /// Of conflicting holds of a lock that are both in the set, the earlier one must be closed in
    /// it.
    fn close_holds(&mut self, lock: LockId) -> bool {
        let locks = &self.base.skeleton.locks;
        let slots = &self.base.slots_of[lock.index()];
        // An exclusive hold conflicts with every mode, a shared one with exclusive holds only.
        let (mut any, mut exclusive) = (Latest::default(), Latest::default());
        for &slot in slots {
            if let Some(id) = self.last[slot as usize] {
                let Slot { thread, mode, .. } = self.base.slots[slot as usize];
                any.add(self.when(id), thread);
                if mode == Mode::Exclusive {
                    exclusive.add(self.when(id), thread);
                }
            }
        }
        for &slot in slots {
            let Some(id) = self.last[slot as usize] else { continue };
            let Slot { thread, mode, lock: of } = self.base.slots[slot as usize];
            debug_assert_eq!(of, lock);
            let conflicting = if mode == Mode::Exclusive { &any } else { &exclusive };
            let overtaken =
                conflicting.of_others(thread).is_some_and(|later| later > self.when(id));
            if overtaken && !is_seeded(Fault::ClosureKeepsHolds) {
                let Some(close) = locks.hold(id).close else { return false };
                if !self.contains(close) {
                    self.include(close);
                }
            }
        }
        true
    }

    /// The set in recorded order, with what comes late behind it.
    fn schedule(&self) -> Vec<EventId> {
        if self.base.order == Order::Any {
            return Vec::new();
        }
        let total: usize = self.cut.iter().map(|&count| count as usize).sum();
        let mut schedule = Vec::with_capacity(total);
        if total * 8 > self.trace.len() {
            let events = (0..self.trace.len()).map(EventId::from);
            schedule.extend(events.filter(|&event| self.contains(event)));
        } else {
            for (thread, &count) in self.cut.iter().enumerate() {
                let events = self.trace.thread_events(ThreadId::from(thread));
                schedule.extend_from_slice(&events[..count as usize]);
            }
            schedule.sort_unstable();
        }
        if self.late.is_some() {
            schedule.sort_by_key(|&event| self.is_late(event));
        }
        schedule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_hold_of_others_is_what_a_search_finds() {
        // Every sequence of five holds of three threads, in any order of their numbers.
        for threads in 0..3u32.pow(5) {
            for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 4, 0, 3, 2]] {
                let holds =
                    order.map(|id| ((false, HoldId(id)), ThreadId(threads / 3u32.pow(id) % 3)));
                let mut latest = Latest::default();
                for (id, thread) in holds {
                    latest.add(id, thread);
                }
                for asked in (0..3).map(ThreadId) {
                    let others = holds.iter().filter(|(_, thread)| *thread != asked);
                    assert_eq!(latest.of_others(asked), others.map(|&(id, _)| id).max());
                }
            }
        }
    }
}
