//! Traces of programs that were changed a little: locks around some events, locks in another order,
//! atomic accesses, a read and a write as one step.
//!
//! **Computes.** The recorded run as it would have been with the change. Where the recorded order
//! does not allow it (the lock was not free, another thread wrote in between), an order that does
//! is looked for, and the trace is that of this other run: the checker says whether the recorded
//! program can run so, and what it reads and writes then.
//!
//! **Invariant.** A trace comes out only if it obeys the rules of recorded runs.
//!
//! **Cost.** Linear in the events, and a check of the schedule if the order changes.

mod order;

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::validate::validate;
use foretrace_trace::*;
use foretrace_verdict::Model;
use foretrace_witness::{CheckOptions, Checker, StepValues};

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
    /// Reads that become one atomic step with the next event of their thread, a write of the same
    /// place.
    pub fused: BTreeSet<EventId>,
}

/// A trace with a change.
#[derive(Debug)]
pub struct Changed {
    /// The trace.
    pub trace: Trace,
    /// Whether its order is another one than the recorded one.
    pub is_reordered: bool,
}

impl Patch {
    /// Holds a lock from one event to another one of the same thread.
    pub fn hold(&mut self, lock: &str, from: EventId, to: EventId) {
        self.acquire_before.entry(from).or_default().push(lock.to_string());
        // What is taken last is given back first.
        self.release_behind.entry(to).or_default().insert(0, lock.to_string());
    }

    /// The trace with the change.
    ///
    /// # Errors
    /// Why the recorded order does not allow it, if no other order was found either.
    pub fn apply(&self, trace: &Trace, model: Model) -> Result<Changed, String> {
        let recorded: Vec<EventId> = (0..trace.len()).map(EventId::from).collect();
        let changed = self.along(trace, &recorded, None);
        let why = match validate(&changed) {
            Ok(()) if self.keeps_pairs(trace, &recorded) => {
                return Ok(Changed { trace: changed, is_reordered: false });
            }
            Ok(()) => "another thread writes between a read and its write".to_string(),
            Err(invalid) => invalid.to_string(),
        };
        let reordered = || {
            let order = order::find(self, trace)?;
            let checker = Checker::new(trace, model, CheckOptions::default());
            let values = checker.values_along(&order).ok()?;
            let changed = self.along(trace, &order, Some(&values));
            let is_run = self.keeps_pairs(trace, &order) && validate(&changed).is_ok();
            is_run.then_some(Changed { trace: changed, is_reordered: true })
        };
        reordered().ok_or(why)
    }

    /// Whether nobody writes between reads and writes that become one step.
    fn keeps_pairs(&self, trace: &Trace, order: &[EventId]) -> bool {
        let mut open: Vec<(ThreadId, Place)> = Vec::new();
        order.iter().all(|&event| {
            let thread = trace.thread_of(event);
            let Some(access) = trace.access(event) else { return true };
            open.retain(|&(of, _)| of != thread);
            if self.fused.contains(&event) {
                open.push((thread, access.at));
            }
            !access.writes || !open.iter().any(|(_, at)| at.overlaps(access.at))
        })
    }

    /// The trace with the change, in an order of its events in which they have these values.
    fn along(&self, trace: &Trace, order: &[EventId], values: Option<&[StepValues]>) -> Trace {
        let mut copy = trace.clone();
        let (old, mut builder) = copy.take_events();
        // What was read by a step that its thread has not done yet.
        let mut half: BTreeMap<ThreadId, (EventId, Op)> = BTreeMap::new();
        for (step, &id) in order.iter().enumerate() {
            let event = old.event(id);
            for name in self.acquire_before.get(&id).into_iter().flatten() {
                let (mode, patience) = (Mode::Exclusive, Patience::Blocking);
                let op = Op::Acquire { lock: builder.lock(name), mode, patience };
                builder.push(Event { op, ..event });
            }
            let op = values.map_or(event.op, |values| with_values(event.op, &values[step]));
            let op = if self.atomic.contains(&id) { atomic(op) } else { op };
            if self.fused.contains(&id) {
                half.insert(event.thread, (id, op));
            } else if let Some((read, first)) = half.remove(&event.thread) {
                builder.push_as(&old, id, Event { op: joined(first, op), ..event });
                if let Some(name) = old.binding(read) {
                    let both = EventId::from(builder.so_far().len() - 1);
                    builder.bind(both, name);
                }
            } else if !self.left_out.contains(&id) {
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

/// A read and a write as one step.
fn joined(read: Op, write: Op) -> Op {
    match (read, write) {
        (Op::Read { value: read, .. }, Op::Write { at, value: written, .. }) => {
            Op::Rmw { at, read, written, order: MemoryOrder::SeqCst }
        }
        (_, other) => other,
    }
}

/// What an event does in a schedule.
fn with_values(op: Op, values: &StepValues) -> Op {
    match op {
        Op::Read { at, order, .. } => Op::Read { at, value: values.seen, order },
        Op::Write { at, order, .. } => Op::Write { at, value: values.stored, order },
        Op::Rmw { at, order, .. } => {
            Op::Rmw { at, read: values.seen, written: values.stored, order }
        }
        Op::Assert { holds } => {
            Op::Assert { holds: values.computed.map_or(holds, |value| value != 0) }
        }
        other @ ops!(Let Branch Assume object sync call mark) => other,
    }
}
