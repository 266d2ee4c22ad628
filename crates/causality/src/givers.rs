//! Which events can provide what a waiter needs: notifications of condition variables, posts of
//! semaphores.
//!
//! **Computes.** What comes before a waiter whoever gives: everything that comes before each
//! possible giver.
//!
//! **Follows.** `docs/causality.md`, section 5. Of each thread the first giver that is possible
//! stands for all later ones, since what comes before it comes before them.
//!
//! **Cost.** For one waiter, a search in each thread that has givers.

use foretrace_model::Skeleton;
use foretrace_trace::{CondId, Op, SemId, ThreadId, ops};

/// Positions in the events of each thread that has any, in program order.
type ByThread = Vec<(ThreadId, Vec<u32>)>;

/// The givers of a trace.
#[derive(Debug)]
pub struct Givers {
    notifications: Vec<ByThread>,
    posts: Vec<ByThread>,
    takes: Vec<ByThread>,
    counts: Vec<u32>,
    /// Whether somebody is woken by a notification, or waits for a semaphore.
    has_waiters: bool,
}

/// What is known of the order, when it is asked what comes before a waiter.
pub(crate) trait Known {
    /// How many events of each thread come before that one; its own thread's are those before it.
    /// `false`: it is not executed.
    fn before(&self, thread: ThreadId, position: u32, clock: &mut Vec<u32>) -> bool;
}

/// A waiter, as an event of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) thread: ThreadId,
    pub(crate) position: u32,
}

/// Who gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Given {
    /// Nobody can: the waiter never goes on.
    Never,
    /// Nobody has to.
    Freely,
    /// One alone.
    Only(ThreadId, u32),
    /// Somebody.
    BySome,
}

impl Givers {
    /// Collects them.
    pub fn new(skeleton: &Skeleton) -> Self {
        let trace = skeleton.trace;
        let semaphores = trace.semaphores().len();
        let mut givers = Givers {
            notifications: vec![Vec::new(); trace.conds().len()],
            posts: vec![Vec::new(); semaphores],
            takes: vec![Vec::new(); semaphores],
            counts: (0..semaphores)
                .map(|sem| skeleton.waiting.semaphore(SemId::from(sem)).initial)
                .collect(),
            has_waiters: false,
        };
        if trace.conds().is_empty() && semaphores == 0 {
            return givers;
        }
        for (event, op) in trace.other_ops() {
            let list = match op {
                Op::Signal { cond } | Op::Broadcast { cond } => {
                    &mut givers.notifications[cond.index()]
                }
                Op::SemPost { sem } => &mut givers.posts[sem.index()],
                Op::SemWait { sem, .. } => {
                    givers.has_waiters = true;
                    &mut givers.takes[sem.index()]
                }
                Op::Wake { .. } => {
                    givers.has_waiters = true;
                    continue;
                }
                ops!(memory object data lock barrier thread call mark Wait SemWaitFailed
                    Request) => continue,
            };
            let (thread, position) = (trace.thread_of(event), trace.position(event) as u32);
            match list.iter_mut().find(|(known, _)| *known == thread) {
                Some((_, positions)) => positions.push(position),
                None => list.push((thread, vec![position])),
            }
        }
        givers
    }

    /// Whether anybody waits for any of them.
    pub(crate) fn has_waiters(&self) -> bool {
        self.has_waiters
    }

    /// Who notifies a wake, and in `least` what comes before it whoever does; `at_wait` is what
    /// comes before its wait.
    pub(crate) fn notified(
        &self,
        cond: CondId,
        wake: Waiter,
        at_wait: &[u32],
        known: &impl Known,
        least: &mut Vec<u32>,
    ) -> Given {
        let mut clock = Vec::new();
        let mut given = Given::Never;
        for (thread, positions) in &self.notifications[cond.index()] {
            if *thread == wake.thread {
                continue;
            }
            let start = positions.partition_point(|&at| at < at_wait[thread.index()]);
            let mut is_possible = |at: u32| {
                known.before(*thread, at, &mut clock) && clock[wake.thread.index()] <= wake.position
            };
            let mut possible = positions[start..].iter().take_while(|&&at| is_possible(at));
            let Some(&first) = possible.next() else { continue };
            let is_alone = possible.next().is_none();
            known.before(*thread, first, &mut clock);
            clock[thread.index()] = first + 1;
            if given == Given::Never {
                least.clone_from(&clock);
                given = if is_alone { Given::Only(*thread, first) } else { Given::BySome };
            } else {
                meet(least, &clock);
                given = Given::BySome;
            }
        }
        given
    }

    /// Whether a semaphore wait goes on, and in `least` what comes before it whoever posts;
    /// `at_wait` is what comes before it as far as known.
    pub(crate) fn posted(
        &self,
        sem: SemId,
        wait: Waiter,
        at_wait: &[u32],
        known: &impl Known,
        least: &mut Vec<u32>,
    ) -> Given {
        let own = wait.thread;
        let up_to = |thread: ThreadId| {
            if thread == own { wait.position } else { at_wait[thread.index()] }
        };
        let taken: usize = self.takes[sem.index()]
            .iter()
            .map(|(thread, positions)| positions.partition_point(|&at| at < up_to(*thread)))
            .sum();
        let Some(needed) = (taken + 1).checked_sub(self.counts[sem.index()] as usize) else {
            return Given::Freely;
        };
        if needed == 0 {
            return Given::Freely;
        }
        let mut clock = Vec::new();
        let available: Vec<usize> = self.posts[sem.index()]
            .iter()
            .map(|(thread, positions)| {
                if *thread == own {
                    return positions.partition_point(|&at| at < wait.position);
                }
                positions.partition_point(|&at| {
                    known.before(*thread, at, &mut clock) && clock[own.index()] <= wait.position
                })
            })
            .collect();
        let all: usize = available.iter().sum();
        if all < needed {
            return Given::Never;
        }
        least.clear();
        let mut of_all = Vec::new();
        for ((thread, positions), &count) in self.posts[sem.index()].iter().zip(&available) {
            if count == 0 {
                continue;
            }
            let before = |nth: usize, clock: &mut Vec<u32>| {
                known.before(*thread, positions[nth], clock);
                clock[thread.index()] = positions[nth] + 1;
            };
            before(0, &mut clock);
            if of_all.is_empty() {
                of_all.clone_from(&clock);
            } else {
                meet(&mut of_all, &clock);
            }
            // So many must come from this thread, however many the others give.
            if let Some(nth) = (needed + count).checked_sub(all + 1) {
                before(nth, &mut clock);
                if least.is_empty() {
                    least.clone_from(&clock);
                } else {
                    crate::needs::join(least, &clock);
                }
            }
        }
        if least.is_empty() {
            *least = of_all;
        } else {
            crate::needs::join(least, &of_all);
        }
        Given::BySome
    }
}

/// The pointwise minimum.
fn meet(row: &mut [u32], other: &[u32]) {
    for (mine, &theirs) in row.iter_mut().zip(other) {
        *mine = (*mine).min(theirs);
    }
}
