//! Candidates: what could be violated, grouped into classes that are one question each.
//!
//! **Computes.** For every property its classes. A class is "does any of these happen?"; its parts
//! are products of event groups, never lists of event pairs. Parts that order (all of
//! synchronisation but locks) or a common lock refutes are dropped here; a class without parts left
//! is pruned.
//!
//! **Cost.** Linear in the trace plus the number of group pairs on each object.

mod alike;
mod assertions;
mod atomicity;
mod benign;
mod deadlocks;
mod lock_errors;
mod races;
mod single;

use std::cell::OnceCell;

use rustc_hash::FxHashMap;

use foretrace_causality::{Locksets, MustHappenBefore, Needs};
use foretrace_model::{HoldId, Region, Skeleton};
use foretrace_trace::{EventId, LocationId, ObjectId, Op, ThreadId, Trace};
use foretrace_verdict::{Column, Columns, Kind, Ledger, LockMisuse, Property, Violation};

use crate::fault::{Fault, is_seeded};
use crate::prediction::{Granularity, NotAsked};
use crate::unanswered::Unanswered;

use alike::SharedAccesses;
pub(crate) use assertions::LateUse;
pub(crate) use atomicity::AtomicityPart;
pub(crate) use deadlocks::{CycleNode, CyclePart, canonical_cycle};
pub(crate) use races::RacePart;
pub(crate) use single::single;

/// A source position as classes see it: an event without a location is its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Site {
    Location(LocationId),
    Event(EventId),
    /// All positions are one (granularity `variable`).
    Anywhere,
}

impl Site {
    /// Where an event is, as far as classes of this granularity tell places apart.
    fn of(trace: &Trace, granularity: Granularity, event: EventId) -> Site {
        match granularity {
            Granularity::Variable => Site::Anywhere,
            Granularity::Location | Granularity::Event => {
                Site::without_object(trace, granularity, event)
            }
        }
    }

    /// The site for properties that are not about a memory object: there, granularity `variable`
    /// tells source locations apart as well.
    fn without_object(trace: &Trace, granularity: Granularity, event: EventId) -> Site {
        let location = trace.location_of(event).filter(|_| granularity != Granularity::Event);
        location.map_or(Site::Event(event), Site::Location)
    }
}

/// Which class a violation belongs to: findings of different models with the same key are the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClassKey {
    kind: Kind,
    object: Option<ObjectId>,
    /// In the order of the violation, if that means something.
    sites: Vec<Site>,
}

impl ClassKey {
    /// The class of a violation, where classes have this granularity.
    pub fn new(trace: &Trace, granularity: Granularity, violation: &Violation) -> ClassKey {
        let object = violation.object(trace);
        let site = |event| match object {
            Some(_) => Site::of(trace, granularity, event),
            None => Site::without_object(trace, granularity, event),
        };
        let mut sites: Vec<Site> = violation.events().into_iter().map(site).collect();
        if matches!(violation, Violation::Race(..) | Violation::LockCycle(_)) {
            sites.sort_unstable();
        }
        ClassKey { kind: violation.kind(), object, sites }
    }
}

/// One question.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) property: Property,
    /// One of its members, for reports of undecided classes.
    pub(crate) example: Violation,
    pub(crate) parts: Parts,
    /// Whether a column counts all parts that are not listed, because order or a lock refutes them.
    pub(crate) listed: Columns<bool>,
}

/// The alternatives of a question.
#[derive(Clone, Debug)]
pub(crate) enum Parts {
    Race(Vec<RacePart>),
    Atomicity(Vec<AtomicityPart>),
    LockCycle(Vec<CyclePart>),
    Stuck(Vec<EventId>),
    Lock(Vec<(LockMisuse, EventId)>),
    Assertion(Vec<EventId>),
    /// Assertions that memory is not freed yet.
    LateUse(Vec<EventId>),
}

impl Parts {
    /// Whether the answer depends on what the question itself computes, and not only on which
    /// events are executed.
    pub(crate) fn are_about_data(&self) -> bool {
        matches!(self, Parts::Assertion(_))
    }
}

/// Events of one thread in program order that are alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct GroupId(u32);

/// All groups.
#[derive(Default, Debug)]
pub(crate) struct Groups {
    events: Vec<EventId>,
    /// Where each group ends.
    ends: Vec<u32>,
}

impl Groups {
    pub(crate) fn events(&self, group: GroupId) -> &[EventId] {
        let at = group.0 as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.events[start as usize..self.ends[at] as usize]
    }

    fn add(&mut self, events: &[EventId]) -> GroupId {
        let id = GroupId(self.ends.len() as u32);
        self.events.extend_from_slice(events);
        self.ends.push(self.events.len() as u32);
        id
    }
}

/// All candidates of a prediction.
#[derive(Default, Debug)]
pub(crate) struct Candidates {
    pub(crate) groups: Groups,
    pub(crate) classes: Vec<Class>,
    /// The classes of which nothing is left.
    pub(crate) pruned: FxHashMap<Property, Ledger>,
    /// An example of each class that is pruned.
    pub(crate) refuted: Vec<(Property, Violation)>,
    /// Candidates that could not even be listed: the property and the reason.
    pub(crate) unlisted: Vec<(Property, Violation, Unanswered)>,
    pub(crate) not_asked: Vec<NotAsked>,
}

/// What the listing of candidates works with.
pub(crate) struct Context<'c> {
    pub(crate) skeleton: &'c Skeleton<'c>,
    pub(crate) order: &'c MustHappenBefore,
    /// What synchronisation needs in any order, where it is known.
    pub(crate) synchronisation: Option<&'c Needs>,
    pub(crate) locksets: &'c Locksets,
    pub(crate) regions: &'c [Region],
    pub(crate) infer_regions: bool,
    pub(crate) granularity: Granularity,
    /// Whether parts that order or a common lock refutes are left out.
    pub(crate) prune: bool,
}

impl Context<'_> {
    /// Where an event is, as far as classes tell places apart.
    fn site(&self, event: EventId) -> Site {
        Site::of(self.skeleton.trace, self.granularity, event)
    }

    /// The site for properties that are not about a memory object.
    fn site_without_object(&self, event: EventId) -> Site {
        Site::without_object(self.skeleton.trace, self.granularity, event)
    }

    /// How many events of each thread must be executed before the event at that position can be
    /// next.
    fn clock(&self, thread: ThreadId, position: usize) -> &[u32] {
        match (self.synchronisation, position.checked_sub(1)) {
            (Some(needs), Some(before)) => needs.of(thread, before as u32),
            _ => self.order.clock(thread, position),
        }
    }

    /// Whether `a`, of another thread than `b`, is executed whenever `b` is next.
    fn precedes(&self, a: EventId, b: EventId) -> bool {
        let trace = self.skeleton.trace;
        let clock = self.clock(trace.thread_of(b), trace.position(b));
        clock[trace.thread_of(a).index()] > trace.position(a) as u32
    }

    /// Whether some event of `a` and some of `b`, groups of different threads, are not ordered by
    /// synchronisation other than locks.
    fn any_unordered(&self, a: &[EventId], b: &[EventId]) -> bool {
        self.any_unordered_by(a, b, |&event| event)
    }

    /// The same for things that have events.
    fn any_unordered_by<T>(&self, a: &[T], b: &[T], event_of: impl Fn(&T) -> EventId) -> bool {
        let trace = self.skeleton.trace;
        // Mostly, one group as a whole precedes the other.
        let all_precede = |a: &[T], b: &[T]| {
            let last = event_of(a.last().expect("groups have members"));
            self.precedes(last, event_of(&b[0]))
        };
        if all_precede(a, b) || all_precede(b, a) {
            return false;
        }
        let other = trace.thread_of(event_of(&b[0])).index();
        let thread = trace.thread_of(event_of(&a[0]));
        a.iter().any(|event| {
            let event = event_of(event);
            // The first of `b` that need not precede `event`: if any is unordered, this one is,
            // since later ones of its thread are needed by nothing earlier.
            let clock = self.clock(thread, trace.position(event))[other]
                + u32::from(is_seeded(Fault::OrderOffByOne));
            let at = b.partition_point(|other| (trace.position(event_of(other)) as u32) < clock);
            b.get(at).is_some_and(|later| !self.precedes(event, event_of(later)))
        })
    }
}

/// Lists the candidates of the given properties.
pub(crate) fn list(context: &Context, properties: &[Property]) -> Candidates {
    let mut candidates = Candidates::default();
    let shared = OnceCell::new();
    let accesses = || shared.get_or_init(|| SharedAccesses::new(context));
    let blocking = blocking_events(context);
    for &property in properties {
        match property {
            Property::Race => races::list(context, accesses(), &mut candidates),
            Property::Atomicity => {
                if !context.regions.is_empty() {
                    atomicity::list(context, accesses(), &blocking, &mut candidates);
                } else if !context.infer_regions {
                    candidates.not_asked.push(NotAsked::NoRegions);
                }
            }
            Property::Deadlock => deadlocks::list(context, &blocking, &mut candidates),
            Property::Lock => lock_errors::list(context, &blocking, &mut candidates),
            Property::Assertion => assertions::list(context, &mut candidates),
        }
    }
    candidates
}

/// For each thread, in program order, the events that change what it holds, or at which it may have
/// to wait. They are few, and all that most candidates are about.
fn blocking_events(context: &Context) -> Vec<Vec<EventId>> {
    let trace = context.skeleton.trace;
    let mut events = vec![Vec::new(); trace.threads().len()];
    for (event, op) in trace.other_ops() {
        let is_call = matches!(op, Op::EnterCall { .. } | Op::LeaveCall);
        let waits_in_call = is_call && context.skeleton.waiting_calls.at(event).is_some();
        if waits_in_call
            || matches!(
                op,
                Op::Acquire { .. }
                    | Op::Release { .. }
                    | Op::Destroy { .. }
                    | Op::Wait { .. }
                    | Op::Wake { .. }
                    | Op::SemWait { .. }
                    | Op::Arrive { .. }
                    | Op::Leave { .. }
                    | Op::Request(_)
            )
        {
            events[trace.thread_of(event).index()].push(event);
        }
    }
    events
}

/// Gathers the parts of classes by key, in order of first appearance.
struct Gathering<K, P> {
    index: FxHashMap<K, usize>,
    classes: Vec<Gathered<P>>,
}

struct Gathered<P> {
    example: Violation,
    parts: Vec<P>,
    /// Whether a lock refutes some part that order does not.
    locks: bool,
    /// Which columns count all parts that are refuted.
    columns: Columns<bool>,
}

impl<K: std::hash::Hash + Eq, P> Gathering<K, P> {
    fn new() -> Self {
        Gathering { index: FxHashMap::default(), classes: Vec::new() }
    }

    /// From now on, keys mean other classes than before.
    fn forget_keys(&mut self) {
        self.index.clear();
    }

    /// The class with that key.
    fn class(&mut self, key: K, example: impl FnOnce() -> Violation) -> &mut Gathered<P> {
        let classes = &mut self.classes;
        let at = *self.index.entry(key).or_insert_with(|| {
            let (parts, columns) = (Vec::new(), Columns::all(true));
            classes.push(Gathered { example: example(), parts, locks: false, columns });
            classes.len() - 1
        });
        &mut self.classes[at]
    }

    /// Adds a part that nothing cheap refutes.
    fn add(&mut self, key: K, example: impl FnOnce() -> Violation, part: P) {
        self.class(key, example).add(false, false, || part);
    }

    fn finish(
        self,
        property: Property,
        candidates: &mut Candidates,
        parts: impl Fn(Vec<P>) -> Parts,
    ) {
        for class in self.classes {
            let listed = class.columns;
            if !class.parts.is_empty() {
                let (example, parts) = (class.example, parts(class.parts));
                candidates.classes.push(Class { property, example, parts, listed });
            } else {
                let ledger = candidates.pruned.entry(property).or_default();
                ledger.candidates += 1;
                ledger.refute(listed);
                candidates.refuted.push((property, class.example));
            }
        }
    }
}

impl<P> Gathered<P> {
    /// Adds a part, unless order or a common lock refutes it.
    fn add(&mut self, guarded: bool, ordered: bool, part: impl FnOnce() -> P) {
        if !guarded && !ordered {
            self.parts.push(part());
            return;
        }
        let counts = |column| match column {
            Column::Order => ordered,
            Column::Locks => guarded,
            Column::Both => true,
        };
        self.columns = Columns::new(|column| self.columns[column] && counts(column));
        self.locks |= guarded && !ordered;
    }

    /// Whether another part that a common lock refutes would change nothing.
    fn knows_locks(&self) -> bool {
        self.locks
    }
}

/// The holds that a thread may have when an event of its is next, event by event.
///
/// A hold that the thread itself closes is there exactly until then. One that another thread closes
/// may still be there at any later event, until the thread opens the lock again in the same mode.
struct HoldsWalk {
    open: Vec<HoldId>,
}

impl HoldsWalk {
    fn new() -> Self {
        HoldsWalk { open: Vec::new() }
    }

    /// The holds that the thread may have now.
    fn open(&self) -> &[HoldId] {
        &self.open
    }

    /// Goes past an event of the thread.
    fn pass(&mut self, skeleton: &Skeleton, event: EventId) {
        let locks = &skeleton.locks;
        let Some(id) = locks.hold_at(event) else { return };
        let hold = locks.hold(id);
        if hold.open == event {
            self.open.retain(|&old| {
                let old = locks.hold(old);
                old.lock != hold.lock || old.mode != hold.mode
            });
            self.open.push(id);
        } else if hold.close == Some(event) && hold.thread == skeleton.trace.thread_of(event) {
            self.open.retain(|&old| old != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretrace_trace::text;

    #[test]
    fn classes_tell_places_apart_as_far_as_their_granularity_does() {
        let trace = "a: write x @ a.c:1\na: write x @ a.c:2\nb: write x @ a.c:3\n\
                     a: write y\na: write y\nb: write y\n";
        let trace = text::parse(trace).unwrap();
        let key = |granularity, a, b| {
            ClassKey::new(&trace, granularity, &Violation::Race(EventId(a), EventId(b)))
        };
        let [location, variable] = [Granularity::Location, Granularity::Variable];
        assert_ne!(key(location, 0, 2), key(location, 1, 2));
        assert_eq!(key(location, 0, 2), key(location, 2, 0), "a race has no first access");
        assert_ne!(key(location, 3, 5), key(location, 4, 5), "without a location: the event");
        assert_eq!(key(variable, 0, 2), key(variable, 1, 2));
        assert_ne!(key(variable, 0, 2), key(variable, 3, 5));
    }
}
