//! Which locks a thread holds when one of its events is next.
//!
//! **Follows.** Locksets: Savage et al., *Eraser*, TOCS 15(4), 1997; used here only to drop what
//! mutual exclusion refutes.
//!
//! **Invariant.** An event's lockset under-approximates: every lock in it is held, in that mode, in
//! every feasible schedule at whose end the event is next. Holds that another thread closes are
//! left out.
//!
//! **Cost.** Linear; 4 bytes per event, and one list per distinct lockset.

use rustc_hash::FxHashMap;

use foretrace_model::{HoldId, Skeleton};
use foretrace_trace::{EventId, LockId, Mode};

/// A distinct lockset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocksetId(u32);

impl LocksetId {
    /// The lockset without locks.
    pub const EMPTY: LocksetId = LocksetId(0);
}

/// The locksets of all events.
#[derive(Debug)]
pub struct Locksets {
    sets: Vec<Vec<(LockId, Mode)>>,
    before: Vec<LocksetId>,
}

impl Locksets {
    /// Computes the locksets of a trace.
    pub fn new(skeleton: &Skeleton) -> Self {
        let trace = skeleton.trace;
        let mut index: FxHashMap<Vec<(LockId, Mode)>, LocksetId> = FxHashMap::default();
        let mut sets = vec![Vec::new()];
        index.insert(Vec::new(), LocksetId::EMPTY);
        let threads = trace.threads().len();
        let mut held: Vec<Vec<(LockId, Mode)>> = vec![Vec::new(); threads];
        let mut current = vec![LocksetId::EMPTY; threads];
        let mut before = Vec::with_capacity(trace.len());
        for row in 0..trace.len() {
            let event = EventId::from(row);
            let thread = trace.thread_of(event).index();
            before.push(current[thread]);
            let Some(id) = skeleton.locks.hold_at(event) else { continue };
            if !changes(skeleton, event, id) {
                continue;
            }
            let hold = skeleton.locks.hold(id);
            let held = &mut held[thread];
            if hold.open == event {
                held.push((hold.lock, hold.mode));
                held.sort_unstable();
            } else if let Some(at) = held.iter().position(|&own| own == (hold.lock, hold.mode)) {
                held.remove(at);
            }
            current[thread] = match index.get(held) {
                Some(&known) => known,
                None => {
                    let new = LocksetId(sets.len() as u32);
                    sets.push(held.clone());
                    index.insert(held.clone(), new);
                    new
                }
            };
        }
        Locksets { sets, before }
    }

    /// The lockset with which an event is next.
    pub fn at(&self, event: EventId) -> LocksetId {
        self.before[event.index()]
    }

    /// The locks of a lockset.
    pub fn locks(&self, set: LocksetId) -> &[(LockId, Mode)] {
        &self.sets[set.0 as usize]
    }

    /// Whether two threads cannot have these locksets at once.
    pub fn exclude(&self, a: LocksetId, b: LocksetId) -> bool {
        self.locks(a).iter().any(|&(lock, mode)| {
            self.locks(b)
                .iter()
                .any(|&(other, other_mode)| lock == other && mode.conflicts(other_mode))
        })
    }
}

/// Whether the event opens or closes a hold that its own thread closes, if anyone does.
fn changes(skeleton: &Skeleton, event: EventId, id: HoldId) -> bool {
    let hold = skeleton.locks.hold(id);
    (hold.open == event || hold.close == Some(event))
        && !skeleton.locks.closed_by_other(skeleton.trace, id)
}
