//! Atomicity candidates: two accesses of one region with a conflicting remote access between them.
//!
//! **Computes.** For each thread the pairs of accesses that share a region, grouped by object, places, kinds,
//! source locations and the locks held from the first to the second; each against the groups of remote
//! accesses that conflict with both.
//!
//! **Follows.** `docs/theory.md`, section 4, and 000 section 5.1. Of several first accesses that are alike, only the
//! earliest in the region counts: if the remote access follows a later one, it follows the earliest too.

use rustc_hash::FxHashMap;

use foretrace_trace::{Access, EventId, LockId, Mode, ObjectId, ThreadId};
use foretrace_witness::{Property, Violation};

use super::races::accesses_by_object;
use super::{Candidates, Context, Fate, Gathering, GroupId, HoldsWalk, Parts, Site};
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

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct PairKey {
    object: ObjectId,
    thread: ThreadId,
    first: Look,
    second: Look,
    /// Locks held without a break from the first to the second.
    spanning: Vec<(LockId, Mode)>,
}

struct Remote {
    thread: ThreadId,
    access: Access,
    look: Look,
    lockset: foretrace_causality::LocksetId,
    events: Vec<EventId>,
}

pub(super) fn list(context: &Context, candidates: &mut Candidates) {
    let pairs = pairs(context);
    if pairs.is_empty() {
        return;
    }
    let trace = context.skeleton.trace;
    let mut remotes: FxHashMap<ObjectId, Vec<Remote>> = FxHashMap::default();
    for (object, accesses) in accesses_by_object(context) {
        remotes.insert(ObjectId(object), group_remotes(context, &accesses));
    }
    let mut ids: FxHashMap<(ObjectId, usize), GroupId> = FxHashMap::default();
    let mut gathering = Gathering::new();
    for (key, pairs) in pairs {
        let Some(remotes) = remotes.get(&key.object) else { continue };
        let (first, second) = pairs[0];
        let access = |event: EventId| trace.op(event).access().expect("pairs are of accesses");
        let (first_access, second_access) = (access(first), access(second));
        let pairs = std::sync::Arc::new(pairs);
        for (nth, remote) in remotes.iter().enumerate() {
            if remote.thread == key.thread
                || !remote.access.conflicts(&first_access)
                || !remote.access.conflicts(&second_access)
            {
                continue;
            }
            let guarded = key.spanning.iter().any(|&(lock, mode)| {
                let held = context.locksets.locks(remote.lockset);
                held.iter().any(|&(other, how)| lock == other && mode.conflicts(how))
            });
            let fate = if !any_between(context, &pairs, &remote.events) {
                Fate::RefutedByOrder
            } else if guarded {
                Fate::RefutedByLocks
            } else {
                let id = *ids
                    .entry((key.object, nth))
                    .or_insert_with(|| candidates.groups.add(remote.events.clone()));
                Fate::Open(AtomicityPart { pairs: pairs.clone(), remotes: id })
            };
            let example = || Violation::Atomicity { first, remote: remote.events[0], second };
            let class = (key.object, key.first.site, remote.look.site, key.second.site);
            gathering.add(class, example, fate);
        }
    }
    gathering.finish(Property::Atomicity, candidates, Parts::Atomicity);
}

/// Whether fork and join leave room for some remote access between some pair.
fn any_between(context: &Context, pairs: &[(EventId, EventId)], remotes: &[EventId]) -> bool {
    let trace = context.skeleton.trace;
    pairs.iter().any(|&(first, second)| {
        // Remote accesses that must precede `first` are too early; of the others the earliest is the one that
        // `second` is least likely to precede.
        let at = remotes.partition_point(|&remote| context.order.precedes(trace, remote, first));
        remotes.get(at).is_some_and(|&remote| !context.order.precedes(trace, second, remote))
    })
}

/// All pairs of accesses that share a region, by what they have in common, in a fixed order.
fn pairs(context: &Context) -> Vec<(PairKey, Vec<(EventId, EventId)>)> {
    let trace = context.skeleton.trace;
    let mut index: FxHashMap<PairKey, usize> = FxHashMap::default();
    let mut pairs: Vec<(PairKey, Vec<(EventId, EventId)>)> = Vec::new();
    for thread in trace.thread_ids() {
        let start = earliest_start(context, thread);
        if start.iter().all(Option::is_none) {
            continue;
        }
        // The accesses of the thread so far, by object and look.
        let mut seen: FxHashMap<ObjectId, Vec<(Look, Vec<EventId>)>> = FxHashMap::default();
        let mut walk = HoldsWalk::new();
        for (position, &event) in trace.thread_events(thread).iter().enumerate() {
            if let (Some(start), Some(access)) = (start[position], trace.op(event).access()) {
                let object = access.at.object;
                let look = look(context, event, &access);
                let looks = seen.entry(object).or_default();
                for (first_look, firsts) in looks.iter() {
                    let at =
                        firsts.partition_point(|&first| trace.position(first) < start as usize);
                    let Some(&first) = firsts.get(at) else { continue };
                    let key = PairKey {
                        object,
                        thread,
                        first: *first_look,
                        second: look,
                        spanning: spanning(context, &walk, first),
                    };
                    let at = *index.entry(key.clone()).or_insert_with(|| {
                        pairs.push((key, Vec::new()));
                        pairs.len() - 1
                    });
                    pairs[at].1.push((first, event));
                }
                match looks.iter_mut().find(|(known, _)| *known == look) {
                    Some((_, list)) => list.push(event),
                    None => looks.push((look, vec![event])),
                }
            }
            walk.pass(context.skeleton, event);
        }
    }
    pairs
}

/// For each position of the thread, the start of the longest region that reaches it.
fn earliest_start(context: &Context, thread: ThreadId) -> Vec<Option<u32>> {
    let count = context.skeleton.trace.thread_events(thread).len();
    let mut regions: Vec<_> =
        context.regions.iter().filter(|region| region.thread == thread).collect();
    regions.sort_unstable();
    let mut start = vec![None; count];
    // In the order of their starts, so the first region to claim a position is the one wanted.
    let mut claimed = 0;
    for region in regions {
        let from = claimed.max(region.first);
        for position in from..=region.last {
            start[position as usize] = Some(region.first);
        }
        claimed = claimed.max(region.last + 1);
    }
    start
}

fn look(context: &Context, event: EventId, access: &Access) -> Look {
    Look {
        offset: access.at.offset,
        size: access.at.size,
        writes: access.writes,
        site: context.site(event),
    }
}

/// The locks that the thread has held since before `first`, and closes itself.
fn spanning(context: &Context, walk: &HoldsWalk, first: EventId) -> Vec<(LockId, Mode)> {
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
    held
}

fn group_remotes(context: &Context, accesses: &[EventId]) -> Vec<Remote> {
    let trace = context.skeleton.trace;
    let mut index = FxHashMap::default();
    let mut remotes: Vec<Remote> = Vec::new();
    for &event in accesses {
        let access = trace.op(event).access().expect("listed as an access");
        let (thread, look) = (trace.thread_of(event), look(context, event, &access));
        let lockset = context.locksets.at(event);
        let at = *index.entry((thread, look, lockset)).or_insert_with(|| {
            remotes.push(Remote { thread, access, look, lockset, events: Vec::new() });
            remotes.len() - 1
        });
        remotes[at].events.push(event);
    }
    remotes
}
