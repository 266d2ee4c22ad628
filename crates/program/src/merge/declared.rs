//! What the runs share: objects with their contents at the start, locks, counts, threads.
//!
//! **Computes.** One table of each kind for all runs, by names. Of every byte that is read its contents at the start: declared, or seen by a
//! read before which the run has no write of it.
//!
//! **Invariant.** No read of any run saw anything but what the last recorded write left, or the start: else somebody writes who
//! is not in the trace, and a program of these events could not do what the run did.

use foretrace_trace::{
    BarrierId, CondId, EventId, LocationId, LockId, LockKind, Mode, NameId, Names, ObjectId, Op,
    Place, SemId, ThreadId, Trace,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{
    Barrier, Function, FunctionId, Global, GlobalId, Lock, Program, Semaphore, Thread,
};

use super::{MergeError, Spot};

/// The largest object that becomes a variable.
const MOST_BYTES: u32 = 1 << 20;

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
}

/// The tables of the merged program, and what is known of what is in them.
#[derive(Default)]
pub(super) struct Declared {
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
        let joined = trace.other_ops().filter_map(|(_, op)| match op {
            Op::Join { child } => Some(child),
            _ => None,
        });
        Run {
            number,
            trace,
            threads: into(&mut declared.threads, trace.threads()),
            objects: into(&mut declared.objects, trace.objects()),
            locks: into(&mut declared.locks, trace.locks()),
            conds: into(&mut declared.conds, trace.conds()),
            semaphores: into(&mut declared.semaphores, trace.semaphores()),
            barriers: into(&mut declared.barriers, trace.barriers()),
            names: into(&mut declared.names, trace.names()),
            locations: into(&mut declared.locations, trace.locations()),
            joined: joined.collect(),
        }
    }

    pub(super) fn thread(&self, thread: ThreadId) -> ThreadId {
        ThreadId::from(self.threads[thread.index()])
    }

    pub(super) fn global(&self, object: ObjectId) -> GlobalId {
        GlobalId::from(self.objects[object.index()])
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
        let location = location.map(|location| self.trace.locations().get(location.index()));
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
                _ => {}
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
                kind => kind == LockKind::Recursive,
            };
            let (id, here) = (run.lock(lock), Spot::declaration(run.number));
            agree(&mut self.kinds, id, is_recursive, here, || what(id))?;
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
                        agree(&mut self.kinds, id, true, run.spot(event), || what(id))?;
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
                _ => {}
            }
        }
        Ok(())
    }

    fn add_contents(&mut self, run: &Run) -> Result<(), MergeError> {
        let mut now: FxHashMap<(GlobalId, u32), Option<u8>> = FxHashMap::default();
        for &(at, value) in run.trace.initial() {
            let here = Spot::declaration(run.number);
            self.extend(run, at, &here)?;
            for (offset, byte) in bytes(at, value) {
                self.starts_with(run.global(at.object), offset, byte, here.clone())?;
                now.insert((run.global(at.object), offset), Some(byte));
            }
        }
        for (event, access) in run.trace.accesses() {
            let (at, here) = (access.at, run.spot(event));
            self.extend(run, at, &here)?;
            if at.size > 8 {
                return here.unsupported("an access to more than 8 bytes");
            }
            let global = run.global(at.object);
            let (seen, stored) = run.trace.values(event);
            if access.reads {
                let contents = self.contents.entry(global).or_default();
                for offset in at.offset..at.end() {
                    contents.read.entry(offset).or_insert_with(|| here.clone());
                }
            }
            for (offset, byte) in seen.into_iter().flat_map(|value| bytes(at, value)) {
                match now.get(&(global, offset)) {
                    None => {
                        self.starts_with(global, offset, byte, here.clone())?;
                        now.insert((global, offset), Some(byte));
                    }
                    Some(&Some(there)) if there != byte => {
                        return here.unsupported("a read of something that no recorded write left");
                    }
                    Some(_) => {}
                }
            }
            if access.writes {
                let valued = stored.map(|stored| bytes(at, stored).map(|(_, byte)| byte));
                let mut valued = valued.into_iter().flatten();
                for offset in at.offset..at.end() {
                    now.insert((global, offset), valued.next());
                }
            }
        }
        Ok(())
    }

    fn extend(&mut self, run: &Run, at: Place, here: &Spot) -> Result<(), MergeError> {
        if at.end() > MOST_BYTES {
            return here.clone().unsupported(format!("an object of more than {MOST_BYTES} bytes"));
        }
        let contents = self.contents.entry(run.global(at.object)).or_default();
        contents.size = contents.size.max(at.end());
        Ok(())
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
        agree(&mut contents.initial, offset, byte, here, what)
    }

    /// Whether all is known that the program must say, once all runs are in.
    pub(super) fn check_contents(&self) -> Result<(), MergeError> {
        let globals = (0..self.objects.len()).map(GlobalId::from);
        for (global, contents) in globals.filter_map(|id| Some((id, self.contents.get(&id)?))) {
            let unknown = contents.read.keys().filter(|byte| !contents.initial.contains_key(byte));
            if let Some(first) = unknown.min() {
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

    /// The names of the functions that the threads run: their own, unless a variable has it.
    pub(super) fn function_names(&self) -> Vec<String> {
        let mut taken: FxHashSet<String> =
            self.objects.iter().chain(self.threads.iter()).map(str::to_string).collect();
        let names = self.threads.iter().map(|thread| {
            let mut name = thread.to_string();
            if self.objects.find(thread).is_some() {
                while !taken.insert(name.clone()) {
                    name.push('_');
                }
            }
            name
        });
        names.collect()
    }

    /// The program whose threads run these functions.
    pub(super) fn program(self, functions: Vec<Function>) -> Program {
        let nothing = Contents::default();
        let globals = self.objects.iter().enumerate().map(|(index, name)| {
            let contents = self.contents.get(&GlobalId::from(index)).unwrap_or(&nothing);
            let byte = |offset| contents.initial.get(&offset).map_or(0, |(byte, _)| *byte);
            let mut initial: Vec<u8> = (0..contents.size).map(byte).collect();
            initial
                .truncate(initial.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
            Global { name: name.to_string(), size: contents.size.max(1), initial }
        });
        let locks = self.locks.iter().enumerate().map(|(index, name)| {
            let kind = self.kinds.get(&LockId::from(index));
            Lock {
                name: name.to_string(),
                recursive: kind.is_some_and(|(recursive, _)| *recursive),
            }
        });
        let semaphores = self.semaphores.iter().enumerate().map(|(index, name)| {
            let count = self.counts.get(&SemId::from(index)).map_or(0, |(count, _)| *count);
            Semaphore { name: name.to_string(), count }
        });
        let barriers = self.barriers.iter().enumerate().map(|(index, name)| {
            let parties =
                self.parties.get(&BarrierId::from(index)).map_or(1, |(parties, _)| *parties);
            Barrier { name: name.to_string(), parties }
        });
        let threads = self.threads.iter().enumerate().filter_map(|(index, name)| {
            let (parent, _) = self.parents.get(&ThreadId::from(index))?;
            let function = FunctionId::from(index);
            parent.is_none().then(|| Thread { name: name.to_string(), function, args: Vec::new() })
        });
        Program {
            globals: globals.collect(),
            locks: locks.collect(),
            conds: self.conds.iter().map(str::to_string).collect(),
            semaphores: semaphores.collect(),
            barriers: barriers.collect(),
            functions,
            threads: threads.collect(),
            locations: self.locations,
        }
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
