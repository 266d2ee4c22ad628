//! Lazy instantiation: turn the solver's model into a schedule, replay it, and add the rules that
//! it breaks.
//!
//! **Computes.** The *proposal*: the events that the model needs before X, ordered as the model
//! says and otherwise as recorded; then one replay of it, in which every broken rule is noted and
//! becomes clauses.
//!
//! **Invariant.** A rule that was added is not broken again by a later proposal, because proposals
//! respect all order atoms of the model. So the loop ends, and each round adds something new.
//!
//! **Cost.** One round: O(p log t + a log a) for p proposed events of t threads and a order atoms.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretrace_model::terms::TermId;
use foretrace_model::{CellId, Hold, HoldId, ReleaseRole, Skeleton};
use foretrace_trace::{EventId, LockId, ObjectId, Op, Place, SemId, WakeReason, ops};
use foretrace_verdict::Model;

use super::{Bound, Encoder};
use crate::explain::Reason;
use crate::fault::{Fault, is_seeded};

/// For how many reads sources are asked for after one proposal.
const MOST_VALUES_AT_ONCE: usize = 16;

/// A schedule that respects the model's order.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    /// The included events in order.
    pub(crate) schedule: Vec<EventId>,
    /// How many events of each thread are included.
    pub(crate) cut: Vec<u32>,
    /// What comes from outside, of a program.
    pub(crate) inputs: Vec<(EventId, u64)>,
}

/// A rule that a proposal breaks.
pub(super) enum Broken {
    Read {
        read: EventId,
        cell: CellId,
        seen: Option<EventId>,
    },
    UnknownWriter(EventId),
    NotLive(EventId, ObjectId),
    NotFreed(EventId),
    Exclusion(HoldId, HoldId),
    Within(EventId, HoldId),
    NoHolder(EventId),
    NotClosable(EventId, HoldId),
    Destroyed(EventId, EventId),
    NotNotified(EventId),
    NoToken(SemId, EventId),
    TokenLeft(SemId, EventId),
    EarlierRound(EventId),
    RoundOpen(EventId),
    /// A call ends before one has begun that it rests on.
    CallsMissing(EventId),
    /// The process has exited, which the model's values say that it has not.
    Exited,
    /// The read does not see what the model says; `is_rule`: it sees what no read can.
    Source {
        read: EventId,
        cell: CellId,
        seen: Option<EventId>,
        is_rule: bool,
    },
    Condition {
        event: EventId,
        condition: TermId,
        outcome: bool,
    },
    /// An opaque event, or the assertion asked about, depends on the read.
    NotAsRecorded {
        read: EventId,
        by: EventId,
        is_asked: bool,
    },
}

/// Tables of the replay, kept from round to round.
pub(super) struct Scratch {
    round: u32,
    /// The last writer of each cell and the round in which it was set.
    writer: Vec<(u32, EventId)>,
    /// The open holds of each lock and the round in which they were set.
    open: Vec<(u32, Vec<HoldId>)>,
    /// The position of each executed event in the schedule is not kept; only how far each thread
    /// is.
    executed: Vec<u32>,
    pub(super) computed: super::computed::Computed,
}

impl Scratch {
    pub(super) fn new(skeleton: &Skeleton) -> Self {
        Scratch {
            round: 0,
            writer: vec![(0, EventId(0)); skeleton.memory.cell_count()],
            open: vec![(0, Vec::new()); skeleton.trace.locks().len()],
            executed: vec![0; skeleton.trace.threads().len()],
            computed: super::computed::Computed::default(),
        }
    }

    pub(super) fn writer(&self, cell: CellId) -> Option<EventId> {
        let (round, writer) = self.writer[cell.index()];
        (round == self.round).then_some(writer)
    }

    fn open(&mut self, lock: LockId) -> &mut Vec<HoldId> {
        let (round, open) = &mut self.open[lock.index()];
        if *round != self.round {
            *round = self.round;
            open.clear();
        }
        open
    }
}

impl Encoder<'_> {
    /// The schedule of the last model.
    pub(crate) fn propose(&mut self, bound: Option<&Bound>) -> Proposal {
        let trace = self.skeleton.trace;
        let threads = trace.threads().len();
        let mut cut = vec![0u32; threads];
        // Edges into events, by thread and position of the later event.
        let mut edges: Vec<Vec<(u32, EventId)>> = vec![Vec::new(); threads];
        let mut work: Vec<(usize, u32)> = Vec::new();
        for (from, to) in self.solver.model_edges() {
            let Some(from) = self.events[from.index()] else { continue };
            match self.events[to.index()] {
                Some(to) => {
                    edges[trace.thread_of(to).index()].push((trace.position(to) as u32, from));
                }
                None => work.push((trace.thread_of(from).index(), trace.position(from) as u32 + 1)),
            }
        }
        for &(from, to) in &self.fixed {
            edges[trace.thread_of(to).index()].push((trace.position(to) as u32, from));
        }
        for list in &mut edges {
            list.sort_unstable();
        }
        // What X needs, and what that needs.
        let mut seen = vec![0usize; threads];
        while let Some((thread, count)) = work.pop() {
            if count <= cut[thread] {
                continue;
            }
            cut[thread] = count;
            while let Some(&(position, from)) = edges[thread].get(seen[thread])
                && position < count
            {
                seen[thread] += 1;
                work.push((trace.thread_of(from).index(), trace.position(from) as u32 + 1));
            }
        }
        let schedule = match bound {
            Some(bound) => self.by_segments(bound, &cut),
            None => self.linearise(&cut, &edges),
        };
        Proposal { schedule, cut, inputs: Vec::new() }
    }

    /// The included events in recorded order, except where edges say otherwise.
    fn linearise(&self, cut: &[u32], edges: &[Vec<(u32, EventId)>]) -> Vec<EventId> {
        let trace = self.skeleton.trace;
        let threads = cut.len();
        let total: usize = cut.iter().map(|&count| count as usize).sum();
        let mut schedule = Vec::with_capacity(total);
        let mut done = vec![0u32; threads];
        let mut edge = vec![0usize; threads];
        // Threads that wait for another thread to get past a position.
        let mut waiting: Vec<Vec<(u32, usize)>> = vec![Vec::new(); threads];
        let mut ready = BinaryHeap::new();
        let mut check: Vec<usize> = (0..threads).collect();
        loop {
            while let Some(thread) = check.pop() {
                if done[thread] >= cut[thread] {
                    continue;
                }
                let mut blocked = false;
                while let Some(&(position, from)) = edges[thread].get(edge[thread])
                    && position <= done[thread]
                {
                    let (source, at) = (trace.thread_of(from).index(), trace.position(from) as u32);
                    if position == done[thread] && done[source] <= at {
                        waiting[source].push((at, thread));
                        blocked = true;
                        break;
                    }
                    edge[thread] += 1;
                }
                if !blocked {
                    let event = trace.thread_events(foretrace_trace::ThreadId::from(thread))
                        [done[thread] as usize];
                    ready.push(Reverse((event, thread)));
                }
            }
            let Some(Reverse((event, thread))) = ready.pop() else { break };
            schedule.push(event);
            done[thread] += 1;
            check.push(thread);
            let reached = done[thread];
            waiting[thread].retain(|&(at, waiter)| {
                if at < reached {
                    check.push(waiter);
                }
                at >= reached
            });
        }
        assert_eq!(schedule.len(), total, "the solver's order has a cycle");
        schedule
    }

    /// Replays a proposal and adds what it breaks. Returns whether it broke anything.
    pub(super) fn add_broken_rules(&mut self, proposal: &Proposal) -> bool {
        let broken = self.replay(proposal);
        // Where only the model's values are wrong, the schedule may be what was asked for all the
        // same.
        let is_value = |rule: &Broken| matches!(rule, Broken::Source { is_rule: false, .. });
        if broken.iter().all(is_value) && (broken.is_empty() || self.goal_holds()) {
            return false;
        }
        // The model's choices are read before any clause is added.
        let mut apart = Vec::new();
        for rule in &broken {
            if let Broken::Source { read, cell, seen: Some(seen), .. } = *rule
                && let Some(source) = self.chosen_data_source(read, cell)
                && source.write != Some(seen)
            {
                apart.push((read, cell, source, seen));
            }
            if let Broken::Read { read, cell, seen } = *rule
                && self.reads.contains_key(&(read, cell))
            {
                let source = self.chosen_source(read, cell).expect("a pinned read has a source");
                let seen = seen.expect("an encoded read sees its source or a later write");
                apart.push((read, cell, source, seen));
            }
        }
        let mut new = false;
        for (read, cell, source, seen) in apart {
            new |= self.keep_apart(read, cell, source, seen);
        }
        let mut values = 0;
        for rule in broken {
            if self.is_exhausted() {
                return true;
            }
            // What is wrong behind the first wrong values may be right when these are.
            if is_value(&rule) {
                values += 1;
                if values > MOST_VALUES_AT_ONCE {
                    continue;
                }
            }
            new |= self.add_rule(rule);
        }
        assert!(new, "a rule was broken that had been added before");
        true
    }

    fn add_rule(&mut self, rule: Broken) -> bool {
        match rule {
            Broken::Read { read, cell, .. } => self.require_source(read, cell),
            Broken::UnknownWriter(read) => self.require_all_before(read),
            Broken::NotLive(access, object) => self.require_live(access, object),
            Broken::NotFreed(alloc) => self.require_freed(alloc),
            Broken::Exclusion(a, b) => self.exclude(a, b),
            Broken::Within(event, hold) => self.not_within(event, hold),
            Broken::NoHolder(failure) => self.require_holder(failure),
            Broken::NotClosable(release, hold) => {
                let &Hold { lock, open, .. } = self.skeleton.locks.hold(hold);
                let last = self.skeleton.locks.inner(hold).last();
                let reason = || Reason::Open { release, lock, open };
                self.under(reason, |encoder| {
                    let new = encoder.must_follow(open, release);
                    last.is_some_and(|&last| encoder.must_follow(last, release)) | new
                })
            }
            Broken::Destroyed(event, destroy) => self.require_intact(event, destroy),
            Broken::NotNotified(wake) => self.require_notification(wake),
            Broken::NoToken(sem, wait) => self.require_token(sem, wait),
            Broken::TokenLeft(sem, failure) => self.require_no_token(sem, failure),
            Broken::EarlierRound(arrive) => self.require_previous_round(arrive),
            Broken::RoundOpen(leave) => self.require_round(leave),
            Broken::CallsMissing(leave) => self.require_calls(leave),
            // That no exit happens is a clause from the start; the values that are wrong come with
            // it.
            Broken::Exited => false,
            Broken::Source { read, cell, .. } => self.require_data_source(read, cell),
            Broken::Condition { event, condition, outcome } => {
                self.require_condition(event, condition, outcome)
            }
            Broken::NotAsRecorded { read, by, is_asked } => {
                let guard = if is_asked { self.asked(by) } else { self.included(by) };
                let reason = || Reason::AsRecorded { read, by };
                self.under(reason, |encoder| encoder.require_as_recorded(read, guard))
            }
        }
    }

    fn replay(&mut self, proposal: &Proposal) -> Vec<Broken> {
        let mut scratch = std::mem::replace(
            &mut self.scratch,
            Scratch {
                round: 0,
                writer: Vec::new(),
                open: Vec::new(),
                executed: Vec::new(),
                computed: Default::default(),
            },
        );
        scratch.round += 1;
        scratch.executed.fill(0);
        let asked = self.asked_assertion();
        scratch.computed.start(self.skeleton.trace.threads().len(), asked);
        let mut broken = Vec::new();
        let mut counts: rustc_hash::FxHashMap<SemId, (u32, Vec<EventId>)> = Default::default();
        for &event in &proposal.schedule {
            self.replay_event(event, proposal, &mut scratch, &mut counts, &mut broken);
            scratch.executed[self.skeleton.trace.thread_of(event).index()] += 1;
        }
        if let Some(assertion) = asked {
            self.replay_asked(assertion, &scratch, &mut broken);
        }
        self.scratch = scratch;
        broken
    }

    fn replay_event(
        &self,
        event: EventId,
        proposal: &Proposal,
        scratch: &mut Scratch,
        counts: &mut rustc_hash::FxHashMap<SemId, (u32, Vec<EventId>)>,
        broken: &mut Vec<Broken>,
    ) {
        let (skeleton, trace) = (self.skeleton, self.skeleton.trace);
        if !self.replay_occurs(event, scratch) {
            return;
        }
        let op = trace.op(event);
        if let Some(access) = op.access() {
            self.replay_access(event, access, proposal, scratch, broken);
            return;
        }
        if let Op::Acquire { lock, .. }
        | Op::AcquireFailed { lock, .. }
        | Op::Release { lock, .. }
        | Op::Wait { lock, .. }
        | Op::Wake { lock, .. } = op
            && let Some(destroy) = skeleton.locks.destroyed_by(lock)
            && is_executed(trace, scratch, destroy)
        {
            broken.push(Broken::Destroyed(event, destroy));
        }
        match op {
            Op::Acquire { lock, .. } | Op::Wake { lock, .. } => {
                if let Op::Wake { reason: WakeReason::Notified, .. } = op
                    && !self.wakes.contains_key(&event)
                {
                    broken.push(Broken::NotNotified(event));
                }
                if let Some(new) = skeleton.locks.opened_by(event) {
                    let opened = skeleton.locks.hold(new);
                    let open = scratch.open(lock);
                    for &other in open.iter() {
                        let hold = skeleton.locks.hold(other);
                        let clash = if hold.thread == opened.thread {
                            hold.mode == opened.mode
                        } else {
                            hold.mode.conflicts(opened.mode) || is_seeded(Fault::ReadersExclude)
                        };
                        if clash
                            && !(is_seeded(Fault::SharedNotExcluded) && hold.mode != opened.mode)
                        {
                            broken.push(Broken::Exclusion(other, new));
                        }
                    }
                    open.push(new);
                }
            }
            Op::AcquireFailed { lock, mode, .. } => {
                let open = scratch.open(lock);
                if !open.iter().any(|&hold| skeleton.locks.hold(hold).mode.conflicts(mode))
                    && !is_seeded(Fault::NoHolderNeeded)
                {
                    broken.push(Broken::NoHolder(event));
                }
            }
            Op::Release { lock, .. } => match skeleton.locks.role(trace, event) {
                ReleaseRole::Lowers(_) => {}
                ReleaseRole::Closes(hold) | ReleaseRole::Foreign(hold) => {
                    let closable = is_executed(trace, scratch, skeleton.locks.hold(hold).open)
                        && skeleton
                            .locks
                            .inner(hold)
                            .last()
                            .is_none_or(|&last| is_executed(trace, scratch, last));
                    if !closable {
                        broken.push(Broken::NotClosable(event, hold));
                    }
                    scratch.open(lock).retain(|&open| open != hold);
                }
                ReleaseRole::Unheld => {
                    broken.extend(scratch.open(lock).iter().map(|&id| Broken::Within(event, id)));
                }
            },
            Op::Destroy { lock } => {
                broken.extend(scratch.open(lock).iter().map(|&id| Broken::Within(event, id)));
            }
            Op::Wait { lock, .. } => {
                let closed = skeleton.locks.hold_at(event);
                scratch.open(lock).retain(|&open| Some(open) != closed);
            }
            Op::SemWait { sem, .. } | Op::SemWaitFailed { sem, .. } | Op::SemPost { sem } => {
                let initial = skeleton.waiting.semaphore(sem).initial;
                let (count, waits) = counts.entry(sem).or_insert((initial, Vec::new()));
                match op {
                    Op::SemPost { .. } => *count += 1,
                    Op::SemWaitFailed { .. } if *count > 0 => {
                        broken.push(Broken::TokenLeft(sem, event));
                    }
                    Op::SemWait { .. } => {
                        waits.push(event);
                        if *count > 0 {
                            *count -= 1;
                        } else {
                            // One of the waits so far has no token of its own.
                            broken.extend(waits.iter().map(|&wait| Broken::NoToken(sem, wait)));
                        }
                    }
                    ops!(memory object data lock cond barrier thread call mark SemWaitFailed
                        Request) => {}
                }
            }
            Op::Arrive { .. } => {
                let at = skeleton.waiting.arrival_at(event);
                if at.round > 0 {
                    let earlier =
                        &skeleton.waiting.barrier(at.barrier).rounds[at.round as usize - 1];
                    if !earlier.iter().all(|&other| is_executed(trace, scratch, other)) {
                        broken.push(Broken::EarlierRound(event));
                    }
                }
            }
            Op::Leave { .. } => {
                let at = skeleton.waiting.arrival_at(event);
                let round = &skeleton.waiting.barrier(at.barrier).rounds[at.round as usize];
                if !round.iter().all(|&arrival| is_executed(trace, scratch, arrival)) {
                    broken.push(Broken::RoundOpen(event));
                }
            }
            Op::LeaveCall => {
                let needed = skeleton.calls.needed_by(event);
                if !needed.iter().all(|&enter| is_executed(trace, scratch, enter)) {
                    broken.push(Broken::CallsMissing(event));
                }
            }
            Op::Alloc { .. } => {
                let before = skeleton.lifetimes.freed_before(event);
                if !before.iter().all(|&free| is_executed(trace, scratch, free)) {
                    broken.push(Broken::NotFreed(event));
                }
            }
            Op::Free { object } => {
                let alloc = skeleton.lifetimes.alloc_of(object);
                if alloc.is_some_and(|alloc| !is_executed(trace, scratch, alloc)) {
                    broken.push(Broken::NotLive(event, object));
                }
            }
            Op::Exit => broken.push(Broken::Exited),
            Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } | Op::External => {
                self.replay_condition(event, op, scratch, broken);
            }
            ops!(memory Let Signal Broadcast Request Fork Join Begin End RegionBegin RegionEnd
                Fence EnterCall) => {}
        }
    }

    fn replay_access(
        &self,
        event: EventId,
        access: foretrace_trace::Access,
        proposal: &Proposal,
        scratch: &mut Scratch,
        broken: &mut Vec<Broken>,
    ) {
        let (skeleton, trace) = (self.skeleton, self.skeleton.trace);
        let lifetimes = &skeleton.lifetimes;
        let object = access.at.object;
        let live = lifetimes
            .alloc_of(object)
            .is_none_or(|alloc| is_executed(trace, scratch, alloc))
            && (lifetimes.free_of(object).is_none_or(|free| !is_executed(trace, scratch, free))
                || is_seeded(Fault::FreeUnordered));
        if !live {
            broken.push(Broken::NotLive(event, object));
        }
        let value_counts = access.reads && !self.is_free(event, proposal);
        if value_counts
            && skeleton.model != Model::Control
            && skeleton.memory.follows_everything(trace, event)
        {
            let all = trace.thread_ids().all(|thread| {
                let events = trace.thread_events(thread);
                let before = events.partition_point(|&other| other < event);
                scratch.executed[thread.index()] as usize >= before
            });
            if !all && !is_seeded(Fault::UnknownWriterFree) {
                broken.push(Broken::UnknownWriter(event));
            }
        }
        if value_counts {
            let is_pinned =
                skeleton.pins_reads() && !self.is_released(event, scratch.computed.asked());
            if is_pinned {
                self.replay_pinned(event, access.at, scratch, broken);
            } else if skeleton.model != Model::Control {
                self.replay_seen(event, access.at, scratch, broken);
            }
        }
        if access.writes {
            self.replay_stored(event, scratch, broken);
            for cell in skeleton.memory.cells_of(access.at) {
                scratch.writer[cell.index()] = (scratch.round, event);
            }
        }
    }

    fn replay_pinned(&self, read: EventId, at: Place, scratch: &Scratch, broken: &mut Vec<Broken>) {
        let (memory, trace) = (&self.skeleton.memory, self.skeleton.trace);
        if memory.has_unknown_writer(read) {
            return;
        }
        for cell in memory.cells_of(at) {
            let seen = scratch.writer(cell);
            let found = match seen {
                Some(write) => memory.written(trace, write, cell),
                None => memory.initial(cell),
            };
            if found != memory.expected(trace, read, cell) && !is_seeded(Fault::ValuesUnchecked) {
                broken.push(Broken::Read { read, cell, seen });
            }
        }
    }

    /// Whether the event is the question's remote read and its thread stops there.
    fn is_free(&self, event: EventId, proposal: &Proposal) -> bool {
        let trace = self.skeleton.trace;
        matches!(trace.op(event), Op::Read { .. })
            && self.remotes.get(&event).is_some_and(|&remote| self.solver.value(remote))
            && self.skeleton.needing_more_than(event).all(|later| {
                trace.position(later) >= proposal.cut[trace.thread_of(later).index()] as usize
            })
    }
}

fn is_executed(trace: &foretrace_trace::Trace, scratch: &Scratch, event: EventId) -> bool {
    scratch.executed[trace.thread_of(event).index()] as usize > trace.position(event)
}
