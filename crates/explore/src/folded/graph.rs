//! Threads as graphs: events that do the same at the same place of the source are one node.
//!
//! **Computes.** For each thread a graph that has the recorded run of the thread as a path. What a
//! read saw is kept in a register, one for all reads of a place of memory at a line of the source.
//!
//! **Invariant.** A node does what each of its events does. A formula speaks of registers only if
//! each of them holds, at each event of the node, what the formula's read saw. What is not known
//! has no formula.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::{CellId, ReleaseRole, Skeleton};
use foretrace_trace::{
    BarrierId, CondId, EventId, LocationId, LockId, Mode, Op, Place, Request, SemId, ThreadId,
    WakeReason, ops,
};

use super::policy::Policy;
use crate::fault::{Fault, is_seeded};
use crate::formula::{Code, Formula, Seen, Shape};

/// What happens at a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Action {
    /// Nothing that another thread or a condition could notice.
    Silent,
    /// The thread goes on only if the formula has this outcome.
    Test {
        formula: u32,
        outcome: bool,
    },
    /// The same if the outcome is true, else nothing; and somebody may ask about it.
    Assert {
        formula: u32,
        holds: bool,
    },
    Access(Touch),
    Acquire {
        lock: LockId,
        mode: Mode,
    },
    AcquireFailed {
        lock: LockId,
        mode: Mode,
    },
    /// By the thread that has the lock.
    Release {
        lock: LockId,
        mode: Mode,
    },
    /// By another thread.
    ForeignRelease {
        lock: LockId,
    },
    UnheldRelease {
        lock: LockId,
    },
    Wait {
        cond: CondId,
        lock: LockId,
        mode: Mode,
        may_leave: bool,
        wake: Option<WakeReason>,
    },
    Wake {
        cond: CondId,
        lock: LockId,
        mode: Mode,
        reason: WakeReason,
    },
    Signal {
        cond: CondId,
    },
    Broadcast {
        cond: CondId,
    },
    SemWait {
        sem: SemId,
        blocking: bool,
    },
    SemWaitFailed {
        sem: SemId,
    },
    SemPost {
        sem: SemId,
    },
    Arrive {
        barrier: BarrierId,
    },
    Leave {
        barrier: BarrierId,
    },
    Fork {
        child: ThreadId,
    },
    Join {
        child: ThreadId,
    },
    Exit,
    /// All recorded events are executed.
    Through,
}

impl Action {
    /// The condition on which it depends.
    pub(super) fn tested(self) -> Option<u32> {
        if let Action::Test { formula, .. } | Action::Assert { formula, .. } = self {
            return Some(formula);
        }
        if let Action::Access(touch) = self { touch.assumed } else { None }
    }

    /// What it computes to store.
    pub(super) fn computed(self) -> Option<u32> {
        let Action::Access(touch) = self else { return None };
        if let Some(Stored::Formula(formula)) = touch.stored { Some(formula) } else { None }
    }
}

/// An access to a cell that is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Touch {
    pub(super) cell: u32,
    /// Where what the read sees is kept.
    pub(super) register: Option<u32>,
    /// What it sees, if nobody knows who wrote it.
    pub(super) pinned: Option<Option<u64>>,
    pub(super) assumed: Option<u32>,
    pub(super) stored: Option<Stored>,
}

/// What a write leaves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stored {
    Formula(u32),
    Value(u64),
    Unknown,
}

/// Some events of one thread.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) action: Action,
    /// The nodes of what follows one of the events.
    pub(super) next: Vec<u32>,
    /// Whether a thread is seen here: others notice what comes next, or somebody asks about it.
    pub(super) stops: bool,
    /// The registers that are still used from here on.
    pub(super) live: Vec<u32>,
}

/// All threads.
pub(super) struct Graph<'s> {
    pub(super) nodes: Vec<Node>,
    /// The first node of each thread, and its last one.
    pub(super) first: Vec<u32>,
    pub(super) last: Vec<u32>,
    /// The node of each event.
    pub(super) node_of: Vec<u32>,
    pub(super) formulas: Vec<&'s Formula>,
    /// The registers of each thread, and the cell that each holds contents of.
    pub(super) registers: Vec<Vec<u32>>,
    pub(super) cell_of: Vec<u32>,
    /// Which register holds what a read saw, for the reads of the formulas.
    pub(super) seen: Vec<Seen>,
    pub(super) cells: Vec<CellId>,
    /// What they hold at first, if that is known.
    pub(super) initial: Vec<Option<u64>>,
}

/// Where a read is made: what it sees goes to the same register.
type Site = (ThreadId, Option<LocationId>, Place);

struct Builder<'b, 's> {
    skeleton: &'s Skeleton<'s>,
    code: &'s Code,
    policy: &'b Policy,
    graph: Graph<'s>,
    slots: FxHashMap<CellId, u32>,
    sites: FxHashMap<Site, u32>,
    shapes: FxHashMap<Shape, u32>,
    /// The last read whose value is in each register.
    holds: FxHashMap<u32, EventId>,
}

/// What events have in common that are one node: where they are, what they do, and what their
/// thread did before.
type Key = (ThreadId, Option<LocationId>, Vec<Action>, u32);

impl<'s> Graph<'s> {
    pub(super) fn new(
        skeleton: &'s Skeleton<'s>,
        code: &'s Code,
        policy: &Policy,
        asked: &FxHashSet<EventId>,
    ) -> Self {
        let trace = skeleton.trace;
        let graph = Graph {
            nodes: Vec::new(),
            first: Vec::new(),
            last: Vec::new(),
            node_of: vec![0; trace.len()],
            formulas: Vec::new(),
            registers: vec![Vec::new(); trace.threads().len()],
            cell_of: Vec::new(),
            seen: vec![Seen::Recorded(0); trace.len()],
            cells: Vec::new(),
            initial: Vec::new(),
        };
        let mut builder = Builder {
            skeleton,
            code,
            policy,
            graph,
            slots: FxHashMap::default(),
            sites: FxHashMap::default(),
            shapes: FxHashMap::default(),
            holds: FxHashMap::default(),
        };
        builder.give_slots();
        for thread in trace.thread_ids() {
            builder.fold(thread, asked);
        }
        let mut graph = builder.graph;
        graph.find_live();
        graph
    }

    /// What a formula uses and what an action sets.
    fn uses(&self, action: Action) -> (Vec<u32>, Option<u32>) {
        let registers = |formula: u32| {
            let reads = self.formulas[formula as usize].reads.iter();
            reads.filter_map(|read| match self.seen[read.index()] {
                Seen::Slot(register) => Some(register),
                Seen::Recorded(_) => None,
            })
        };
        let set = if let Action::Access(touch) = action { touch.register } else { None };
        let formulas = [action.tested(), action.computed()];
        let used = formulas.into_iter().flatten().flat_map(registers);
        (used.filter(|&used| Some(used) != set).collect(), set)
    }

    /// Which registers are used before they are set again.
    fn find_live(&mut self) {
        let mut is_stable = false;
        while !is_stable {
            is_stable = true;
            for at in (0..self.nodes.len()).rev() {
                let (used, set) = self.uses(self.nodes[at].action);
                let mut live: FxHashSet<u32> = FxHashSet::default();
                for &next in &self.nodes[at].next {
                    live.extend(&self.nodes[next as usize].live);
                }
                if let Some(set) = set {
                    live.remove(&set);
                }
                live.extend(used);
                let mut live: Vec<u32> = live.into_iter().collect();
                live.sort_unstable();
                if live != self.nodes[at].live {
                    self.nodes[at].live = live;
                    is_stable = false;
                }
            }
        }
    }
}

impl<'s> Builder<'_, 's> {
    /// Looks at the cells that all accesses cover as a whole.
    fn give_slots(&mut self) {
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        for &cell in &self.policy.cells {
            let is_whole = |&access: &EventId| {
                let at = trace.access(access).expect("cells have accesses").at;
                memory.cells_of(at).count() == 1 && at.size == memory.size_of(cell)
            };
            if memory.size_of(cell) <= 8 && memory.accesses(cell).iter().all(is_whole) {
                self.slots.insert(cell, self.graph.cells.len() as u32);
                self.graph.cells.push(cell);
                self.graph.initial.push(memory.initial_value(cell));
            }
        }
    }

    fn fold(&mut self, thread: ThreadId, asked: &FxHashSet<EventId>) {
        let trace = self.skeleton.trace;
        let mut known: FxHashMap<Key, u32> = FxHashMap::default();
        let mut history: Vec<Action> = Vec::new();
        let mut previous: Option<u32> = None;
        let own = self.policy.is_unfolded(thread);
        for (position, &event) in trace.thread_events(thread).iter().enumerate() {
            let action = self.action(event);
            history.push(action);
            if history.len() > self.policy.history + 1 {
                history.remove(0);
            }
            let apart = if own { position as u32 } else { 0 };
            let key = (thread, self.policy.place(trace, event), history.clone(), apart);
            let next = self.graph.nodes.len() as u32;
            let node = *known.entry(key).or_insert(next);
            if node == next {
                let next = Vec::new();
                let stops = !matches!(action, Action::Silent | Action::Test { .. });
                let stops = stops && !matches!(action, Action::Assert { .. });
                self.graph.nodes.push(Node { action, next, stops, live: Vec::new() });
            }
            self.graph.nodes[node as usize].stops |= asked.contains(&event);
            self.graph.node_of[event.index()] = node;
            match previous {
                Some(previous) => self.follow(previous, node),
                None => self.graph.first.push(node),
            }
            previous = Some(node);
        }
        let last = self.graph.nodes.len() as u32;
        let node = Node { action: Action::Through, next: vec![], stops: true, live: vec![] };
        self.graph.nodes.push(node);
        match previous {
            Some(previous) => self.follow(previous, last),
            None => self.graph.first.push(last),
        }
        self.graph.last.push(last);
    }

    fn follow(&mut self, node: u32, next: u32) {
        let known = &mut self.graph.nodes[node as usize].next;
        if !known.contains(&next) {
            known.push(next);
        }
    }

    /// The formula, if each register that it uses still holds what its read saw.
    fn formula(&mut self, formula: Option<&'s Formula>) -> Option<u32> {
        let formula = formula?;
        let mut registers = FxHashMap::default();
        for &read in &formula.reads {
            let Seen::Slot(register) = self.graph.seen[read.index()] else { return None };
            if self.holds.get(&register) != Some(&read) && !is_seeded(Fault::StaleRegister) {
                return None;
            }
            registers.insert(read, register);
        }
        let shape = formula.shape(|read| registers[&read]);
        let next = self.graph.formulas.len() as u32;
        let number = *self.shapes.entry(shape).or_insert(next);
        if number == next {
            self.graph.formulas.push(formula);
        }
        Some(number)
    }

    fn action(&mut self, event: EventId) -> Action {
        let (skeleton, trace) = (self.skeleton, self.skeleton.trace);
        let locks = &skeleton.locks;
        let mode = |event: EventId| locks.hold_at(event).map(|hold| locks.hold(hold).mode);
        match trace.op(event) {
            Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => {
                self.access(event, at)
            }
            Op::Branch { taken: outcome } | Op::Assume { holds: outcome } => {
                match self.formula(self.code.result(event)) {
                    Some(formula) => Action::Test { formula, outcome },
                    None => Action::Silent,
                }
            }
            Op::Assert { holds } => match self.formula(self.code.result(event)) {
                Some(formula) => Action::Assert { formula, holds },
                None => Action::Silent,
            },
            Op::Acquire { lock, mode, .. } => match locks.opened_by(event) {
                Some(_) => Action::Acquire { lock, mode },
                None => Action::Silent,
            },
            Op::AcquireFailed { lock, mode, .. } => Action::AcquireFailed { lock, mode },
            Op::Release { lock, mode } => match locks.role(trace, event) {
                ReleaseRole::Lowers(_) => Action::Silent,
                ReleaseRole::Closes(_) => Action::Release { lock, mode },
                ReleaseRole::Foreign(_) => Action::ForeignRelease { lock },
                ReleaseRole::Unheld => Action::UnheldRelease { lock },
            },
            Op::Wait { cond, lock, .. } => {
                let (_, wait) = skeleton.waiting.wait_at(event);
                let mode = mode(event).expect("a wait closes a hold");
                let (may_leave, wake) = (wait.may_leave(), wait.wake.map(|(_, reason)| reason));
                Action::Wait { cond, lock, mode, may_leave, wake }
            }
            Op::Wake { cond, lock, reason } => {
                let mode = mode(event).expect("a wake opens a hold");
                Action::Wake { cond, lock, mode, reason }
            }
            Op::Signal { cond } => Action::Signal { cond },
            Op::Broadcast { cond } => Action::Broadcast { cond },
            Op::SemWait { sem, patience } => {
                let blocking = patience == foretrace_trace::Patience::Blocking;
                Action::SemWait { sem, blocking }
            }
            Op::SemWaitFailed { sem, .. } => Action::SemWaitFailed { sem },
            Op::SemPost { sem } => Action::SemPost { sem },
            Op::Arrive { barrier } => Action::Arrive { barrier },
            Op::Leave { barrier } => Action::Leave { barrier },
            Op::Fork { child } => Action::Fork { child },
            Op::Join { child } => Action::Join { child },
            Op::Exit => Action::Exit,
            Op::Request(Request::Acquire(..) | Request::SemWait(_) | Request::Join(_))
            | ops!(object call mark Let Destroy Begin End) => Action::Silent,
        }
    }

    fn access(&mut self, event: EventId, at: Place) -> Action {
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let cell = memory.cells_of(at).next().expect("an access covers cells");
        let Some(&slot) = self.slots.get(&cell) else { return Action::Silent };
        let access = trace.access(event).expect("it is an access");
        let thread = trace.thread_of(event);
        let mut pinned = None;
        let register = access.reads.then(|| {
            if memory.has_unknown_writer(event) {
                pinned = Some(trace.values(event).0);
            }
            let next = self.graph.cell_of.len() as u32;
            let site = (thread, self.policy.place(trace, event), at);
            let register = *self.sites.entry(site).or_insert(next);
            if register == next {
                self.graph.cell_of.push(slot);
                self.graph.registers[thread.index()].push(register);
            }
            self.graph.seen[event.index()] = Seen::Slot(register);
            self.holds.insert(register, event);
            register
        });
        let assumed = self.formula(self.code.assumed(event));
        let stored = access.writes.then(|| match self.code.result(event) {
            Some(formula) => match self.formula(Some(formula)) {
                Some(formula) => Stored::Formula(formula),
                None => Stored::Unknown,
            },
            None => match memory.value_written(trace, event, cell) {
                Some(value) => Stored::Value(value),
                None => Stored::Unknown,
            },
        });
        Action::Access(Touch { cell: slot, register, pinned, assumed, stored })
    }
}
