//! Race candidates: conflicting accesses of one object by different threads.
//!
//! **Computes.** Accesses grouped by (object, thread, place, kind, lockset, source location); each pair of
//! groups that conflict is a part of the class of its two source locations on its object.
//!
//! **Follows.** `docs/theory.md`, section 4, *Race*; design section 4 for the grouping.

use rustc_hash::FxHashMap;

use foretrace_causality::LocksetId;
use foretrace_trace::{Access, EventId, ThreadId};
use foretrace_witness::{Property, Violation};

use super::{Candidates, Context, Fate, Gathering, GroupId, Parts, Site};

/// Any access of one group against any of the other; the groups are of different threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RacePart {
    pub(crate) first: GroupId,
    pub(crate) second: GroupId,
}

/// What the members of a group have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Alike {
    thread: ThreadId,
    offset: u32,
    size: u32,
    reads: bool,
    writes: bool,
    atomic: bool,
    lockset: LocksetId,
    site: Site,
}

struct Group {
    alike: Alike,
    access: Access,
    events: Vec<EventId>,
}

pub(super) fn list(context: &Context, candidates: &mut Candidates) {
    let mut gathering = Gathering::new();
    let objects = accesses_by_object(context);
    for (object, accesses) in objects.iter() {
        let groups = group(context, accesses);
        // The id that a group got when it first became part of a class.
        let mut ids: Vec<Option<GroupId>> = vec![None; groups.len()];
        for second in 0..groups.len() {
            for first in 0..=second {
                let (a, b) = (&groups[first], &groups[second]);
                if a.alike.thread == b.alike.thread
                    || !a.access.conflicts(&b.access)
                    || (a.access.atomic && b.access.atomic)
                {
                    continue;
                }
                let fate = if !context.any_unordered(&a.events, &b.events) {
                    Fate::RefutedByOrder
                } else if context.locksets.exclude(a.alike.lockset, b.alike.lockset) {
                    Fate::RefutedByLocks
                } else {
                    let mut id = |at: usize| {
                        *ids[at]
                            .get_or_insert_with(|| candidates.groups.add(groups[at].events.clone()))
                    };
                    Fate::Open(RacePart { first: id(first), second: id(second) })
                };
                let (low, high) = (a.alike.site.min(b.alike.site), a.alike.site.max(b.alike.site));
                let (one, two) = (a.events[0], b.events[0]);
                let example = || Violation::Race(one.min(two), one.max(two));
                gathering.add((*object, low, high), example, fate);
            }
        }
    }
    gathering.finish(Property::Race, candidates, Parts::Race);
}

/// The accesses of each object that at least two threads touch and at least one writes, in recorded order.
pub(super) fn accesses_by_object(context: &Context) -> Vec<(u32, Vec<EventId>)> {
    let trace = context.skeleton.trace;
    let count = trace.objects().len();
    let mut first_thread: Vec<Option<ThreadId>> = vec![None; count];
    let mut shared = vec![false; count];
    let mut written = vec![false; count];
    for (event, op) in trace.ops() {
        if let Some(access) = op.access() {
            let at = access.at.object.index();
            let thread = trace.thread_of(event);
            shared[at] |= *first_thread[at].get_or_insert(thread) != thread;
            written[at] |= access.writes;
        }
    }
    let mut lists: Vec<Vec<EventId>> = vec![Vec::new(); count];
    for (event, op) in trace.ops() {
        if let Some(access) = op.access() {
            let at = access.at.object.index();
            if shared[at] && written[at] {
                lists[at].push(event);
            }
        }
    }
    let objects = lists.into_iter().enumerate().filter(|(_, list)| !list.is_empty());
    objects.map(|(object, list)| (object as u32, list)).collect()
}

fn group(context: &Context, accesses: &[EventId]) -> Vec<Group> {
    let trace = context.skeleton.trace;
    let mut index: FxHashMap<Alike, usize> = FxHashMap::default();
    let mut groups: Vec<Group> = Vec::new();
    for &event in accesses {
        let access = trace.op(event).access().expect("listed as an access");
        let alike = Alike {
            thread: trace.thread_of(event),
            offset: access.at.offset,
            size: access.at.size,
            reads: access.reads,
            writes: access.writes,
            atomic: access.atomic,
            lockset: context.locksets.at(event),
            site: context.site(event),
        };
        let at = *index.entry(alike).or_insert_with(|| {
            groups.push(Group { alike, access, events: Vec::new() });
            groups.len() - 1
        });
        groups[at].events.push(event);
    }
    groups
}
