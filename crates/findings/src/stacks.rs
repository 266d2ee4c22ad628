//! Calls that lead to events, with names: each place and each stack once.

use std::collections::HashMap;
use std::hash::Hash;

use foretrace_report::{CallFrame, Origin};
use foretrace_trace::{EventId, LocationId, Op, Trace};

/// The places and stacks of a report.
pub(crate) struct Stacks<'t> {
    trace: &'t Trace,
    frames: Interned<LocationId>,
    stacks: Interned<Vec<u32>>,
}

/// Values, each once, in the order in which they came.
pub(crate) struct Interned<T> {
    pub(crate) list: Vec<T>,
    index: HashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Interned<T> {
    pub(crate) fn new() -> Self {
        Interned { list: Vec::new(), index: HashMap::new() }
    }

    pub(crate) fn number(&mut self, value: T) -> u32 {
        let Interned { list, index } = self;
        *index.entry(value).or_insert_with_key(|value| {
            list.push(value.clone());
            list.len() as u32 - 1
        })
    }
}

impl<'t> Stacks<'t> {
    pub(crate) fn new(trace: &'t Trace) -> Self {
        Stacks { trace, frames: Interned::new(), stacks: Interned::new() }
    }

    /// The number of the stack of an event, if its calls are known.
    pub(crate) fn of(&mut self, event: EventId) -> Option<u32> {
        let callers = self.trace.callers(event)?;
        let places = self.trace.location_of(event).into_iter().chain(callers);
        let stack: Vec<u32> = places.map(|place| self.frames.number(place)).collect();
        (!stack.is_empty()).then(|| self.stacks.number(stack))
    }

    /// Where the event made something.
    pub(crate) fn origin(&mut self, event: EventId, size: Option<u32>) -> Origin {
        let trace = self.trace;
        Origin {
            thread: trace.name(trace.thread_of(event)).to_string(),
            location: trace.location_of(event).map(|at| trace.name(at).into()),
            stack: self.of(event),
            size,
        }
    }

    /// Where each thread was created.
    pub(crate) fn created(&mut self) -> Vec<Option<Origin>> {
        let mut created = vec![None; self.trace.threads().len()];
        for (event, op) in self.trace.other_ops() {
            if let Op::Fork { child } = op
                && created[child.index()].is_none()
            {
                created[child.index()] = Some(self.origin(event, None));
            }
        }
        created
    }

    /// The tables of the report.
    pub(crate) fn tables(self) -> (Vec<CallFrame>, Vec<Vec<u32>>) {
        let name = |at: LocationId| CallFrame::new(self.trace.name(at));
        (self.frames.list.into_iter().map(name).collect(), self.stacks.list)
    }
}
