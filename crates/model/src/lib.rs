//! The interference skeleton: what the recorded run fixes for every other schedule of its events.
//! It does not know solvers.
//!
//! Section 2 of `docs/theory.md`, computed once: memory cells with who wrote and who read them,
//! holds of locks, waits with their notifications, semaphores, barrier rounds, lives of objects,
//! calls.

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod awaited;
mod calls;
mod data;
mod lifetimes;
mod locks;
mod memory;
mod origins;
mod regions;
mod slice;
// Terms know no events.
#[allow(clippy::wildcard_enum_match_arm)]
pub mod terms;
mod waiting;

use rustc_hash::FxHashMap;

use foretrace_trace::{Dependences, EventId, Op, ThreadId, Trace, ops};
use foretrace_verdict::Model;

pub use awaited::{Source, WaitingCall, WaitingCalls};
pub use calls::Calls;
pub use data::Data;
pub use lifetimes::Lifetimes;
pub use locks::{Hold, HoldId, Locks, ReleaseRole};
pub use memory::{CellId, Identity, Memory};
pub use origins::{Origin, Origins, Source as OriginSource};
pub use regions::{Region, regions};
pub use waiting::{Arrival, Barrier, Cond, Semaphore, Wait, Waiting};

/// The skeleton of one trace under one model.
#[derive(Debug)]
pub struct Skeleton<'t> {
    /// The trace it belongs to.
    pub trace: &'t Trace,
    /// How strictly reads are pinned.
    pub model: Model,
    /// Cells of memory.
    pub memory: Memory,
    /// Holds of locks.
    pub locks: Locks,
    /// Condition variables, semaphores and barriers.
    pub waiting: Waiting,
    /// What events compute; `None` where nothing asks for it.
    pub data: Option<Data>,
    /// When objects live.
    pub lifetimes: Lifetimes,
    /// Which calls keep their order.
    pub calls: Calls,
    /// Which calls wait until somebody feeds them.
    pub waiting_calls: WaitingCalls,
    /// The fork of each thread.
    forks: Vec<Option<EventId>>,
    joins: FxHashMap<ThreadId, Vec<EventId>>,
}

impl<'t> Skeleton<'t> {
    /// Builds the skeleton of a valid trace.
    pub fn new(trace: &'t Trace, model: Model) -> Self {
        let mut forks = vec![None; trace.threads().len()];
        let mut joins: FxHashMap<ThreadId, Vec<EventId>> = FxHashMap::default();
        for (event, op) in trace.other_ops() {
            match op {
                Op::Fork { child } => forks[child.index()] = Some(event),
                Op::Join { child } => joins.entry(child).or_default().push(event),
                ops!(memory object data lock cond sem barrier call mark Request Begin End
                    Exit) => {}
            }
        }
        let memory = Memory::new(trace, model);
        let asks_for_data = !pins_reads(trace, model)
            || trace.other_ops().any(|(_, op)| matches!(op, Op::Assert { .. }));
        Skeleton {
            trace,
            model,
            data: asks_for_data.then(|| Data::new(trace, &memory, model)),
            memory,
            locks: Locks::new(trace),
            waiting: Waiting::new(trace),
            lifetimes: Lifetimes::new(trace),
            calls: Calls::new(trace),
            waiting_calls: WaitingCalls::new(trace),
            forks,
            joins,
        }
    }

    /// The skeleton of a program: `trace` lists its events thread by thread, in an order that forks
    /// and joins allow, and `data` says what they compute and when they happen.
    pub fn of_program(trace: &'t Trace, data: Data) -> Self {
        Skeleton { data: Some(data), ..Skeleton::new(trace, Model::Symbolic) }
    }

    /// The event that creates a thread; `None` for a thread that runs from the start.
    pub fn fork_of(&self, thread: ThreadId) -> Option<EventId> {
        self.forks[thread.index()]
    }

    /// The events that tell that a thread went on after one of its events: its next event, or,
    /// after its last one, the joins of the thread.
    pub fn needing_more_than(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        let next = self.trace.next(event);
        let joins = match next {
            Some(_) => &[],
            None => self.joins.get(&self.trace.thread_of(event)).map_or(&[][..], |joins| joins),
        };
        next.into_iter().chain(joins.iter().copied())
    }

    /// Whether there is no recorded run, only a program.
    pub fn is_program(&self) -> bool {
        self.data.as_ref().is_some_and(Data::is_program)
    }

    /// As [`pins_reads`].
    pub fn pins_reads(&self) -> bool {
        pins_reads(self.trace, self.model)
    }

    /// The data part, where reads are not pinned.
    pub fn free_data(&self) -> Option<&Data> {
        self.data.as_ref().filter(|_| !self.pins_reads())
    }

    /// The model that suits a trace: `symbolic` if it has expressions, `values` if it records any.
    pub fn suitable_model(trace: &Trace) -> Model {
        if trace.has_expressions() && trace.dependences() == Dependences::Recorded {
            return Model::Symbolic;
        }
        let valued = trace.accesses().any(|(event, _)| trace.values(event) != (None, None));
        if valued { Model::Values } else { Model::ReadsFrom }
    }
}

/// Whether every read of the trace must see what it saw in the recorded run, but for released ones.
pub fn pins_reads(trace: &Trace, model: Model) -> bool {
    match model {
        Model::ReadsFrom | Model::Values => true,
        Model::Symbolic => trace.dependences() == Dependences::Unknown,
        Model::Control => false,
    }
}
