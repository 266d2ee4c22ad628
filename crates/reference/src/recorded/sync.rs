//! Synchronisation as guarded updates of shared variables, and which event has which role.
//!
//! **Follows.** 000 section 3.1: an acquire is `assume(l = 0) { l := 1 }`, a semaphore wait
//! `assume(s > 0) { s := s - 1 }`. A reader-writer lock is one number: how many readers there are,
//! plus a large constant for a writer; what the thread itself has is known, so a guard can set it
//! apart. Deepening and lowering a hold changes nothing that others see.
//!
//! **Deviation.** A lock without readers has only the values 0 and 1, known for each operation: the
//! simplification at the end of 000 section 4.2. A destroyed lock has the value -1.
//!
//! **Cost.** Linear in the trace.

use foretrace_trace::{
    BarrierId, EventId, LockId, LockKind, Mode, Op, SemId, ThreadId, Trace, ops,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Unsupported;

/// What an operation does to its variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Keep,
    Set(i64),
    Add(i64),
}

/// One operation on a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    pub(crate) event: EventId,
    /// The least and the greatest value at which it is possible; `None`: every value that can
    /// occur.
    pub(crate) guard: Option<(i64, Option<i64>)>,
    pub(crate) effect: Effect,
}

impl Update {
    /// Whether the operation is possible when it finds this value.
    pub(crate) fn allows(&self, value: i64) -> bool {
        self.guard.is_none_or(|(least, greatest)| {
            least <= value && greatest.is_none_or(|greatest| value <= greatest)
        })
    }
}

/// A variable that only synchronisation uses.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// The lock, if nothing but its holds changes or asks for the variable, and all of them are
    /// exclusive.
    pub(crate) plain_lock: Option<LockId>,
    pub(crate) initial: i64,
    pub(crate) updates: Vec<Update>,
}

impl Variable {
    /// Whether what an operation leaves depends on what it found.
    pub(crate) fn is_counter(&self) -> bool {
        self.updates.iter().any(|update| matches!(update.effect, Effect::Add(_)))
    }
}

/// A hold of the recorded run.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) thread: ThreadId,
    pub(crate) lock: LockId,
    pub(crate) mode: Mode,
    pub(crate) open: EventId,
    pub(crate) close: Option<EventId>,
    /// Where its depth becomes another one, and that depth.
    pub(crate) depths: Vec<(EventId, u32)>,
}

impl Hold {
    /// How deep it is after what is known of it so far.
    fn depth(&self) -> u32 {
        self.depths.last().map_or(1, |&(_, depth)| depth)
    }

    /// Whether the thread has it when it is next at one of its events.
    pub(crate) fn is_open_at(&self, next: EventId) -> bool {
        self.open < next && self.close.is_none_or(|close| close >= next)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sync {
    pub(crate) variables: Vec<Variable>,
    pub(crate) holds: Vec<Hold>,
    /// Those that are open, while the run is followed.
    open: Vec<usize>,
    /// Acquires that open a hold.
    pub(crate) opening: FxHashSet<EventId>,
    pub(crate) recursive: FxHashSet<LockId>,
    /// What must be executed before a barrier operation.
    pub(crate) barrier_needs: Vec<(EventId, Vec<EventId>)>,
}

impl Sync {
    pub(crate) fn new(trace: &Trace) -> Result<Sync, Unsupported> {
        let mut sync = Sync::default();
        let mut locks: FxHashMap<LockId, Vec<Update>> = FxHashMap::default();
        let mut semaphores: FxHashMap<SemId, Vec<Update>> = FxHashMap::default();
        let with_readers: FxHashSet<LockId> = trace
            .other_ops()
            .filter_map(|(_, op)| match op {
                Op::Acquire { lock, mode: Mode::Shared, .. } => Some(lock),
                ops!(memory object data sync call mark) => None,
            })
            .collect();
        for (event, op) in trace.other_ops() {
            match op {
                Op::Acquire { lock, .. }
                | Op::AcquireFailed { lock, .. }
                | Op::Release { lock, .. }
                | Op::Destroy { lock } => {
                    let writer = match with_readers.contains(&lock) {
                        true => Some(trace.threads().len() as i64 + 1),
                        false => None,
                    };
                    let update = sync.lock_operation(trace, event, op, writer)?;
                    locks.entry(lock).or_default().extend(update);
                }
                Op::SemWait { sem, .. } => {
                    let update = Update { event, guard: Some((1, None)), effect: Effect::Add(-1) };
                    semaphores.entry(sem).or_default().push(update);
                }
                Op::SemWaitFailed { sem, .. } => {
                    let update = Update { event, guard: Some((0, Some(0))), effect: Effect::Keep };
                    semaphores.entry(sem).or_default().push(update);
                }
                Op::SemPost { sem } => {
                    let update = Update { event, guard: None, effect: Effect::Add(1) };
                    semaphores.entry(sem).or_default().push(update);
                }
                Op::Wait { .. } | Op::Wake { .. } | Op::Signal { .. } | Op::Broadcast { .. } => {
                    return Err(Unsupported::at(event, "condition variables"));
                }
                ops!(memory object data barrier thread call mark Request) => {}
            }
        }
        sync.variables = in_order(locks, |lock: LockId| lock.index())
            .map(|(lock, updates)| {
                let name = format!("lock {}", trace.name(lock));
                let plain_lock = Some(lock).filter(|_| updates.iter().all(is_plain));
                Variable { name, plain_lock, initial: 0, updates }
            })
            .chain(in_order(semaphores, |sem: SemId| sem.index()).map(|(sem, updates)| {
                let name = format!("semaphore {}", trace.name(sem));
                let declared = trace.semaphore_count(sem).map(i64::from);
                let initial = declared.unwrap_or_else(|| least_count(&updates));
                Variable { name, plain_lock: None, initial, updates }
            }))
            .collect();
        let declared = (0..trace.locks().len()).map(LockId::from);
        sync.recursive
            .extend(declared.filter(|&lock| trace.lock_kind(lock) == LockKind::Recursive));
        sync.find_barrier_rounds(trace);
        Ok(sync)
    }

    /// Follows holds, and says what the operation does; nothing if it only deepens or lowers one.
    /// `writer` is the number that stands for a writer if the lock has readers too.
    fn lock_operation(
        &mut self,
        trace: &Trace,
        event: EventId,
        op: Op,
        writer: Option<i64>,
    ) -> Result<Option<Update>, Unsupported> {
        let thread = trace.thread_of(event);
        let update = |guard, effect| Ok(Some(Update { event, guard, effect }));
        let free = Some((0, Some(0)));
        match op {
            Op::Acquire { lock, mode, .. } => {
                if let Some(hold) = self.open_hold(thread, lock, mode) {
                    let depth = hold.depth();
                    hold.depths.push((event, depth + 1));
                    if mode == Mode::Exclusive {
                        self.recursive.insert(lock);
                    }
                    return Ok(None);
                }
                let other = if mode == Mode::Shared { Mode::Exclusive } else { Mode::Shared };
                let has_other = self.open_hold(thread, lock, other).is_some();
                self.opening.insert(event);
                self.open.push(self.holds.len());
                let depths = vec![(event, 1)];
                self.holds.push(Hold { thread, lock, mode, open: event, close: None, depths });
                match (writer, mode) {
                    (None, _) => update(free, Effect::Set(1)),
                    (Some(_), Mode::Shared) if has_other => update(None, Effect::Add(1)),
                    (Some(writer), Mode::Shared) => {
                        update(Some((0, Some(writer - 1))), Effect::Add(1))
                    }
                    (Some(writer), Mode::Exclusive) => {
                        let own = i64::from(has_other);
                        update(Some((own, Some(own))), Effect::Add(writer))
                    }
                }
            }
            Op::AcquireFailed { mode, .. } => {
                let least = if mode == Mode::Shared { writer.unwrap_or(1) } else { 1 };
                update(Some((least, None)), Effect::Keep)
            }
            Op::Release { lock, mode } => {
                let Some(hold) = self.open_hold(thread, lock, mode) else {
                    let anybody = self.open.iter().any(|&hold| self.holds[hold].lock == lock);
                    return match anybody {
                        true => Err(Unsupported::at(event, "a release of another thread's hold")),
                        false => update(free, Effect::Keep),
                    };
                };
                let depth = hold.depth();
                if depth > 1 {
                    hold.depths.push((event, depth - 1));
                    return Ok(None);
                }
                hold.close = Some(event);
                self.open.retain(|&hold| self.holds[hold].close.is_none());
                match (writer, mode) {
                    (None, _) => update(None, Effect::Set(0)),
                    (Some(_), Mode::Shared) => update(None, Effect::Add(-1)),
                    (Some(writer), Mode::Exclusive) => update(None, Effect::Add(-writer)),
                }
            }
            Op::Destroy { .. } if writer.is_some() => update(free, Effect::Add(-1)),
            Op::Destroy { .. } => update(free, Effect::Set(-1)),
            ops!(memory object data cond sem barrier thread call mark Request) => {
                unreachable!("only operations on locks come here")
            }
        }
    }

    fn open_hold(&mut self, thread: ThreadId, lock: LockId, mode: Mode) -> Option<&mut Hold> {
        let is_it = |hold: &Hold| hold.thread == thread && hold.lock == lock && hold.mode == mode;
        let index = self.open.iter().copied().find(|&index| is_it(&self.holds[index]))?;
        Some(&mut self.holds[index])
    }

    fn find_barrier_rounds(&mut self, trace: &Trace) {
        let mut arrivals: FxHashMap<BarrierId, Vec<EventId>> = FxHashMap::default();
        for (event, op) in trace.other_ops() {
            if let Op::Arrive { barrier } = op {
                arrivals.entry(barrier).or_default().push(event);
            }
        }
        let mut rounds: FxHashMap<BarrierId, Vec<&[EventId]>> = FxHashMap::default();
        for (&barrier, arrivals) in &arrivals {
            let threads: FxHashSet<ThreadId> =
                arrivals.iter().map(|&event| trace.thread_of(event)).collect();
            let parties = trace.barrier_parties(barrier).map_or(threads.len(), |n| n as usize);
            rounds.insert(barrier, arrivals.chunks(parties.max(1)).collect());
        }
        let mut last_round: FxHashMap<(ThreadId, BarrierId), usize> = FxHashMap::default();
        for (event, op) in trace.other_ops() {
            let thread = trace.thread_of(event);
            match op {
                Op::Arrive { barrier } => {
                    let has = |round: &&[EventId]| round.contains(&event);
                    let round =
                        rounds[&barrier].iter().position(has).expect("every arrival has a round");
                    last_round.insert((thread, barrier), round);
                    if round > 0 {
                        self.barrier_needs.push((event, rounds[&barrier][round - 1].to_vec()));
                    }
                }
                Op::Leave { barrier } => {
                    if let Some(&round) = last_round.get(&(thread, barrier)) {
                        self.barrier_needs.push((event, rounds[&barrier][round].to_vec()));
                    }
                }
                ops!(memory object data lock cond sem thread call mark Request) => {}
            }
        }
    }
}

/// The entries of a map in the order of their keys.
fn in_order<K: Copy, V>(
    map: FxHashMap<K, V>,
    index: impl Fn(K) -> usize,
) -> impl Iterator<Item = (K, V)> {
    let mut entries: Vec<(K, V)> = map.into_iter().collect();
    entries.sort_unstable_by_key(|&(key, _)| index(key));
    entries.into_iter()
}

/// Whether an operation takes or gives back a lock that has no readers.
fn is_plain(update: &Update) -> bool {
    matches!(update.effect, Effect::Set(0 | 1))
}

/// The least initial count with which the recorded run is possible.
fn least_count(updates: &[Update]) -> i64 {
    let mut balance = 0;
    let mut least = 0;
    for update in updates {
        match update.effect {
            // A wait that fails finds exactly 0.
            Effect::Keep => least = least.max(-balance),
            Effect::Add(change) => {
                if change < 0 {
                    least = least.max(1 - balance);
                }
                balance += change;
            }
            Effect::Set(_) => {}
        }
    }
    least
}
