//! Calls on channels: a leave ends a call, and a call that waits for something leaves only once
//! somebody has given it.

use super::invalid::{Breach, breach};
use super::rule::Rule;
use crate::{Awaited, ChannelId, Channels, ChannelsId, ThreadId, Trace};

/// The calls so far.
pub(super) struct Calls<'t> {
    trace: &'t Trace,
    /// The calls that each thread has entered and not left, the innermost last.
    open: Vec<Vec<ChannelsId>>,
    /// How many calls that give there have entered, for each channel.
    given: Vec<u32>,
    /// How many calls on every channel have entered.
    everywhere: u32,
}

impl<'t> Calls<'t> {
    pub(super) fn new(trace: &'t Trace) -> Self {
        Calls {
            trace,
            open: vec![Vec::new(); trace.threads().len()],
            given: vec![0; trace.channels().len()],
            everywhere: 0,
        }
    }

    pub(super) fn enter(&mut self, thread: ThreadId, on: ChannelsId) {
        self.open[thread.index()].push(on);
        match self.trace.channels_of(on) {
            Channels::Every => self.everywhere += 1,
            Channels::Only(list) => {
                for (channel, _) in list.iter().filter(|(_, direction)| direction.gives()) {
                    self.given[channel.index()] += 1;
                }
            }
        }
    }

    pub(super) fn leave(&mut self, thread: ThreadId) -> Result<(), Breach> {
        let Some(on) = self.open[thread.index()].pop() else {
            let why = "the thread is in no call that it has entered";
            return Err(breach(Rule::LeaveWithoutCall, why));
        };
        let Some(Awaited { source, piece }) = self.trace.awaited(on) else { return Ok(()) };
        let is_given = |channel: ChannelId| {
            let own = u32::from(self.trace.gives(on, channel));
            self.given[channel.index()] > own
        };
        if self.everywhere > 0 || is_given(source) || piece.is_some_and(is_given) {
            return Ok(());
        }
        let source = self.trace.name(source);
        let why = format!("the call waits for {source}, and no other call has given there");
        Err(breach(Rule::LeaveUnfed, why))
    }
}
