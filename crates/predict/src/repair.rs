//! Traces of programs that were changed a little: locks around some events, locks in another order,
//! atomic accesses.
//!
//! **Computes.** The recorded run as it would have been with the change, if that does not alter the
//! recorded order. Whether that is a run at all (whether the locks were free) is for the validation
//! of traces to say.
//!
//! **Cost.** Linear in the events.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::*;

/// A change of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Patch {
    /// Locks to take directly before events, by name.
    pub acquire_before: BTreeMap<EventId, Vec<String>>,
    /// Locks to give back directly behind events, by name.
    pub release_behind: BTreeMap<EventId, Vec<String>>,
    /// Events that are left out.
    pub left_out: BTreeSet<EventId>,
    /// Accesses that become atomic.
    pub atomic: BTreeSet<EventId>,
}

impl Patch {
    /// Holds a lock from one event to another one of the same thread.
    pub fn hold(&mut self, lock: &str, from: EventId, to: EventId) {
        self.acquire_before.entry(from).or_default().push(lock.to_string());
        // What is taken last is given back first.
        self.release_behind.entry(to).or_default().insert(0, lock.to_string());
    }

    /// The trace with the change.
    pub fn apply(&self, trace: &Trace) -> Trace {
        let mut copy = trace.clone();
        let (old, mut builder) = copy.take_events();
        for id in (0..old.len()).map(EventId::from) {
            let event = old.event(id);
            for name in self.acquire_before.get(&id).into_iter().flatten() {
                let (mode, patience) = (Mode::Exclusive, Patience::Blocking);
                let op = Op::Acquire { lock: builder.lock(name), mode, patience };
                builder.push(Event { op, ..event });
            }
            if !self.left_out.contains(&id) {
                let op = if self.atomic.contains(&id) { atomic(event.op) } else { event.op };
                builder.push_as(&old, id, Event { op, ..event });
            }
            for name in self.release_behind.get(&id).into_iter().flatten() {
                let op = Op::Release { lock: builder.lock(name), mode: Mode::Exclusive };
                builder.push(Event { op, ..event });
            }
        }
        builder.finish()
    }
}

fn atomic(op: Op) -> Op {
    let order = MemoryOrder::SeqCst;
    match op {
        Op::Read { at, value, .. } => Op::Read { at, value, order },
        Op::Write { at, value, .. } => Op::Write { at, value, order },
        other @ ops!(Rmw data object sync call mark) => other,
    }
}
