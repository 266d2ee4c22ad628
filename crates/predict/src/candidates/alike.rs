//! Accesses of shared objects in groups of those that are alike.
//!
//! **Computes.** The objects that at least two threads touch and at least one writes, and for each
//! of them its accesses grouped by thread, place, kind, lockset and source location. Groups that
//! differ in their threads only are a *family*: what a place, a lock or a location decides is
//! decided once for all threads.
//!
//! **Cost.** Two passes over the trace, then one over each object's accesses. What accesses have in
//! common is interned on the way, so that grouping an object's accesses is an array look-up; 4
//! bytes per event.

use std::ops::Range;

use rustc_hash::FxHashMap;

use foretrace_causality::LocksetId;
use foretrace_trace::{Access, EventId, ObjectId, ThreadId};

use super::{Context, Site};

/// What the members of a group have in common, besides their object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Alike {
    pub(super) thread: ThreadId,
    offset: u32,
    size: u32,
    /// Whether it reads, writes, is atomic: one bit each.
    kind: u8,
    pub(super) lockset: LocksetId,
    pub(super) site: Site,
}

/// The accesses of shared objects.
pub(super) struct SharedAccesses<'c> {
    context: &'c Context<'c>,
    shared: Vec<bool>,
    /// What accesses have in common, by number, and the number of its family.
    alike: Vec<(Alike, u32)>,
    /// Of each event the number; not meaningful for others than accesses of shared objects.
    number_of: Vec<u32>,
}

impl<'c> SharedAccesses<'c> {
    pub(super) fn new(context: &'c Context<'c>) -> Self {
        let shared = shared_objects(context);
        let number_of = vec![0; context.skeleton.trace.len()];
        let mut accesses = SharedAccesses { context, shared, alike: Vec::new(), number_of };
        accesses.intern();
        accesses
    }

    /// Whether at least two threads touch the object and at least one writes it.
    pub(super) fn is_shared(&self, object: ObjectId) -> bool {
        self.shared[object.index()]
    }

    /// The shared objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = ObjectId> + '_ {
        (0..self.shared.len()).filter(|&at| self.shared[at]).map(ObjectId::from)
    }

    fn intern(&mut self) {
        let trace = self.context.skeleton.trace;
        let mut index: FxHashMap<Alike, u32> = FxHashMap::default();
        let mut families: FxHashMap<Alike, u32> = FxHashMap::default();
        for (event, access) in trace.accesses() {
            if !self.shared[access.at.object.index()] {
                continue;
            }
            let alike = Alike {
                thread: trace.thread_of(event),
                offset: access.at.offset,
                size: access.at.size,
                kind: u8::from(access.reads)
                    | u8::from(access.writes) << 1
                    | u8::from(access.atomic) << 2,
                lockset: self.context.locksets.at(event),
                site: self.context.site(event),
            };
            self.number_of[event.index()] = *index.entry(alike).or_insert_with(|| {
                let family = families.len() as u32;
                let key = Alike { thread: ThreadId(0), ..alike };
                self.alike.push((alike, *families.entry(key).or_insert(family)));
                self.alike.len() as u32 - 1
            });
        }
    }
}

fn shared_objects(context: &Context) -> Vec<bool> {
    const NOBODY: u32 = u32::MAX;
    const SEVERAL: u32 = u32::MAX - 1;
    let trace = context.skeleton.trace;
    let mut objects: Vec<(u32, bool)> = vec![(NOBODY, false); trace.objects().len()];
    for (event, access) in trace.accesses() {
        let (who, written) = &mut objects[access.at.object.index()];
        let thread = trace.thread_of(event).0;
        *who = if *who == NOBODY || *who == thread { thread } else { SEVERAL };
        *written |= access.writes;
    }
    objects.into_iter().map(|(who, written)| who == SEVERAL && written).collect()
}

/// Accesses of one object that are alike.
pub(super) struct Group {
    /// The number of what is alike.
    number: u32,
    pub(super) alike: Alike,
    pub(super) access: Access,
    /// The number of its site among the sites of this object.
    pub(super) site: u32,
    family: u32,
    /// Its place in the order of first accesses.
    rank: u32,
    /// Where its events begin in the list of the object's events, group by group.
    start: u32,
}

/// The groups of one object; used for one object after the other.
pub(super) struct Grouping {
    /// Family by family.
    pub(super) groups: Vec<Group>,
    /// Where each family is in `groups`.
    pub(super) families: Vec<Range<usize>>,
    /// The place in `groups` of the group with a given rank.
    at_rank: Vec<u32>,
    /// The events, group by group.
    events: Vec<EventId>,
    /// The group of each number, while an object is dealt with.
    group_of: Vec<u32>,
    /// The group of each access of the object.
    group_at: Vec<u32>,
    sites: FxHashMap<Site, u32>,
}

const NONE: u32 = u32::MAX;

impl Grouping {
    pub(super) fn new(accesses: &SharedAccesses) -> Self {
        Grouping {
            groups: Vec::new(),
            families: Vec::new(),
            at_rank: Vec::new(),
            events: Vec::new(),
            group_of: vec![NONE; accesses.alike.len()],
            group_at: Vec::new(),
            sites: FxHashMap::default(),
        }
    }

    /// The events of a group, in recorded order.
    pub(super) fn events(&self, at: usize) -> &[EventId] {
        let end = self.groups.get(at + 1).map_or(self.events.len(), |next| next.start as usize);
        &self.events[self.groups[at].start as usize..end]
    }

    /// Groups the accesses of a shared object.
    pub(super) fn group(&mut self, accesses: &SharedAccesses, object: ObjectId) {
        let skeleton = accesses.context.skeleton;
        let list = skeleton.memory.accesses_of(object);
        let Grouping { groups, families, at_rank, events, group_of, group_at, sites } = self;
        groups.clear();
        group_at.clear();
        sites.clear();
        // First counts each group's events in `start`, then makes room for them.
        for &event in list.iter() {
            let number = accesses.number_of[event.index()];
            let group = &mut group_of[number as usize];
            if *group == NONE {
                *group = groups.len() as u32;
                let (alike, family) = accesses.alike[number as usize];
                let access = skeleton.trace.access(event).expect("listed as an access");
                let count = sites.len() as u32;
                let site = *sites.entry(alike.site).or_insert(count);
                let rank = *group;
                groups.push(Group { number, alike, access, site, family, rank, start: 0 });
            }
            groups[*group as usize].start += 1;
            group_at.push(*group);
        }
        groups.sort_unstable_by_key(|group| (group.family, group.rank));
        at_rank.clear();
        at_rank.resize(groups.len(), 0);
        let mut start = 0;
        for (at, group) in groups.iter_mut().enumerate() {
            start += std::mem::replace(&mut group.start, start);
            at_rank[group.rank as usize] = at as u32;
            group_of[group.number as usize] = NONE;
        }
        events.clear();
        events.resize(list.len(), EventId(0));
        for (&event, &rank) in list.iter().zip(group_at.iter()) {
            let group = &mut groups[at_rank[rank as usize] as usize];
            events[group.start as usize] = event;
            group.start += 1;
        }
        // Each start has moved to its end, which is the start of the next one.
        let mut start = 0;
        for group in groups.iter_mut() {
            start = std::mem::replace(&mut group.start, start);
        }
        families.clear();
        for family in groups.chunk_by(|a, b| a.family == b.family) {
            let start = families.last().map_or(0, |last: &Range<usize>| last.end);
            families.push(start..start + family.len());
        }
    }
}
