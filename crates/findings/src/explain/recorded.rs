//! What the sentences need to know of the recorded run: which events open and close holds, and
//! which ones notify or post.
//!
//! **Follows.** "Holds" and "Semaphores" in `docs/theory.md`, section 2.
//!
//! **Cost.** One pass over the trace.

use std::collections::HashMap;

use foretrace_trace::{CondId, EventId, LockId, Op, SemId, Trace, ops};

use crate::holds::{Change, Holds};

/// A hold of a lock; a `destroy` is one that is never closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    pub(super) lock: LockId,
    pub(super) open: EventId,
    pub(super) close: Option<EventId>,
}

/// What a semaphore does in the recorded run.
#[derive(Clone, Default)]
pub(super) struct Semaphore {
    pub(super) posts: Vec<EventId>,
    pub(super) waits: Vec<EventId>,
    /// What it begins with: declared, or the least with which the recorded run is feasible.
    pub(super) initial: i64,
}

/// What the recorded run fixes.
pub(super) struct Recorded {
    holds: Vec<Hold>,
    hold_at: HashMap<EventId, usize>,
    notifications: HashMap<CondId, Vec<EventId>>,
    semaphores: HashMap<SemId, Semaphore>,
}

impl Recorded {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut recorded = Recorded {
            holds: Vec::new(),
            hold_at: HashMap::new(),
            notifications: HashMap::new(),
            semaphores: HashMap::new(),
        };
        let mut holds = Holds::default();
        for (event, op) in trace.other_ops() {
            match holds.step(trace.thread_of(event), event, op) {
                Change::Opens(hold) => recorded.open(hold.lock, event),
                Change::Closes(hold) => recorded.close(hold.since, event),
                Change::Nothing => {}
            }
            match op {
                Op::Destroy { lock } => recorded.open(lock, event),
                Op::Signal { cond } | Op::Broadcast { cond } => {
                    recorded.notifications.entry(cond).or_default().push(event);
                }
                Op::SemPost { sem } => {
                    recorded.semaphores.entry(sem).or_default().posts.push(event);
                }
                Op::SemWait { sem, .. } => {
                    let semaphore = recorded.semaphores.entry(sem).or_default();
                    semaphore.waits.push(event);
                    let missing = semaphore.waits.len() as i64 - semaphore.posts.len() as i64;
                    semaphore.initial = semaphore.initial.max(missing);
                }
                ops!(memory data object mark call thread barrier Request)
                | ops!(Acquire AcquireFailed Release Wait Wake SemWaitFailed) => {}
            }
        }
        for (&sem, semaphore) in &mut recorded.semaphores {
            if let Some(count) = trace.semaphore_count(sem) {
                semaphore.initial = i64::from(count);
            }
        }
        recorded
    }

    fn open(&mut self, lock: LockId, open: EventId) {
        self.hold_at.insert(open, self.holds.len());
        self.holds.push(Hold { lock, open, close: None });
    }

    fn close(&mut self, open: EventId, event: EventId) {
        let hold = self.hold_at[&open];
        self.hold_at.insert(event, hold);
        self.holds[hold].close = Some(event);
    }

    /// The hold that an event opens or closes.
    pub(super) fn hold_at(&self, event: EventId) -> Option<Hold> {
        self.hold_at.get(&event).map(|&hold| self.holds[hold])
    }

    /// The holds of a lock that are never closed.
    pub(super) fn unclosed(&self, lock: LockId) -> impl Iterator<Item = Hold> + '_ {
        self.holds.iter().copied().filter(move |hold| hold.lock == lock && hold.close.is_none())
    }

    /// What may notify those that wait for a condition variable.
    pub(super) fn notifications(&self, cond: CondId) -> &[EventId] {
        self.notifications.get(&cond).map_or(&[], |events| events)
    }

    /// What the recorded run does with a semaphore.
    pub(super) fn semaphore(&self, sem: SemId) -> Semaphore {
        self.semaphores.get(&sem).cloned().unwrap_or_default()
    }
}
