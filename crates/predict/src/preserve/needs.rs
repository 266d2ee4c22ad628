//! What each event needs of other threads: in the recorded order, or in any.
//!
//! **Computes.** For each event, how many events of each thread a schedule must contain if it contains the event:
//! transitive, except for the holds of locks, which depend on what else is there.
//!
//! **Cost.** A row of numbers only where a thread's needs change: O(n + rows · threads).

use rustc_hash::FxHashMap;

use foretrace_model::{CellId, Identity, ReleaseRole, Skeleton};
use foretrace_trace::{CondId, EventId, Model, Op, ThreadId, Trace};

use super::Rules;

/// The largest table, in numbers.
const MOST_NUMBERS: usize = 400_000_000;

/// The table.
pub(crate) struct Needs {
    threads: usize,
    /// For each thread, the positions from which on a row holds.
    changes: Vec<Vec<(u32, u32)>>,
    rows: Vec<u32>,
}

impl Needs {
    /// `None` if the table would be too large.
    pub(super) fn new(skeleton: &Skeleton, rules: Rules) -> Option<Self> {
        let trace = skeleton.trace;
        let threads = trace.threads().len();
        let mut needs =
            Needs { threads, changes: vec![vec![(0, 0)]; threads], rows: vec![0; threads] };
        let sources_of = match rules {
            Rules::RecordedOrder => Sources::recorded(skeleton),
            Rules::AnyOrder => Sources::only(skeleton),
        };
        let mut sources = Vec::new();
        let mut row = vec![0; threads];
        for (event, op) in trace.ops() {
            sources.clear();
            direct_needs(skeleton, rules, &sources_of, event, op, &mut sources);
            if sources.is_empty() {
                continue;
            }
            let thread = trace.thread_of(event);
            let position = trace.position(event) as u32;
            let old = needs.of(thread, position);
            row.copy_from_slice(old);
            let mut changed = false;
            for &source in &sources {
                let from = trace.thread_of(source);
                if from == thread {
                    continue;
                }
                let at = trace.position(source) as u32;
                if row[from.index()] > at {
                    continue;
                }
                changed = true;
                for (mine, &theirs) in row.iter_mut().zip(needs.of(from, at)) {
                    *mine = (*mine).max(theirs);
                }
                row[from.index()] = row[from.index()].max(at + 1);
            }
            if changed {
                if needs.rows.len() + threads > MOST_NUMBERS {
                    return None;
                }
                let index = (needs.rows.len() / threads) as u32;
                needs.rows.extend_from_slice(&row);
                match needs.changes[thread.index()].last_mut() {
                    Some(last) if last.0 == position => last.1 = index,
                    _ => needs.changes[thread.index()].push((position, index)),
                }
            }
        }
        Some(needs)
    }

    /// What the event at that position, and all before it in its thread, need.
    pub(super) fn of(&self, thread: ThreadId, position: u32) -> &[u32] {
        let changes = &self.changes[thread.index()];
        let at = changes.partition_point(|&(from, _)| from <= position) - 1;
        let row = changes[at].1 as usize * self.threads;
        &self.rows[row..row + self.threads]
    }
}

/// Where reads and wakes get what they need.
struct Sources {
    /// The notification of each notified wake.
    notifiers: FxHashMap<EventId, EventId>,
    /// The writes that a read needs, if not the recorded ones.
    writes: Option<FxHashMap<EventId, Vec<EventId>>>,
}

impl Sources {
    /// Those of the recorded run.
    fn recorded(skeleton: &Skeleton) -> Self {
        let trace = skeleton.trace;
        let mut notifiers = FxHashMap::default();
        let mut waiting: Vec<Vec<EventId>> = vec![Vec::new(); trace.conds().len()];
        for (event, op) in trace.ops() {
            match op {
                Op::Wait { cond, .. } => {
                    waiting[cond.index()].extend(skeleton.waiting.wait_at(event).1.notified());
                }
                // A signal goes to the waiter that wakes first; a broadcast to all that wait.
                Op::Signal { cond } => {
                    let wakes = &mut waiting[cond.index()];
                    if let Some(first) = (0..wakes.len()).min_by_key(|&at| wakes[at]) {
                        notifiers.insert(wakes.swap_remove(first), event);
                    }
                }
                Op::Broadcast { cond } => {
                    notifiers.extend(waiting[cond.index()].drain(..).map(|wake| (wake, event)));
                }
                _ => {}
            }
        }
        Sources { notifiers, writes: None }
    }

    /// Those without an alternative.
    fn only(skeleton: &Skeleton) -> Self {
        let trace = skeleton.trace;
        let mut notifiers = FxHashMap::default();
        for cond in 0..trace.conds().len() {
            let cond = skeleton.waiting.cond(CondId::from(cond));
            let mut all = cond.signals.iter().chain(&cond.broadcasts);
            if let (Some(&only), None) = (all.next(), all.next()) {
                let wakes = cond.waits.iter().filter_map(|wait| wait.notified());
                notifiers.extend(wakes.map(|wake| (wake, only)));
            }
        }
        let writes = match skeleton.model {
            _ if !skeleton.pins_reads() => Some(FxHashMap::default()),
            Model::ReadsFrom => None,
            _ => Some(only_writes(skeleton)),
        };
        Sources { notifiers, writes }
    }
}

/// For each read of a cell that several threads touch: the one write that leaves what it expects, if there
/// is no other and the initial contents differ.
fn only_writes(skeleton: &Skeleton) -> FxHashMap<EventId, Vec<EventId>> {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    let mut needed: FxHashMap<EventId, Vec<EventId>> = FxHashMap::default();
    let mut leaving: FxHashMap<Identity, Option<EventId>> = FxHashMap::default();
    for cell in (0..memory.cell_count() as u32).map(CellId) {
        let accesses = memory.accesses(cell);
        let first = accesses.first().map(|&access| trace.thread_of(access));
        if accesses.iter().all(|&access| Some(trace.thread_of(access)) == first) {
            continue;
        }
        leaving.clear();
        leaving.insert(memory.initial(cell), None);
        for &access in accesses {
            if trace.op(access).access().is_some_and(|access| access.writes) {
                let left = memory.written(trace, access, cell);
                leaving.entry(left).and_modify(|only| *only = None).or_insert(Some(access));
            }
        }
        for &access in accesses {
            if trace.op(access).access().is_some_and(|access| access.reads)
                && !memory.has_unknown_writer(access)
                && let Some(&Some(write)) = leaving.get(&memory.expected(trace, access, cell))
            {
                needed.entry(access).or_default().push(write);
            }
        }
    }
    needed
}

/// The events of other threads that an event needs, and perhaps some of its own.
fn direct_needs(
    skeleton: &Skeleton,
    rules: Rules,
    sources: &Sources,
    event: EventId,
    op: Op,
    needs: &mut Vec<EventId>,
) {
    let trace = skeleton.trace;
    let in_recorded_order = rules == Rules::RecordedOrder;
    if trace.position(event) == 0 {
        needs.extend(skeleton.fork_of(trace.thread_of(event)));
    }
    if let Some(access) = op.access() {
        needs.extend(skeleton.lifetimes.alloc_of(access.at.object));
        if access.reads {
            let is_free = skeleton.model == Model::Control && !in_recorded_order;
            if skeleton.memory.follows_everything(trace, event) && !is_free {
                all_before(trace, event, needs);
            } else if let Some(writes) = &sources.writes {
                needs.extend(writes.get(&event).into_iter().flatten());
            } else if !skeleton.memory.has_unknown_writer(event) {
                let mut last = None;
                for cell in skeleton.memory.cells_of(access.at) {
                    let writer = skeleton.memory.recorded_writer(trace, event, cell);
                    // Mostly, one write filled many cells.
                    if writer != last {
                        needs.extend(writer);
                        last = writer;
                    }
                }
            }
        }
        return;
    }
    match op {
        Op::Join { child } => {
            let last = trace.thread_events(child).last().copied();
            needs.extend(last.or_else(|| skeleton.fork_of(child)));
        }
        Op::Acquire { lock, .. } => {
            // A hold of its own that another thread closed in the meantime.
            if let Some(new) = skeleton.locks.opened_by(event) {
                let mode = skeleton.locks.hold(new).mode;
                needs.extend(closes_before(skeleton, lock, event, |hold| {
                    hold.thread == trace.thread_of(event) && hold.mode == mode
                }));
            }
        }
        Op::AcquireFailed { lock, mode, .. } if in_recorded_order => {
            let holds = skeleton.locks.holds_of(lock).iter().rev();
            let around = holds.map(|&id| skeleton.locks.hold(id)).find(|hold| {
                hold.open < event
                    && hold.close.is_none_or(|close| close > event)
                    && hold.mode.conflicts(mode)
            });
            needs.extend(around.map(|hold| hold.open));
        }
        Op::Release { lock, .. } => match skeleton.locks.role(trace, event) {
            ReleaseRole::Foreign(hold) => {
                needs.push(skeleton.locks.hold(hold).open);
                needs.extend(skeleton.locks.inner(hold).last());
            }
            ReleaseRole::Unheld if in_recorded_order => {
                needs.extend(closes_before(skeleton, lock, event, |_| true));
            }
            _ => {}
        },
        Op::Destroy { lock } if in_recorded_order => {
            needs.extend(closes_before(skeleton, lock, event, |_| true));
        }
        Op::Wake { .. } => needs.extend(sources.notifiers.get(&event)),
        Op::SemWait { sem, .. } if in_recorded_order => {
            let semaphore = skeleton.waiting.semaphore(sem);
            let nth = semaphore.waits.partition_point(|&wait| wait < event);
            if let Some(post) = nth.checked_sub(semaphore.initial as usize) {
                needs.extend(semaphore.posts.get(post));
            }
        }
        Op::SemWaitFailed { sem, .. } if in_recorded_order => {
            let waits = &skeleton.waiting.semaphore(sem).waits;
            needs.extend(waits.iter().take_while(|&&wait| wait < event));
        }
        Op::Arrive { .. } => {
            let at = skeleton.waiting.arrival_at(event);
            if at.round > 0 {
                let rounds = &skeleton.waiting.barrier(at.barrier).rounds;
                needs.extend(&rounds[at.round as usize - 1]);
            }
        }
        Op::Leave { .. } => {
            let at = skeleton.waiting.arrival_at(event);
            needs.extend(&skeleton.waiting.barrier(at.barrier).rounds[at.round as usize]);
        }
        Op::Alloc { .. } => needs.extend(skeleton.lifetimes.freed_before(event)),
        Op::Free { object } => needs.extend(skeleton.lifetimes.alloc_of(object)),
        _ => {}
    }
}

/// The events that close holds of a lock before an event in the recorded run.
fn closes_before(
    skeleton: &Skeleton,
    lock: foretrace_trace::LockId,
    event: EventId,
    wanted: impl Fn(&foretrace_model::Hold) -> bool,
) -> Vec<EventId> {
    // Without foreign releases, program order and the holds' own rule say all that is needed.
    if !skeleton.locks.is_irregular(lock) && skeleton.locks.destroyed_by(lock).is_none() {
        return Vec::new();
    }
    let holds = skeleton.locks.holds_of(lock).iter().map(|&id| skeleton.locks.hold(id));
    holds
        .take_while(|hold| hold.open < event)
        .filter(|hold| wanted(hold))
        .filter_map(|hold| hold.close.filter(|&close| close < event))
        .collect()
}

fn all_before(trace: &Trace, event: EventId, needs: &mut Vec<EventId>) {
    for thread in trace.thread_ids() {
        let events = trace.thread_events(thread);
        let count = events.partition_point(|&other| other < event);
        needs.extend(count.checked_sub(1).map(|last| events[last]));
    }
}
