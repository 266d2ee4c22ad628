//! Atomicity candidates: two accesses of one region with a conflicting remote access between them.
//!
//! **Computes.** For each thread the pairs of accesses that share a region, grouped by object,
//! places, kinds, source locations and the locks held from the first to the second; each against
//! the groups of remote accesses that conflict with both.
//!
//! **Follows.** `docs/theory.md`, section 4, and 000 section 5.1. Of several first accesses that
//! are alike, only the earliest in the region counts: if the remote access follows a later one, it
//! follows the earliest too.

use rustc_hash::FxHashMap;

use foretrace_model::Region;
use foretrace_trace::{Access, EventId, LockId, Mode, ObjectId, ThreadId};
use foretrace_verdict::{Property, Violation};

use super::alike::{Grouping, SharedAccesses};
use super::{Candidates, Context, Gathering, GroupId, HoldsWalk, Parts, Site};
use crate::fault::{Fault, is_seeded};

/// Any of the pairs with any of the remote accesses between.
#[derive(Clone, Debug)]
pub(crate) struct AtomicityPart {
    /// (first, second), by second.
    pub(crate) pairs: std::sync::Arc<Vec<(EventId, EventId)>>,
    pub(crate) remotes: GroupId,
}

/// How an access looks to the classes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Look {
    offset: u32,
    size: u32,
    writes: bool,
    site: Site,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct PairKey {
    object: ObjectId,
    thread: ThreadId,
    first: Look,
    second: Look,
    /// Locks held without a break from the first to the second: a number of `Pairs::spans`.
    spanning: u32,
}

/// All pairs of accesses that share a region, by what they have in common, in a fixed order.
#[derive(Default)]
struct Pairs {
    index: FxHashMap<PairKey, usize>,
    lists: Vec<(PairKey, Vec<(EventId, EventId)>)>,
    spans: Vec<Vec<(LockId, Mode)>>,
    span_index: FxHashMap<Vec<(LockId, Mode)>, u32>,
}

pub(super) fn list(
    context: &Context,
    accesses: &SharedAccesses,
    blocking: &[Vec<EventId>],
    candidates: &mut Candidates,
) {
    let trace = context.skeleton.trace;
    let Pairs { mut lists, spans, .. } = Pairs::new(context, accesses, blocking);
    lists.sort_by_key(|(key, _)| key.object);
    let mut grouping = Grouping::new(accesses);
    let mut gathering = Gathering::new();
    let mut object = None;
    // The id that each group of the object got when it first became part of a class.
    let mut ids: Vec<Option<GroupId>> = Vec::new();
    for (key, pairs) in lists {
        if object.replace(key.object) != Some(key.object) {
            grouping.group(accesses, key.object);
            gathering.forget_keys();
            ids.clear();
            ids.resize(grouping.groups.len(), None);
        }
        let (first, second) = pairs[0];
        let access = |event: EventId| trace.access(event).expect("pairs are of accesses");
        let (first_access, second_access) = (access(first), access(second));
        let pairs = std::sync::Arc::new(pairs);
        for family in &grouping.families {
            let remote = &grouping.groups[family.start];
            if !remote.access.conflicts(&first_access) || !remote.access.conflicts(&second_access) {
                continue;
            }
            let sites = (key.first.site, remote.alike.site, key.second.site);
            let excludes = |&(lock, mode): &(LockId, Mode)| {
                let held = context.locksets.locks(remote.alike.lockset);
                held.iter().any(|&(other, how)| lock == other && mode.conflicts(how))
            };
            let guarded = context.prune && spans[key.spanning as usize].iter().any(excludes);
            for at in family.clone() {
                if grouping.groups[at].alike.thread == key.thread {
                    continue;
                }
                let remotes = grouping.events(at);
                let example = || Violation::Atomicity { first, remote: remotes[0], second };
                let class = gathering.class(sites, example);
                if guarded && class.knows_locks() {
                    break;
                }
                let ordered = context.prune && !any_between(context, &pairs, remotes);
                class.add(guarded, ordered, || {
                    let id = *ids[at].get_or_insert_with(|| candidates.groups.add(remotes));
                    AtomicityPart { pairs: pairs.clone(), remotes: id }
                });
            }
        }
    }
    gathering.finish(Property::Atomicity, candidates, Parts::Atomicity);
}

/// Whether order leaves room for some remote access between some pair.
fn any_between(context: &Context, pairs: &[(EventId, EventId)], remotes: &[EventId]) -> bool {
    pairs.iter().any(|&(first, second)| {
        // Remote accesses that must precede `first` are too early; of the others the earliest is
        // the one that `second` is least likely to precede.
        let at = remotes.partition_point(|&remote| context.precedes(remote, first));
        remotes.get(at).is_some_and(|&remote| !context.precedes(second, remote))
    })
}

impl Pairs {
    fn new(context: &Context, accesses: &SharedAccesses, blocking: &[Vec<EventId>]) -> Pairs {
        let mut pairs = Pairs::default();
        let mut regions = context.regions.to_vec();
        regions.sort_unstable();
        for regions in regions.chunk_by(|a, b| a.thread == b.thread) {
            let blocking = &blocking[regions[0].thread.index()];
            pairs.of_thread(context, accesses, blocking, regions);
        }
        pairs
    }

    /// The pairs of one thread, whose regions are in the order of their starts.
    fn of_thread(
        &mut self,
        context: &Context,
        accesses: &SharedAccesses,
        blocking: &[EventId],
        regions: &[Region],
    ) {
        let trace = context.skeleton.trace;
        let thread = regions[0].thread;
        let events = trace.thread_events(thread);
        // The accesses of the thread so far, by object and look.
        let mut seen: FxHashMap<ObjectId, Vec<(Look, Vec<EventId>)>> = FxHashMap::default();
        let mut walk = HoldsWalk::new();
        let mut blocking = blocking.iter().peekable();
        // Of the regions that reach a position, the first in their order is the one wanted, so each
        // region has the positions that those before it have not reached.
        let mut reached = 0;
        for region in regions {
            let from = reached.max(region.first as usize);
            reached = reached.max(region.last as usize + 1);
            for &event in &events[from..reached] {
                let Some(access) = trace.access(event) else { continue };
                let object = access.at.object;
                if !accesses.is_shared(object) {
                    continue;
                }
                while let Some(&passed) = blocking.next_if(|&&passed| passed < event) {
                    walk.pass(context.skeleton, passed);
                }
                let look = look(context, event, &access);
                let looks = seen.entry(object).or_default();
                for (first_look, firsts) in looks.iter() {
                    let start = region.first as usize;
                    let at = firsts.partition_point(|&first| trace.position(first) < start);
                    let Some(&first) = firsts.get(at) else { continue };
                    let spanning = self.spanning(context, &walk, first);
                    let key =
                        PairKey { object, thread, first: *first_look, second: look, spanning };
                    self.add(key, (first, event));
                }
                match looks.iter_mut().find(|(known, _)| *known == look) {
                    Some((_, list)) => list.push(event),
                    None => looks.push((look, vec![event])),
                }
            }
        }
    }

    fn add(&mut self, key: PairKey, pair: (EventId, EventId)) {
        let lists = &mut self.lists;
        let at = *self.index.entry(key).or_insert_with(|| {
            lists.push((key, Vec::new()));
            lists.len() - 1
        });
        self.lists[at].1.push(pair);
    }

    /// The number of the locks that the thread has held since before `first`, and closes itself.
    fn spanning(&mut self, context: &Context, walk: &HoldsWalk, first: EventId) -> u32 {
        let skeleton = context.skeleton;
        let mut held: Vec<(LockId, Mode)> = walk
            .open()
            .iter()
            .filter(|&&id| {
                skeleton.locks.hold(id).open < first
                    && (!skeleton.locks.closed_by_other(skeleton.trace, id)
                        || is_seeded(Fault::ForeignCloseIsOwn))
            })
            .map(|&id| (skeleton.locks.hold(id).lock, skeleton.locks.hold(id).mode))
            .collect();
        held.sort_unstable();
        if let Some(&known) = self.span_index.get(&held) {
            return known;
        }
        let new = self.spans.len() as u32;
        self.spans.push(held.clone());
        self.span_index.insert(held, new);
        new
    }
}

fn look(context: &Context, event: EventId, access: &Access) -> Look {
    Look {
        offset: access.at.offset,
        size: access.at.size,
        writes: access.writes,
        site: context.site(event),
    }
}
