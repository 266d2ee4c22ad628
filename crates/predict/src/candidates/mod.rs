//! Candidates: what could be violated, grouped into classes that are one question each.
//!
//! **Computes.** For every property its classes. A class is "does any of these happen?"; its parts are products
//! of event groups, never lists of event pairs. Parts that fork/join order or a common lock refutes are
//! dropped here; a class without parts left is pruned.
//!
//! **Cost.** Linear in the trace plus the number of group pairs on each object.

mod atomicity;
mod deadlocks;
mod lock_errors;
mod races;

use rustc_hash::FxHashMap;

use foretrace_causality::{Locksets, MustHappenBefore};
use foretrace_model::{HoldId, Region, Skeleton};
use foretrace_trace::{EventId, LocationId};
use foretrace_witness::{LockMisuse, Property, Violation};

use crate::prediction::Granularity;
use crate::fault::{Fault, is_seeded};

pub(crate) use atomicity::AtomicityPart;
pub(crate) use deadlocks::{CycleNode, CyclePart, canonical_cycle};
pub(crate) use races::RacePart;

/// A source position as classes see it: an event without a location is its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Site {
    Location(LocationId),
    Event(EventId),
    /// All positions are one (granularity `variable`).
    Anywhere,
}

/// One question.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) property: Property,
    /// One of its members, for reports of undecided classes.
    pub(crate) example: Violation,
    pub(crate) parts: Parts,
}

/// The alternatives of a question.
#[derive(Clone, Debug)]
pub(crate) enum Parts {
    Race(Vec<RacePart>),
    Atomicity(Vec<AtomicityPart>),
    LockCycle(Vec<CyclePart>),
    Stuck(Vec<EventId>),
    Lock(Vec<(LockMisuse, EventId)>),
}

/// Events of one thread in program order that are alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct GroupId(u32);

/// All groups.
#[derive(Default, Debug)]
pub(crate) struct Groups {
    lists: Vec<Vec<EventId>>,
}

impl Groups {
    pub(crate) fn events(&self, group: GroupId) -> &[EventId] {
        &self.lists[group.0 as usize]
    }

    fn add(&mut self, events: Vec<EventId>) -> GroupId {
        let id = GroupId(self.lists.len() as u32);
        self.lists.push(events);
        id
    }
}

/// All candidates of a prediction.
#[derive(Default, Debug)]
pub(crate) struct Candidates {
    pub(crate) groups: Groups,
    pub(crate) classes: Vec<Class>,
    pub(crate) pruned: FxHashMap<Property, Pruned>,
    /// Candidates that could not even be listed: the property and the reason.
    pub(crate) unlisted: Vec<(Property, Violation, String)>,
}

/// How many classes were refuted, and by what.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Pruned {
    pub(crate) by_order: u64,
    pub(crate) by_locks: u64,
}

/// What the listing of candidates works with.
pub(crate) struct Context<'c> {
    pub(crate) skeleton: &'c Skeleton<'c>,
    pub(crate) order: &'c MustHappenBefore,
    pub(crate) locksets: &'c Locksets,
    pub(crate) regions: &'c [Region],
    pub(crate) granularity: Granularity,
}

impl Context<'_> {
    /// Where an event is, as far as classes tell places apart.
    fn site(&self, event: EventId) -> Site {
        match self.granularity {
            Granularity::Event => Site::Event(event),
            Granularity::Variable => Site::Anywhere,
            Granularity::Location => match self.skeleton.trace.location_of(event) {
                Some(location) => Site::Location(location),
                None => Site::Event(event),
            },
        }
    }

    /// The site for properties that are not about a memory object: there, granularity `variable` tells
    /// source locations apart as well.
    fn site_without_object(&self, event: EventId) -> Site {
        match self.site(event) {
            Site::Anywhere => {
                self.skeleton.trace.location_of(event).map_or(Site::Event(event), Site::Location)
            }
            site => site,
        }
    }

    /// Whether some event of `a` and some of `b`, groups of different threads, are not ordered by fork
    /// and join.
    fn any_unordered(&self, a: &[EventId], b: &[EventId]) -> bool {
        let trace = self.skeleton.trace;
        let other = trace.thread_of(b[0]).index();
        let thread = trace.thread_of(a[0]);
        a.iter().any(|&event| {
            // The first of `b` that need not precede `event`: if any is unordered, this one is, since later
            // ones of its thread are needed by nothing earlier.
            let clock = self.order.clock(thread, trace.position(event))[other]
                + u32::from(is_seeded(Fault::OrderOffByOne));
            let at = b.partition_point(|&event| (trace.position(event) as u32) < clock);
            b.get(at).is_some_and(|&later| !self.order.precedes(trace, event, later))
        })
    }
}

/// Lists the candidates of the given properties.
pub(crate) fn list(context: &Context, properties: &[Property]) -> Candidates {
    let mut candidates = Candidates::default();
    for &property in properties {
        match property {
            Property::Race => races::list(context, &mut candidates),
            Property::Atomicity => atomicity::list(context, &mut candidates),
            Property::Deadlock => deadlocks::list(context, &mut candidates),
            Property::Lock => lock_errors::list(context, &mut candidates),
        }
    }
    candidates
}

/// Gathers the parts of classes by key, in order of first appearance.
struct Gathering<K, P> {
    index: FxHashMap<K, usize>,
    classes: Vec<Gathered<P>>,
}

struct Gathered<P> {
    example: Violation,
    parts: Vec<P>,
    locks: bool,
}

/// What became of a part of a class.
enum Fate<P> {
    Open(P),
    RefutedByOrder,
    RefutedByLocks,
}

impl<K: std::hash::Hash + Eq, P> Gathering<K, P> {
    fn new() -> Self {
        Gathering { index: FxHashMap::default(), classes: Vec::new() }
    }

    fn add(&mut self, key: K, example: impl FnOnce() -> Violation, fate: Fate<P>) {
        let classes = &mut self.classes;
        let at = *self.index.entry(key).or_insert_with(|| {
            classes.push(Gathered { example: example(), parts: Vec::new(), locks: false });
            classes.len() - 1
        });
        match fate {
            Fate::Open(part) => self.classes[at].parts.push(part),
            Fate::RefutedByLocks => self.classes[at].locks = true,
            Fate::RefutedByOrder => {}
        }
    }

    fn finish(
        self,
        property: Property,
        candidates: &mut Candidates,
        parts: impl Fn(Vec<P>) -> Parts,
    ) {
        for class in self.classes {
            if !class.parts.is_empty() {
                let (example, parts) = (class.example, parts(class.parts));
                candidates.classes.push(Class { property, example, parts });
            } else {
                let pruned = candidates.pruned.entry(property).or_default();
                if class.locks {
                    pruned.by_locks += 1;
                } else {
                    pruned.by_order += 1;
                }
            }
        }
    }
}

/// The holds that a thread may have when an event of its is next, event by event.
///
/// A hold that the thread itself closes is there exactly until then. One that another thread closes may still
/// be there at any later event, until the thread opens the lock again in the same mode.
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
