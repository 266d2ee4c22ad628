//! The calls inside which events happen.
//!
//! **Computes.** Stacks are a tree: each is a call at a place in the source, made inside another
//! stack; stack 0 is that of a thread's first function, which nobody calls. Equal stacks are one.
//!
//! **Cost.** 4 bytes per event, if any event has a stack, and 8 per stack.

use rustc_hash::FxHashMap;

use super::{Builder, Trace};
use crate::ids::*;

/// All stacks, and which event has which.
#[derive(Clone, Default, Debug)]
pub(crate) struct Stacks {
    /// Of each stack but the first, from 1: the stack of the calling function, and the call.
    calls: Vec<(StackId, LocationId)>,
    index: FxHashMap<(StackId, LocationId), StackId>,
    /// Of each event its stack + 1, or 0; those behind the end have none.
    of_events: Vec<u32>,
}

impl PartialEq for Stacks {
    fn eq(&self, other: &Stacks) -> bool {
        (&self.calls, &self.of_events) == (&other.calls, &other.of_events)
    }
}

impl Eq for Stacks {}

impl Stacks {
    /// The stack of a function that is called there, by one that has the other stack.
    pub(crate) fn called(&mut self, caller: StackId, at: LocationId) -> StackId {
        let Stacks { calls, index, .. } = self;
        *index.entry((caller, at)).or_insert_with(|| {
            calls.push((caller, at));
            StackId::from(calls.len())
        })
    }

    pub(crate) fn call(&self, stack: StackId) -> Option<(StackId, LocationId)> {
        self.calls.get(stack.index().checked_sub(1)?).copied()
    }

    pub(crate) fn calls(&self) -> &[(StackId, LocationId)] {
        &self.calls
    }

    pub(crate) fn of(&self, event: EventId) -> Option<StackId> {
        self.of_events.get(event.index())?.checked_sub(1).map(StackId)
    }

    pub(crate) fn set(&mut self, event: EventId, stack: StackId) {
        let row = event.index();
        if self.of_events.len() <= row {
            self.of_events.resize(row + 1, 0);
        }
        self.of_events[row] = stack.0 + 1;
    }

    /// Up to which event some may have a stack.
    pub(crate) fn end(&self) -> usize {
        self.of_events.len()
    }

    /// Takes the stacks of the events; which stacks there are, both keep.
    pub(super) fn take_events(&mut self) -> Stacks {
        Stacks { of_events: std::mem::take(&mut self.of_events), ..Stacks::default() }
    }
}

/// The calls that an event is inside of, the innermost first.
#[derive(Clone, Debug)]
pub struct Calls<'t> {
    stacks: &'t Stacks,
    at: StackId,
}

impl Iterator for Calls<'_> {
    type Item = LocationId;

    fn next(&mut self) -> Option<LocationId> {
        let (caller, call) = self.stacks.call(self.at)?;
        self.at = caller;
        Some(call)
    }
}

impl Trace {
    /// The calls that led to the function in which an event happens, the innermost first; `None`
    /// if they are not known.
    pub fn callers(&self, event: EventId) -> Option<Calls<'_>> {
        Some(Calls { stacks: &self.stacks, at: self.stacks.of(event)? })
    }
}

impl Builder {
    /// The stack of a function that nobody calls.
    pub const BOTTOM: StackId = StackId(0);

    /// The stack of a function that is called at a place, by one that has the other stack.
    pub fn called(&mut self, caller: StackId, at: LocationId) -> StackId {
        self.trace.stacks.called(caller, at)
    }

    /// Says inside which calls an event happens.
    pub fn happens_in(&mut self, event: EventId, stack: StackId) {
        self.trace.stacks.set(event, stack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Op, binary};

    #[test]
    fn stacks_survive_the_binary_form_and_a_cut() {
        let mut builder = Trace::builder();
        let thread = builder.thread("T0");
        let [main, work] = ["a.c:9:2 (main)", "a.c:5:3 (work)"].map(|at| builder.location(at));
        let outer = builder.called(Builder::BOTTOM, main);
        let inner = builder.called(outer, work);
        assert_eq!(builder.called(Builder::BOTTOM, main), outer);
        let ops = [
            Op::Begin,
            Op::RegionBegin,
            Op::RegionEnd,
            Op::Fence { order: crate::MemoryOrder::SeqCst },
        ];
        for (op, stack) in ops.into_iter().zip([None, Some(inner), Some(outer), None]) {
            let event = builder.push(Event { thread, op, location: None });
            if let Some(stack) = stack {
                builder.happens_in(event, stack);
            }
        }
        let mut trace = builder.finish();
        let again = binary::decode(&binary::encode(&trace).unwrap()).unwrap();
        assert_eq!(again, trace);
        let callers = |trace: &Trace, event| trace.callers(EventId(event)).map(Vec::from_iter);
        assert_eq!(callers(&again, 0), None);
        assert_eq!(callers(&again, 1), Some(vec![work, main]));
        trace.cut_to(3);
        assert_eq!(callers(&trace, 2), Some(vec![main]));
    }
}
