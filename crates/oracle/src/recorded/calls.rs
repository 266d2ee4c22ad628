//! Which calls a call rests on: the paragraph *calls* of section 2.

use foretrace_trace::*;

use super::Recorded;
use crate::event_set::EventSet;
use crate::state::State;

/// A call: where it enters and leaves, and its channels.
#[derive(Clone, Copy, Debug)]
struct Call {
    enter: EventId,
    /// `None` if it never does.
    leave: Option<EventId>,
    on: ChannelsId,
}

impl Call {
    fn enters_before_leave_of(&self, other: &Call) -> bool {
        other.leave.is_none_or(|leave| self.enter < leave)
    }
}

impl Recorded<'_> {
    /// Finds, for each `leave-call`, the enters of all calls on which its call rests.
    pub(super) fn find_calls(&mut self) {
        let calls = self.calls();
        self.rests_on = vec![EventSet::default(); self.ops.len()];
        for call in &calls {
            let Some(leave) = call.leave else { continue };
            let mut enters = EventSet::default();
            self.extend_chain(&calls, &mut vec![*call], &mut enters);
            self.rests_on[leave.index()] = enters;
        }
    }

    /// Whether a thread that is next at this leave, or behind this enter as its last event, is in a
    /// call that waits.
    pub(crate) fn is_in_waiting_call(&self, point: EventId) -> bool {
        let is_last = self.trace.next(point).is_none();
        let is_here = |call: &&Call| call.leave == Some(point) || (call.enter == point && is_last);
        let calls = self.calls();
        calls.iter().find(is_here).is_some_and(|call| self.trace.awaited(call.on).is_some())
    }

    /// Whether the thread that is next at this leave, or behind this enter, is in a call that
    /// waits, and nobody has fed it.
    pub(crate) fn is_unfed(&self, state: &State, point: EventId) -> bool {
        let calls = self.calls();
        let awaited = |call: &Call| self.trace.awaited(call.on);
        let entered = |call: &Call| state.executed.contains(call.enter);
        let at = calls.iter().find(|call| call.leave == Some(point) || call.enter == point);
        let Some((own, source)) = at.and_then(|call| Some((call, awaited(call)?.source))) else {
            return false;
        };
        let gives = |call: &Call, channel: ChannelId| match self.trace.channels_of(call.on) {
            Channels::Every => true,
            Channels::Only(list) => list.iter().any(|&(on, way)| on == channel && way.gives()),
        };
        let is_given = |to: &Call, channel: ChannelId| {
            calls.iter().any(|by| by.enter != to.enter && entered(by) && gives(by, channel))
        };
        let waits_there =
            |call: &&Call| awaited(call).is_some_and(|awaited| awaited.source == source);
        let is_taken = |call: &Call| {
            let piece = awaited(call).and_then(|awaited| awaited.piece);
            let has_left = call.leave.is_some_and(|leave| state.executed.contains(leave));
            has_left || piece.is_none_or(|piece| !is_given(call, piece))
        };
        !is_given(own, source) && calls.iter().filter(waits_there).all(is_taken)
    }

    fn calls(&self) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        for (event, op) in self.events() {
            let thread = self.trace.thread_of(event);
            match op {
                Op::EnterCall { on, .. } => calls.push(Call { enter: event, leave: None, on }),
                Op::LeaveCall => {
                    let innermost = calls.iter_mut().rev().find(|call| {
                        call.leave.is_none() && self.trace.thread_of(call.enter) == thread
                    });
                    if let Some(call) = innermost {
                        call.leave = Some(event);
                    }
                }
                ops!(memory object data sync mark) => {}
            }
        }
        calls
    }

    /// Puts every call that may stand there in front of a chain, and notes it.
    fn extend_chain(&self, calls: &[Call], chain: &mut Vec<Call>, enters: &mut EventSet) {
        for call in calls {
            let is_new = chain.iter().all(|other| other.enter != call.enter);
            let in_time = chain.iter().all(|later| call.enters_before_leave_of(later));
            let first = chain[chain.len() - 1];
            if is_new && in_time && self.leads(calls, call.on, first.on) {
                enters.insert(call.enter);
                chain.push(*call);
                self.extend_chain(calls, chain, enters);
                chain.pop();
            }
        }
    }

    /// Whether some channel leads from the one call to the other.
    fn leads(&self, calls: &[Call], from: ChannelsId, to: ChannelsId) -> bool {
        let (from, to) = (self.trace.channels_of(from), self.trace.channels_of(to));
        let is_on_one = |channels: Channels| channels != Channels::Only(&[]);
        let (Channels::Only(from), Channels::Only(to)) = (from, to) else {
            return is_on_one(from) && is_on_one(to);
        };
        from.iter().any(|&(channel, one)| {
            to.iter().any(|&(other, two)| {
                let leads = if self.trace.is_delayed(channel) {
                    one.gives() && two.takes()
                } else {
                    (one.gives() || two.gives()) && self.is_taken(calls, channel)
                };
                channel == other && leads
            })
        })
    }

    /// Whether some call names the channel and takes from it.
    fn is_taken(&self, calls: &[Call], channel: ChannelId) -> bool {
        calls.iter().any(|call| match self.trace.channels_of(call.on) {
            Channels::Every => false,
            Channels::Only(list) => {
                list.iter().any(|&(other, way)| other == channel && way.takes())
            }
        })
    }
}
