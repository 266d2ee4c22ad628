//! What the runs share: objects with their contents at the start, locks, counts, threads.
//!
//! **Computes.** One table of each kind for all runs, by names. Of every byte that is read its
//! contents at the start: declared, or seen by a read before which the run has no write of it.
//!
//! **Invariant.** No read of any run saw anything but what the last recorded write left, or the
//! start: else somebody writes who is not in the trace, and a program of these events could not do
//! what the run did.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use foretrace_trace::{
    BarrierId, CondId, EventId, LocationId, LockId, LockKind, Mode, NameId, Names, ObjectId, Op,
    Place, SemId, ThreadId, Trace, ops,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::GlobalId;

mod program;

use super::cells::Ranging;
use super::{MergeError, Spot};

/// The largest object that becomes a variable.
const MOST_BYTES: u32 = 1 << 20;
/// Larger ones of recorded runs, stacks for example, are cut into variables of this size.
const PAGE: u32 = 1 << 12;

/// A trace, and the ids that its own ids have in the merged program.
pub(super) struct Run<'t> {
    pub(super) number: usize,
    pub(super) trace: &'t Trace,
    threads: Vec<usize>,
    objects: Vec<usize>,
    locks: Vec<usize>,
    conds: Vec<usize>,
    semaphores: Vec<usize>,
    barriers: Vec<usize>,
    names: Vec<usize>,
    locations: Vec<usize>,
    /// Threads that some thread joins.
    pub(super) joined: FxHashSet<ThreadId>,
    /// Whether our runtime recorded it.
    pub(super) is_recorded: bool,
    /// What ranges over objects.
    pub(super) ranging: Ranging,
    /// Objects that are too large for one variable, in pages.
    pages: FxHashMap<(ObjectId, u32), usize>,
}

/// The tables of the merged program, and what is known of what is in them.
#[derive(Default)]
pub(super) struct Declared {
    /// Whether our runtime recorded all runs.
    pub(super) is_recorded: bool,
    /// Whether there is one run only.
    pub(super) is_alone: bool,
    /// Names of objects that are too large for one variable.
    pub(super) paged: FxHashSet<String>,
    /// Threads by whose child they are.
    lineages: FxHashMap<String, usize>,
    /// Bytes with different contents at the start.
    changing: FxHashSet<(GlobalId, u32)>,
    /// Reads of something that no recorded write left, by run.
    unexplained: FxHashSet<(usize, EventId)>,
    /// Bytes that a run has written before it has forked a thread.
    prepared: FxHashMap<(GlobalId, u32), FxHashSet<usize>>,
    /// Writes of something that is not recorded, before there are other threads, to what was not
    /// accessed before. They belong to the contents at the start.
    preparations: FxHashSet<(usize, EventId)>,
    /// Bytes that a run reads.
    read_in: FxHashMap<(GlobalId, u32), FxHashSet<usize>>,
    pub(super) threads: Names,
    objects: Names,
    locks: Names,
    conds: Names,
    semaphores: Names,
    barriers: Names,
    pub(super) names: Names,
    locations: Names,
    contents: FxHashMap<GlobalId, Contents>,
    kinds: FxHashMap<LockId, (bool, Spot)>,
    counts: FxHashMap<SemId, (u32, Spot)>,
    parties: FxHashMap<BarrierId, (u32, Spot)>,
    /// Who forks a thread; of a thread that runs from the start, nobody.
    parents: FxHashMap<ThreadId, (Option<ThreadId>, Spot)>,
    /// The first use of what must be declared somewhere.
    semaphore_uses: FxHashMap<SemId, Spot>,
    barrier_uses: FxHashMap<BarrierId, Spot>,
}

/// What is known of the bytes of an object.
#[derive(Default)]
struct Contents {
    /// As many as are accessed or declared.
    size: u32,
    initial: FxHashMap<u32, (u8, Spot)>,
    /// The first read of each byte.
    read: FxHashMap<u32, Spot>,
}

impl<'t> Run<'t> {
    pub(super) fn new(number: usize, trace: &'t Trace, declared: &mut Declared) -> Run<'t> {
        let into = |all: &mut Names, own: &Names| own.iter().map(|name| all.intern(name)).collect();
        let pages = declared.pages_of(trace);
        let joined = trace.other_ops().filter_map(|(_, op)| {
            let Op::Join { child } = op else { return None };
            Some(child)
        });
        Run {
            number,
            trace,
            threads: declared.threads_of(trace),
            objects: into(&mut declared.objects, trace.objects()),
            locks: into(&mut declared.locks, trace.locks()),
            conds: into(&mut declared.conds, trace.conds()),
            semaphores: into(&mut declared.semaphores, trace.semaphores()),
            barriers: into(&mut declared.barriers, trace.barriers()),
            names: into(&mut declared.names, trace.names()),
            locations: into(&mut declared.locations, trace.locations()),
            joined: joined.collect(),
            is_recorded: declared.is_recorded,
            ranging: Ranging::of(trace, MOST_BYTES, declared.is_alone),
            pages,
        }
    }

    pub(super) fn thread(&self, thread: ThreadId) -> ThreadId {
        ThreadId::from(self.threads[thread.index()])
    }

    /// The variable of a place, and the offset in it; `None` if it is in several.
    pub(super) fn place(&self, at: Place) -> Option<(GlobalId, u32)> {
        if self.pages.is_empty() {
            return Some((GlobalId::from(self.objects[at.object.index()]), at.offset));
        }
        let page = |offset: u32| self.pages.get(&(at.object, offset / PAGE)).copied();
        match page(at.offset) {
            None => Some((GlobalId::from(self.objects[at.object.index()]), at.offset)),
            Some(first) if page(at.end() - 1) == Some(first) => {
                Some((GlobalId::from(first), at.offset % PAGE))
            }
            Some(_) => None,
        }
    }

    pub(super) fn lock(&self, lock: LockId) -> LockId {
        LockId::from(self.locks[lock.index()])
    }

    pub(super) fn cond(&self, cond: CondId) -> CondId {
        CondId::from(self.conds[cond.index()])
    }

    pub(super) fn semaphore(&self, sem: SemId) -> SemId {
        SemId::from(self.semaphores[sem.index()])
    }

    pub(super) fn barrier(&self, barrier: BarrierId) -> BarrierId {
        BarrierId::from(self.barriers[barrier.index()])
    }

    pub(super) fn name(&self, name: NameId) -> NameId {
        NameId::from(self.names[name.index()])
    }

    pub(super) fn location(&self, event: EventId) -> Option<LocationId> {
        let location = self.trace.location_of(event)?;
        Some(LocationId::from(self.locations[location.index()]))
    }

    pub(super) fn spot(&self, event: EventId) -> Spot {
        let location = self.trace.location_of(event);
        let location = location.map(|location| self.trace.name(location));
        Spot { run: self.number, event: Some(event), location: location.map(str::to_string) }
    }
}

impl Declared {
    /// Takes in what one run says.
    pub(super) fn add(&mut self, run: &Run) -> Result<(), MergeError> {
        self.add_counts(run)?;
        self.add_threads(run)?;
        self.add_locks(run)?;
        self.add_contents(run)
    }

    fn add_counts(&mut self, run: &Run) -> Result<(), MergeError> {
        let here = || Spot::declaration(run.number);
        for sem in (0..run.trace.semaphores().len()).map(SemId::from) {
            if let Some(count) = run.trace.semaphore_count(sem) {
                let id = run.semaphore(sem);
                let what =
                    || format!("semaphore {} has another count", self.semaphores.get(id.index()));
                agree(&mut self.counts, id, count, here(), what)?;
            }
        }
        for barrier in (0..run.trace.barriers().len()).map(BarrierId::from) {
            if let Some(parties) = run.trace.barrier_parties(barrier) {
                let id = run.barrier(barrier);
                let what =
                    || format!("barrier {} has other parties", self.barriers.get(id.index()));
                agree(&mut self.parties, id, parties, here(), what)?;
            }
        }
        for (event, op) in run.trace.other_ops() {
            match op {
                Op::SemWait { sem, .. } | Op::SemWaitFailed { sem, .. } | Op::SemPost { sem } => {
                    let id = run.semaphore(sem);
                    self.semaphore_uses.entry(id).or_insert_with(|| run.spot(event));
                }
                Op::Arrive { barrier } => {
                    let id = run.barrier(barrier);
                    self.barrier_uses.entry(id).or_insert_with(|| run.spot(event));
                }
                ops!(memory object data lock cond thread call mark Leave Request) => {}
            }
        }
        Ok(())
    }

    /// A thread that is there has the same parent in every run.
    fn add_threads(&mut self, run: &Run) -> Result<(), MergeError> {
        let mut parents: FxHashMap<ThreadId, (Option<ThreadId>, EventId)> = FxHashMap::default();
        for (event, op) in run.trace.other_ops() {
            if let Op::Fork { child } = op {
                parents.insert(child, (Some(run.trace.thread_of(event)), event));
            }
        }
        for thread in run.trace.thread_ids() {
            if let Some(&first) = run.trace.thread_events(thread).first() {
                parents.entry(thread).or_insert((None, first));
            }
        }
        for (thread, (parent, event)) in parents {
            let (id, parent) = (run.thread(thread), parent.map(|parent| run.thread(parent)));
            let what = || format!("thread {} begins otherwise", self.threads.get(id.index()));
            agree(&mut self.parents, id, parent, run.spot(event), what)?;
        }
        Ok(())
    }

    fn add_locks(&mut self, run: &Run) -> Result<(), MergeError> {
        let what =
            |lock: LockId| format!("lock {} is of another kind", self.locks.get(lock.index()));
        for lock in (0..run.trace.locks().len()).map(LockId::from) {
            let is_recursive = match run.trace.lock_kind(lock) {
                LockKind::Unknown => continue,
                LockKind::Recursive => true,
                LockKind::Plain => false,
            };
            let (id, here) = (run.lock(lock), Spot::declaration(run.number));
            match self.is_recorded {
                true => self.kinds.entry(id).or_insert((false, here)).0 |= is_recursive,
                false => agree(&mut self.kinds, id, is_recursive, here, || what(id))?,
            }
        }
        // A hold that a wait closes is opened again by the wake.
        let mut closed: FxHashMap<ThreadId, (LockId, u32)> = FxHashMap::default();
        let mut holders: FxHashMap<LockId, (ThreadId, u32)> = FxHashMap::default();
        for (event, op) in run.trace.other_ops() {
            let thread = run.trace.thread_of(event);
            match op {
                Op::Acquire { lock, mode: Mode::Exclusive, .. } => match holders.get_mut(&lock) {
                    Some((holder, depth)) if *holder == thread => {
                        *depth += 1;
                        let id = run.lock(lock);
                        let here = run.spot(event);
                        match self.is_recorded {
                            true => self.kinds.entry(id).or_insert((true, here)).0 = true,
                            false => agree(&mut self.kinds, id, true, here, || what(id))?,
                        }
                    }
                    _ => {
                        holders.insert(lock, (thread, 1));
                    }
                },
                Op::Release { lock, mode: Mode::Exclusive } => match holders.get_mut(&lock) {
                    Some((holder, depth)) if *holder == thread && *depth > 1 => *depth -= 1,
                    _ => {
                        holders.remove(&lock);
                    }
                },
                Op::Wait { lock, .. } => {
                    if let Some((_, depth)) = holders.remove(&lock) {
                        closed.insert(thread, (lock, depth));
                    }
                }
                Op::Wake { .. } => {
                    if let Some((lock, depth)) = closed.remove(&thread) {
                        holders.insert(lock, (thread, depth));
                    }
                }
                ops!(memory object data sem barrier thread call mark)
                | ops!(lock Signal Broadcast Request) => {}
            }
        }
        Ok(())
    }

    fn add_contents(&mut self, run: &Run) -> Result<(), MergeError> {
        let mut now: FxHashMap<(GlobalId, u32), Option<u8>> = FxHashMap::default();
        let is_fork = |(event, op)| matches!(op, Op::Fork { .. }).then_some(event);
        let first_fork = run.trace.other_ops().find_map(is_fork);
        for &(at, value) in run.trace.initial() {
            let here = Spot::declaration(run.number);
            let Some((global, at)) = self.variable(run, at, &here)? else { continue };
            for (offset, byte) in bytes(at, value) {
                self.starts_with(global, offset, byte, here.clone())?;
                now.insert((global, offset), Some(byte));
            }
        }
        for (event, access) in run.trace.accesses() {
            let here = run.spot(event);
            if access.at.size > 8 && !self.is_recorded {
                return here.unsupported("an access to more than 8 bytes");
            }
            let Some((global, at)) = self.variable(run, access.at, &here)? else { continue };
            let (seen, stored) = run.trace.values(event);
            let cells = run.ranging.cells.get(&event);
            if let Some(cells) = cells {
                let contents = self.contents.entry(global).or_default();
                contents.size = contents.size.max(cells.bytes);
            }
            if access.reads {
                let contents = self.contents.entry(global).or_default();
                let starts = cells.map_or(vec![at.offset], |cells| cells.starts.clone());
                for offset in starts.into_iter().flat_map(|start| start..start + at.size) {
                    contents.read.entry(offset).or_insert_with(|| here.clone());
                    if self.is_recorded {
                        self.read_in.entry((global, offset)).or_default().insert(run.number);
                    }
                }
            }
            let seen = seen.filter(|_| at.size <= 8);
            for (offset, byte) in seen.into_iter().flat_map(|value| bytes(at, value)) {
                match now.get(&(global, offset)) {
                    None => {
                        self.starts_with(global, offset, byte, here.clone())?;
                        now.insert((global, offset), Some(byte));
                    }
                    Some(&Some(there)) if there != byte && self.is_recorded => {
                        self.unexplained.insert((run.number, event));
                        now.insert((global, offset), Some(byte));
                    }
                    Some(&Some(there)) if there != byte => {
                        return here.unsupported("a read of something that no recorded write left");
                    }
                    Some(_) => {}
                }
            }
            let is_early = first_fork.is_none_or(|fork| event < fork);
            let is_unknown = at.size > 8 || stored.is_none();
            if self.is_recorded && access.writes && !access.reads && is_early && is_unknown {
                let is_new = |offset: u32| !now.contains_key(&(global, offset));
                if (at.offset..at.end()).all(is_new) {
                    self.preparations.insert((run.number, event));
                    continue;
                }
            }
            if access.writes {
                let valued = stored.map(|stored| bytes(at, stored).map(|(_, byte)| byte));
                let mut valued = valued.into_iter().flatten();
                for offset in at.offset..at.end() {
                    now.insert((global, offset), valued.next());
                    if self.is_recorded && is_early {
                        self.prepared.entry((global, offset)).or_default().insert(run.number);
                    }
                }
            }
        }
        Ok(())
    }

    /// The variable of a place, which is at least so large, and the bytes in it; `None` if it is in
    /// several.
    fn variable(
        &mut self,
        run: &Run,
        at: Place,
        here: &Spot,
    ) -> Result<Option<(GlobalId, Place)>, MergeError> {
        let Some((global, offset)) = run.place(at) else { return Ok(None) };
        let at = Place { offset, ..at };
        if at.end() > MOST_BYTES {
            return here.clone().unsupported(format!("an object of more than {MOST_BYTES} bytes"));
        }
        let contents = self.contents.entry(global).or_default();
        contents.size = contents.size.max(at.end());
        Ok(Some((global, at)))
    }

    /// Whether a write belongs to the contents at the start.
    pub(super) fn is_preparation(&self, run: usize, event: EventId) -> bool {
        self.preparations.contains(&(run, event))
    }

    /// Whether a read saw, or may see, something that nobody knows.
    pub(super) fn is_doubtful(&self, run: usize, event: EventId, at: (GlobalId, u32, u32)) -> bool {
        let (global, offset, size) = at;
        self.unexplained.contains(&(run, event))
            || (!self.changing.is_empty()
                && (offset..offset + size).any(|byte| self.changing.contains(&(global, byte))))
    }

    /// The threads of a trace. Numbers depend on the schedule in recorded runs; whose child a
    /// thread is does not.
    fn threads_of(&mut self, trace: &Trace) -> Vec<usize> {
        if !self.is_recorded {
            return trace.threads().iter().map(|name| self.threads.intern(name)).collect();
        }
        let lineages = trace.lineages();
        let lineage = |thread: ThreadId| {
            let (mut key, mut at) = (String::new(), thread);
            // A fork precedes the events of its child, so this ends.
            while let Some((parent, child)) = lineages[at.index()] {
                key = format!(".{child}{key}");
                at = parent;
            }
            format!("{}{key}", trace.name(at))
        };
        let threads = trace.thread_ids().map(|thread| {
            let key = lineage(thread);
            if let Some(&known) = self.lineages.get(&key) {
                return known;
            }
            let mut name = trace.name(thread).to_string();
            while self.threads.find(&name).is_some() {
                name.push('\'');
            }
            let new = self.threads.intern(&name);
            self.lineages.insert(key, new);
            new
        });
        threads.collect()
    }

    /// Variables for the pages of large objects.
    fn pages_of(&mut self, trace: &Trace) -> FxHashMap<(ObjectId, u32), usize> {
        let mut pages = FxHashMap::default();
        if self.paged.is_empty() {
            return pages;
        }
        let places = trace.accesses().map(|(_, access)| access.at);
        for at in places.chain(trace.initial().iter().map(|&(at, _)| at)) {
            let name = trace.name(at.object);
            if !self.paged.contains(name) {
                continue;
            }
            for page in at.offset / PAGE..=(at.end() - 1) / PAGE {
                let names = &mut self.objects;
                let new = || names.intern(&format!("{name}+{:#x}", u64::from(page * PAGE)));
                pages.entry((at.object, page)).or_insert_with(new);
            }
        }
        pages
    }

    /// Names of the objects of a trace that are too large for one variable.
    pub(super) fn too_large(trace: &Trace) -> impl Iterator<Item = String> + '_ {
        let is_large = |at: &Place| at.end() > MOST_BYTES;
        let places = trace.accesses().map(|(_, access)| access.at).filter(is_large);
        let objects: FxHashSet<ObjectId> = places.map(|at| at.object).collect();
        objects.into_iter().map(|object| trace.name(object).to_string())
    }

    fn starts_with(
        &mut self,
        global: GlobalId,
        offset: u32,
        byte: u8,
        here: Spot,
    ) -> Result<(), MergeError> {
        let name = self.objects.get(global.index());
        let what = || format!("byte {offset} of {name} has other contents at the start");
        let contents = self.contents.entry(global).or_default();
        let agreed = agree(&mut contents.initial, offset, byte, here, what);
        if agreed.is_err() && self.is_recorded {
            self.changing.insert((global, offset));
            return Ok(());
        }
        agreed
    }

    /// Variables of which recorded runs do not show what they hold at the start, though it may be
    /// read. They are taken to hold 0.
    pub(super) fn taken_as_zero(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (index, name) in self.objects.iter().enumerate() {
            let global = GlobalId::from(index);
            let Some(contents) = self.contents.get(&global) else { continue };
            let is_open = |&&byte: &&u32| {
                let (read_in, prepared) = (&self.read_in, &self.prepared);
                // What is there before the first thread is forked, every read finds, or something
                // later.
                let is_prepared = |run: &usize| {
                    prepared.get(&(global, byte)).is_some_and(|runs| runs.contains(run))
                };
                !contents.initial.contains_key(&byte)
                    && !read_in[&(global, byte)].iter().all(is_prepared)
            };
            if contents.read.keys().filter(is_open).count() > 0 {
                found.push(name.to_string());
            }
        }
        found
    }

    /// Whether all is known that the program must say, once all runs are in.
    pub(super) fn check_contents(&self) -> Result<(), MergeError> {
        let globals = (0..self.objects.len()).map(GlobalId::from);
        for (global, contents) in globals.filter_map(|id| Some((id, self.contents.get(&id)?))) {
            let unknown = contents.read.keys().filter(|byte| !contents.initial.contains_key(byte));
            if let Some(first) = unknown.min().filter(|_| !self.is_recorded) {
                let name = self.objects.get(global.index());
                let what = format!("no run shows what {name} has in byte {first} at the start");
                return contents.read[first].clone().unsupported(what);
            }
        }
        let semaphores = (0..self.semaphores.len()).map(SemId::from);
        let barriers = (0..self.barriers.len()).map(BarrierId::from);
        for sem in semaphores.filter(|sem| !self.counts.contains_key(sem)) {
            if let Some(used) = self.semaphore_uses.get(&sem) {
                let name = self.semaphores.get(sem.index());
                return used.clone().unsupported(format!("no run declares the count of {name}"));
            }
        }
        for barrier in barriers.filter(|barrier| !self.parties.contains_key(barrier)) {
            if let Some(used) = self.barrier_uses.get(&barrier) {
                let name = self.barriers.get(barrier.index());
                return used.clone().unsupported(format!("no run declares the parties of {name}"));
            }
        }
        Ok(())
    }
}

/// Notes what a run says of something, unless another one has said something else.
fn agree<K: std::hash::Hash + Eq, V: PartialEq>(
    known: &mut FxHashMap<K, (V, Spot)>,
    key: K,
    value: V,
    here: Spot,
    what: impl FnOnce() -> String,
) -> Result<(), MergeError> {
    match known.get(&key) {
        None => {
            known.insert(key, (value, here));
            Ok(())
        }
        Some((before, _)) if *before == value => Ok(()),
        Some((_, first)) => {
            Err(MergeError::Different { what: what(), first: first.clone(), second: here })
        }
    }
}

/// The bytes of a value, each with its offset in the object.
fn bytes(at: Place, value: u64) -> impl Iterator<Item = (u32, u8)> {
    (at.offset..at.end()).zip(value.to_le_bytes())
}
