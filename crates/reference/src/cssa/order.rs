//! Φ_PO: what orders events whatever they read.
//!
//! Program order, forks and joins hold of all clocks; what comes behind X has no others to obey.
//! The rest holds of included events.

use foretrace_trace::{EventId, ObjectId, Op, ThreadId, ops};
use rustc_hash::FxHashMap;

use super::{Encoder, Scope};
use crate::term::Term;

impl Encoder<'_> {
    pub(super) fn order(&mut self) {
        self.comment("Phi_PO: program order, fork, join");
        // With a bound, clocks are segments, and a thread stays in one as long as it can: 000
        // section 6.1.
        let within = if self.options.bound.is_some() { "<=" } else { "<" };
        for thread in self.trace.thread_ids() {
            let events = self.trace.thread_events(thread);
            if let (Some(fork), Some(&first)) = (self.recorded.fork(thread), events.first()) {
                self.assert(self.earlier(fork, first));
            }
            for pair in events.windows(2) {
                if !self.has_clock(pair[1]) {
                    continue;
                }
                let order = Term::binary(within, self.clock(pair[0]), self.clock(pair[1]));
                self.assert(order);
            }
        }
        for (event, op) in self.trace.other_ops() {
            match op {
                Op::Join { child } => {
                    let last = self.last_event(child).or_else(|| self.recorded.fork(child));
                    if let Some(last) = last {
                        self.assert(self.earlier(last, event));
                    }
                }
                Op::Exit => self.exit(event),
                ops!(memory object data lock cond sem barrier call mark Request Fork Begin
                    End) => {}
            }
        }
        if self.options.scope == Scope::Whole {
            for thread in self.trace.thread_ids() {
                if let Some(last) = self.last_event(thread) {
                    self.assert(self.included(last));
                }
            }
        }
        self.comment("barriers, calls, and the life of objects");
        let calls = std::mem::take(&mut self.recorded.call_needs);
        let barriers = std::mem::take(&mut self.recorded.sync.barrier_needs);
        for (event, needs) in barriers.into_iter().chain(calls) {
            let all = Term::and(needs.into_iter().map(|need| self.before(need, event)));
            self.assert(self.included(event).implies(all));
        }
        self.lives();
    }

    pub(super) fn last_event(&self, thread: ThreadId) -> Option<EventId> {
        self.trace.thread_events(thread).last().copied()
    }

    /// Nothing happens behind the exit, so no violation is found there either.
    fn exit(&mut self, exit: EventId) {
        if self.options.scope == Scope::Prefix {
            return self.assert(self.excluded(exit));
        }
        for thread in self.trace.thread_ids() {
            if let Some(last) = self.last_event(thread).filter(|&last| last != exit) {
                self.assert(self.before(last, exit));
            }
        }
    }

    /// Accesses find their object live, and an address is used again only when it is free.
    fn lives(&mut self) {
        let (mut allocs, mut frees) = (FxHashMap::default(), FxHashMap::default());
        for (event, op) in self.trace.other_ops() {
            match op {
                Op::Alloc { object, size, address } => {
                    allocs.insert(object, (event, address.map(|start| (start, size))));
                }
                Op::Free { object } => _ = frees.insert(object, event),
                ops!(memory data sync call mark) => {}
            }
        }
        let born = |object: ObjectId| allocs.get(&object).map(|&(event, _)| event);
        for (event, access) in self.trace.accesses() {
            let born = born(access.at.object).map(|alloc| self.before(alloc, event));
            let freed = frees.get(&access.at.object).map(|&free| self.before(event, free));
            let live = Term::and(born.into_iter().chain(freed));
            self.assert(self.included(event).implies(live));
        }
        for (event, op) in self.trace.other_ops() {
            match op {
                Op::Free { object } => {
                    let born = born(object).map_or(Term::TRUE, |alloc| self.before(alloc, event));
                    self.assert(self.included(event).implies(born));
                }
                Op::Alloc { size, address: Some(start), .. } => {
                    let mut freed: Vec<EventId> = frees
                        .iter()
                        .filter(|&(object, &free)| {
                            let range = allocs.get(object).and_then(|&(_, range)| range);
                            let overlaps = range.is_some_and(|(other, other_size)| {
                                let (start, other) = (u128::from(start), u128::from(other));
                                start < other + u128::from(other_size)
                                    && other < start + u128::from(size)
                            });
                            free < event && overlaps
                        })
                        .map(|(_, &free)| free)
                        .collect();
                    freed.sort_unstable();
                    let all = Term::and(freed.into_iter().map(|free| self.before(free, event)));
                    self.assert(self.included(event).implies(all));
                }
                ops!(memory data sync call mark Alloc) => {}
            }
        }
    }

    /// At X, the object is live.
    pub(super) fn is_live(&self, object: ObjectId) -> Term {
        Term::and(self.trace.other_ops().filter_map(|(event, op)| match op {
            Op::Alloc { object: born, .. } if born == object => Some(self.included(event)),
            Op::Free { object: freed } if freed == object => Some(self.excluded(event)),
            ops!(memory object data sync call mark) => None,
        }))
    }
}
