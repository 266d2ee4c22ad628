//! Channels of calls: their names, and the lists of them that calls name.

use rustc_hash::FxHashMap;

use super::{Builder, Names, Trace};
use crate::event::{Awaited, Channels, Direction, Op};
use crate::ids::*;
use crate::ops;

/// Lists of channels, each once.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lists {
    lists: Vec<List>,
    index: FxHashMap<List, u32>,
}

/// What a call names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct List {
    /// `None` stands for every channel.
    channels: Option<Box<[(ChannelId, Direction)]>>,
    awaited: Option<Awaited>,
}

impl PartialEq for Lists {
    fn eq(&self, other: &Self) -> bool {
        self.lists == other.lists
    }
}

impl Eq for Lists {}

impl Lists {
    fn intern(&mut self, list: List) -> ChannelsId {
        if let Some(&known) = self.index.get(&list) {
            return ChannelsId(known);
        }
        let new = ChannelsId::from(self.lists.len());
        self.index.insert(list.clone(), new.0);
        self.lists.push(list);
        new
    }
}

impl Trace {
    /// The channels' names.
    pub fn channels(&self) -> &Names {
        &self.channels
    }

    /// The names of the functions that calls are of.
    pub fn functions(&self) -> &Names {
        &self.functions
    }

    /// Whether what is given on the channel may arrive any time later, so that nobody can tell if
    /// it was given earlier.
    pub fn is_delayed(&self, channel: ChannelId) -> bool {
        self.delayed.binary_search(&channel).is_ok()
    }

    /// The enter of the call that a leave ends. Goes back over the events of the thread.
    pub fn enter_of(&self, leave: EventId) -> Option<EventId> {
        let events = &self.thread_events(self.thread_of(leave))[..self.position(leave)];
        let mut closed = 0;
        events.iter().rev().copied().find(|&event| match self.op(event) {
            Op::LeaveCall => {
                closed += 1;
                false
            }
            Op::EnterCall { .. } if closed > 0 => {
                closed -= 1;
                false
            }
            op @ ops!(memory object data sync mark EnterCall) => matches!(op, Op::EnterCall { .. }),
        })
    }

    /// How many different lists of channels there are.
    pub fn channel_list_count(&self) -> usize {
        self.channel_lists.lists.len()
    }

    /// The channels that a call names.
    #[inline]
    pub fn channels_of(&self, on: ChannelsId) -> Channels<'_> {
        match &self.channel_lists.lists[on.index()].channels {
            None => Channels::Every,
            Some(list) => Channels::Only(list),
        }
    }

    /// What a call on these channels waits for, if it does not return before somebody feeds it.
    #[inline]
    pub fn awaited(&self, on: ChannelsId) -> Option<Awaited> {
        self.channel_lists.lists[on.index()].awaited
    }

    /// What the call that this event enters waits for.
    pub fn awaited_by(&self, enter: EventId) -> Option<Awaited> {
        match self.op(enter) {
            Op::EnterCall { on, .. } => self.awaited(on),
            ops!(memory object data sync mark LeaveCall) => None,
        }
    }

    /// Whether a call on these channels gives on that one.
    pub fn gives(&self, on: ChannelsId, channel: ChannelId) -> bool {
        match self.channels_of(on) {
            Channels::Every => true,
            Channels::Only(list) => {
                let found = list.binary_search_by_key(&channel, |&(other, _)| other);
                found.is_ok_and(|at| list[at].1.gives())
            }
        }
    }
}

impl Builder {
    /// The channel of that name.
    pub fn channel(&mut self, name: &str) -> ChannelId {
        ChannelId::from(self.trace.channels.intern(name))
    }

    /// Declares that what is given on a channel may arrive any time later: other programs at the
    /// far end, for example.
    pub fn set_delayed(&mut self, channel: ChannelId) {
        if let Err(place) = self.trace.delayed.binary_search(&channel) {
            self.trace.delayed.insert(place, channel);
        }
    }

    /// The function of that name.
    pub fn function(&mut self, name: &str) -> FunctionId {
        FunctionId::from(self.trace.functions.intern(name))
    }

    /// The list of these channels. Their order does not matter; one that is there twice, once in
    /// each direction, is used in both.
    pub fn channels(&mut self, of: &[(ChannelId, Direction)]) -> ChannelsId {
        self.channels_awaiting(of, None)
    }

    /// The same, for calls that wait for something.
    pub fn channels_awaiting(
        &mut self,
        of: &[(ChannelId, Direction)],
        awaited: Option<Awaited>,
    ) -> ChannelsId {
        let mut list = of.to_vec();
        list.sort_unstable();
        list.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                first.1 = first.1.and(later.1);
            }
            is_same
        });
        self.trace.channel_lists.intern(List { channels: Some(list.into()), awaited })
    }

    /// The list of every channel, also of those that no event names: for a call of which nothing is
    /// known.
    pub fn every_channel(&mut self) -> ChannelsId {
        self.trace.channel_lists.intern(List { channels: None, awaited: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_set_with_directions() {
        let mut builder = Trace::builder();
        let (a, b) = (builder.channel("a"), builder.channel("b"));
        let both = builder.channels(&[(b, Direction::Takes), (a, Direction::Both)]);
        let again = builder.channels(&[
            (a, Direction::Takes),
            (b, Direction::Takes),
            (a, Direction::Gives),
            (b, Direction::Takes),
        ]);
        assert_eq!(both, again);
        let (every, none) = (builder.every_channel(), builder.channels(&[]));
        assert_ne!(every, none);
        assert_eq!(builder.every_channel(), every);
        let trace = builder.finish();
        let expected = [(a, Direction::Both), (b, Direction::Takes)];
        assert_eq!(trace.channels_of(both), Channels::Only(&expected));
        assert_eq!(trace.channels_of(every), Channels::Every);
        assert_eq!(trace.channels_of(none), Channels::Only(&[]));
        assert_eq!(trace.channel_list_count(), 3);
        assert!(trace.gives(both, a) && !trace.gives(both, b));
        assert!(trace.gives(every, b) && !trace.gives(none, b));
    }

    #[test]
    fn what_a_call_waits_for_is_part_of_its_list() {
        let mut builder = Trace::builder();
        let (a, b) = (builder.channel("a"), builder.channel("b"));
        let plain = builder.channels(&[(a, Direction::Takes)]);
        let awaited = Some(Awaited { source: b, piece: Some(a) });
        let waits = builder.channels_awaiting(&[(a, Direction::Takes)], awaited);
        assert_ne!(plain, waits);
        assert_eq!(builder.channels_awaiting(&[(a, Direction::Takes)], awaited), waits);
        let trace = builder.finish();
        assert_eq!((trace.awaited(plain), trace.awaited(waits)), (None, awaited));
        assert_eq!(trace.channels_of(plain), trace.channels_of(waits));
    }

    #[test]
    fn a_leave_ends_the_innermost_call_of_its_thread() {
        let text = "t: enter-call a\nt: enter-call b\nu: enter-call a\nt: leave-call\nt: enter-call c\n\
                    t: leave-call\nt: leave-call\nt: leave-call\n";
        let trace = crate::text::parse(text).unwrap();
        let enters = [3, 5, 6, 7].map(|leave| trace.enter_of(EventId(leave)).map(|enter| enter.0));
        assert_eq!(enters, [Some(1), Some(4), Some(0), None]);
    }
}
