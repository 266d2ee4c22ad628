//! The universal causality graph: order that follows from order, until it contradicts the
//! candidate.
//!
//! **Computes.** Whether no schedule ends in a candidate, for a reason that locks, forks and joins,
//! condition variables, semaphores and barriers give together; or only some of them.
//!
//! **Follows.** `docs/causality.md`; V. Kahlon, C. Wang, *Universal Causality Graphs*, CAV 2010.
//!
//! **Invariant.** What is derived holds in every feasible schedule that ends in the candidate; so a
//! contradiction refutes it. Not every rule is tried where it would cost much, so silence says
//! nothing.
//!
//! **Cost.** One table for the trace. A candidate costs what lies behind its last causality
//! barrier, whatever the length of the trace.

mod barrier;
mod question;
mod search;

use rustc_hash::FxHashMap;

use foretrace_model::{HoldId, Skeleton};
use foretrace_trace::{CondId, EventId, LockId, Mode, Op, SemId, ThreadId, ops};

use crate::givers::Givers;
use crate::needs::{Needs, Rules};
use crate::scope::Scope;

pub use question::{Question, Reach};
pub use search::Search;

/// A hold of a lock, as events of threads.
#[derive(Clone, Copy, Debug)]
struct Held {
    id: HoldId,
    /// The position of the event that opens it.
    open: u32,
}

/// The holds of one lock in one mode by one thread, in program order.
#[derive(Debug)]
struct Slot {
    thread: ThreadId,
    mode: Mode,
    holds: Vec<Held>,
}

/// Somebody who needs a giver.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Notified(CondId),
    Posted(SemId),
}

/// What does not change from candidate to candidate.
pub struct Graph<'s> {
    skeleton: &'s Skeleton<'s>,
    givers: &'s Givers,
    /// What synchronisation needs in any order.
    order: &'s Needs,
    /// What it needs in the recorded order, where that is more.
    recorded: Option<Needs>,
    /// What data needs besides.
    data: Option<&'s Needs>,
    /// The slots of each lock.
    slots: Vec<Vec<Slot>>,
    /// The holds that each thread opens, in program order.
    opened: Vec<Vec<Held>>,
    /// When each thread has a lock: from behind one position up to another, apart from each other
    /// and in program order.
    busy: Vec<Vec<(u32, u32)>>,
    /// The notified wakes and semaphore waits of each thread, in program order.
    waits: Vec<Vec<(u32, Waits)>>,
    destroyed: Vec<(LockId, EventId)>,
    exits: Vec<EventId>,
    /// The positions of each thread's events that are no accesses.
    others: Vec<Vec<u32>>,
}

impl<'s> Graph<'s> {
    /// The graph of a trace; `order` is what synchronisation needs in any order, `data` what reads
    /// need besides. `None` if a table would be too large, and for programs.
    pub fn new(
        skeleton: &'s Skeleton<'s>,
        givers: &'s Givers,
        order: &'s Needs,
        data: Option<&'s Needs>,
    ) -> Option<Self> {
        if skeleton.is_program() {
            return None;
        }
        let trace = skeleton.trace;
        let recorded = if givers.has_waiters() {
            Some(Needs::new(skeleton, givers, Rules::RECORDED_SYNCHRONISATION)?)
        } else {
            None
        };
        let threads = trace.threads().len();
        let mut graph = Graph {
            skeleton,
            givers,
            order,
            recorded,
            data,
            slots: (0..trace.locks().len()).map(|_| Vec::new()).collect(),
            opened: vec![Vec::new(); threads],
            busy: vec![Vec::new(); threads],
            waits: vec![Vec::new(); threads],
            destroyed: Vec::new(),
            exits: Vec::new(),
            others: vec![Vec::new(); threads],
        };
        graph.collect_holds();
        graph.collect_waits();
        Some(graph)
    }

    fn collect_holds(&mut self) {
        let (trace, locks) = (self.skeleton.trace, &self.skeleton.locks);
        let mut slot_of: FxHashMap<(LockId, ThreadId, Mode), usize> = FxHashMap::default();
        for id in (0..locks.len() as u32).map(HoldId) {
            let hold = locks.hold(id);
            let slots = &mut self.slots[hold.lock.index()];
            let slot = *slot_of.entry((hold.lock, hold.thread, hold.mode)).or_insert_with(|| {
                slots.push(Slot { thread: hold.thread, mode: hold.mode, holds: Vec::new() });
                slots.len() - 1
            });
            let open = trace.position(hold.open) as u32;
            // Holds are numbered in recorded order, so each list is in program order.
            slots[slot].holds.push(Held { id, open });
            self.opened[hold.thread.index()].push(Held { id, open });
            // What another thread closes, or nobody, lasts.
            let close = match hold.close {
                Some(close) if trace.thread_of(close) == hold.thread => {
                    trace.position(close) as u32
                }
                _ => u32::MAX,
            };
            let busy = &mut self.busy[hold.thread.index()];
            match busy.last_mut() {
                Some(last) if open <= last.1 => last.1 = last.1.max(close),
                _ => busy.push((open, close)),
            }
        }
    }

    fn collect_waits(&mut self) {
        let trace = self.skeleton.trace;
        for (event, op) in trace.other_ops() {
            let position = trace.position(event) as u32;
            self.others[trace.thread_of(event).index()].push(position);
            let waits = match op {
                Op::Wake { cond, .. } => {
                    let (_, wait) = self.skeleton.waiting.wait_at(event);
                    if wait.notified() != Some(event) {
                        continue;
                    }
                    Waits::Notified(cond)
                }
                Op::SemWait { sem, .. } => Waits::Posted(sem),
                Op::Destroy { lock } => {
                    let thread = trace.thread_of(event);
                    if self.slots[lock.index()].iter().any(|slot| slot.thread != thread) {
                        self.destroyed.push((lock, event));
                    }
                    continue;
                }
                Op::Exit => {
                    self.exits.push(event);
                    continue;
                }
                ops!(memory object data barrier call mark Acquire AcquireFailed Release Wait Signal
                    Broadcast SemWaitFailed SemPost Request Fork Join Begin End) => continue,
            };
            self.waits[trace.thread_of(event).index()].push((position, waits));
        }
    }

    /// What it is the graph of.
    pub fn skeleton(&self) -> &'s Skeleton<'s> {
        self.skeleton
    }

    /// Accesses of one thread with the same number have no other event between them:
    /// synchronisation cannot tell them apart.
    pub fn segment(&self, event: EventId) -> usize {
        let trace = self.skeleton.trace;
        let position = trace.position(event) as u32;
        self.others[trace.thread_of(event).index()].partition_point(|&other| other < position)
    }

    /// What every event needs of other threads, as far as the scope says.
    fn table(&self, scope: Scope) -> Option<&Needs> {
        match scope {
            Scope::Locks => None,
            // Matches of the recorded run are not for pruning.
            Scope::Order | Scope::Synchronisation | Scope::Published => Some(self.order),
            Scope::All => Some(self.data.unwrap_or(self.order)),
        }
    }

    /// The last position up to `most` before which the thread has no lock.
    fn lock_free(&self, thread: ThreadId, most: u32) -> u32 {
        let busy = &self.busy[thread.index()];
        match busy[..busy.partition_point(|&(open, _)| open < most)].last() {
            // Between the opening and the closing event.
            Some(&(open, close)) if most <= close => open,
            _ => most,
        }
    }
}
