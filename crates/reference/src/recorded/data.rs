//! What events compute from what their threads have read: names, expressions that count, opaque
//! events.
//!
//! **Cost.** Linear in the trace and its expressions; [`Data::reads_used_by`] in the `let`s behind
//! one expression.

use foretrace_trace::{Dependences, EventId, NameId, Op, Trace, ops};
use rustc_hash::{FxHashMap, FxHashSet};

use super::memory::{Memory, seen};

#[derive(Debug)]
pub(crate) struct Data {
    /// What the names in an event's expressions mean: the `read`, `rmw` or `let` that binds them.
    meanings: FxHashMap<EventId, FxHashMap<NameId, EventId>>,
    /// Reads and `let`s whose value is known in the recorded run.
    valued: FxHashSet<EventId>,
    /// Events whose expression counts.
    counting: FxHashSet<EventId>,
}

impl Data {
    pub(crate) fn new(trace: &Trace) -> Data {
        let mut data = Data {
            meanings: FxHashMap::default(),
            valued: FxHashSet::default(),
            counting: FxHashSet::default(),
        };
        for thread in trace.thread_ids() {
            let mut bound = FxHashMap::default();
            for &event in trace.thread_events(thread) {
                data.follow(trace, event, &mut bound);
            }
        }
        data
    }

    fn follow(&mut self, trace: &Trace, event: EventId, bound: &mut FxHashMap<NameId, EventId>) {
        let op = trace.op(event);
        let access = op.access();
        if access.is_some_and(|access| access.reads && seen(trace, event, access).is_some()) {
            self.valued.insert(event);
        }
        // A read-modify-write can use its own name.
        if access.is_some()
            && let Some(name) = trace.binding(event)
        {
            bound.insert(name, event);
        }
        let mut meanings = FxHashMap::default();
        let expressions = trace.expression(event).into_iter().chain(trace.assumption(event));
        for expr in expressions {
            for name in expr.names() {
                if let Some(&meaning) = bound.get(&name) {
                    meanings.insert(name, meaning);
                }
            }
        }
        let all_valued = meanings.values().all(|meaning| self.valued.contains(meaning));
        if trace.expression(event).is_some() && all_valued {
            let stores =
                access.is_none_or(|access| access.at.size <= 8 && trace.values(event).1.is_some());
            if op == Op::Let {
                self.valued.insert(event);
            } else if stores {
                self.counting.insert(event);
            }
        }
        if !meanings.is_empty() {
            self.meanings.insert(event, meanings);
        }
        if op == Op::Let
            && let Some(name) = trace.binding(event)
        {
            bound.insert(name, event);
        }
    }

    /// Whether the event has an expression that counts.
    pub(crate) fn counts(&self, event: EventId) -> bool {
        self.counting.contains(&event)
    }

    /// Whether the value of this read or `let` is known in the recorded run.
    pub(crate) fn is_valued(&self, event: EventId) -> bool {
        self.valued.contains(&event)
    }

    /// Whether what the event does is known only for reads that are as recorded.
    pub(crate) fn is_opaque(&self, trace: &Trace, event: EventId) -> bool {
        match trace.op(event) {
            Op::External => true,
            Op::Write { .. }
            | Op::Rmw { .. }
            | Op::Branch { .. }
            | Op::Assert { .. }
            | Op::Assume { .. } => !self.counts(event),
            ops!(object sync call Read Let RegionBegin RegionEnd Fence) => false,
        }
    }

    /// The event that binds a name where this event uses it.
    pub(crate) fn meaning(&self, event: EventId, name: NameId) -> EventId {
        self.meanings[&event][&name]
    }

    /// The reads that an event's expressions use, through `let`s.
    pub(crate) fn reads_used_by(&self, trace: &Trace, event: EventId) -> FxHashSet<EventId> {
        let mut reads = FxHashSet::default();
        let mut seen_lets = FxHashSet::default();
        let mut open = vec![event];
        while let Some(event) = open.pop() {
            for &meaning in self.meanings.get(&event).into_iter().flat_map(FxHashMap::values) {
                if trace.op(meaning) != Op::Let {
                    reads.insert(meaning);
                } else if seen_lets.insert(meaning) {
                    open.push(meaning);
                }
            }
        }
        reads
    }

    /// The reads that only the assertion uses: under `reads-from` and `values` they see what is
    /// there. A `let` in between is a use.
    pub(crate) fn released_for(
        &self,
        trace: &Trace,
        memory: &Memory,
        assertion: EventId,
    ) -> FxHashSet<EventId> {
        let mut released = FxHashSet::default();
        if !self.counts(assertion) || trace.dependences() != Dependences::Recorded {
            return released;
        }
        let mut candidates = self.reads_used_by(trace, assertion);
        candidates.retain(|&read| {
            matches!(trace.op(read), Op::Read { .. }) && memory.unknown_writer(read).is_none()
        });
        let position = trace.position(assertion);
        let earlier = &trace.thread_events(trace.thread_of(assertion))[..position];
        for &event in earlier.iter().rev() {
            if candidates.is_empty() || self.is_opaque(trace, event) {
                break;
            }
            if candidates.remove(&event) {
                released.insert(event);
            }
            for used in self.reads_used_by(trace, event) {
                candidates.remove(&used);
            }
        }
        released
    }
}
