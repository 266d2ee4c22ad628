//! Calls through which threads affect each other outside of memory.
//!
//! **Computes.** The events of such calls, and what becomes of their channels: a channel that only
//! one thread uses orders nothing, nor does one to which threads give and from which nobody takes
//! (a log, a terminal), or the other way round.
//!
//! **Invariant.** A channel is left out only where no call of another thread can depend on it in
//! the recorded run, so that it could not do so in another order of the same calls either. A call
//! without channels is no event.

use foretrace_recording::channel::{self, direction};
use foretrace_recording::record::{kind, stream};
use foretrace_trace::import::{ImportError, Problem};
use foretrace_trace::provenance::{LeftOut, Taken};
use foretrace_trace::*;
use rustc_hash::FxHashMap;

use super::emit::{Emit, Now};
use super::feeds::{Source, Stock};
use super::records::Record;
use super::streams::{After, Exact};
use super::tables::Tables;

/// Who uses what.
#[derive(Default)]
pub(super) struct Usage {
    /// Of each channel that a list names.
    channels: FxHashMap<u32, Users>,
    /// Of calls that may use all channels.
    every: Users,
    /// Of what children inherit, see [`inherited`].
    inherited: Users,
}

/// What children of the process inherit, or find: all objects of the kernel. A call on one keeps
/// its order with those that start children.
fn inherited(list: &[(u32, u32)]) -> bool {
    let is_object = |channel: u32| {
        channel >= channel::FIRST_OBJECT
            || matches!(channel, channel::ANONYMOUS | channel::LOOPBACK)
    };
    let mut named = list.iter().map(|&(channel, _)| channel);
    named.clone().any(is_object) && !named.any(|channel| channel == channel::CHILDREN)
}

/// The threads that use a channel.
#[derive(Clone, Copy, Default)]
struct Users {
    first: Option<u32>,
    several: bool,
    gives: bool,
    takes: bool,
}

impl Users {
    fn add(&mut self, thread: u32, how: u32) {
        self.several |= self.first.is_some_and(|first| first != thread);
        self.first = self.first.or(Some(thread));
        self.gives |= how & direction::GIVES != 0;
        self.takes |= how & direction::TAKES != 0;
    }

    fn and(self, other: Users) -> Users {
        let (a, b) = (self.first, other.first);
        Users {
            first: a.or(b),
            several: self.several || other.several || (a.is_some() && b.is_some() && a != b),
            gives: self.gives || other.gives,
            takes: self.takes || other.takes,
        }
    }
}

impl Usage {
    /// Notes a call.
    pub(super) fn note(&mut self, tables: &Tables, thread: u32, record: &Record) {
        match record.word(0) {
            _ if record.detail & stream::CANCELS != 0 => {}
            channel::EVERY => self.every.add(thread, direction::BOTH),
            list => {
                let Some(list) = tables.channel_lists.get(&list) else { return };
                for &(channel, how) in list {
                    self.channels.entry(channel).or_default().add(thread, how);
                }
                if inherited(list) {
                    self.inherited.add(thread, direction::TAKES);
                }
            }
        }
    }

    /// Whether others answer: what is printed for them may then decide what they say.
    pub(super) fn is_answered(&self) -> bool {
        self.channels.get(&channel::OUTSIDE).is_some_and(|users| users.takes)
    }

    /// Whether a call that may use all channels can meet another one.
    fn every_matters(&self) -> bool {
        self.channels.values().fold(self.every, |all, &users| all.and(users)).several
    }

    /// What is left of the way in which a call uses a channel.
    fn matters(&self, channel: u32, how: u32) -> Option<Direction> {
        let mut users = self.channels.get(&channel).copied().unwrap_or_default().and(self.every);
        if channel == channel::CHILDREN {
            users = users.and(self.inherited);
        }
        if !users.several {
            return None;
        }
        match how {
            direction::GIVES if users.takes => Some(Direction::Gives),
            direction::TAKES if users.gives => Some(Direction::Takes),
            direction::BOTH => Some(Direction::Both),
            _ => None,
        }
    }
}

/// The calls of the threads, while events are made.
#[derive(Default)]
pub(super) struct Calls {
    /// What the lists of the recording have become; `None` where nothing is left of one.
    lists: FxHashMap<u64, Option<ChannelsId>>,
    channels: FxHashMap<u32, ChannelId>,
    /// The open calls of each thread, the innermost last.
    open: FxHashMap<u32, Vec<Open>>,
    /// Threads that were cancelled, and have not had a place for that.
    cancelled: FxHashMap<u32, ChannelsId>,
    /// The threads that are in calls of which nothing is known.
    inside: FxHashMap<u32, Inside>,
    /// How many calls have begun.
    begun: u64,
    /// How often threads in calls of which nothing is known have let others notice what they did.
    shown: u64,
}

/// A call that has not come back.
#[derive(Clone, Copy)]
struct Open {
    /// Whether it is an event.
    is_event: bool,
    /// Whether others than the process may answer it.
    hears: bool,
    /// If nothing is known of it: how many functions of the program the thread is in when it makes
    /// it, as far as that is known.
    depth: Option<Option<usize>>,
}

/// A thread that is in a call of which nothing is known.
#[derive(Default)]
struct Inside {
    /// Which of its open calls is the first such one.
    first: usize,
    /// How many calls had begun when it last said that it may notice them, and how often others
    /// had let it notice what they did.
    noticed: (u64, u64),
    /// It has done something since others last could notice it.
    did: bool,
    /// The function of the program in which it did that: how many the library has called so far.
    callback: Option<u64>,
}

impl Emit<'_> {
    /// Before a record of a thread that may be in a call of which nothing is known: the function
    /// has called back, and may have waited for others before. They may be in such calls too, and
    /// have come back to the library since they did something.
    pub(super) fn before_record(&mut self, now: Now) {
        let is_call = matches!(now.record.kind, kind::ENTER_CALL | kind::LEAVE_CALL);
        let Some(inside) = self.calls.inside.get(&now.thread).filter(|_| !is_call) else { return };
        let is_last = matches!(now.record.kind, kind::WAIT | kind::END);
        let (noticed, before) = (inside.noticed, (inside.did, inside.callback));
        let callback = self.callback(now.thread);
        let is_new = callback.is_none() || callback != before.1;
        // Between a wait and its end it is in no library.
        let others = match is_new && self.may_add(now.thread) {
            true => self.others_in_libraries(now.thread),
            false => Vec::new(),
        };
        if others.into_iter().any(|other| !self.meet(other)) {
            self.pin(now);
        }
        let is_stale = noticed != (self.calls.begun, self.calls.shown);
        if is_new && (is_stale || before.0) || is_last && before.0 {
            self.meet(now.thread);
        }
        // Of the wait itself nobody learns through a library.
        let did = now.record.kind != kind::WAIT;
        self.calls.inside.entry(now.thread).and_modify(|inside| {
            (inside.did, inside.callback) = (did, callback);
        });
        if now.record.kind == kind::END {
            self.out_of_calls(now.thread);
        }
    }

    /// The function of the program that a library has called and in which a thread is now: how many
    /// it has called so far. `None`: it is in the library, or nobody knows where.
    fn callback(&self, thread: u32) -> Option<u64> {
        let (depth, callbacks) = self.depth(thread)?;
        let mut open = self.calls.open.get(&thread)?.iter().rev();
        let made_at = open.find_map(|call| call.depth)??;
        (depth > made_at).then_some(callbacks)
    }

    /// The other threads that have come back to a library of which nothing is known since they did
    /// something, or may have.
    fn others_in_libraries(&self, thread: u32) -> Vec<u32> {
        let inside = self.calls.inside.iter().filter(|(other, one)| **other != thread && one.did);
        let mut others: Vec<u32> = inside
            .filter(|(other, one)| one.callback.is_none() || self.callback(**other) != one.callback)
            .map(|(other, _)| *other)
            .collect();
        others.sort_unstable();
        others
    }

    /// Nothing comes behind this of the thread: others can notice all that it did in a call of
    /// which nothing is known.
    pub(super) fn out_of_calls(&mut self, thread: u32) {
        if self.calls.inside.get(&thread).is_some_and(|inside| inside.did) {
            self.meet(thread);
        }
        self.calls.inside.remove(&thread);
    }

    /// A call comes back: it may have noticed what others did that are in calls of which nothing is
    /// known.
    fn before_leave(&mut self, thread: u32) {
        for other in self.others_in_libraries(thread) {
            self.meet(other);
        }
    }

    /// The thread notices all calls that have begun, and others can notice what it did. False where
    /// it cannot have events.
    fn meet(&mut self, thread: u32) -> bool {
        if !self.may_add(thread) {
            return false;
        }
        let on = self.builder.every_channel();
        self.push_between(thread, Op::EnterCall { on, by: None }, None);
        self.push_between(thread, Op::LeaveCall, None);
        self.calls.shown += 1;
        let noticed = (self.calls.begun, self.calls.shown);
        if let Some(inside) = self.calls.inside.get_mut(&thread) {
            (inside.noticed, inside.did) = (noticed, false);
        }
        true
    }

    pub(super) fn call_record(&mut self, now: Now) -> Result<(), ImportError> {
        if now.record.kind == kind::LEAVE_CALL {
            if self.calls.inside.get(&now.thread).is_some_and(|inside| inside.did) {
                // The function has gone on behind what it called.
                self.meet(now.thread);
            }
            let open = self.calls.open.entry(now.thread).or_default();
            let (open, left) = (open.pop(), open.len());
            if self.calls.inside.get(&now.thread).is_some_and(|inside| inside.first >= left) {
                self.calls.inside.remove(&now.thread);
            }
            let Some(Open { is_event, hears, .. }) = open else {
                self.leave_out(now, LeftOut::EndOfCall);
                return Ok(());
            };
            if is_event {
                self.before_leave(now.thread);
                self.push(now, Op::LeaveCall);
            }
            if hears && !self.stored_in_pages.is_empty() {
                self.leave_out(now, Taken::SharedAnswer);
            }
            return Ok(());
        }
        if now.record.detail & stream::CANCELS != 0 {
            self.cancel(now);
            return Ok(());
        }
        let is_stream = now.record.detail & (stream::READ | stream::WRITE) != 0;
        let (list, function) = (now.record.word(0), now.record.word(1) * u64::from(!is_stream));
        let mut on = self.channels_of(now, list)?;
        if on.is_some()
            && let Some(exact) = self.survey.streams.of(self.now)
        {
            on = self.stream(list, exact);
        }
        let on = on.map(|on| self.with_feeds(on));
        let hears = self.tables.channel_lists.get(&list).is_some_and(|list| {
            let takes = |how: u32| how & direction::TAKES != 0;
            list.iter().any(|&(channel, how)| channel == channel::OUTSIDE && takes(how))
        });
        let is_unknown = list == channel::EVERY;
        let depth = self.depth(now.thread).map(|(depth, _)| depth);
        let open = self.calls.open.entry(now.thread).or_default();
        let depth = is_unknown.then_some(depth);
        open.push(Open { is_event: on.is_some(), hears, depth });
        let first = open.len() - 1;
        self.calls.begun += u64::from(on.is_some());
        if on.is_some() && is_unknown {
            let inside = Inside { first, ..Inside::default() };
            self.calls.inside.entry(now.thread).or_insert(inside);
        }
        if let Some(on) = on {
            let name = self.tables.unknown_functions.get(&function).filter(|_| function != 0);
            let by = name.map(|name| match name.is_empty() {
                true => self.builder.function(&format!("{function:#x}")),
                false => self.builder.function(name),
            });
            self.push(now, Op::EnterCall { on, by });
        }
        Ok(())
    }

    /// A thread is cancelled: what it did before stays before, and what it does afterwards, behind.
    fn cancel(&mut self, now: Now) {
        let call = Open { is_event: true, hears: false, depth: None };
        self.calls.open.entry(now.thread).or_default().push(call);
        let other = now.record.word(1) as u32;
        let channel = self.builder.channel(&format!("cancellation of T{other}"));
        let on = self.builder.channels(&[(channel, Direction::Both)]);
        self.push(now, Op::EnterCall { on, by: None });
        let has_begun = self.threads.get(&other).is_some_and(|row| row.events > 0);
        if other != now.thread && has_begun && self.may_add(other) && !self.has_ended(other) {
            self.keep_place(other, on);
        } else if other != now.thread && !self.has_ended(other) {
            if has_begun {
                // Between a wait and its end there is no place for events.
                self.pin(now);
            }
            self.calls.cancelled.insert(other, on);
        }
    }

    /// The thread is where it is now in every other order as well.
    fn keep_place(&mut self, thread: u32, on: ChannelsId) {
        self.push_between(thread, Op::EnterCall { on, by: None }, None);
        self.push_between(thread, Op::LeaveCall, None);
    }

    /// Before a record of a thread that was cancelled while it could not have events.
    pub(super) fn note_cancelled(&mut self, thread: u32, kind: u8) {
        if self.calls.cancelled.is_empty() || matches!(kind, kind::BEGIN | kind::WAKE) {
            return;
        }
        if self.may_add(thread)
            && let Some(on) = self.calls.cancelled.remove(&thread)
        {
            self.keep_place(thread, on);
        }
    }

    fn channels_of(&mut self, now: Now, list: u64) -> Result<Option<ChannelsId>, ImportError> {
        if let Some(&known) = self.calls.lists.get(&list) {
            return Ok(known);
        }
        let on = if list == channel::EVERY {
            self.survey.calls.every_matters().then(|| self.builder.every_channel())
        } else {
            let tables = self.tables;
            let Some(named) = tables.channel_lists.get(&list) else {
                let found = format!("a call on the channels of list {list}");
                return Err(now
                    .record
                    .error(Problem::syntax(found, "a list that is in the tables")));
            };
            let mut kept = Vec::new();
            for &(channel, how) in named {
                if let Some(direction) = self.survey.calls.matters(channel, how) {
                    kept.push((self.channel(channel), direction));
                    if self.survey.streams.has(channel) {
                        let reads = self.part(channel, "reads".to_string());
                        kept.push((reads, direction));
                    }
                }
            }
            if inherited(named) {
                kept.extend(self.children());
            }
            (!kept.is_empty()).then(|| self.builder.channels(&kept))
        };
        self.calls.lists.insert(list, on);
        Ok(on)
    }

    /// How a call on an object that children inherit keeps its order with their starts.
    fn children(&mut self) -> Option<(ChannelId, Direction)> {
        let how = self.survey.calls.matters(channel::CHILDREN, direction::TAKES)?;
        Some((self.channel(channel::CHILDREN), how))
    }

    /// The same channels, with those by which the call feeds others, and what it waits for.
    fn with_feeds(&mut self, on: ChannelsId) -> ChannelsId {
        let Some(fed) = self.survey.feeds.of(self.now) else { return on };
        let Channels::Only(list) = self.builder.so_far().channels_of(on) else { return on };
        let mut list = list.to_vec();
        for &(source, piece) in &fed.gives {
            list.push((self.fed(source, piece), Direction::Gives));
        }
        let awaited = fed.waits.map(|(source, piece)| Awaited {
            source: self.fed(source, None),
            piece: piece.map(|piece| self.fed(source, Some(piece))),
        });
        self.builder.channels_awaiting(&list, awaited)
    }

    /// The channel of a source of data, or of a piece of it.
    fn fed(&mut self, source: Source, piece: Option<u32>) -> ChannelId {
        let stocks = self.survey.feeds.stocks(source).to_vec();
        let names: Vec<String> = stocks.iter().map(|&stock| self.stock(stock)).collect();
        let name = match piece {
            None => format!("data in {}", names.join(" or ")),
            Some(piece) => format!("data in {}: piece {}", names.join(" or "), piece + 1),
        };
        self.builder.channel(&name)
    }

    fn stock(&mut self, (number, is_back): Stock) -> String {
        let whole = self.channel(number);
        let way = if is_back { " (the other way)" } else { "" };
        format!("{}{way}", self.builder.so_far().name(whole))
    }

    /// The channels of a call on a stream of which more is known.
    fn stream(&mut self, list: u64, exact: Exact) -> Option<ChannelsId> {
        let &[(number, _)] = self.tables.channel_lists.get(&list)?.as_slice() else { return None };
        let whole = self.channel(number);
        let reads = self.part(number, "reads".to_string());
        let mut on = Vec::from_iter(self.children());
        match exact {
            Exact::Write { write, is_read, after } => {
                on.push((whole, Direction::Both));
                if is_read {
                    on.push((self.part(number, format!("write {}", write + 1)), Direction::Gives));
                }
                match after {
                    After::Nothing => {}
                    After::Read(read) => {
                        on.push((
                            self.part(number, format!("read {}", read + 1)),
                            Direction::Takes,
                        ));
                    }
                    After::All => on.push((reads, Direction::Both)),
                }
            }
            Exact::Read { read, frees, of } => {
                on.push((reads, Direction::Both));
                on.push((self.part(number, format!("write {}", of + 1)), Direction::Takes));
                if frees {
                    on.push((self.part(number, format!("read {}", read + 1)), Direction::Gives));
                }
            }
        }
        Some(self.builder.channels(&on))
    }

    /// A part of what happens on a channel.
    fn part(&mut self, number: u32, what: String) -> ChannelId {
        let whole = self.channel(number);
        let name = self.builder.so_far().name(whole).to_string();
        self.builder.channel(&format!("{name}: {what}"))
    }

    fn channel(&mut self, number: u32) -> ChannelId {
        if let Some(&known) = self.calls.channels.get(&number) {
            return known;
        }
        let name = self.tables.channels.get(&number).cloned();
        let name = name.unwrap_or_else(|| format!("channel {number}"));
        let name = self.fresh("channel", name);
        let id = self.builder.channel(&name);
        if number == channel::OUTSIDE {
            // When others come to see what they are told, nobody can say.
            self.builder.set_delayed(id);
        }
        self.calls.channels.insert(number, id);
        id
    }
}
