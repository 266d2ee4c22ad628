//! What the recorded run fixes for every other schedule: `docs/theory.md`, section 2.
//!
//! **Computes.** Expected byte identities and unknown writers, the role of each lock operation, which
//! locks are recursive, initial semaphore counts, barrier rounds, and regions.
//!
//! **Follows.** The paragraphs of section 2, one function each, in their order.
//!
//! **Invariant.** Everything here comes from the recorded order alone. A trace that is not valid
//! gives [`Role::Unsupported`] where no rule applies, and such an event is never enabled.
//!
//! **Cost.** Quadratic in places; the traces are tiny.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::*;

use crate::event_set::EventSet;

/// What tells one content of a byte from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    model: Model,
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
            ops,
        };
        recorded.note_births_and_deaths();
        recorded.number_bytes();
        recorded.find_initial_bytes();
        recorded.find_expected_bytes();
        recorded.find_roles();
        recorded.find_recursive_locks();
        recorded.find_initial_counts();
        recorded.find_rounds();
        recorded.find_regions(infer_regions);
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

    /// The identity of a byte that this event, or the initial state, wrote last.
    pub(crate) fn identity(&self, byte: usize, writer: Option<EventId>) -> Identity {
        let value = match writer {
            Some(event) => self.written_byte(event, byte),
            None => self.initial_bytes[byte],
        };
        match (self.model, value) {
            (Model::Values, Some(value)) => Identity::Value(value),
            _ => Identity::Writer(writer),
        }
    }

    /// All recorded deepenings and lowerings of a hold.
    pub(crate) fn changes_of(&self, hold: EventId) -> impl Iterator<Item = EventId> + '_ {
        self.roles.iter().enumerate().filter_map(move |(row, &role)| {
            (role == Role::Deepens(hold) || role == Role::Lowers(hold)).then(|| EventId::from(row))
        })
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
            _ => None,
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
                _ => {}
            }
        }
    }

    fn number_bytes(&mut self) {
        let mut numbers = BTreeMap::new();
        for op in &self.ops {
            let mut touched = Vec::new();
            if let Some(access) = op.access() {
                for offset in access.at.offset..access.at.end() {
                    let next = numbers.len();
                    touched.push(*numbers.entry((access.at.object, offset)).or_insert(next));
                }
            }
            self.bytes.push(touched);
        }
        self.byte_count = numbers.len();
        self.initial_bytes = vec![None; self.byte_count];
        for &(place, value) in self.trace.initial() {
            for offset in place.offset..place.end() {
                if let Some(&byte) = numbers.get(&(place.object, offset)) {
                    self.initial_bytes[byte] =
                        byte_of(Some(value), place.size, offset - place.offset);
                }
            }
        }
    }

    fn find_initial_bytes(&mut self) {
        for byte in 0..self.byte_count {
            if self.initial_bytes[byte].is_none() {
                self.initial_bytes[byte] = self.first_seen(byte);
            }
        }
    }

    /// What the first valued read of a byte saw, if no write of it is recorded before.
    fn first_seen(&self, byte: usize) -> Option<u8> {
        for (event, op) in self.events() {
            if let Some(seen) = self.read_byte(event, byte) {
                return Some(seen);
            }
            let writes = op.access().is_some_and(|access| access.writes);
            if writes && self.bytes[event.index()].contains(&byte) {
                return None;
            }
        }
        None
    }

    fn find_expected_bytes(&mut self) {
        let mut last_writer = vec![None; self.byte_count];
        for row in 0..self.ops.len() {
            let event = EventId::from(row);
            let access = self.ops[row].access();
            let mut expected = Vec::new();
            if access.is_some_and(|access| access.reads) {
                for &byte in &self.bytes[row] {
                    let writer = last_writer[byte];
                    expected.push(self.identity(byte, writer));
                    let left = match writer {
                        Some(writer) => self.written_byte(writer, byte),
                        None => self.initial_bytes[byte],
                    };
                    if let (Some(seen), Some(left)) = (self.read_byte(event, byte), left)
                        && seen != left
                    {
                        self.unknown_writer.insert(event);
                    }
                }
            }
            self.expected.push(expected);
            if access.is_some_and(|access| access.writes) {
                for &byte in &self.bytes[row] {
                    last_writer[byte] = Some(event);
                }
            }
        }
    }

    /// What an event saw in a byte: `None` if it does not read the byte or is unvalued.
    fn read_byte(&self, event: EventId, byte: usize) -> Option<u8> {
        match self.op(event) {
            Op::Read { at, value, .. } | Op::Rmw { at, read: value, .. } => {
                self.value_in(event, byte, at, value)
            }
            _ => None,
        }
    }

    /// What an event left in a byte: `None` if it does not write the byte or is unvalued.
    fn written_byte(&self, event: EventId, byte: usize) -> Option<u8> {
        match self.op(event) {
            Op::Write { at, value, .. } | Op::Rmw { at, written: value, .. } => {
                self.value_in(event, byte, at, value)
            }
            _ => None,
        }
    }

    fn value_in(&self, event: EventId, byte: usize, at: Place, value: Option<u64>) -> Option<u8> {
        let index = self.bytes[event.index()].iter().position(|&touched| touched == byte)?;
        byte_of(value, at.size, index as u32)
    }

    fn find_roles(&mut self) {
        let mut open: Vec<Hold> = Vec::new();
        for row in 0..self.ops.len() {
            let event = EventId::from(row);
            let thread = self.trace.thread_of(event);
            let role = match self.ops[row] {
                Op::Acquire { lock, mode, .. } => match own_hold(&mut open, thread, lock, mode) {
                    Some(hold) => {
                        hold.depth += 1;
                        Role::Deepens(hold.opened_by)
                    }
                    None => {
                        let hold = Hold { opened_by: event, thread, lock, mode, depth: 1 };
                        self.opened.insert(event, hold);
                        open.push(hold);
                        Role::Opens
                    }
                },
                Op::Release { lock, mode } => release_role(&mut open, thread, lock, mode),
                Op::Wait { lock, .. } => {
                    let own = |hold: &&Hold| hold.thread == thread && hold.lock == lock;
                    match open.iter().filter(own).copied().collect::<Vec<_>>()[..] {
                        [hold] => {
                            open.retain(|other| *other != hold);
                            self.given_back.insert(event, hold);
                            Role::Closes(hold.opened_by)
                        }
                        _ => Role::Unsupported,
                    }
                }
                Op::Wake { .. } => {
                    let wait = self.wait_of(event);
                    match wait.and_then(|wait| self.given_back.get(&wait)) {
                        Some(&hold) => {
                            let hold = Hold { opened_by: event, ..hold };
                            self.opened.insert(event, hold);
                            open.push(hold);
                            Role::Opens
                        }
                        None => Role::Unsupported,
                    }
                }
                _ => Role::None,
            };
            self.roles.push(role);
        }
    }

    fn find_recursive_locks(&mut self) {
        for lock in (0..self.trace.locks().len()).map(LockId::from) {
            let deepens = |(event, op): (EventId, Op)| {
                matches!(op, Op::Acquire { lock: l, mode: Mode::Exclusive, .. } if l == lock)
                    && matches!(self.role(event), Role::Deepens(_))
            };
            if self.trace.lock_kind(lock) == LockKind::Recursive || self.events().any(deepens) {
                self.recursive.insert(lock);
            }
        }
    }

    fn find_initial_counts(&mut self) {
        for sem in (0..self.trace.semaphores().len()).map(SemId::from) {
            let least = || (0..=self.ops.len() as u32).find(|&count| self.suffices(sem, count));
            let count = self.trace.semaphore_count(sem).or_else(least);
            self.initial_counts.push(count.unwrap_or(0));
        }
    }

    /// Whether the recorded run is feasible if the semaphore starts with this count.
    fn suffices(&self, sem: SemId, mut count: u32) -> bool {
        for &op in &self.ops {
            match op {
                Op::SemWait { sem: s, .. } if s == sem && count == 0 => return false,
                Op::SemWait { sem: s, .. } if s == sem => count -= 1,
                Op::SemWaitFailed { sem: s, .. } if s == sem && count > 0 => return false,
                Op::SemPost { sem: s } if s == sem => count += 1,
                _ => {}
            }
        }
        true
    }

    fn find_rounds(&mut self) {
        for barrier in (0..self.trace.barriers().len()).map(BarrierId::from) {
            let arrivals: Vec<EventId> = self
                .events()
                .filter_map(|(event, op)| (op == Op::Arrive { barrier }).then_some(event))
                .collect();
            let threads: BTreeSet<ThreadId> =
                arrivals.iter().map(|&arrival| self.trace.thread_of(arrival)).collect();
            let declared = self.trace.barrier_parties(barrier).map(|parties| parties as usize);
            self.parties.push(declared.unwrap_or(threads.len()).max(1));
            self.arrivals.push(arrivals);
        }
    }

    fn find_regions(&mut self, infer: bool) {
        for thread in self.trace.thread_ids() {
            let events = self.trace.thread_events(thread);
            let mut begins: Vec<usize> = Vec::new();
            for (position, &event) in events.iter().enumerate() {
                match self.op(event) {
                    Op::RegionBegin => begins.push(position),
                    Op::RegionEnd => {
                        if let (Some(first), true) = (begins.pop(), begins.is_empty()) {
                            self.regions.push(Region { thread, first, last: position });
                        }
                    }
                    _ => {}
                }
            }
            if let Some(&first) = begins.first() {
                self.regions.push(Region { thread, first, last: events.len() - 1 });
            }
        }
        if infer {
            let inferred: Vec<Region> =
                self.opened.values().filter_map(|hold| self.section(hold)).collect();
            self.regions.extend(inferred);
        }
    }

    /// The critical section of a hold, if it makes a region.
    fn section(&self, hold: &Hold) -> Option<Region> {
        let closes = |&event: &EventId| self.role(event) == Role::Closes(hold.opened_by);
        let close = (0..self.ops.len()).map(EventId::from).find(closes)?;
        if self.trace.thread_of(close) != hold.thread {
            return None;
        }
        let first = self.trace.position(hold.opened_by);
        let last = self.trace.position(close);
        // The closing event is part of the range, so a hold closed by a wait is refused as well.
        let waits = self.trace.thread_events(hold.thread)[first + 1..=last]
            .iter()
            .any(|&event| matches!(self.op(event), Op::Wait { .. }));
        (!waits).then_some(Region { thread: hold.thread, first, last })
    }
}

/// The byte of a value, if accesses of this size have values.
fn byte_of(value: Option<u64>, size: u32, index: u32) -> Option<u8> {
    if size > 8 {
        return None;
    }
    value.map(|value| value.to_le_bytes()[index as usize])
}

fn own_hold(open: &mut [Hold], thread: ThreadId, lock: LockId, mode: Mode) -> Option<&mut Hold> {
    open.iter_mut().find(|hold| hold.thread == thread && hold.lock == lock && hold.mode == mode)
}

fn release_role(open: &mut Vec<Hold>, thread: ThreadId, lock: LockId, mode: Mode) -> Role {
    if let Some(hold) = own_hold(open, thread, lock, mode) {
        let name = hold.opened_by;
        if hold.depth > 1 {
            hold.depth -= 1;
            return Role::Lowers(name);
        }
        open.retain(|hold| hold.opened_by != name);
        return Role::Closes(name);
    }
    if open.iter().all(|hold| hold.lock != lock) {
        return Role::Unheld;
    }
    let foreign = open.iter().find(|hold| {
        hold.lock == lock && hold.mode == Mode::Exclusive && hold.depth == 1 && mode == hold.mode
    });
    match foreign.map(|hold| hold.opened_by) {
        Some(name) => {
            open.retain(|hold| hold.opened_by != name);
            Role::Closes(name)
        }
        None => Role::Unsupported,
    }
}
