//! Calls that nobody feeds: *blocked in a call* of section 4 of `docs/theory.md`.
//!
//! **Computes.** Whether a call that waits on a source would stay where it is: the source is not
//! closed, and all that was put into it has been taken out.
//!
//! **Cost.** Linear in the calls that use the source, for each question.

use foretrace_trace::{Awaited, ChannelId, Channels, EventId, Op, Trace, ops};
use rustc_hash::FxHashMap;

/// The calls of a trace that wait, and those that feed them.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// Those that wait on each source.
    waiting: FxHashMap<ChannelId, Vec<Waiting>>,
    /// The calls that give on each source and piece.
    giving: FxHashMap<ChannelId, Vec<EventId>>,
    /// Those that give everywhere.
    everywhere: Vec<EventId>,
}

#[derive(Debug)]
struct Waiting {
    enter: EventId,
    leave: Option<EventId>,
    piece: Option<ChannelId>,
}

impl Waits {
    pub(crate) fn of(trace: &Trace) -> Waits {
        let mut waits = Waits::default();
        for on in 0..trace.channel_list_count() {
            if let Some(Awaited { source, piece }) = trace.awaited(on.into()) {
                waits.waiting.entry(source).or_default();
                for channel in piece.into_iter().chain([source]) {
                    waits.giving.entry(channel).or_default();
                }
            }
        }
        if waits.waiting.is_empty() {
            return waits;
        }
        let mut stacks: Vec<Vec<EventId>> = vec![Vec::new(); trace.threads().len()];
        let mut leaves: FxHashMap<EventId, EventId> = FxHashMap::default();
        for (event, op) in trace.other_ops() {
            let stack = &mut stacks[trace.thread_of(event).index()];
            match op {
                Op::EnterCall { .. } => stack.push(event),
                Op::LeaveCall => leaves.extend(stack.pop().map(|enter| (enter, event))),
                ops!(memory object data sync mark) => {}
            }
        }
        for (enter, op) in trace.other_ops() {
            let Op::EnterCall { on, .. } = op else { continue };
            match trace.channels_of(on) {
                Channels::Every => waits.everywhere.push(enter),
                Channels::Only(list) => {
                    for (channel, _) in list.iter().filter(|(_, way)| way.gives()) {
                        if let Some(giving) = waits.giving.get_mut(channel) {
                            giving.push(enter);
                        }
                    }
                }
            }
            if let Some(Awaited { source, piece }) = trace.awaited(on) {
                let call = Waiting { enter, leave: leaves.get(&enter).copied(), piece };
                waits.waiting.entry(source).or_default().push(call);
            }
        }
        waits
    }

    /// Whether the call that begins with this event gets nothing, where these events are executed.
    pub(crate) fn is_starved(
        &self,
        trace: &Trace,
        enter: EventId,
        is_executed: impl Fn(EventId) -> bool,
    ) -> bool {
        let Some(Awaited { source, .. }) = trace.awaited_by(enter) else { return false };
        let is_given = |channel: ChannelId, to: EventId| {
            self.giving[&channel].iter().any(|&by| by != to && is_executed(by))
        };
        let is_closed =
            self.everywhere.iter().any(|&by| is_executed(by)) || is_given(source, enter);
        !is_closed
            && self.waiting[&source].iter().all(|call| {
                call.leave.is_some_and(&is_executed)
                    || !call.piece.is_some_and(|piece| is_given(piece, call.enter))
            })
    }
}
