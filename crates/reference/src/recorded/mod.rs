//! What the recorded run fixes: `docs/theory.md`, section 2, as far as the formula needs it.
//!
//! **Invariant.** Everything comes from the recorded order alone, and shares no code with the
//! model, the checker or the oracle.

mod calls;
mod data;
mod memory;
mod regions;
mod sync;

use foretrace_trace::{EventId, ThreadId, Trace, ops};
use rustc_hash::FxHashMap;

use crate::Unsupported;

pub(crate) use data::Data;
pub(crate) use memory::{Cell, Expected, Memory, UnknownWriter, Writer, part};
pub(crate) use regions::share_a_region;
pub(crate) use sync::{Effect, Hold, Sync, Update, Variable};

/// All of it.
pub(crate) struct Recorded {
    pub(crate) memory: Memory,
    pub(crate) data: Data,
    pub(crate) sync: Sync,
    /// What must be executed before the end of a call.
    pub(crate) call_needs: Vec<(EventId, Vec<EventId>)>,
    forks: FxHashMap<ThreadId, EventId>,
}

impl Recorded {
    pub(crate) fn new(trace: &Trace) -> Result<Recorded, Unsupported> {
        let sync = Sync::new(trace)?;
        let forks = trace.other_ops().filter_map(|(event, op)| match op {
            foretrace_trace::Op::Fork { child } => Some((child, event)),
            ops!(memory object data lock cond sem barrier call mark Request Join Begin End
                Exit) => None,
        });
        Ok(Recorded {
            memory: Memory::new(trace),
            data: Data::new(trace),
            sync,
            call_needs: calls::call_needs(trace)?,
            forks: forks.collect(),
        })
    }

    /// The fork of a thread.
    pub(crate) fn fork(&self, thread: ThreadId) -> Option<EventId> {
        self.forks.get(&thread).copied()
    }

    /// What must have happened for the event to be next: the event before it in its thread, or the
    /// fork of the thread.
    pub(crate) fn due_before(&self, trace: &Trace, event: EventId) -> Option<EventId> {
        trace.previous(event).or_else(|| self.fork(trace.thread_of(event)))
    }
}
