//! What the recorded run fixes for every other schedule: `docs/theory.md`, section 2.
//!
//! **Computes.** Expected byte identities and unknown writers, which expressions count, opaque
//! events and released reads, the role of each lock operation, which locks are recursive, initial
//! semaphore counts, barrier rounds, regions, and what calls rest on.
//!
//! **Follows.** The paragraphs of section 2: `bytes` has the first four, `expressions` names,
//! counting expressions and opaque events, `holds` the next two, `counts` semaphores and barriers,
//! `regions` regions, and `calls` the last.
//!
//! **Invariant.** Everything here comes from the recorded order alone. A trace that is not valid
//! gives [`Role::Unsupported`] where no rule applies, and such an event is never enabled.
//!
//! **Cost.** Quadratic in places; the traces are tiny.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::*;
use foretrace_verdict::Model;

use crate::event_set::EventSet;

mod bytes;
mod calls;
mod counts;
mod expressions;
mod holds;
mod regions;

pub(crate) use expressions::Expressions;

/// What tells one content of a byte from another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Identity {
    /// The value itself.
    Value(u8),
    /// Who wrote it; `None` is the initial state.
    Writer(Option<EventId>),
}

/// What a lock operation did to the holds in the recorded run. A hold is named by the event that
/// opened it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Not an operation on holds.
    None,
    /// An opening acquire, or a wake.
    Opens,
    /// An acquire that deepens this hold.
    Deepens(EventId),
    /// A release that lowers this hold.
    Lowers(EventId),
    /// A closing or foreign release, or a wait.
    Closes(EventId),
    /// A release of a lock that nobody has.
    Unheld,
    /// No rule gives it a role: the trace is not valid.
    Unsupported,
}

/// An open hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Hold {
    pub(crate) opened_by: EventId,
    pub(crate) thread: ThreadId,
    pub(crate) lock: LockId,
    pub(crate) mode: Mode,
    pub(crate) depth: u32,
}

/// The events of a thread from one position to another, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Region {
    pub(crate) thread: ThreadId,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// The recorded run, and what it fixes.
pub(crate) struct Recorded<'t> {
    pub(crate) trace: &'t Trace,
    pub(crate) model: Model,
    /// The operations, unpacked once.
    pub(crate) ops: Vec<Op>,
    /// The bytes that an event touches, by number, in the order of the place.
    pub(crate) bytes: Vec<Vec<usize>>,
    /// How many bytes are touched at all.
    pub(crate) byte_count: usize,
    /// What a read or read-modify-write expects, byte by byte.
    pub(crate) expected: Vec<Vec<Identity>>,
    pub(crate) unknown_writer: EventSet,
    initial_bytes: Vec<Option<u8>>,
    /// Of each event.
    pub(crate) expressions: Vec<Expressions>,
    pub(crate) opaque: EventSet,
    /// For each event the last one of its thread that depends on what it read, if there is one.
    pub(crate) last_need: Vec<Option<EventId>>,
    /// The reads that are not pinned although the model pins all.
    pub(crate) released: EventSet,
    pub(crate) roles: Vec<Role>,
    /// For each opening event, the hold that it opens.
    opened: BTreeMap<EventId, Hold>,
    /// For each wait, the hold that it closes.
    pub(crate) given_back: BTreeMap<EventId, Hold>,
    recursive: BTreeSet<LockId>,
    pub(crate) initial_counts: Vec<u32>,
    pub(crate) parties: Vec<usize>,
    /// The arrivals at each barrier in recorded order.
    pub(crate) arrivals: Vec<Vec<EventId>>,
    pub(crate) regions: Vec<Region>,
    /// The fork of each thread, where there is one.
    pub(crate) fork: Vec<Option<EventId>>,
    /// The alloc and the free of each object, where there are.
    pub(crate) alloc: Vec<Option<EventId>>,
    pub(crate) free: Vec<Option<EventId>>,
    pub(crate) destroy: Vec<Option<EventId>>,
    /// For each `leave-call` the enters of the calls on which its call rests.
    pub(crate) rests_on: Vec<EventSet>,
}

impl<'t> Recorded<'t> {
    /// Reads off the trace what every schedule keeps.
    ///
    /// # Panics
    /// If the trace has more than 128 events.
    pub(crate) fn new(trace: &'t Trace, model: Model, infer_regions: bool) -> Self {
        assert!(trace.len() <= EventSet::CAPACITY, "the oracle is for tiny traces");
        let ops: Vec<Op> = trace.events().map(|(_, event)| event.op).collect();
        let mut recorded = Recorded {
            trace,
            model,
            bytes: Vec::new(),
            byte_count: 0,
            expected: Vec::new(),
            unknown_writer: EventSet::default(),
            initial_bytes: Vec::new(),
            expressions: Vec::new(),
            opaque: EventSet::default(),
            last_need: Vec::new(),
            released: EventSet::default(),
            roles: Vec::new(),
            opened: BTreeMap::new(),
            given_back: BTreeMap::new(),
            recursive: BTreeSet::new(),
            initial_counts: Vec::new(),
            parties: Vec::new(),
            arrivals: Vec::new(),
            regions: Vec::new(),
            fork: vec![None; trace.threads().len()],
            alloc: vec![None; trace.objects().len()],
            free: vec![None; trace.objects().len()],
            destroy: vec![None; trace.locks().len()],
            rests_on: Vec::new(),
            ops,
        };
        recorded.note_births_and_deaths();
        recorded.number_bytes();
        recorded.find_initial_bytes();
        recorded.find_expected_bytes();
        recorded.find_expressions();
        recorded.find_roles();
        recorded.find_recursive_locks();
        recorded.find_initial_counts();
        recorded.find_rounds();
        recorded.find_regions(infer_regions);
        recorded.find_calls();
        recorded
    }

    /// The events in recorded order.
    pub(crate) fn events(&self) -> impl Iterator<Item = (EventId, Op)> + '_ {
        self.ops.iter().enumerate().map(|(row, &op)| (EventId::from(row), op))
    }

    pub(crate) fn op(&self, event: EventId) -> Op {
        self.ops[event.index()]
    }

    pub(crate) fn role(&self, event: EventId) -> Role {
        self.roles[event.index()]
    }

    /// The hold that an opening acquire or a wake opens.
    pub(crate) fn opens(&self, event: EventId) -> Hold {
        self.opened[&event]
    }

    pub(crate) fn is_recursive(&self, lock: LockId) -> bool {
        self.recursive.contains(&lock)
    }

    /// The identity of what this event, or the initial state, left in a byte in the recorded run.
    pub(crate) fn identity(&self, byte: usize, writer: Option<EventId>) -> Identity {
        match (self.model, self.left_by(byte, writer)) {
            (Model::ReadsFrom, _) | (_, None) => Identity::Writer(writer),
            (_, Some(value)) => Identity::Value(value),
        }
    }

    /// The value of a byte with this identity; `None` if its contents are unvalued.
    pub(crate) fn value_of(&self, byte: usize, identity: Identity) -> Option<u8> {
        match identity {
            Identity::Value(value) => Some(value),
            Identity::Writer(writer) => self.left_by(byte, writer),
        }
    }

    /// What this event, or the initial state, left in a byte in the recorded run, if that is
    /// valued.
    fn left_by(&self, byte: usize, writer: Option<EventId>) -> Option<u8> {
        match writer {
            Some(event) => self.written_byte(event, byte),
            None => self.initial_bytes[byte],
        }
    }

    /// All recorded deepenings and lowerings of a hold.
    pub(crate) fn changes_of(&self, hold: EventId) -> impl Iterator<Item = EventId> + '_ {
        let changes = move |event: &EventId| {
            let role = self.role(*event);
            role == Role::Deepens(hold) || role == Role::Lowers(hold)
        };
        (0..self.ops.len()).map(EventId::from).filter(changes)
    }

    /// The wait that a wake ends: the event before it in its thread.
    pub(crate) fn wait_of(&self, wake: EventId) -> Option<EventId> {
        let wait = self.trace.previous(wake)?;
        matches!(self.op(wait), Op::Wait { .. }).then_some(wait)
    }

    /// How the recorded wake of a wait ended it; `None` if the thread never woke.
    pub(crate) fn wake_reason(&self, wait: EventId) -> Option<WakeReason> {
        match self.op(self.trace.next(wait)?) {
            Op::Wake { reason, .. } => Some(reason),
            ops!(memory object data lock sem barrier thread call mark Wait Signal Broadcast
                Request) => None,
        }
    }

    /// The round of an arrival, from 0.
    fn round(&self, barrier: BarrierId, arrival: EventId) -> usize {
        let place = self.arrivals[barrier.index()].iter().position(|&a| a == arrival);
        place.expect("an arrival is among the arrivals") / self.parties[barrier.index()]
    }

    /// The arrivals of the round of this arrival.
    pub(crate) fn round_of(&self, barrier: BarrierId, arrival: EventId) -> &[EventId] {
        self.arrivals_of_round(barrier, self.round(barrier, arrival))
    }

    /// The arrivals of the round before the one of this arrival; none before the first round.
    pub(crate) fn round_before(&self, barrier: BarrierId, arrival: EventId) -> &[EventId] {
        match self.round(barrier, arrival) {
            0 => &[],
            round => self.arrivals_of_round(barrier, round - 1),
        }
    }

    fn arrivals_of_round(&self, barrier: BarrierId, round: usize) -> &[EventId] {
        let all = &self.arrivals[barrier.index()];
        let parties = self.parties[barrier.index()];
        &all[round * parties..all.len().min((round + 1) * parties)]
    }

    /// The last arrival at the barrier in the leaving thread.
    pub(crate) fn arrival_of(&self, leave: EventId, barrier: BarrierId) -> Option<EventId> {
        let thread = self.trace.thread_of(leave);
        let before = &self.trace.thread_events(thread)[..self.trace.position(leave)];
        before.iter().rev().copied().find(|&event| self.op(event) == Op::Arrive { barrier })
    }

    fn note_births_and_deaths(&mut self) {
        for (row, op) in self.ops.iter().enumerate() {
            let event = Some(EventId::from(row));
            match *op {
                Op::Fork { child } => self.fork[child.index()] = event,
                Op::Alloc { object, .. } => self.alloc[object.index()] = event,
                Op::Free { object } => self.free[object.index()] = event,
                Op::Destroy { lock } => self.destroy[lock.index()] = event,
                ops!(memory data cond sem barrier call mark Acquire AcquireFailed Release Request
                    Join Begin End Exit) => {}
            }
        }
    }
}
