//! The calls that lead to events of merged runs: those of a run that has the event.

use foretrace_report::{CallFrame, Origin};
use foretrace_trace::{EventId, Op};

use super::events::ProgramEvents;
use super::mixture::Mixing;
use crate::stacks::Interned;

/// The places and stacks of a report.
pub(super) struct Calls<'a> {
    events: &'a ProgramEvents<'a>,
    mixing: Option<&'a Mixing<'a>>,
    frames: Interned<String>,
    stacks: Interned<Vec<u32>>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(events: &'a ProgramEvents<'a>, mixing: Option<&'a Mixing<'a>>) -> Self {
        Calls { events, mixing, frames: Interned::new(), stacks: Interned::new() }
    }

    /// The number of the stack of an event, if a run knows its calls. All runs that have it came
    /// there on the same path.
    pub(super) fn of(&mut self, event: EventId) -> Option<u32> {
        let mixing = self.mixing?;
        let origins = mixing.merged.origins(self.events.site(event));
        let (trace, event) = origins.iter().find_map(|&(run, event)| {
            mixing.traces[run].callers(event).map(|_| (mixing.traces[run], event))
        })?;
        let places = trace.location_of(event).into_iter().chain(trace.callers(event)?);
        let stack: Vec<u32> =
            places.map(|at| self.frames.number(trace.name(at).to_string())).collect();
        (!stack.is_empty()).then(|| self.stacks.number(stack))
    }

    /// Where each thread was created.
    pub(super) fn created(&mut self) -> Vec<Option<Origin>> {
        let (events, trace) = (self.events, &self.events.summary.trace);
        let mut created = vec![None; events.threads.len()];
        for (event, op) in trace.other_ops() {
            if let Op::Fork { child } = op
                && created[child.index()].is_none()
            {
                created[child.index()] = Some(Origin {
                    thread: events.threads[trace.thread_of(event).index()].clone(),
                    location: events.location(event),
                    stack: self.of(event),
                    size: None,
                });
            }
        }
        created
    }

    /// The tables of the report.
    pub(super) fn tables(self) -> (Vec<CallFrame>, Vec<Vec<u32>>) {
        let frames = self.frames.list.iter().map(|place| CallFrame::new(place));
        (frames.collect(), self.stacks.list)
    }
}
