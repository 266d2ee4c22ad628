//! Waiting for others: condition variables, semaphores, barriers.
//!
//! **Computes.** For each condition variable its waits, signals and broadcasts; for each semaphore
//! its initial count and operations; for each barrier its rounds.
//!
//! **Follows.** `docs/theory.md`, section 2.

use rustc_hash::FxHashMap;

use foretrace_trace::{BarrierId, CondId, EventId, Op, SemId, Trace, WakeReason, ops};

/// A wait and how it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The first half.
    pub wait: EventId,
    /// The second half, if the thread went on.
    pub wake: Option<(EventId, WakeReason)>,
    /// Whether it gives up after a time.
    pub timed: bool,
}

impl Wait {
    /// The wake, if a notification is what ended the wait.
    pub fn notified(&self) -> Option<EventId> {
        match self.wake {
            Some((wake, WakeReason::Notified)) => Some(wake),
            _ => None,
        }
    }

    /// Whether the wait can end without a notification.
    pub fn may_leave(&self) -> bool {
        self.timed || (self.wake.is_some() && self.notified().is_none())
    }
}

/// A condition variable.
#[derive(Clone, Default, Debug)]
pub struct Cond {
    /// In recorded order.
    pub waits: Vec<Wait>,
    /// In recorded order.
    pub signals: Vec<EventId>,
    /// In recorded order.
    pub broadcasts: Vec<EventId>,
}

/// A semaphore.
#[derive(Clone, Default, Debug)]
pub struct Semaphore {
    /// The count at the start.
    pub initial: u32,
    /// Successful waits in recorded order.
    pub waits: Vec<EventId>,
    /// Failed waits in recorded order.
    pub failures: Vec<EventId>,
    /// In recorded order.
    pub posts: Vec<EventId>,
}

/// A barrier.
#[derive(Clone, Default, Debug)]
pub struct Barrier {
    /// How many threads make a round.
    pub parties: u32,
    /// The arrivals, round by round; the last may be incomplete.
    pub rounds: Vec<Vec<EventId>>,
}

/// The round of an arrival or leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Where.
    pub barrier: BarrierId,
    /// Which.
    pub round: u32,
}

/// The waiting part of the skeleton.
#[derive(Debug)]
pub struct Waiting {
    conds: Vec<Cond>,
    semaphores: Vec<Semaphore>,
    barriers: Vec<Barrier>,
    /// Arrivals and leaves, in recorded order.
    arrivals: Vec<(EventId, Arrival)>,
    /// Each wait and wake, in recorded order, as an index into its condition variable's waits.
    wait_of: Vec<(EventId, CondId, u32)>,
}

impl Waiting {
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut waiting = Waiting {
            conds: vec![Cond::default(); trace.conds().len()],
            semaphores: vec![Semaphore::default(); trace.semaphores().len()],
            barriers: vec![Barrier::default(); trace.barriers().len()],
            arrivals: Vec::new(),
            wait_of: Vec::new(),
        };
        waiting.collect(trace);
        waiting.count_semaphores(trace);
        waiting.group_arrivals(trace);
        waiting
    }

    fn collect(&mut self, trace: &Trace) {
        // The index of each thread's last wait.
        let mut last = vec![0; trace.threads().len()];
        for (event, op) in trace.other_ops() {
            match op {
                Op::Wait { cond, timed, .. } => {
                    let waits = &mut self.conds[cond.index()].waits;
                    last[trace.thread_of(event).index()] = waits.len() as u32;
                    self.wait_of.push((event, cond, waits.len() as u32));
                    waits.push(Wait { wait: event, wake: None, timed });
                }
                // A wake directly follows its wait, on the same condition variable.
                Op::Wake { cond, reason, .. } => {
                    let at = last[trace.thread_of(event).index()];
                    self.conds[cond.index()].waits[at as usize].wake = Some((event, reason));
                    self.wait_of.push((event, cond, at));
                }
                Op::Signal { cond } => self.conds[cond.index()].signals.push(event),
                Op::Broadcast { cond } => self.conds[cond.index()].broadcasts.push(event),
                Op::SemWait { sem, .. } => self.semaphores[sem.index()].waits.push(event),
                Op::SemWaitFailed { sem, .. } => self.semaphores[sem.index()].failures.push(event),
                Op::SemPost { sem } => self.semaphores[sem.index()].posts.push(event),
                Op::Arrive { barrier } => {
                    let barrier = &mut self.barriers[barrier.index()];
                    if barrier.rounds.is_empty() {
                        barrier.rounds.push(Vec::new());
                    }
                    barrier.rounds[0].push(event);
                }
                ops!(memory object data lock thread call mark Leave Request) => {}
            }
        }
    }

    fn count_semaphores(&mut self, trace: &Trace) {
        for (index, semaphore) in self.semaphores.iter_mut().enumerate() {
            semaphore.initial = trace.semaphore_count(SemId::from(index)).unwrap_or_else(|| {
                let (mut posts, mut least) = (0, 0);
                for (nth, &wait) in semaphore.waits.iter().enumerate() {
                    while semaphore.posts.get(posts).is_some_and(|&post| post < wait) {
                        posts += 1;
                    }
                    least = least.max(nth + 1 - posts.min(nth + 1));
                }
                least as u32
            });
        }
    }

    fn group_arrivals(&mut self, trace: &Trace) {
        for (index, barrier) in self.barriers.iter_mut().enumerate() {
            let id = BarrierId::from(index);
            let arrivals = barrier.rounds.pop().unwrap_or_default();
            barrier.parties = trace.barrier_parties(id).unwrap_or_else(|| {
                let mut threads: Vec<_> =
                    arrivals.iter().map(|&arrival| trace.thread_of(arrival)).collect();
                threads.sort_unstable();
                threads.dedup();
                threads.len().max(1) as u32
            });
            for (round, group) in arrivals.chunks(barrier.parties as usize).enumerate() {
                let at = Arrival { barrier: id, round: round as u32 };
                self.arrivals.extend(group.iter().map(|&arrival| (arrival, at)));
                barrier.rounds.push(group.to_vec());
            }
        }
        if !self.arrivals.is_empty() {
            self.arrivals.sort_unstable_by_key(|&(event, _)| event);
            self.add_leaves(trace);
        }
    }

    /// Gives each leave the round of its thread's last arrival.
    fn add_leaves(&mut self, trace: &Trace) {
        let mut last: FxHashMap<_, Arrival> = FxHashMap::default();
        let mut all = Vec::with_capacity(2 * self.arrivals.len());
        let mut arrivals = self.arrivals.iter();
        for (event, op) in trace.other_ops() {
            match op {
                Op::Arrive { barrier } => {
                    let &(_, at) = arrivals.next().expect("each arrival has a round");
                    last.insert((trace.thread_of(event), barrier), at);
                    all.push((event, at));
                }
                Op::Leave { barrier } => {
                    all.push((event, last[&(trace.thread_of(event), barrier)]));
                }
                ops!(memory object data lock cond sem thread call mark Request) => {}
            }
        }
        self.arrivals = all;
    }

    /// A condition variable.
    pub fn cond(&self, cond: CondId) -> &Cond {
        &self.conds[cond.index()]
    }

    /// The wait that an event is the first or second half of.
    pub fn wait_at(&self, event: EventId) -> (CondId, Wait) {
        let at = self.wait_of.binary_search_by_key(&event, |&(known, ..)| known);
        let (_, cond, index) = self.wait_of[at.expect("the event is a wait or a wake")];
        (cond, self.conds[cond.index()].waits[index as usize])
    }

    /// A semaphore.
    pub fn semaphore(&self, sem: SemId) -> &Semaphore {
        &self.semaphores[sem.index()]
    }

    /// A barrier.
    pub fn barrier(&self, barrier: BarrierId) -> &Barrier {
        &self.barriers[barrier.index()]
    }

    /// The round of an arrival or leave.
    pub fn arrival_at(&self, event: EventId) -> Arrival {
        let at = self.arrivals.binary_search_by_key(&event, |&(known, _)| known);
        self.arrivals[at.expect("the event is an arrival or a leave")].1
    }
}
