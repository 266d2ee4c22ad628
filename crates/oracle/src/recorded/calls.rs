//! Which calls a call rests on: the paragraph *calls* of section 2.

use foretrace_trace::*;

use super::Recorded;
use crate::event_set::EventSet;

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
                _ => {}
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
