//! How often threads have done what semaphores count, and what they have added to memory.
//!
//! **Computes.** Whether the events that threads may have executed, if each is next at its node,
//! can add up to what semaphores count and to what is in memory to which threads only add. A state
//! of folded threads does not say how far a thread is, and a thread may be through after any number
//! of turns: but somebody must have posted what was taken.
//!
//! **Invariant.** An addition to memory counts only if no other one can come between its read and
//! its write: all are atomic steps, or all hold one lock.
//!
//! **Cost.** One sum for each choice of a position in each thread, in states in which nobody may be
//! able to go on.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::{CellId, Skeleton};
use foretrace_trace::{EventId, LockId, Mode, Op, SemId, ThreadId, ops};

use super::graph::Graph;
use super::machine::{DEAD, Machine};
use crate::fault::{Fault, is_seeded};

/// How many different sums are told apart.
const MOST_SUMS: usize = 20_000;

/// How much of each thing there is: of each semaphore, then of each cell to which threads only add.
type Sum = Box<[i64]>;

/// What each thread has added.
pub(super) struct Counts {
    initial: Sum,
    sems: usize,
    /// Cells to which threads only add, with how many bits they have.
    cells: Vec<(u32, u32)>,
    /// For each node the sums before the events that it stands for, each once.
    before: FxHashMap<u32, FxHashSet<Sum>>,
}

impl Counts {
    pub(super) fn new(skeleton: &Skeleton, graph: &Graph) -> Self {
        let trace = skeleton.trace;
        let sems = trace.semaphores().len();
        let initial = |sem| i64::from(skeleton.waiting.semaphore(SemId::from(sem)).initial);
        let mut all: Vec<i64> = (0..sems).map(initial).collect();
        let (mut cells, mut added) = (Vec::new(), FxHashMap::default());
        for (slot, &cell) in graph.cells.iter().enumerate() {
            let initial = skeleton.memory.initial_value(cell);
            if let (Some(initial), Some(list)) = (initial, additions(skeleton, cell)) {
                added.extend(list.into_iter().map(|(write, what)| (write, (cells.len(), what))));
                cells.push((slot as u32, 8 * skeleton.memory.size_of(cell)));
                all.push(initial as i64);
            }
        }
        let mut counts = Counts { initial: all.into(), sems, cells, before: FxHashMap::default() };
        if counts.initial.is_empty() {
            return counts;
        }
        for thread in trace.thread_ids() {
            let mut sum: Sum = vec![0; counts.initial.len()].into();
            for &event in trace.thread_events(thread) {
                counts.add(graph.node_of[event.index()], &sum);
                match trace.op(event) {
                    Op::SemPost { sem } => sum[sem.index()] += 1,
                    Op::SemWait { sem, .. } => sum[sem.index()] -= 1,
                    ops!(memory object data lock cond barrier thread call mark SemWaitFailed
                        Request) => {}
                }
                if let Some(&(cell, what)) = added.get(&event) {
                    sum[sems + cell] = sum[sems + cell].wrapping_add(what);
                }
            }
            counts.add(graph.last[thread.index()], &sum);
        }
        counts
    }

    fn add(&mut self, node: u32, sum: &[i64]) {
        self.before.entry(node).or_default().insert(sum.into());
    }

    /// Whether the threads can be where they are, each next at its node, with these counts.
    pub(super) fn may_be(&self, machine: &Machine, state: &[u32]) -> bool {
        if self.initial.is_empty() {
            return true;
        }
        let mut lists: Vec<&FxHashSet<Sum>> = Vec::new();
        for thread in 0..machine.threads() {
            if !machine.is_started(state, thread) {
                continue;
            }
            if state[thread] == DEAD {
                return true;
            }
            lists.push(&self.before[&state[thread]]);
        }
        lists.sort_by_key(|list| list.len());
        let mut sums: FxHashSet<Sum> = FxHashSet::from_iter([self.initial.clone()]);
        for list in lists {
            let mut more: FxHashSet<Sum> = FxHashSet::default();
            for sum in &sums {
                for own in list {
                    more.insert(sum.iter().zip(own).map(|(a, b)| a.wrapping_add(*b)).collect());
                }
                if more.len() > MOST_SUMS {
                    return true;
                }
            }
            sums = more;
        }
        sums.iter().any(|sum| self.is_so(machine, state, sum))
    }

    /// Whether the sum is what the state says. What is not looked at may be anything.
    fn is_so(&self, machine: &Machine, state: &[u32], sum: &[i64]) -> bool {
        let off = i64::from(is_seeded(Fault::CountsOffByOne));
        let (sems, cells) = sum.split_at(self.sems);
        let mut counts = (0..self.sems).map(|sem| machine.count(state, SemId::from(sem)));
        let are_counted = sems
            .iter()
            .all(|&sum| counts.next().flatten().is_none_or(|count| i64::from(count) + off == sum));
        are_counted
            && self.cells.iter().zip(cells).all(|(&(slot, bits), &sum)| {
                let sum = foretrace_words::cut(sum as u128, bits) as u64;
                machine.exact_content(state, slot).is_none_or(|content| content == sum)
            })
    }
}

/// What each write of a cell adds to it, if all of them do, and none comes in between.
fn additions(skeleton: &Skeleton, cell: CellId) -> Option<Vec<(EventId, i64)>> {
    let (trace, memory) = (skeleton.trace, &skeleton.memory);
    let data = skeleton.free_data()?;
    let bits = 8 * memory.size_of(cell);
    let mut found = Vec::new();
    let mut last_of: FxHashMap<ThreadId, EventId> = FxHashMap::default();
    // The locks that all hold; `None`: all so far are atomic steps.
    let mut common: Option<Vec<LockId>> = None;
    let mut is_atomic = true;
    for &write in memory.accesses(cell) {
        if !trace.access(write)?.writes {
            continue;
        }
        let (read, what) = data.addition(write)?;
        let what = data.terms().as_constant(what)?;
        let before = last_of.insert(trace.thread_of(write), write);
        let is_whole = trace.access(read)?.at == trace.access(write)?.at;
        if !is_whole || memory.has_unknown_writer(read) || before.is_some_and(|own| own >= read) {
            return None;
        }
        is_atomic &= read == write;
        let holds = |&lock: &LockId| holds_around(skeleton, lock, read, write);
        match &mut common {
            Some(common) => common.retain(holds),
            None => {
                let locks = (0..trace.locks().len()).map(LockId::from);
                common = Some(locks.filter(holds).collect());
            }
        }
        found.push((write, foretrace_words::signed(what, bits) as i64));
    }
    let is_guarded = is_atomic || common.is_some_and(|common| !common.is_empty());
    (is_guarded || is_seeded(Fault::SumsUnguarded)).then_some(found).filter(|all| !all.is_empty())
}

/// Whether the thread has the lock for itself alone from before the read until after the write.
fn holds_around(skeleton: &Skeleton, lock: LockId, read: EventId, write: EventId) -> bool {
    let trace = skeleton.trace;
    let thread = trace.thread_of(write);
    if skeleton.locks.is_irregular(lock) {
        return false;
    }
    skeleton.locks.holds_of(lock).iter().any(|&id| {
        let hold = skeleton.locks.hold(id);
        let is_long = |close: EventId| close > write && trace.thread_of(close) == thread;
        hold.thread == thread
            && hold.mode == Mode::Exclusive
            && hold.open < read
            && hold.close.is_none_or(is_long)
    })
}
