//! Changes of a recorded run that may mend a bug: which locks to hold where, in which order, and
//! what to make atomic.

use std::collections::{BTreeSet, HashSet};

use foretrace_predict::Patch;
use foretrace_report::function_in_short;
use foretrace_trace::{
    Access, EventId, Location, LockId, Mode, Op, Place, Request, ThreadId, Trace, ops,
};

use crate::holds::Holds;

/// So many existing locks are tried.
const MOST_LOCKS: usize = 3;

/// So many things are looked at that a thread read before something went wrong.
const MOST_PLACES: usize = 3;

/// So many changes are tried that may mend what depends on data.
const MOST_TRIED: usize = 24;

/// A lock that the program does not have yet, in proposals.
const NEW_LOCK: &str = "a new lock";

/// What is said where a thread gives a lock back that it now keeps.
const ALL_THE_WAY: &str = " without giving it back in between";

/// How a lock came to be held from one event to another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cover {
    /// The thread has it anyway.
    AsItIs,
    /// The thread did not take it there.
    New,
    /// The thread took it for a part.
    Wider,
}

/// A line of the source.
type Line<'t> = (&'t str, u32);

/// Makes patches of a trace.
pub(super) struct Ways<'t> {
    trace: &'t Trace,
    /// The locks that the thread of each event has before it.
    held: Vec<Vec<LockId>>,
}

/// What to change, and the change.
pub(super) type Named = (String, Patch);

impl<'t> Ways<'t> {
    pub(super) fn new(trace: &'t Trace) -> Self {
        let mut holds = Holds::default();
        let held = (0..trace.len()).map(|row| {
            let event = EventId::from(row);
            let thread = trace.thread_of(event);
            let locks = holds.of(thread).iter().map(|hold| hold.lock).collect();
            holds.step(thread, event, trace.op(event));
            locks
        });
        let held = held.collect();
        Ways { trace, held }
    }

    fn line(&self, event: EventId) -> Option<Line<'t>> {
        let id = self.trace.location_of(event)?;
        let place = Location::parse(self.trace.locations().get(id.index()))?;
        Some((place.file, place.line))
    }

    fn lock_name(&self, lock: LockId) -> &'t str {
        self.trace.locks().get(lock.index())
    }

    /// The events around an event that stand in the same line: the first and the last, positions of
    /// the thread.
    fn span(&self, event: EventId) -> (usize, usize) {
        let events = self.trace.thread_events(self.trace.thread_of(event));
        let (at, line) = (self.trace.position(event), self.line(event));
        let is_here = |at: usize| {
            line.is_some() && self.line(events[at]) == line && is_inside(self.trace, events[at])
        };
        let first = (0..at).rev().take_while(|&at| is_here(at)).last().unwrap_or(at);
        let last = (at + 1..events.len()).take_while(|&at| is_here(at)).last().unwrap_or(at);
        (first, last)
    }

    /// All events that stand where this one does.
    fn alike(&self, event: EventId) -> Vec<EventId> {
        let wanted = self.line(event);
        let all = (0..self.trace.len()).map(EventId::from);
        all.filter(|&other| {
            other == event
                || (wanted.is_some()
                    && self.line(other) == wanted
                    && self.trace.access(other).is_some())
        })
        .collect()
    }

    /// Holds a lock around the lines of some events, wherever they are executed.
    fn guard(&self, lock: &str, events: &[EventId], patch: &mut Patch) -> Vec<String> {
        let (mut done, mut places) = (HashSet::new(), Vec::new());
        for &event in events {
            for one in self.alike(event) {
                let thread = self.trace.thread_of(one);
                let (first, last) = self.span(one);
                let holds = |lock_id: &LockId| self.lock_name(*lock_id) == lock;
                let start = self.trace.thread_events(thread)[first];
                if self.held[start.index()].iter().any(holds) || !done.insert((thread, first)) {
                    continue;
                }
                let events = self.trace.thread_events(thread);
                patch.hold(lock, events[first], events[last]);
                places.push(self.place(one));
            }
        }
        places.sort();
        places.dedup();
        places
    }

    /// `a.c:3 (main)`
    fn place(&self, event: EventId) -> String {
        let thread = || self.trace.threads().get(self.trace.thread_of(event).index());
        let location = self.trace.location_of(event);
        let text = location.map(|id| self.trace.locations().get(id.index()));
        match text.and_then(Location::parse) {
            Some(place) => {
                let function = place.function.map(function_in_short);
                let function = function.map_or(String::new(), |name| format!(" ({name})"));
                format!("{}:{}{function}", place.file_name(), place.line)
            }
            None => format!("event {} of {}", event.0, thread()),
        }
    }

    /// The locks to try: those that the events already hold, then those that other accesses to the
    /// same memory hold, then those that all threads of the events take somewhere.
    fn locks(&self, events: &[EventId]) -> Vec<&'t str> {
        let places = events.iter().filter_map(|&event| Some(self.trace.access(event)?.at));
        let places: HashSet<Place> = places.collect();
        let others = places.iter().flat_map(|&place| self.accesses_to(place));
        let held = events.iter().copied().chain(others);
        let held = held.flat_map(|event| &self.held[event.index()]).copied();
        let threads: HashSet<ThreadId> =
            events.iter().map(|&event| self.trace.thread_of(event)).collect();
        let taken: Vec<(ThreadId, LockId)> = self.taken().collect();
        let by_all = taken
            .iter()
            .map(|&(_, lock)| lock)
            .filter(|&lock| threads.iter().all(|&thread| taken.contains(&(thread, lock))));
        let mut names: Vec<&str> = Vec::new();
        for name in held.chain(by_all).map(|lock| self.lock_name(lock)) {
            if !names.contains(&name) && names.len() < MOST_LOCKS {
                names.push(name);
            }
        }
        names.push(NEW_LOCK);
        names
    }

    /// All events that access a byte of it.
    fn accesses_to(&self, place: Place) -> impl Iterator<Item = EventId> {
        let accesses = self.trace.accesses();
        let to_it = accesses.filter(move |(_, access)| access.at.overlaps(place));
        to_it.map(|(event, _)| event)
    }

    /// Which thread takes which lock, each pair once, in the order of the run.
    fn taken(&self) -> impl Iterator<Item = (ThreadId, LockId)> {
        let mut known = HashSet::new();
        let pair = |(event, op): (EventId, Op)| {
            let Op::Acquire { lock, .. } = op else { return None };
            Some((self.trace.thread_of(event), lock))
        };
        self.trace.other_ops().filter_map(pair).filter(move |pair| known.insert(*pair))
    }

    pub(super) fn of_race(&self, a: EventId, b: EventId) -> Vec<Named> {
        let mut ways = Vec::new();
        let place = [a, b].map(|event| self.trace.access(event).map(|access| access.at));
        // The smaller one says what the race is about.
        let place = place.into_iter().flatten().min_by_key(|place| place.size);
        let all: Vec<EventId> = place.into_iter().flat_map(|at| self.accesses_to(at)).collect();
        for lock in self.locks(&[a, b]) {
            for scope in [&[a, b][..], &all] {
                let mut patch = Patch::default();
                let places = self.guard(lock, scope, &mut patch);
                let what = format!("hold {} around {}", quoted(lock), places.join(", "));
                if !ways.iter().any(|(known, _)| *known == what) {
                    ways.push((what, patch));
                }
            }
            ways.extend(place.and_then(|place| self.stretches(lock, place)));
        }
        ways.extend(place.into_iter().flat_map(|place| self.atomically(place)));
        ways
    }

    /// Without locks: all accesses to a place become atomic; and those that read and write it in
    /// one line do both in one step.
    fn atomically(&self, place: Place) -> Vec<Named> {
        let all: BTreeSet<EventId> = self.accesses_to(place).collect();
        let fused: BTreeSet<EventId> =
            all.iter().copied().filter(|&read| self.is_updated(read)).collect();
        let name = self.trace.place_name(place);
        let mut places: Vec<String> = fused.iter().map(|&event| self.place(event)).collect();
        places.sort();
        places.dedup();
        let atomic = Patch { atomic: all, ..Patch::default() };
        let but = "each access by itself: a read and a later write stay two steps";
        let alone = (format!("make all accesses to `{name}` atomic ({but})"), atomic.clone());
        let as_one = format!(
            "make `{name}` atomic, and update it in one step at {} (as atomic_fetch_add does)",
            places.join(", ")
        );
        match fused.is_empty() {
            true => vec![alone],
            false => vec![(as_one, Patch { fused, ..atomic }), alone],
        }
    }

    /// Whether the thread writes what it reads here, next and in the same line.
    fn is_updated(&self, read: EventId) -> bool {
        let Op::Read { at, .. } = self.trace.op(read) else { return false };
        let Some(next) = self.trace.next(read) else { return false };
        let is_write = matches!(self.trace.op(next), Op::Write { at: to, .. } if to == at);
        is_write && self.line(read).is_some() && self.line(read) == self.line(next)
    }

    /// Holds a lock wherever a function accesses a place, from the first access to the last.
    fn stretches(&self, lock: &str, place: Place) -> Option<Named> {
        let mut patch = Patch::default();
        let places = self.guard_stretches(lock, place, &mut patch);
        let what = format!("hold {} {}", quoted(lock), places.join(", and "));
        (!places.is_empty()).then_some((what, patch))
    }

    pub(super) fn of_atomicity(
        &self,
        first: EventId,
        remote: EventId,
        second: EventId,
    ) -> Vec<Named> {
        let (from, to) = (self.line(first), self.line(second));
        let mut ways = Vec::new();
        for lock in self.locks(&[remote, first, second]) {
            let mut patch = Patch::default();
            let mut gives_back = false;
            for thread in self.trace.thread_ids() {
                gives_back |=
                    self.hold_between(lock, thread, (from, to), (first, second), &mut patch);
            }
            let others = self.guard(lock, &[remote], &mut patch);
            let mut what = format!(
                "hold {} from {} to {}",
                quoted(lock),
                self.place(first),
                self.place(second)
            );
            if gives_back {
                what.push_str(ALL_THE_WAY);
            }
            if !others.is_empty() {
                what.push_str(&format!(", and around {}", others.join(", ")));
            }
            ways.push((what, patch));
        }
        ways
    }

    /// Holds a lock from each execution of one line to the next one of another; says whether the
    /// thread gave it back in between.
    fn hold_between(
        &self,
        lock: &str,
        thread: ThreadId,
        (from, to): (Option<Line>, Option<Line>),
        (first, second): (EventId, EventId),
        patch: &mut Patch,
    ) -> bool {
        let mut gives_back = false;
        let events = self.trace.thread_events(thread);
        let is_at = |at: usize, line: Option<Line>, event: EventId| {
            let here = events[at];
            here == event
                || (line.is_some() && self.line(here) == line && self.trace.access(here).is_some())
        };
        let mut at = 0;
        while at < events.len() {
            let end = (at + 1..events.len()).find(|&end| is_at(end, to, second));
            let (true, Some(end)) = (is_at(at, from, first), end) else {
                at += 1;
                continue;
            };
            let (start, last) = (self.span(events[at]).0, self.span(events[end]).1);
            gives_back |= self.cover(lock, thread, (start, last), patch) == Some(Cover::Wider);
            at = last.max(end) + 1;
        }
        gives_back
    }

    /// Each thread of the cycle may take what it waits for before what it holds; or all of them
    /// take one lock more around both.
    pub(super) fn of_cycle(&self, acquires: &[EventId]) -> Vec<Named> {
        let mut ways = Vec::new();
        let wanted: Vec<LockId> =
            acquires.iter().filter_map(|&event| lock_of(self.trace.op(event))).collect();
        let mut gate = Patch::default();
        for &acquire in acquires {
            let Some(inner) = lock_of(self.trace.op(acquire)) else { continue };
            let Some(&outer) = self.held[acquire.index()].iter().find(|held| wanted.contains(held))
            else {
                continue;
            };
            let mut swap = Patch::default();
            for (take, again) in self.nested(outer, inner) {
                let name = self.lock_name(inner).to_string();
                // Where the thread had to wait, it first asks.
                let before = swap.acquire_before.entry(take).or_default();
                if before.is_empty() {
                    before.push(name);
                }
                swap.left_out.insert(again);
                if matches!(self.trace.op(again), Op::Request(_)) {
                    continue;
                }
                let events = self.trace.thread_events(self.trace.thread_of(take));
                let rest = &events[self.trace.position(again)..];
                let gives_back = |op: Op| matches!(op, Op::Release { lock, .. } if lock == outer);
                if let Some(&release) = rest.iter().find(|&&event| gives_back(self.trace.op(event)))
                {
                    gate.hold(NEW_LOCK, take, release);
                }
            }
            // The same lines of code take them either way round: it depends on the caller.
            let is_one_place = acquires.iter().all(|&other| self.line(other) == self.line(acquire));
            let (inner, outer) = (self.lock_name(inner), self.lock_name(outer));
            let place = self.place(acquire);
            let what = match is_one_place && self.line(acquire).is_some() {
                true if !ways.is_empty() => continue,
                true => format!(
                    "take `{inner}` and `{outer}` in the same order whoever calls {place}, for \
                     example in that of their addresses"
                ),
                false => format!("take `{inner}` before `{outer}` at {place}"),
            };
            ways.push((what, swap));
        }
        // Where the recorded run itself deadlocked, threads never come to the end of a section.
        if acquires.iter().all(|&event| matches!(self.trace.op(event), Op::Acquire { .. })) {
            let what = format!("hold {NEW_LOCK} around each of these nested critical sections");
            ways.push((what, gate));
        }
        ways
    }

    /// Where a lock is taken while another one is held: the event that took that, and the one that
    /// takes it.
    fn nested(&self, outer: LockId, inner: LockId) -> Vec<(EventId, EventId)> {
        let mut nested = Vec::new();
        for thread in self.trace.thread_ids() {
            let mut since = None;
            for &event in self.trace.thread_events(thread) {
                let lock = lock_of(self.trace.op(event));
                let holds = self.held[event.index()].contains(&outer);
                if lock == Some(outer) && !holds {
                    since = since.or(Some(event));
                } else if let (true, true, Some(take)) = (lock == Some(inner), holds, since) {
                    nested.push((take, event));
                } else if matches!(self.trace.op(event), Op::Release { lock, .. } if lock == outer)
                {
                    since = None;
                }
            }
        }
        nested
    }

    /// For what goes wrong because of what a thread read: nobody comes between the accesses to
    /// something that it read before this event, in each line, or in each function.
    pub(super) fn of_data(&self, event: EventId) -> Vec<Named> {
        let mut ways: Vec<Named> = Vec::new();
        for place in self.read_before(event) {
            let accesses: Vec<EventId> = self.accesses_to(place).collect();
            let about: Vec<EventId> = [event].into_iter().chain(accesses.iter().copied()).collect();
            for lock in self.locks(&about) {
                let mut patch = Patch::default();
                let places = self.guard(lock, &accesses, &mut patch);
                ways.push((format!("hold {} around {}", quoted(lock), places.join(", ")), patch));
                ways.extend(self.stretches(lock, place));
            }
            ways.extend(
                self.atomically(place).into_iter().filter(|(_, way)| !way.fused.is_empty()),
            );
        }
        ways.truncate(MOST_TRIED);
        ways
    }

    /// What a thread read up to an event, and other threads write: the last first.
    fn read_before(&self, event: EventId) -> Vec<Place> {
        let thread = self.trace.thread_of(event);
        let by_others =
            |&(by, access): &(EventId, Access)| access.writes && self.trace.thread_of(by) != thread;
        let written = self.trace.accesses().filter(by_others).map(|(_, access)| access.at);
        let mut written: Vec<Place> = written.collect();
        written.sort_unstable();
        written.dedup();
        let before = &self.trace.thread_events(thread)[..=self.trace.position(event)];
        let mut places: Vec<Place> = Vec::new();
        for access in before.iter().rev().filter_map(|&event| self.trace.access(event)) {
            let at = access.at;
            let is_known = places.iter().any(|known| known.overlaps(at));
            if access.reads && !is_known && written.iter().any(|one| one.overlaps(at)) {
                places.push(at);
            }
            if places.len() == MOST_PLACES {
                break;
            }
        }
        places
    }

    /// Holds a lock from the first to the last access to a place in each call of a function, as
    /// far as nothing in between waits for others than holders of locks; around whole critical
    /// sections of other locks.
    fn guard_stretches(&self, lock: &str, place: Place, patch: &mut Patch) -> Vec<String> {
        let is_access = |event: EventId| {
            self.trace.access(event).is_some_and(|access| access.at.overlaps(place))
        };
        let mut places = Vec::new();
        for thread in self.trace.thread_ids() {
            let events = self.trace.thread_events(thread);
            let mut at = 0;
            while at < events.len() {
                let first = at;
                at += 1;
                if !is_access(events[first]) {
                    continue;
                }
                let is_free = |&event: &EventId| is_free(self.trace, event);
                let end = first + events[first..].iter().take_while(|event| is_free(event)).count();
                let is_last = |&at: &usize| {
                    is_access(events[at])
                        && self.function(events[at]) == self.function(events[first])
                };
                let last = (first..end).rev().find(is_last).unwrap_or(first);
                at = last + 1;
                let is_inside = |at: usize| {
                    let others = self.held[events[at].index()].iter();
                    others.copied().any(|held| self.lock_name(held) != lock)
                };
                let begin =
                    (0..=first).rev().find(|&at| at == 0 || !is_inside(at)).unwrap_or(first);
                let (start, _) = self.span(events[begin]);
                let behind = (last + 1..end).find(|&at| !is_inside(at)).unwrap_or(end);
                let (_, stop) = self.span(events[last]);
                let stop = stop.max(behind - 1);
                let (from, to) = (self.place(events[first]), self.place(events[last]));
                let wider = match self.cover(lock, thread, (start, stop), patch) {
                    None | Some(Cover::AsItIs) => continue,
                    Some(Cover::New) => "",
                    Some(Cover::Wider) => ALL_THE_WAY,
                };
                places.push(match from == to {
                    true => format!("around {from}{wider}"),
                    false => format!("from {from} to {to}{wider}"),
                });
            }
        }
        places.sort();
        places.dedup();
        places
    }

    /// Holds a lock all the way from one event of a thread to another: it is taken before the one,
    /// given back behind the other, and neither in between. `None` if that cannot be: the thread
    /// waits for a condition with it, or takes it several times or for reading.
    fn cover(
        &self,
        lock: &str,
        thread: ThreadId,
        (first, last): (usize, usize),
        patch: &mut Patch,
    ) -> Option<Cover> {
        let events = self.trace.thread_events(thread);
        let is_it = |id: LockId| self.lock_name(id) == lock;
        let has = |at: usize| self.held[events[at].index()].iter().any(|&held| is_it(held));
        let mut left_out = Vec::new();
        let mut is_held = has(first);
        for &event in &events[first..=last] {
            let is_left_out = match self.trace.op(event) {
                Op::Acquire { lock, mode, .. } if is_it(lock) => {
                    if mode != Mode::Exclusive || is_held {
                        return None;
                    }
                    is_held = true;
                    true
                }
                Op::Release { lock, .. } if is_it(lock) => {
                    is_held = false;
                    true
                }
                Op::Request(Request::Acquire(lock, _)) => is_it(lock),
                Op::Wait { lock, .. } if is_it(lock) => return None,
                ops!(memory data object sem barrier thread Request call mark)
                | ops!(Acquire AcquireFailed Release Destroy Wait Wake Signal Broadcast) => false,
            };
            left_out.extend(is_left_out.then_some(event));
        }
        if left_out.is_empty() && is_held {
            return Some(Cover::AsItIs);
        }
        if !has(first) {
            patch.acquire_before.entry(events[first]).or_default().push(lock.to_string());
        }
        if !is_held {
            patch.release_behind.entry(events[last]).or_default().insert(0, lock.to_string());
        }
        let is_new = left_out.is_empty();
        patch.left_out.extend(left_out);
        Some(if is_new { Cover::New } else { Cover::Wider })
    }

    fn function(&self, event: EventId) -> Option<&'t str> {
        let id = self.trace.location_of(event)?;
        Location::parse(self.trace.locations().get(id.index()))?.function
    }
}

/// The lock that is taken, or waited for.
fn lock_of(op: Op) -> Option<LockId> {
    if let Op::Acquire { lock, .. } | Op::Request(Request::Acquire(lock, _)) = op {
        return Some(lock);
    }
    None
}

/// Whether a critical section may contain it without holding anything up for ever.
fn is_inside(trace: &Trace, event: EventId) -> bool {
    match trace.op(event) {
        ops!(memory data Fence RegionBegin RegionEnd) => true,
        ops!(sync object call External) => false,
    }
}

/// Whether a thread that holds a lock may do it: it waits there for no more than a lock.
fn is_free(trace: &Trace, event: EventId) -> bool {
    match trace.op(event) {
        ops!(Acquire Release) | Op::Request(Request::Acquire(..)) => true,
        Op::Signal { .. } | Op::Broadcast { .. } | Op::SemPost { .. } => true,
        ops!(memory data object call External Fence RegionBegin RegionEnd) => {
            is_inside(trace, event)
        }
        ops!(barrier thread) => false,
        ops!(AcquireFailed Destroy Wait Wake SemWait SemWaitFailed Request) => false,
    }
}

fn quoted(lock: &str) -> String {
    if lock == NEW_LOCK { lock.to_string() } else { format!("`{lock}`") }
}
