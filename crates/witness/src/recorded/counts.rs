//! Theory, section 2: initial counts of semaphores, rounds of barriers.
//!
//! **Cost.** Linear in the events of semaphores and barriers.

use foretrace_trace::{BarrierId, EventId, SemId, ThreadId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// A round of a barrier. The round before it is the one with the number before, if `index` > 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) barrier: BarrierId,
    /// Its place among the rounds of its barrier.
    pub(crate) index: u32,
    /// How many arrivals complete it.
    pub(crate) parties: u32,
}

/// What the recorded run says about one undeclared semaphore so far.
#[derive(Clone, Copy, Default)]
struct Balance {
    /// Posts minus waits.
    change: i64,
    /// The least initial count with which the waits so far succeed.
    least: i64,
    /// The initial count with which the first failed wait finds zero.
    exact: Option<i64>,
}

/// The semaphores of the recorded run so far.
pub(super) struct SemaphorePass {
    balances: Vec<Balance>,
}

impl SemaphorePass {
    pub(super) fn new(trace: &Trace) -> Self {
        SemaphorePass { balances: vec![Balance::default(); trace.semaphores().len()] }
    }

    pub(super) fn wait(&mut self, sem: SemId) {
        let balance = &mut self.balances[sem.index()];
        balance.least = balance.least.max(1 - balance.change);
        balance.change -= 1;
    }

    pub(super) fn wait_failed(&mut self, sem: SemId) {
        let balance = &mut self.balances[sem.index()];
        balance.exact.get_or_insert(-balance.change);
    }

    pub(super) fn post(&mut self, sem: SemId) {
        self.balances[sem.index()].change += 1;
    }

    /// The initial count of each semaphore. A failed wait fixes it; else the least one counts.
    pub(super) fn finish(self, trace: &Trace) -> Vec<u64> {
        let undeclared = |b: &Balance| b.exact.unwrap_or(0).max(b.least) as u64;
        let count = |(sem, balance)| {
            trace.semaphore_count(SemId::from(sem)).map_or(undeclared(balance), u64::from)
        };
        self.balances.iter().enumerate().map(count).collect()
    }
}

/// The arrivals and leaves of the recorded run so far, of each barrier.
pub(super) struct BarrierPass {
    arrivals: Vec<Vec<(EventId, ThreadId)>>,
    /// A leave and the last arrival of its thread before it.
    leaves: Vec<(EventId, Option<EventId>)>,
    last_arrival: FxHashMap<(ThreadId, BarrierId), EventId>,
}

impl BarrierPass {
    pub(super) fn new(trace: &Trace) -> Self {
        BarrierPass {
            arrivals: vec![Vec::new(); trace.barriers().len()],
            leaves: Vec::new(),
            last_arrival: FxHashMap::default(),
        }
    }

    pub(super) fn arrive(&mut self, event: EventId, thread: ThreadId, barrier: BarrierId) {
        self.arrivals[barrier.index()].push((event, thread));
        self.last_arrival.insert((thread, barrier), event);
    }

    pub(super) fn leave(&mut self, event: EventId, thread: ThreadId, barrier: BarrierId) {
        self.leaves.push((event, self.last_arrival.get(&(thread, barrier)).copied()));
    }

    /// The rounds. `set_round` gets the round of each arrival and of each leave (`None` if its
    /// thread never arrived).
    pub(super) fn finish(
        self,
        trace: &Trace,
        mut set_round: impl FnMut(EventId, Option<u32>),
    ) -> Vec<Round> {
        let mut rounds = Vec::new();
        let mut round_of: FxHashMap<EventId, u32> = FxHashMap::default();
        for (number, arrivals) in self.arrivals.iter().enumerate() {
            let barrier = BarrierId::from(number);
            let threads = || arrivals.iter().map(|&(_, thread)| thread).collect::<FxHashSet<_>>();
            let parties =
                trace.barrier_parties(barrier).unwrap_or_else(|| threads().len() as u32).max(1);
            for (index, round) in arrivals.chunks(parties as usize).enumerate() {
                for &(arrival, _) in round {
                    round_of.insert(arrival, rounds.len() as u32);
                    set_round(arrival, Some(rounds.len() as u32));
                }
                rounds.push(Round { barrier, index: index as u32, parties });
            }
        }
        for (leave, arrival) in self.leaves {
            set_round(leave, arrival.map(|arrival| round_of[&arrival]));
        }
        rounds
    }
}
