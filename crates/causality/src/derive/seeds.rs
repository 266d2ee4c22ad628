//! Facts that follow from no other fact: sections 2, 3 and 6.
//!
//! **Computes.** The facts of the candidate, and the orders between threads that hold in every
//! schedule. Orders within a thread are left out, and of several accesses of a thread that say the
//! same only the first is used.
//!
//! **Cost.** Linear in the trace, but for a read with an unknown writer, which follows something of
//! every thread, and for barriers, where each arrival of a round follows each of the round before.

use foretrace_model::{CellId, HoldId, Identity, Skeleton};
use foretrace_trace::{EventId, ObjectId, Op, ThreadId, Trace, ops};
use foretrace_verdict::{Fact, Model, Rule, Violation};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Derived, Scope};

/// All of them, in a fixed order.
pub(super) fn seeds(skeleton: &Skeleton, violation: &Violation, scope: Scope) -> Vec<Derived> {
    let mut seeds = Seeds { trace: skeleton.trace, has_forks: scope.has_order(), list: Vec::new() };
    seeds.candidate(skeleton, violation);
    if scope.has_order() {
        seeds.forks_and_joins(skeleton);
        seeds.barriers(skeleton);
        seeds.handovers(skeleton);
        seeds.lifetimes(skeleton);
        seeds.calls(skeleton);
    }
    match scope {
        Scope::Published => seeds.published(),
        Scope::All if !matches!(violation, Violation::Assertion(_)) => {
            let remote = match *violation {
                Violation::Atomicity { remote, .. } => Some(remote),
                Violation::Race(..)
                | Violation::LockCycle(_)
                | Violation::Stuck(_)
                | Violation::Lock(..)
                | Violation::Assertion(_) => None,
            };
            seeds.unexplained(skeleton, remote);
            seeds.written(skeleton, remote);
        }
        Scope::Locks | Scope::Order | Scope::Synchronisation | Scope::All => {}
    }
    seeds.list
}

struct Seeds<'t> {
    trace: &'t Trace,
    /// Whether that a thread runs says that it was forked.
    has_forks: bool,
    list: Vec<Derived>,
}

impl Seeds<'_> {
    fn push(&mut self, rule: Rule, fact: Fact) {
        self.list.push(Derived { fact, rule, needs: Vec::new() });
    }

    fn order(&mut self, rule: Rule, first: EventId, second: EventId) {
        if self.trace.thread_of(first) != self.trace.thread_of(second) {
            self.push(rule, Fact::Before(first, second));
        }
    }

    /// Section 2.
    fn candidate(&mut self, skeleton: &Skeleton, violation: &Violation) {
        match *violation {
            Violation::Race(a, b) => {
                self.next_at(skeleton, a);
                self.next_at(skeleton, b);
                let object = self.trace.access(a).expect("a race is between accesses").at.object;
                let (lives, dies) =
                    (skeleton.lifetimes.alloc_of(object), skeleton.lifetimes.free_of(object));
                lives.into_iter().for_each(|e| self.push(Rule::Candidate, Fact::Executed(e)));
                dies.into_iter().for_each(|e| self.push(Rule::Candidate, Fact::NotExecuted(e)));
            }
            Violation::Atomicity { first, remote, second } => {
                self.push(Rule::Candidate, Fact::Executed(first));
                self.push(Rule::Candidate, Fact::Executed(remote));
                self.push(Rule::Candidate, Fact::Before(first, remote));
                self.next_at(skeleton, second);
            }
            Violation::LockCycle(ref cycle) => {
                cycle.iter().for_each(|&point| self.waits_at(skeleton, point));
            }
            Violation::Stuck(point) | Violation::Lock(_, point) => self.waits_at(skeleton, point),
            Violation::Assertion(point) => self.next_at(skeleton, point),
        }
        for (event, op) in self.trace.other_ops() {
            if op == Op::Exit {
                self.push(Rule::Candidate, Fact::NotExecuted(event));
            }
        }
    }

    fn next_at(&mut self, skeleton: &Skeleton, event: EventId) {
        let before = self.trace.previous(event);
        let fork = skeleton.fork_of(self.trace.thread_of(event)).filter(|_| self.has_forks);
        let executed = before.into_iter().chain(fork);
        executed.for_each(|e| self.push(Rule::Candidate, Fact::Executed(e)));
        self.push(Rule::Candidate, Fact::NotExecuted(event));
    }

    /// Next at the event, or behind it: a request, a wait, an arrival or the enter of a call as the
    /// last event is executed.
    fn waits_at(&mut self, skeleton: &Skeleton, event: EventId) {
        let op = self.trace.op(event);
        let waits = matches!(
            op,
            Op::Request(_) | Op::Wait { .. } | Op::Arrive { .. } | Op::EnterCall { .. }
        );
        if waits && self.trace.next(event).is_none() {
            self.push(Rule::Candidate, Fact::Executed(event));
        } else {
            self.next_at(skeleton, event);
        }
    }

    fn forks_and_joins(&mut self, skeleton: &Skeleton) {
        let first_and_last = |child: ThreadId| {
            let events = self.trace.thread_events(child);
            (events.first().copied(), events.last().copied())
        };
        let mut orders = Vec::new();
        for (event, op) in self.trace.other_ops() {
            match op {
                Op::Fork { child } => {
                    let first = first_and_last(child).0;
                    orders.extend(first.map(|first| (Rule::Fork, event, first)));
                }
                Op::Join { child } => {
                    let (_, last) = first_and_last(child);
                    let needed = last.or(skeleton.fork_of(child));
                    orders.extend(needed.map(|needed| (Rule::Join, needed, event)));
                }
                ops!(memory object data lock cond sem barrier call mark Request Begin End
                    Exit) => {}
            }
        }
        orders.into_iter().for_each(|(rule, first, second)| self.order(rule, first, second));
    }

    fn barriers(&mut self, skeleton: &Skeleton) {
        for (event, op) in self.trace.other_ops() {
            let (Op::Arrive { barrier } | Op::Leave { barrier }) = op else { continue };
            let round = skeleton.waiting.arrival_at(event).round as usize;
            let needed =
                if matches!(op, Op::Leave { .. }) { Some(round) } else { round.checked_sub(1) };
            let Some(needed) = needed else { continue };
            for &arrival in &skeleton.waiting.barrier(barrier).rounds[needed] {
                self.order(Rule::Barrier, arrival, event);
            }
        }
    }

    /// Holds that another thread closes.
    fn handovers(&mut self, skeleton: &Skeleton) {
        for hold in (0..skeleton.locks.len()).map(|index| HoldId(index as u32)) {
            let &foretrace_model::Hold { open, close, .. } = skeleton.locks.hold(hold);
            let Some(close) = close else { continue };
            self.order(Rule::Open, open, close);
            for &inner in skeleton.locks.inner(hold) {
                self.order(Rule::Open, inner, close);
            }
        }
    }

    fn lifetimes(&mut self, skeleton: &Skeleton) {
        let mut met: FxHashSet<(ObjectId, ThreadId)> = FxHashSet::default();
        for (access, at) in self.trace.accesses() {
            let object = at.at.object;
            if let Some(alloc) = skeleton.lifetimes.alloc_of(object)
                && met.insert((object, self.trace.thread_of(access)))
            {
                self.order(Rule::Alloc, alloc, access);
            }
        }
        let range = |object| match self.trace.op(skeleton.lifetimes.alloc_of(object)?) {
            Op::Alloc { address: Some(first), size, .. } => {
                Some((first, first.saturating_add(u64::from(size))))
            }
            ops!(memory object data sync call mark) => None,
        };
        let mut orders = Vec::new();
        for (event, op) in self.trace.other_ops() {
            match op {
                Op::Free { object } => {
                    let alloc = skeleton.lifetimes.alloc_of(object);
                    orders.extend(alloc.map(|alloc| (alloc, event)));
                }
                Op::Alloc { object, .. } => {
                    for &free in skeleton.lifetimes.freed_before(event) {
                        let Op::Free { object: old } = self.trace.op(free) else { continue };
                        if let (Some((from, to)), Some((start, end))) = (range(old), range(object))
                            && from.max(start) < to.min(end)
                        {
                            orders.push((free, event));
                        }
                    }
                }
                ops!(memory data sync call mark) => {}
            }
        }
        orders.into_iter().for_each(|(first, second)| self.order(Rule::Alloc, first, second));
    }

    fn calls(&mut self, skeleton: &Skeleton) {
        for (leave, op) in self.trace.other_ops() {
            if op == Op::LeaveCall {
                for &enter in skeleton.calls.needed_by(leave) {
                    self.order(Rule::Call, enter, leave);
                }
            }
        }
    }

    /// As in the paper: each wake with the notification that woke it in the recorded run. A signal
    /// wakes the waiter that goes on first.
    fn published(&mut self) {
        let wake_of = |wait: EventId| {
            self.trace.next(wait).filter(|&wake| {
                let notified = foretrace_trace::WakeReason::Notified;
                matches!(self.trace.op(wake), Op::Wake { reason, .. } if reason == notified)
            })
        };
        let mut waiting: FxHashMap<_, Vec<(EventId, EventId)>> = FxHashMap::default();
        let mut matched = Vec::new();
        for (event, op) in self.trace.other_ops() {
            match op {
                Op::Wait { cond, .. } => {
                    let wake = wake_of(event).map(|wake| (wake, event));
                    waiting.entry(cond).or_default().extend(wake);
                }
                Op::Signal { cond } => {
                    let waiting = waiting.entry(cond).or_default();
                    waiting.sort_unstable();
                    if !waiting.is_empty() {
                        matched.push((event, waiting.remove(0)));
                    }
                }
                Op::Broadcast { cond } => {
                    let waiting = std::mem::take(waiting.entry(cond).or_default());
                    matched.extend(waiting.into_iter().map(|waiter| (event, waiter)));
                }
                ops!(memory object data lock sem barrier thread call mark Wake Request) => {}
            }
        }
        for (notification, (wake, wait)) in matched {
            self.order(Rule::Published, wait, notification);
            self.order(Rule::Published, notification, wake);
        }
    }

    /// Section 6: reads with an unknown writer.
    fn unexplained(&mut self, skeleton: &Skeleton, remote: Option<EventId>) {
        if skeleton.model == Model::Control || skeleton.memory.unknown_writers() == 0 {
            return;
        }
        // The last event of each thread so far.
        let mut last: Vec<Option<EventId>> = vec![None; self.trace.threads().len()];
        for event in (0..self.trace.len()).map(EventId::from) {
            let follows = skeleton.memory.has_unknown_writer(event)
                && skeleton.memory.follows_everything(self.trace, event);
            if follows && remote != Some(event) {
                let others = last.clone();
                others.into_iter().flatten().for_each(|e| self.order(Rule::Unexplained, e, event));
            }
            last[self.trace.thread_of(event).index()] = Some(event);
        }
    }

    /// Section 6: reads that only one write explains.
    fn written(&mut self, skeleton: &Skeleton, remote: Option<EventId>) {
        if !skeleton.pins_reads() {
            return;
        }
        let (trace, memory) = (self.trace, &skeleton.memory);
        // How many writes leave what in a cell.
        let mut counts: FxHashMap<(CellId, Identity), u32> = FxHashMap::default();
        for (event, access) in trace.accesses().filter(|(_, access)| access.writes) {
            for cell in memory.cells_of(access.at) {
                *counts.entry((cell, memory.written(trace, event, cell))).or_default() += 1;
            }
        }
        for (read, access) in trace.accesses().filter(|(_, access)| access.reads) {
            if memory.has_unknown_writer(read) || remote == Some(read) {
                continue;
            }
            let mut met: Option<EventId> = None;
            for cell in memory.cells_of(access.at) {
                let Some(writer) = memory.recorded_writer(trace, read, cell) else { continue };
                let expected = memory.written(trace, writer, cell);
                let itself = access.writes && memory.written(trace, read, cell) == expected;
                let others = counts[&(cell, expected)] - u32::from(itself);
                if others == 1 && memory.initial(cell) != expected && met != Some(writer) {
                    met = Some(writer);
                    self.order(Rule::Written, writer, read);
                }
            }
        }
    }
}
