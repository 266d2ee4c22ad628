//! What threads do that are graphs.
//!
//! **Computes.** The states that follow a state when one thread goes on.
//!
//! **Follows.** The table of `docs/theory.md`, section 3, for what is looked at; what is not asks
//! for nothing.
//!
//! **Invariant.** A value that is not known stands for every value.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::{CellId, Skeleton};
use foretrace_trace::{LockId, Mode, SemId, ThreadId, WakeReason};

use super::graph::{Action, Graph, Stored, Touch};
use super::policy::Policy;
use crate::fault::{Fault, is_seeded};
use crate::formula::Seen;

/// Words: for each thread its node, what became of its wait, and whether it is started and where
/// it has arrived; then registers, cells, owners and readers of locks, counts, arrivals.
pub(super) type State = Box<[u32]>;

/// A value that is not known.
const UNKNOWN: u32 = u32::MAX;
/// The node of a thread that never goes on.
pub(super) const DEAD: u32 = u32::MAX;

/// What became of a wait.
const WAITING: u32 = 1;
const NOTIFIED: u32 = 2;
const DEPARTED: u32 = 3;

/// How much a semaphore may count.
const MOST_COUNTED: u32 = 64;

/// What takes too many values to be looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grown {
    Cell(CellId),
    Sem(SemId),
}

/// Where things are in a state.
struct Layout {
    waits: usize,
    started: usize,
    arrived: usize,
    registers: usize,
    cells: usize,
    owners: usize,
    readers: usize,
    counts: usize,
    arrivals: usize,
    len: usize,
}

/// Graphs that run.
pub(super) struct Machine<'m, 's> {
    skeleton: &'s Skeleton<'s>,
    pub(super) graph: &'m Graph<'s>,
    policy: &'m Policy,
    at: Layout,
    /// The values, by number.
    values: Vec<u64>,
    numbers: FxHashMap<u64, u32>,
    /// Of each cell, the conditions on what it holds, if nothing else is done with it.
    looks: Vec<Option<Vec<(u32, u32)>>>,
    alike: FxHashMap<(u32, u32), u32>,
    /// Of each cell with these outcomes, the first value.
    first_alike: FxHashMap<(u32, Vec<bool>), u32>,
    contents: Vec<FxHashSet<u32>>,
    most_contents: usize,
    decoded: Vec<u64>,
    scratch: Vec<u128>,
    pub(super) grown: Option<Grown>,
}

impl<'m, 's> Machine<'m, 's> {
    pub(super) fn new(
        skeleton: &'s Skeleton<'s>,
        graph: &'m Graph<'s>,
        policy: &'m Policy,
        most_contents: usize,
    ) -> Self {
        let trace = skeleton.trace;
        let threads = trace.threads().len();
        let mut len = threads;
        let mut take = |many: usize| {
            len += many;
            len - many
        };
        let (waits, started, arrived) = (take(threads), take(threads), take(threads));
        let (registers, cells) = (take(graph.cell_of.len()), take(graph.cells.len()));
        let locks = trace.locks().len();
        let (owners, readers) = (take(locks), take(locks));
        let (counts, arrivals) = (take(trace.semaphores().len()), take(trace.barriers().len()));
        let at = Layout {
            waits,
            started,
            arrived,
            registers,
            cells,
            owners,
            readers,
            counts,
            arrivals,
            len,
        };
        let mut machine = Machine {
            skeleton,
            graph,
            policy,
            at,
            values: Vec::new(),
            numbers: FxHashMap::default(),
            looks: Vec::new(),
            alike: FxHashMap::default(),
            first_alike: FxHashMap::default(),
            contents: vec![FxHashSet::default(); graph.cells.len()],
            most_contents,
            decoded: vec![0; graph.cell_of.len()],
            scratch: Vec::new(),
            grown: None,
        };
        machine.number(0);
        machine.find_looks();
        machine
    }

    /// Conditions about one register each are all that is ever asked of some cells.
    fn find_looks(&mut self) {
        let graph = self.graph;
        let mut looks: Vec<Option<Vec<(u32, u32)>>> = vec![Some(Vec::new()); graph.cells.len()];
        let registers = |formula: u32| -> Vec<u32> {
            let reads = graph.formulas[formula as usize].reads.iter();
            reads
                .filter_map(|read| match graph.seen[read.index()] {
                    Seen::Slot(register) => Some(register),
                    Seen::Recorded(_) => None,
                })
                .collect()
        };
        for node in &graph.nodes {
            let (tested, stored) = (node.action.tested(), node.action.computed());
            if let Some(formula) = tested {
                let used = registers(formula);
                if let [register] = used[..] {
                    let cell = graph.cell_of[register as usize] as usize;
                    looks[cell].iter_mut().for_each(|known| {
                        if !known.contains(&(formula, register)) {
                            known.push((formula, register));
                        }
                    });
                } else {
                    used.iter().for_each(|&one| {
                        looks[graph.cell_of[one as usize] as usize] = None;
                    });
                }
            }
            for register in stored.into_iter().flat_map(registers) {
                looks[graph.cell_of[register as usize] as usize] = None;
            }
        }
        self.looks = looks;
    }

    fn number(&mut self, value: u64) -> u32 {
        let next = self.values.len() as u32;
        let number = *self.numbers.entry(value).or_insert(next);
        if number == next {
            self.values.push(value);
        }
        number
    }

    /// The first value that does the same as this one in that cell.
    fn represent(&mut self, cell: u32, value: u32) -> u32 {
        if value == UNKNOWN {
            return value;
        }
        if let Some(&known) = self.alike.get(&(cell, value)) {
            return known;
        }
        let Some(looks) = self.looks[cell as usize].clone() else { return value };
        let mut outcomes = Vec::with_capacity(looks.len());
        for (formula, register) in looks {
            self.decoded[register as usize] = self.values[value as usize];
            let formula = self.graph.formulas[formula as usize];
            let outcome = formula.value(&self.decoded, &self.graph.seen, &mut self.scratch);
            outcomes.push(outcome != 0);
        }
        if is_seeded(Fault::AllValuesAlike) {
            outcomes.clear();
        }
        let first = *self.first_alike.entry((cell, outcomes)).or_insert(value);
        self.alike.insert((cell, value), first);
        first
    }

    /// What a formula is worth; `None`: that depends on what is not known.
    pub(super) fn value(&mut self, state: &[u32], formula: u32) -> Option<u128> {
        let formula = self.graph.formulas[formula as usize];
        for read in &formula.reads {
            if let Seen::Slot(register) = self.graph.seen[read.index()] {
                let value = state[self.at.registers + register as usize];
                if value == UNKNOWN {
                    return None;
                }
                self.decoded[register as usize] = self.values[value as usize];
            }
        }
        Some(formula.value(&self.decoded, &self.graph.seen, &mut self.scratch))
    }

    pub(super) fn skeleton(&self) -> &'s Skeleton<'s> {
        self.skeleton
    }

    pub(super) fn threads(&self) -> usize {
        self.graph.first.len()
    }

    pub(super) fn is_started(&self, state: &[u32], thread: usize) -> bool {
        state[self.at.started + thread] == 1
    }

    pub(super) fn is_through(&self, state: &[u32], thread: usize) -> bool {
        state[thread] == self.graph.last[thread]
    }

    /// Whether a thread has the lock in a mode that conflicts.
    pub(super) fn has(&self, state: &[u32], thread: usize, lock: LockId, mode: Mode) -> bool {
        let owner = state[self.at.owners + lock.index()];
        let reads = state[self.at.readers + lock.index()] >> thread & 1 == 1;
        owner == thread as u32 + 1 || (reads && mode == Mode::Exclusive)
    }

    /// Whether another thread has it.
    pub(super) fn is_taken(&self, state: &[u32], thread: usize, lock: LockId, mode: Mode) -> bool {
        let owner = state[self.at.owners + lock.index()];
        let others = state[self.at.readers + lock.index()] & !(1 << thread);
        (owner != 0 && owner != thread as u32 + 1) || (others != 0 && mode == Mode::Exclusive)
    }

    pub(super) fn count(&self, state: &[u32], sem: SemId) -> Option<u32> {
        self.policy.counts(sem).then(|| state[self.at.counts + sem.index()])
    }

    pub(super) fn is_waiting(&self, state: &[u32], thread: usize) -> bool {
        state[self.at.waits + thread] & 3 == WAITING
    }

    pub(super) fn is_held_up(&self, state: &[u32], thread: usize, barrier: usize) -> bool {
        state[self.at.arrived + thread] == barrier as u32 + 1
    }

    /// The states in which nothing has happened but what nobody notices.
    pub(super) fn start(&mut self) -> Vec<State> {
        let mut state: State = vec![0; self.at.len].into();
        for thread in 0..self.threads() {
            state[thread] = self.graph.first[thread];
        }
        for (slot, &initial) in self.graph.initial.iter().enumerate() {
            let value = initial.map_or(UNKNOWN, |value| self.number(value));
            let value = self.represent(slot as u32, value);
            state[self.at.cells + slot] = value;
            self.contents[slot].insert(value);
        }
        for sem in (0..self.skeleton.trace.semaphores().len()).map(SemId::from) {
            let initial = self.skeleton.waiting.semaphore(sem).initial;
            state[self.at.counts + sem.index()] = match self.policy.counts(sem) {
                true => initial,
                false => 0,
            };
        }
        let mut states = vec![state];
        for thread in 0..self.threads() {
            if self.skeleton.fork_of(ThreadId::from(thread)).is_none() {
                states = self.begin(states, thread);
            }
        }
        states
    }

    fn begin(&mut self, states: Vec<State>, thread: usize) -> Vec<State> {
        let mut after = Vec::new();
        for mut state in states {
            state[self.at.started + thread] = 1;
            self.settle(state, thread, &mut after);
        }
        after
    }

    /// The states to which a step of a thread can lead.
    pub(super) fn step(&mut self, state: &[u32], thread: usize, out: &mut Vec<State>) {
        let node = state[thread];
        if node == DEAD || !self.is_started(state, thread) {
            return;
        }
        let graph = self.graph;
        let node = &graph.nodes[node as usize];
        for after in self.effects(state, thread, node.action) {
            let most = if is_seeded(Fault::OneWayOn) { 1 } else { node.next.len() };
            for &next in node.next.iter().take(most) {
                let mut after = after.clone();
                after[thread] = next;
                self.settle(after, thread, out);
            }
        }
    }

    /// Lets a thread do what nobody notices.
    fn settle(&mut self, state: State, thread: usize, out: &mut Vec<State>) {
        let graph = self.graph;
        if graph.nodes[state[thread] as usize].stops {
            out.push(self.forget_unused(state, thread));
            return;
        }
        let (mut open, mut known) = (vec![state[thread]], Vec::new());
        let mut stops = Vec::new();
        while let Some(at) = open.pop() {
            if known.contains(&at) {
                continue;
            }
            known.push(at);
            let node = &graph.nodes[at as usize];
            if node.stops {
                stops.push(at);
                continue;
            }
            let mut outcome = None;
            if let Action::Test { formula, outcome: expected } = node.action {
                outcome = Some((formula, expected));
            }
            if let Action::Assert { formula, holds: true } = node.action {
                outcome = Some((formula, true));
            }
            let goes_on = outcome.is_none_or(|(formula, outcome)| {
                self.value(&state, formula).is_none_or(|value| (value != 0) == outcome)
            });
            if goes_on {
                open.extend(&node.next);
            }
        }
        if stops.is_empty() {
            stops.push(DEAD);
        }
        for stop in stops {
            let mut state = state.clone();
            state[thread] = stop;
            out.push(self.forget_unused(state, thread));
        }
    }

    /// Registers that a thread does not use again count as 0.
    fn forget_unused(&self, mut state: State, thread: usize) -> State {
        let live = match state[thread] {
            DEAD => &[][..],
            node => &self.graph.nodes[node as usize].live,
        };
        for &register in &self.graph.registers[thread] {
            if live.binary_search(&register).is_err() {
                state[self.at.registers + register as usize] = 0;
            }
        }
        state
    }

    /// What the state is behind an action, before the thread is at its next node.
    fn effects(&mut self, state: &[u32], thread: usize, action: Action) -> Vec<State> {
        let mut after: State = state.into();
        let own = thread as u32 + 1;
        let waits = self.at.waits + thread;
        let (owners, readers) = (self.at.owners, self.at.readers);
        let is_enabled = match action {
            Action::Silent => true,
            Action::Test { formula, outcome } => {
                self.value(state, formula).is_none_or(|value| (value != 0) == outcome)
            }
            Action::Assert { formula, holds } => {
                !holds || self.value(state, formula).is_none_or(|value| value != 0)
            }
            Action::Access(touch) => self.access(&mut after, touch),
            Action::Acquire { lock, mode } => {
                let has_own = match mode {
                    Mode::Exclusive => state[owners + lock.index()] == own,
                    Mode::Shared => state[readers + lock.index()] >> thread & 1 == 1,
                };
                let is_free = !has_own && !self.is_taken(state, thread, lock, mode);
                is_free && self.open(&mut after, thread, lock, mode)
            }
            Action::AcquireFailed { lock, mode } => {
                let (owner, reads) =
                    (state[owners + lock.index()] != 0, state[readers + lock.index()] != 0);
                owner || (reads && mode == Mode::Exclusive)
            }
            Action::Release { lock, mode } => self.close(&mut after, thread, lock, mode),
            Action::ForeignRelease { lock } => {
                let owner = std::mem::replace(&mut after[owners + lock.index()], 0);
                owner != 0
            }
            Action::UnheldRelease { lock } => {
                state[owners + lock.index()] == 0 && state[readers + lock.index()] == 0
            }
            Action::Wait { lock, mode, .. } => {
                after[waits] = (state[thread] + 1) << 2 | WAITING;
                self.close(&mut after, thread, lock, mode)
            }
            Action::Wake { lock, mode, reason, .. } => {
                let is_over = match (reason, state[waits] & 3) {
                    (WakeReason::Notified, became) => became == NOTIFIED,
                    (WakeReason::TimedOut | WakeReason::Spurious, became) => {
                        became == WAITING || became == DEPARTED
                    }
                };
                after[waits] = 0;
                let is_free = !self.is_taken(state, thread, lock, mode);
                is_over && is_free && self.open(&mut after, thread, lock, mode)
            }
            Action::Signal { cond } => return self.signal(state, cond),
            Action::Broadcast { cond } => {
                for waiter in self.waiters(state, cond) {
                    let notified = match self.waits_for(state, waiter) {
                        (_, Some(WakeReason::TimedOut | WakeReason::Spurious)) => DEPARTED,
                        (_, Some(WakeReason::Notified) | None) => NOTIFIED,
                    };
                    self.becomes(&mut after, waiter, notified);
                }
                true
            }
            Action::SemWait { sem, .. } => match self.count(state, sem) {
                Some(0) => false,
                Some(count) => {
                    after[self.at.counts + sem.index()] = count - 1;
                    true
                }
                None => true,
            },
            Action::SemWaitFailed { sem } => self.count(state, sem).is_none_or(|count| count == 0),
            Action::SemPost { sem } => {
                if let Some(count) = self.count(state, sem) {
                    after[self.at.counts + sem.index()] = count + 1;
                    if count >= MOST_COUNTED.max(2 * self.skeleton.waiting.semaphore(sem).initial) {
                        self.grown = Some(Grown::Sem(sem));
                    }
                }
                true
            }
            Action::Arrive { barrier } => {
                self.arrive(&mut after, thread, barrier.index());
                true
            }
            Action::Leave { barrier } => !self.is_held_up(state, thread, barrier.index()),
            Action::Fork { child } => {
                // It happens once.
                let is_new = !self.is_started(state, child.index());
                return if is_new { self.begin(vec![after], child.index()) } else { Vec::new() };
            }
            Action::Join { child } => {
                self.is_started(state, child.index()) && self.is_through(state, child.index())
            }
            Action::Exit | Action::Through => false,
        };
        if is_enabled { vec![after] } else { Vec::new() }
    }

    fn access(&mut self, after: &mut State, touch: Touch) -> bool {
        let cell = self.at.cells + touch.cell as usize;
        if let Some(register) = touch.register {
            after[self.at.registers + register as usize] = match touch.pinned {
                Some(Some(value)) => self.number(value),
                Some(None) => UNKNOWN,
                None => after[cell],
            };
        }
        if touch.assumed.is_some_and(|formula| self.value(after, formula) == Some(0)) {
            return false;
        }
        let Some(stored) = touch.stored else { return true };
        let bits = 8 * self.skeleton.memory.size_of(self.graph.cells[touch.cell as usize]);
        let value = match stored {
            Stored::Formula(formula) => {
                let value = self.value(after, formula);
                value.map(|value| foretrace_words::cut(value, bits) as u64)
            }
            Stored::Value(value) => Some(value),
            Stored::Unknown => None,
        };
        let value = value.map_or(UNKNOWN, |value| self.number(value));
        let value = self.represent(touch.cell, value);
        after[cell] = value;
        let contents = &mut self.contents[touch.cell as usize];
        if contents.insert(value) && contents.len() > self.most_contents {
            self.grown = Some(Grown::Cell(self.graph.cells[touch.cell as usize]));
        }
        true
    }

    /// Opens a hold.
    fn open(&self, after: &mut State, thread: usize, lock: LockId, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => after[self.at.owners + lock.index()] = thread as u32 + 1,
            Mode::Shared => after[self.at.readers + lock.index()] |= 1 << thread,
        }
        true
    }

    /// Closes a hold; whether it is open.
    fn close(&self, after: &mut State, thread: usize, lock: LockId, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => {
                let owner = std::mem::replace(&mut after[self.at.owners + lock.index()], 0);
                owner == thread as u32 + 1
            }
            Mode::Shared => {
                let readers = &mut after[self.at.readers + lock.index()];
                let is_open = *readers >> thread & 1 == 1;
                *readers &= !(1 << thread);
                is_open
            }
        }
    }

    /// Whether the wait of a thread may leave, and how it ended in the recorded run.
    fn waits_for(&self, state: &[u32], thread: usize) -> (bool, Option<WakeReason>) {
        let node = (state[self.at.waits + thread] >> 2) - 1;
        let action = self.graph.nodes[node as usize].action;
        let Action::Wait { may_leave, wake, .. } = action else {
            unreachable!("{action:?} is no wait")
        };
        (may_leave, wake)
    }

    /// The threads in W.
    fn waiters(&self, state: &[u32], asked: foretrace_trace::CondId) -> Vec<usize> {
        let is_in = |&thread: &usize| {
            let word = state[self.at.waits + thread];
            let node = (word >> 2).wrapping_sub(1);
            word & 3 == WAITING
                && matches!(self.graph.nodes[node as usize].action,
                    Action::Wait { cond, .. } if cond == asked)
        };
        (0..self.threads()).filter(is_in).collect()
    }

    fn becomes(&self, after: &mut State, thread: usize, became: u32) {
        let word = &mut after[self.at.waits + thread];
        *word = *word & !3 | became;
    }

    fn signal(&mut self, state: &[u32], cond: foretrace_trace::CondId) -> Vec<State> {
        let waiters = self.waiters(state, cond);
        let mut outcomes: Vec<State> = Vec::new();
        let most = if is_seeded(Fault::OneWaiterNotified) { 1 } else { waiters.len() };
        for &waiter in waiters.iter().take(most) {
            let mut after: State = state.into();
            self.becomes(&mut after, waiter, NOTIFIED);
            outcomes.push(after);
        }
        if waiters.iter().all(|&waiter| self.waits_for(state, waiter).0) {
            let mut after: State = state.into();
            for &waiter in &waiters {
                self.becomes(&mut after, waiter, DEPARTED);
            }
            outcomes.push(after);
        }
        outcomes
    }

    fn arrive(&self, after: &mut State, thread: usize, barrier: usize) {
        let parties =
            self.skeleton.waiting.barrier(foretrace_trace::BarrierId::from(barrier)).parties;
        after[self.at.arrived + thread] = barrier as u32 + 1;
        let arrivals = &mut after[self.at.arrivals + barrier];
        *arrivals += 1;
        if *arrivals >= parties {
            *arrivals = 0;
            for other in 0..self.threads() {
                if self.is_held_up(after, other, barrier) {
                    after[self.at.arrived + other] = 0;
                }
            }
        }
    }
}
