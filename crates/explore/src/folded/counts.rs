//! How often threads have done what semaphores count.
//!
//! **Computes.** Whether the events that threads may have executed, if each is next at its node,
//! can add up to what semaphores count. A state of folded threads does not say how far a thread is,
//! and a thread may be through after any number of turns: but somebody must have posted what was
//! taken.
//!
//! **Cost.** One sum for each choice of a position in each thread, in states in which nobody may be
//! able to go on.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::Skeleton;
use foretrace_trace::{Op, SemId, ops};

use super::graph::Graph;
use super::machine::{DEAD, Machine};
use crate::fault::{Fault, is_seeded};

/// How many different sums are told apart.
const MOST_SUMS: usize = 20_000;

/// How much each semaphore counts.
type Sum = Box<[i64]>;

/// What each thread has added.
pub(super) struct Counts {
    initial: Sum,
    /// For each node the sums before the events that it stands for, each once.
    before: FxHashMap<u32, FxHashSet<Sum>>,
}

impl Counts {
    pub(super) fn new(skeleton: &Skeleton, graph: &Graph) -> Self {
        let trace = skeleton.trace;
        let sems = trace.semaphores().len();
        let initial = |sem| i64::from(skeleton.waiting.semaphore(SemId::from(sem)).initial);
        let initial = (0..sems).map(initial).collect();
        let mut counts = Counts { initial, before: FxHashMap::default() };
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
        sum.iter().enumerate().all(|(sem, &sum)| {
            let count = machine.count(state, SemId::from(sem));
            count.is_none_or(|count| i64::from(count) + off == sum)
        })
    }
}
